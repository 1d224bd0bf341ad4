"""`weft compare`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli import errors, estimands, outputs, teaching

if TYPE_CHECKING:
    import polars as pl

SECONDS, RATIO, LOW, HIGH = "seconds ", "ratio ", "ratio_low ", "ratio_high "
"""How the columns of times, of ratios and of the ends of their intervals begin."""

_EXAMPLES = """
weft compare ipsc860 ncube6400  # two machines of the catalogue
weft compare here.csv here.toml  # what was measured and what the fitted machine says
weft compare here.csv ipsc860 ipsc1  # ratios to the first; machines run what the files hold
weft compare monday.csv tuesday.csv --fail-above 1.1  # exit code 3 if Tuesday is slower, beyond all intervals
weft compare monday.csv tuesday.csv --format csv  # two runs, for other tools; or json
"""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=teaching.command(_EXAMPLES, long=True), no_args_is_help=True)(compare)


def compare(
    subjects: Annotated[list[str], typer.Argument(help="Machines, machine files or files of samples, two or more.")],
    lengths: Annotated[
        str | None, typer.Option("--bytes", help="Lengths, if only machines are compared. Default: 8:8192.")
    ] = None,
    hops: Annotated[
        str | None,
        typer.Option(help="Distances, if only machines are compared. Default: those of each machine's nearest nodes."),
    ] = None,
    estimand: estimands.Chosen = None,
    fail_above: Annotated[
        float | None,
        typer.Option(
            help="Exit code 3 if the whole interval of a ratio is above this; 1.1 means slower by a tenth. Exit code 1 "
            "if there is no ratio to judge."
        ),
    ] = None,
    shown: outputs.Shown = outputs.Format.TABLE,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the comparison to a .csv file.")] = None,
    force: outputs.Replace = False,
) -> None:
    """Machines and files of samples side by side: seconds of each, and ratios to the first.

    A machine runs, in virtual time, the benchmarks that the files of samples contain; without files, echo. If no
    distance is given, it is that of the machine's nearest nodes. --estimand applies to the machine files that have both
    estimates. The interval of a ratio follows from those of both measurements; a ratio marked ~ cannot be distinguished
    from 1.
    """
    from weft._core import UsageError
    from weft.files import deliver
    from weft.model import compare as side_by_side
    from weft.study.subjects import tables

    if fail_above is not None and not fail_above > 0:
        raise UsageError(f"--fail-above: expected a positive ratio, found {fail_above}")
    outputs.check(output, (".csv",), force=force)
    names, samples, notes = tables(subjects, lengths, hops, estimand)
    joined = side_by_side(*samples, labels=names)
    if output is not None:
        deliver(joined.write_csv().encode(), output)
    if not outputs.show_plainly(joined, shown):
        _show(joined)
        if alike := _alike(joined):
            typer.echo(alike)
    for note in notes:
        typer.echo(note, err=True)
    if fail_above is not None:
        _judge(joined, fail_above, [name for name, table in zip(names, samples, strict=True) if _is_measured(table)])


def _show(joined: pl.DataFrame) -> None:
    import polars as pl
    from rich import box
    from rich.table import Table

    from weft.cli.printing import show

    columns = [name for name in joined.columns if not name.startswith((LOW, HIGH))]
    columns = [name for name in columns if joined[name].is_not_null().any()]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        kind, _, machine = name.partition(" ")
        heading = machine if kind == "seconds" else f"÷ {_first(joined)}" if kind == "ratio" else name
        table.add_column(heading, justify="left" if joined.schema[name] == pl.String else "right")
    for row in joined.iter_rows(named=True):
        table.add_row(*(_ratio(row, name) if name.startswith(RATIO) else _cell(name, row[name]) for name in columns))
    times = [index for index, name in enumerate(columns) if name.startswith(SECONDS)]
    show(table, keys=times[0], breaks=times)


def _ratios(joined: pl.DataFrame) -> Iterator[tuple[dict[str, Any], str, float, float, float]]:
    """Every ratio: its row, the machine it is of, and its value with both ends of its interval."""
    machines = [name.removeprefix(RATIO) for name in joined.columns if name.startswith(RATIO)]
    for row in joined.iter_rows(named=True):
        for machine in machines:
            if row[RATIO + machine] is not None:
                yield row, machine, row[RATIO + machine], row[LOW + machine], row[HIGH + machine]


def _alike(joined: pl.DataFrame) -> str:
    """How many ratios have an interval that 1 is in, in a sentence; empty where none has an interval."""
    intervals = [(low, high) for _, _, _, low, high in _ratios(joined) if low < high]
    alike = sum(low <= 1 <= high for low, high in intervals)
    if not intervals:
        return ""
    return f"~ {alike} of {len(intervals)} ratios with an interval cannot be told from 1: the intervals overlap."


def _judge(joined: pl.DataFrame, limit: float, measured: list[str]) -> None:
    """Say what is slower than a limit, and what could not be judged as it should be; exit if something is slower, or
    if there was nothing to judge."""
    ratios = list(_ratios(joined))
    if not ratios:
        typer.echo("--fail-above: nothing to judge, since no row is of two machines or files", err=True)
        raise typer.Exit(errors.FAILURE)
    for note in (_missing(joined), _without_interval(joined, measured)):
        if note:
            typer.echo(f"--fail-above: {note}", err=True)
    if slower := _slower(joined, limit):
        typer.echo(f"slower than --fail-above {limit:g}: {'; '.join(slower)}", err=True)
        raise typer.Exit(errors.REGRESSION)


def _is_measured(table: pl.DataFrame) -> bool:
    return "measured" in table["source"].to_list()


def _missing(joined: pl.DataFrame) -> str:
    """How many rows of the first have no counterpart, in words; empty where all have one."""
    first, *others = (name.removeprefix(SECONDS) for name in joined.columns if name.startswith(SECONDS))
    there = joined.filter(joined[SECONDS + first].is_not_null())
    counts = {other: there[SECONDS + other].null_count() for other in others}
    return "; ".join(
        f"{count} of {len(there)} rows of {first} not judged, since {other} has no such rows"
        for other, count in counts.items()
        if count
    )


def _without_interval(joined: pl.DataFrame, measured: list[str]) -> str:
    """How many ratios of measured times have no interval, in words; empty where all have one."""
    first = _first(joined)
    ratios = [(low, high) for _, name, _, low, high in _ratios(joined) if name in measured or first in measured]
    without = sum(low == high for low, high in ratios)
    if not without:
        return ""
    return (
        f"{without} of {len(ratios)} ratios have no interval, since one launch tells none, and are judged as they are; "
        "weft measure -o FILE --resume adds launches"
    )


def _slower(joined: pl.DataFrame, limit: float) -> list[str]:
    """The ratios whose whole interval is above a limit, in words."""
    keys = [name for name in joined.columns if not name.startswith((SECONDS, RATIO, LOW, HIGH))]
    slower = []
    for row, machine, ratio, low, high in _ratios(joined):
        if low > limit:
            where = " ".join(_cell(key, row[key]) for key in keys if row[key] is not None)
            slower.append(f"{machine}, {where}: {_times(ratio)}{_between(low, high)}")
    return slower


def _times(ratio: float) -> str:
    from weft.units import digits

    return f"{digits(ratio)}×"


def _between(low: float, high: float) -> str:
    """The interval of a ratio, in brackets; empty where there is none."""
    from weft.units import digits

    return f" ({digits(low)} to {digits(high)})" if low < high else ""


def _first(joined: pl.DataFrame) -> str:
    """The machine that the ratios refer to."""
    return next(name for name in joined.columns if name.startswith(SECONDS)).removeprefix(SECONDS)


def _ratio(row: dict[str, Any], name: str) -> str:
    """A ratio with its interval, marked where 1 is in it."""
    ratio, machine = row[name], name.removeprefix(RATIO)
    if ratio is None:
        return ""
    low, high = row[LOW + machine], row[HIGH + machine]
    return f"{'~ ' if low < high and low <= 1 <= high else ''}{_times(ratio)}{_between(low, high)}"


def _cell(name: str, value: object) -> str:
    from weft.units import length, seconds

    if value is None:
        return ""
    if name.startswith(SECONDS):
        return seconds(float(str(value)))
    return length(float(str(value))) if name == "bytes" else str(value)

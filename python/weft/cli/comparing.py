"""`weft compare`."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import outputs, teaching

if TYPE_CHECKING:
    import polars as pl

_EXAMPLES = """
weft compare ipsc860 ncube6400  # two machines of the catalogue
weft compare here.csv here.toml  # what was measured and what the fitted machine says
weft compare here.csv ipsc860 ipsc1  # ratios to the first; machines run what the files hold
weft compare monday.csv tuesday.csv --format csv  # two runs, for other tools
"""


class Format(enum.StrEnum):
    """How a comparison is shown."""

    TABLE = "table"
    CSV = "csv"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=teaching.command(_EXAMPLES), no_args_is_help=True)(compare)


def compare(
    subjects: Annotated[list[str], typer.Argument(help="Machines, machine files or files of samples, two or more.")],
    lengths: Annotated[
        str | None, typer.Option("--bytes", help="Lengths, where only machines are compared. Default: 8:8192.")
    ] = None,
    hops: Annotated[
        str | None,
        typer.Option(
            help="Distances, where only machines are compared. Default: those of each machine's nearest nodes."
        ),
    ] = None,
    shown: Annotated[Format, typer.Option("--format", help="How it is shown.")] = Format.TABLE,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the comparison to a .csv file.")] = None,
    force: outputs.Replace = False,
) -> None:
    """Machines and files of samples side by side: seconds of each, and ratios to the first.

    A machine runs, in virtual time, the benchmarks that the files of samples hold; without files, echo. Where no
    distance is told, it is that of the machine's nearest nodes.
    """
    from weft.files import deliver
    from weft.model import compare as side_by_side
    from weft.study.subjects import tables

    outputs.check(output, (".csv",), force=force)
    names, samples, notes = tables(subjects, lengths, hops)
    joined = side_by_side(*samples, labels=names)
    if output is not None:
        deliver(joined.write_csv().encode(), output)
    if shown is Format.CSV:
        typer.echo(joined.write_csv(), nl=False)
    else:
        _show(joined)
    for note in notes:
        typer.echo(note, err=True)


def _show(joined: pl.DataFrame) -> None:
    from rich import box
    from rich.table import Table

    from weft.cli.printing import show

    columns = [name for name in joined.columns if not name.startswith(("ratio_low ", "ratio_high "))]
    columns = [name for name in columns if joined[name].is_not_null().any()]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        kind, _, machine = name.partition(" ")
        heading = machine if kind == "seconds" else f"÷ {_first(joined)}" if kind == "ratio" else name
        table.add_column(heading, justify="left" if name in ("benchmark", "algorithm") else "right")
    for row in joined.select(columns).iter_rows(named=True):
        table.add_row(*(_cell(name, value) for name, value in row.items()))
    show(table)


def _first(joined: pl.DataFrame) -> str:
    """The machine that the ratios refer to."""
    return next(name for name in joined.columns if name.startswith("seconds ")).removeprefix("seconds ")


def _cell(name: str, value: object) -> str:
    from weft.units import digits, length, seconds

    if value is None:
        return ""
    if name.startswith("seconds "):
        return seconds(float(str(value)))
    if name.startswith("ratio "):
        return f"{digits(float(str(value)))}×"
    return length(float(str(value))) if name == "bytes" else str(value)

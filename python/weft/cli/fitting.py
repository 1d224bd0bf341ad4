"""`weft fit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import outputs, teaching

if TYPE_CHECKING:
    from weft.model import Fit
    from weft.model.loggp import LogGP

_EXAMPLES = """
weft fit here.csv  # startup, byte time and where the protocol changes, with intervals
weft fit here.csv -o here.toml  # the same as a machine file, to simulate and compare
weft fit here.csv --format json  # a row a piece, for other tools; or csv
weft fit all.csv --machine ipsc860 --source published  # one machine of a table with several
weft fit here.csv --benchmark allreduce  # what any benchmark's time is made of: terms of ranks and length
weft fit here.csv --benchmark allreduce -o allreduce.json  # the same as a file, to predict from
weft fit allreduce.json --ranks 48,96 --bytes 8:1M  # times there with intervals; -o FILE.csv writes them as samples
"""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=teaching.command(_EXAMPLES, long=True), no_args_is_help=True)(fit)


def fit(
    file: Annotated[Path, typer.Argument(help="Samples, a .csv or .parquet file; or models that fit wrote, .json.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write a machine file (.toml); of another benchmark the models (.json), or what they predict (.csv, "
            ".parquet).",
        ),
    ] = None,
    force: outputs.Replace = False,
    machine: Annotated[str | None, typer.Option(help="The machine to fit, if the file has several.")] = None,
    source: Annotated[
        str | None, typer.Option(help="measured, simulated, predicted or published, if the file has several.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name in the machine file. Default: the file's own name.")] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(help="Fit an empirical model of this benchmark. Default: echo, or the only one in the file."),
    ] = None,
    ranks: Annotated[
        str | None,
        typer.Option(
            help="Predict the benchmark on so many ranks (2:64 doubles). Neighbours, or bytes of background messages, "
            "where the benchmark was measured with several of those."
        ),
    ] = None,
    bytes: Annotated[str | None, typer.Option(help="Predict the benchmark at these lengths.")] = None,
    shown: outputs.Shown = outputs.Format.TABLE,
    most_pieces: Annotated[int, typer.Option(min=1, help="Maximum number of pieces of the curve.")] = 4,
    tolerance: Annotated[
        float,
        typer.Option(
            help="Relative error at any length that is good enough, such as 0.1: the fewest pieces within it. "
            "Default: as many as the samples tell apart."
        ),
    ] = 0.0,
) -> None:
    """Fit the cost of messages: startup and byte time, in as many pieces as the protocol has, and the cost of a hop.

    Of other benchmarks it fits a sum of terms of ranks and length, as few as predict best what was left out, in pieces
    of length. If the samples cannot determine a figure, the command refuses and explains why. It writes no machine file
    whose startup may be 0.
    """
    from weft import model, samples
    from weft._core import UsageError
    from weft.cli import fitting_benchmarks
    from weft.files import deliver
    from weft.launch.ranges import numbers

    counts, lengths = numbers(ranks, "ranks", "double", lowest=1), numbers(bytes, "bytes", "double")
    is_prediction = ranks is not None or bytes is not None
    is_of_models = benchmark is not None or is_prediction or file.suffix.lower() == ".json"
    outputs.check(output, _suffixes(is_of_models, is_prediction, output), force=force)
    models = fitting_benchmarks.load(file, benchmark, machine, source, most_pieces, is_asked=is_of_models)
    if models is not None:
        if output is not None and output.suffix == ".toml":
            raise UsageError(
                f"{output}: a machine file is fitted to echo, and {file} has {models.models[0].benchmark}; measure "
                "echo, or name a .json file for the models"
            )
        fitting_benchmarks.fit_and_show(
            models, counts, lengths, output, shown, is_prediction=is_prediction, force=force
        )
        return
    if output is not None and output.suffix == ".json":
        raise UsageError(f"{output}: echo has a machine file; name a .toml file, or choose --benchmark echo for models")
    fitted = model.fit(samples.read(file, nonempty=True), machine, source, most_pieces=most_pieces, tolerance=tolerance)
    if outputs.show_plainly(fitted.table(), shown):
        for note in fitted.notes:
            outputs.note(f"note: {note}")
    else:
        show(fitted)
    if output is not None:
        _refuse_unknown(fitted)
        deliver(fitted.to_machine(name or output.stem, file.name).encode(), output)
        outputs.wrote(f"machine file: {output}")


def _suffixes(is_of_models: bool, is_prediction: bool, output: Path | None) -> tuple[str, ...]:
    """What an output may end with; where the file decides what is fitted, its samples do later."""
    if is_prediction:
        return (".csv", ".parquet")
    if is_of_models:
        return (".json",)
    return (".json",) if output is not None and output.suffix == ".json" else (".toml",)


MAX_HALF_WIDTH = 0.5
"""Half of the interval of a startup, relative to it, beyond which no machine file is written."""


def _refuse_unknown(fitted: Fit) -> None:
    """Stop before a machine file says what nobody knows: what is simulated on it would rest on noise."""
    from weft import model, units

    startup = fitted.startup
    if startup.low <= 0.0 and startup.high < float("inf"):
        raise model.FitError(
            f"the startup of {fitted.machine}, {units.seconds(startup.value)}, cannot be told from 0 (it is below "
            f"{units.seconds(startup.high)}), so no machine file was written; measure more short messages and more "
            "launches: weft measure echo --bytes 0:1K -o FILE --resume"
        )
    if startup.high - startup.low > 2.0 * MAX_HALF_WIDTH * startup.value and startup.high < float("inf"):
        raise model.FitError(
            f"the startup of {fitted.machine} is anything from {units.seconds(startup.low)} to "
            f"{units.seconds(startup.high)}, so no machine file was written; measure more launches: weft measure echo "
            "--bytes 0:1K -o FILE --resume"
        )
    if fitted.byte_time.value == 0.0:
        raise model.FitError(
            f"the byte time of {fitted.machine} cannot be told from 0, so no machine file was written: long messages "
            "would cost nothing on it; measure longer ones: weft measure echo --bytes 0:1M -o FILE --resume"
        )


def show(fitted: Fit) -> None:
    """The pieces with intervals, the residuals in one line, and what could not be determined."""
    from rich import box
    from rich.table import Table

    from weft import units
    from weft.cli.printing import show as show_whole

    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, title=f"{fitted.machine} ({fitted.source})", title_justify="left"
    )
    table.add_column("benchmark")
    for heading in ("lengths", "startup", "byte time", "rate", "hop", "half the rate at"):
        table.add_column(heading, justify="right")
    for row in fitted.table().iter_rows(named=True):
        table.add_row(
            row["benchmark"],
            f"{units.length(row['first'])} – {units.length(row['last'])}",
            _with_interval(row, "startup", units.seconds),
            _with_interval(row, "byte_time", lambda value: f"{units.seconds(value)}/B"),
            units.rate(1.0 / row["byte_time"]) if row["byte_time"] else "–",
            units.seconds(row["hop_time"]),
            units.length(row["half_bandwidth"]),
        )
    show_whole(table)
    errors = fitted.residuals["error"].abs()
    worst = fitted.residuals.row(int(errors.arg_max() or 0), named=True)
    show_whole(
        f"errors of the fit: median {units.share(float(errors.median() or 0))}, "  # type: ignore[arg-type]
        f"worst {units.share(abs(worst['error']))} ({worst['benchmark']}, {units.length(worst['bytes'])})"
    )
    if fitted.loggp is not None:
        show_whole(loggp_words(fitted.loggp))
    for note in fitted.notes:
        show_whole(f"[dim]note:[/] {note}")


def loggp_words(known: LogGP) -> str:
    """The parameters of LogGP in one line.

    >>> from weft.model.curve import Estimate
    >>> from weft.model.loggp import LogGP
    >>> one = Estimate(1e-6, 0.9e-6, 1.1e-6)
    >>> loggp_words(LogGP(one, one, one, None, Estimate(1e-9, 1e-9, 1e-9), 8))
    'LogGP with 8 B: o_s 1.00 µs ±10%, o_r 1.00 µs ±10%, L 1.00 µs ±10%, G 1.00 ns/B ±0%'
    """
    from weft import units

    figures = [
        ("o_s", known.send_overhead, ""), ("o_r", known.receive_overhead, ""), ("L", known.latency, ""),
        ("g", known.gap, ""), ("G", known.byte_gap, "/B"),
    ]  # fmt: skip
    said = [
        f"{name} {units.seconds(one.value)}{unit} ±{one.half_width:.0%}"
        for name, one, unit in figures
        if one is not None
    ]
    return f"LogGP with {units.length(known.bytes)}: {', '.join(said)}"


def _with_interval(row: dict[str, float | None], name: str, shown: object) -> str:
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    assert callable(shown)
    if value is None or low is None or high is None:
        return "–"
    half = (high - low) / 2.0 / value if value else float("inf")
    return f"{shown(value)} ±{half:.0%}" if half < 10 else f"{shown(value)} (≤ {shown(high)})"

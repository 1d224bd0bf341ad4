"""`weft fit` of benchmarks other than echo: empirical models, and what they predict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli import outputs

if TYPE_CHECKING:
    import polars as pl

    from weft.model import BenchmarkFit


def load(
    file: Path, benchmark: str | None, machine: str | None, source: str | None, most_pieces: int, *, is_asked: bool
) -> BenchmarkFit | None:
    """The models in a file, or those of its samples; none where its samples are of echo and nobody asked for models."""
    from weft import model, samples

    if file.suffix.lower() == ".json":
        models = model.read_models(file)
        _refuse_others(file, models, benchmark=benchmark, machine=machine, source=source)
        return models
    table = samples.read(file, nonempty=True)
    names = table["benchmark"].unique(maintain_order=True).to_list()
    if benchmark is None:
        if "echo" in names and not is_asked:
            return None
        if len(names) != 1:
            raise model.FitError(
                f"{file}: the samples are of {', '.join(names)}; choose one with --benchmark, or measure echo to fit "
                "what messages cost"
            )
        benchmark = names[0]
    return model.fit_benchmark(table, benchmark, machine, source, most_pieces=most_pieces)


def _refuse_others(file: Path, fitted: BenchmarkFit, **wanted: str | None) -> None:
    """Refuse another benchmark, machine or source than that of the models in a file."""
    from weft._core import UsageError

    for name, value in wanted.items():
        known = sorted({str(getattr(one, name)) for one in fitted.models})
        if value is not None and known != [value]:
            raise UsageError(f"--{name} {value}: the models of {file} are of {', '.join(known)}")


def fit_and_show(
    fitted: BenchmarkFit,
    counts: Sequence[int],
    lengths: Sequence[int],
    output: Path | None,
    shown: outputs.Format,
    *,
    is_prediction: bool,
    force: bool,
) -> None:
    """Print models or predictions, and write them: models as JSON, predictions as samples."""
    from weft import model, samples

    rows = fitted.predict(counts, lengths) if is_prediction else fitted.table()
    if outputs.show_plainly(rows, shown):
        for note in fitted.notes:
            outputs.note(f"note: {note}")
    elif is_prediction:
        _show_predictions(fitted, rows)
    else:
        _show_models(fitted, rows)
    if output is None:
        return
    if output.suffix == ".json":
        model.write_models(fitted, output, force=force)
        outputs.wrote(f"models: {output}")
    else:
        samples.write(rows, output, force=force)
        outputs.wrote(f"predictions: {output}")


def _show_models(fitted: BenchmarkFit, rows: pl.DataFrame) -> None:
    from rich import box
    from rich.table import Table

    from weft import units
    from weft.cli.printing import show

    first = fitted.models[0]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"{first.machine} ({first.source})", title_justify="left")
    for heading in ("benchmark", "setting", "lengths", "time (n: bytes)", "points", "error unseen"):
        table.add_column(heading, justify="right" if heading in ("lengths", "points", "error unseen") else "left")
    for row in rows.iter_rows(named=True):
        ends = f"{units.length(row['first'])} – {units.length(row['last'])}"
        cells = (row["benchmark"], row["setting"] or "–", ends, row["formula"], str(row["points"]))
        table.add_row(*cells, units.share(row["error"]))
    show(table)
    _show_symbols(fitted)
    _show_notes(fitted)


def _show_symbols(fitted: BenchmarkFit) -> None:
    from weft.cli.printing import show
    from weft.model.terms import SYMBOLS

    counts = dict.fromkeys(model.count for model in fitted.models)
    symbols = ", ".join(f"{SYMBOLS[count]}: {count}" for count in counts)
    show(f"[dim]{symbols}; error unseen: mean at points left out[/]")


def _show_predictions(fitted: BenchmarkFit, rows: pl.DataFrame) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from weft import units
    from weft.cli.printing import show

    first = fitted.models[0]
    count = first.count
    settings = [name for name in ("algorithm", *first.setting) if name in rows.columns]
    settings = list(dict.fromkeys(settings))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"{first.machine} (predicted)", title_justify="left")
    for heading in ("benchmark", *settings):
        table.add_column(heading)
    covered = min(model.covers for model in fitted.models)
    for heading in (count, "length", "time", f"new median, {covered:.0%}"):
        table.add_column(heading, justify="right")
    table.add_column("note")
    for row in rows.iter_rows(named=True):
        ends = f"{units.seconds(row['seconds_low'])} – {units.seconds(row['seconds_high'])}"
        words = [escape(str(row[name])) for name in ("benchmark", *settings)]
        figures = str(row[count]), units.length(row["bytes"]), units.seconds(row["seconds"]), ends
        table.add_row(*words, *figures, escape(row["note"]))
    show(table)
    _show_notes(fitted)


def _show_notes(fitted: BenchmarkFit) -> None:
    from rich.markup import escape

    from weft.cli.printing import show

    for note in fitted.notes:
        show(f"[dim]note:[/] {escape(note)}")

"""Samples on standard output."""

from __future__ import annotations

import sys

import polars as pl
from rich import box
from rich.table import Table
from rich.text import Text

from weft import samples, units
from weft._core import UsageError
from weft.cli.printing import show

_SHARES = {"slowdown": "loss", "overlap": "overlap"}
"""Columns of shares and their headings, where there are any."""


def show_samples(table: pl.DataFrame) -> None:
    """One line a point: median over launches, half-width of its interval where there are several, rate."""
    summary = samples.summarise(table)
    several = summary.select("source", "machine").n_unique() > 1
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    optional = [name for name in summary.columns if name in samples.PARAMETERS and name not in _ALWAYS]
    optional = [name for name in optional if summary[name].is_not_null().any()]
    shares = {name: heading for name, heading in _SHARES.items() if name in summary.columns}
    shares = {name: heading for name, heading in shares.items() if summary[name].is_not_null().any()}
    measured = bool((summary["launches"] > 1).any())
    for name in [*(("source", "machine") if several else ()), "benchmark"]:
        shown.add_column(name)
    for name in optional:
        shown.add_column(name, justify="left" if summary.schema[name] == pl.String else "right")
    known = (samples.coverage_words(summary), "launches") if measured else ()
    for name in ("one operation", *known, "rate", *shares.values()):
        shown.add_column(name, justify="right")
    for row in summary.iter_rows(named=True):
        cells = [row["source"], row["machine"]] if several else []
        cells += [row["benchmark"], *(_cell(name, row[name]) for name in optional), units.seconds(row["seconds"])]
        if measured:
            cells += [_half_width(row), str(row["launches"])]
        cells.append(units.work_rate(row.get("rate"), row.get("rate_unit")))
        shown.add_row(*cells, *(units.share(row[name]) for name in shares))
    show(shown)


def show_table(table: pl.DataFrame) -> None:
    """Samples as their kind is best read."""
    if "pshift_elapsed_s" in table.columns:
        show_shifts(table)
    elif "cm_s" in table.columns:
        show_primitives(table)
    else:
        show_samples(table)


def _summarised_with(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """The summary of every point, in the table's order, and beside it the median of a column over launches."""
    keys = [name for name in samples.PARAMETERS if name in table.columns]
    medians = table.group_by(keys, maintain_order=True).agg(pl.col(column).median())
    return medians.join(samples.summarise(table), on=keys, how="left", nulls_equal=True, maintain_order="left")


def show_primitives(table: pl.DataFrame) -> None:
    """One line an operation: what the front end sees, and what the sequencer executes; medians over launches."""
    summary = _summarised_with(table, "cm_s")
    several = summary.select("source", "machine").n_unique() > 1
    measured = bool((summary["launches"] > 1).any())
    left = [*(("source", "machine") if several else ()), "group", "operation"]
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in (*left, "VP ratio", "real", *((samples.coverage_words(summary), "launches") if measured else ()), "CM"):
        shown.add_column(name, justify="left" if name in left else "right")
    for row in summary.iter_rows(named=True):
        cells = [row["source"], row["machine"]] if several else []
        cells += [row["benchmark"], row["variant"], f"{row['vp_ratio']:g}", units.seconds(row["seconds"])]
        cells += [_half_width(row), str(row["launches"])] if measured else []
        shown.add_row(*cells, units.seconds(row["cm_s"]))
    show(shown)


def show_shifts(table: pl.DataFrame) -> None:
    """One line an array, as tables 1 to 4 of George 1994: single calls, planned shifts, what planning gains."""
    if "pshift_cm_s" not in table.columns:
        _show_measured_shifts(table)
        return
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("array", "by", "CSHIFT elapsed", "PSHIFT elapsed", "gain", "CSHIFT CM", "PSHIFT CM", "gain"):
        shown.add_column(name, justify="left" if name == "array" else "right")
    left = 0
    for row in table.iter_rows(named=True):
        cells = ["x".join([str(row["extent"])] * row["axes"]), f"±{row['distance']:g}"]
        for kind in ("elapsed", "cm"):
            single, planned = row[f"cshift_{kind}_s"], row[f"pshift_{kind}_s"]
            cells += [units.seconds(single), units.seconds(planned), f"{single / planned:.1f}"]
        left += row["shifts"] - row["by_exchange"]
        shown.add_row(*cells)
    show(shown)
    if left:
        show(
            Text(f"{left} shifts fall back to the run-time library: beyond twice the subgrid and no power of two of it")
        )


def _show_measured_shifts(table: pl.DataFrame) -> None:
    """The same of this machine, whose calls have one time each: medians over launches, the interval of the planned."""
    summary = _summarised_with(table, "cshift_elapsed_s")
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("array", "by", "CSHIFT", "PSHIFT", samples.coverage_words(summary), "launches", "gain"):
        shown.add_column(name, justify="left" if name == "array" else "right")
    for row in summary.sort("axes", "extent", maintain_order=True).iter_rows(named=True):
        one_by_one, planned = row["cshift_elapsed_s"], row["seconds"]
        shown.add_row(
            row["variant"], f"±{row['distance']:g}", units.seconds(one_by_one), units.seconds(planned),
            _half_width(row), str(row["launches"]), f"{one_by_one / planned:.1f}",
        )  # fmt: skip
    show(shown)


_ALWAYS = ("source", "machine", "benchmark")


def _cell(name: str, value: object) -> str:
    if value is None:
        return ""
    return units.length(float(str(value))) if name in _LENGTHS else str(value)


_LENGTHS = ("bytes", "background_bytes", "file_bytes")


def _half_width(row: dict[str, object]) -> Text:
    """The half-width of the interval as a share of the median; what has not converged stands out."""
    if row["converged"] is None:
        return Text("")
    return Text(f"±{row['half_width']:.1%}", style="yellow" if row["converged"] is False else "")


def write_samples(table: pl.DataFrame, shape: str) -> None:
    """All samples as CSV, as JSON (a list of rows), or as Parquet where standard output is no terminal.

    Raises
    ------
    UsageError
        For Parquet on a terminal.
    """
    ordered = table.select([*samples.REQUIRED, *(name for name in table.columns if name not in samples.REQUIRED)])
    if shape != "parquet":
        sys.stdout.write(ordered.write_csv() if shape == "csv" else f"{ordered.write_json()}\n")
        sys.stdout.flush()
        return
    if sys.stdout.isatty():
        raise UsageError("Parquet is not for terminals: name a file with -o, or redirect standard output")
    ordered.write_parquet(sys.stdout.buffer)
    sys.stdout.buffer.flush()

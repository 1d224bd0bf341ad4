"""Figures 2 to 10 as tables: CM time by word length, pattern, hops and VP ratio."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from weft.data_parallel import Costs, Operation
from weft.papers.reproduction import FITTED, Axes, ReproducedTable, with_error
from weft.papers.wushu1989.here import NOTE, Here, beside
from weft.papers.wushu1989.published import cells, named, operation

FIGURES = tuple(str(number) for number in range(2, 11))
"""Figures that show numbers: figure 1 is a drawing, figure 11 a listing (table 14 counts it)."""

_WORDS = (4, 8, 16, 24, 32, 48, 64)
_VP_RATIOS = (1, 2, 4, 8, 16)
_US = 1e3
_MS = 1e3

Row = tuple[Any, ...]

_TITLES = {
    "2": "Completion time for different word lengths, CM time",
    "3": "Multiple reduction between processors, CM time",
    "4": "Multiple broadcasting between processors, clustering, CM time",
    "5": "Multiple broadcasting between processors, distributing, CM time",
    "6": "Communication through NEWS, every processor, CM time",
    "7": "Integer add for different VP ratios",
    "8": "Reduction (sum) for different VP ratios",
    "9": "Multiple broadcasting (clustering, collisions allowed) for different VP ratios",
    "10": "NEWS multiple fetch (1 hop) for different VP ratios",
}


def figure(number: str, costs: Costs, here: Here | None = None) -> ReproducedTable:
    """One of `FIGURES`; with what was measured here, where that is given."""
    if number == "2":
        return _table_of(number, "bits", _words(costs), (_NO_NUMBERS, "At 32 bits: table 1."), here)
    if number in _PRINTED:
        return _table_of(number, *_drawn(number, costs), (_DRAWN,), here)
    return _table_of(number, "VP ratio", _ratios(number, costs), (_NO_NUMBERS, *_RATIO_NOTES.get(number, ())), here)


def _words(costs: Costs) -> Iterable[Row]:
    for bits in _WORDS:
        for kind in ("add", "multiply"):
            printed = _cell(pl.col("operation") == kind, 1, "cm") if bits == 32 else None
            one = Operation(kind, bits)
            yield bits, kind, printed, costs.time(one).cm * _MS, (one, "cm")


_PRINTED = {"3": (5,), "4": (6, 7, 8), "5": (6, 7, 8), "6": (9, 10)}
"""The tables that figures draw again."""


def _drawn(number: str, costs: Costs) -> tuple[str, list[Row]]:
    from weft.papers.wushu1989.fitting import times

    table = cells().filter(pl.col("table").is_in(list(_PRINTED[number])) & (pl.col("time") == "cm"))
    if number in ("4", "5"):
        table = table.filter(pl.col("pattern") == ("clustering" if number == "4" else "distributing"))
    if number == "6":
        table = table.filter(~pl.col("operation").str.ends_with("single"))
    series = {"3": "pattern", "4": "mode", "5": "mode", "6": "operation"}[number]
    rows = "hops" if number == "6" else "ratio"
    drawn = table.with_columns(pl.Series("ours", times(costs, table))).sort(rows, maintain_order=True)
    measured = [(operation(row), row["time"]) for row in drawn.iter_rows(named=True)]
    entries = zip(drawn.select(rows, series, "ms", "ours").rows(), measured, strict=True)
    return rows, [(*row, which) for row, which in entries]


_SWEPT = {
    "7": Operation("add"),
    "8": Operation("reduce_sum"),
    "9": Operation("multiple_broadcast", pattern="clustering", mode="allowed", ratio=3),
    "10": Operation("news_fetch", hops=1),
}


def _ratios(number: str, costs: Costs) -> Iterable[Row]:
    from dataclasses import replace

    said = dict(named("text-figures").select("quantity", "value").rows())
    for ratio in _VP_RATIOS:
        one = replace(_SWEPT[number], vp_ratio=ratio)
        time = costs.time(one)
        for which, ours in (("real", time.real), ("cm", time.cm)):
            printed = said.get(f"add_real_vp_{ratio}") if number == "7" and which == "real" else None
            yield ratio, which, None if printed is None else printed / _US, ours * _MS, (one, which)


_RATIO_NOTES = {
    "7": (
        "Published: the text's 139 and 191 microseconds at VP ratios 1 and 4. To 4 the front end is not fast enough.",
    ),
    "9": ("Ours at collision ratio 3; the figure does not say at which. The time grows faster than the VP ratio.",),
}


def _cell(where: pl.Expr, table: int, time: str) -> float:
    return float(cells().filter(where & (pl.col("table") == table) & (pl.col("time") == time))["ms"].item())


def _table_of(
    number: str, rows: str, entries: Iterable[Row], notes: tuple[str, ...], here: Here | None
) -> ReproducedTable:
    """Of each row the last entry is what it is the time of: an operation, and whether real or CM time."""
    entries = list(entries)
    schema: dict[str, pl.DataType] = {
        rows: pl.Int64(),
        "series": pl.String(),
        "published": pl.Float64(),
        "ours": pl.Float64(),
    }
    table = pl.DataFrame([row[:-1] for row in entries], schema=schema, orient="row")
    compared = with_error(table.with_columns(pl.lit("ms").alias("unit")), FITTED)
    if here is not None:
        compared = beside(compared, "series", here, [row[-1] for row in entries])
        notes = (*notes, NOTE)
    axes = Axes(rows, "ms", rows, ("series",), *_LOGARITHMIC.get(number, (False, False)))
    return ReproducedTable(
        number, f"{_TITLES[number]}, ms", (rows,), ("series",), compared, notes, "Figure", axes, redraws=True
    )


_LOGARITHMIC = {"3": (True, False), "4": (True, True), "5": (True, True)}
"""Figures with logarithmic axes: of x, of y."""

_DRAWN = "Published where the tables print what the curves were drawn from."
_NO_NUMBERS = "The paper prints a curve without numbers: ours stand alone but where a table or the text has one."

"""How far ours are from what was published: by table and by kind, predictions apart from fits and inputs."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from weft.papers.reproduction import KINDS, ReproducedTable, Reproduction
from weft.papers.uncertainty import greatest, rounding

SCORES: dict[str, pl.DataType] = {
    "paper": pl.String(),
    "of": pl.String(),
    "title": pl.String(),
    "kind": pl.String(),
    "cells": pl.Int64(),
    "median": pl.Float64(),
    "worst": pl.Float64(),
    "worst_at": pl.String(),
    "uncertainty": pl.Float64(),
    "uncertainty_of": pl.String(),
}
"""Columns of `scores`; `median` and `worst` are absolute relative errors, and `uncertainty` is that of the published
figure of the worst cell: what rounding, or other published figures, leave open there, and which of them."""


def scores(reproduction: Reproduction) -> pl.DataFrame:
    """A row for each table and each kind of cell in it that something was published for.

    Figures that draw what tables print are not counted again.

    Returns
    -------
    polars.DataFrame
        The columns of `SCORES`.
    """
    rows = [row for table in reproduction.tables if not table.redraws for row in _of_table(reproduction.paper, table)]
    return pl.DataFrame(rows, schema=SCORES, orient="row")


def _of_table(paper: str, table: ReproducedTable) -> Iterable[tuple[object, ...]]:
    for kind in KINDS:
        cells = table.cells.filter((pl.col("kind") == kind) & pl.col("error").is_not_null())
        if not cells.is_empty():
            yield (paper, table.name, table.title, kind, *_errors(table, cells))


def _errors(table: ReproducedTable, cells: pl.DataFrame) -> tuple[object, ...]:
    size = cells["error"].abs()
    row = int(size.arg_max() or 0)
    worst = cells.row(row, named=True)
    heads = tuple(str(worst[name]) for name in (*table.rows, *table.columns))
    uncertain = greatest(rounding(cells, row), table.uncertainties.get(heads)) or (None, None)
    return len(cells), size.median(), size.max(), ", ".join(heads), *uncertain


def totals(scored: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """One row for each paper and kind, over all of its tables.

    Parameters
    ----------
    scored
        What `scores` says, of one paper or several under one another.
    cells
        Their cells, with `paper`: those of tables that `scores` counts.
    """
    known = cells.filter(pl.col("error").is_not_null() & pl.col("kind").is_in(KINDS))
    size = pl.col("error").abs()
    grouped = known.group_by("paper", "kind").agg(pl.len().alias("cells"), size.median().alias("median"),
                                                  size.max().alias("worst"))  # fmt: skip
    order = scored.select("paper").unique(maintain_order=True).with_row_index("order")
    ranks = {kind: rank for rank, kind in enumerate(KINDS)}
    grouped = grouped.join(order, on="paper").with_columns(pl.col("kind").replace_strict(ranks).alias("rank"))
    return grouped.sort("order", "rank").drop("order", "rank")


def compared(reproduction: Reproduction) -> pl.DataFrame:
    """`paper`, `kind` and `error` of all cells that `scores` counts."""
    parts = [table.cells.select("kind", "error") for table in reproduction.tables if not table.redraws]
    schema = {"kind": pl.String, "error": pl.Float64}
    cells = pl.concat(parts) if parts else pl.DataFrame(schema=schema)
    return cells.select(pl.lit(reproduction.paper).alias("paper"), "kind", "error")


def unscored(reproduction: Reproduction) -> str:
    """Why a reproduction has no errors of its own."""
    if any(table.cells["error"].is_not_null().any() for table in reproduction.tables):
        return "A figure draws what tables print: its errors are counted there."
    return "Nothing was published that ours could be compared with here."

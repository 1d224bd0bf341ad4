"""How far ours are from the published times, fitted and held out."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from weft.papers.george1994 import fitting
from weft.papers.reproduction import SUMMARY, ReproducedTable, summary_row

TITLE = (
    f"The machine file was fitted to the CM times of tables 1 to 4 ({fitting.PARAMETERS} parameters) and to the "
    "elapsed times of the shortest subgrids (2); tables 3 and 4 also show what was predicted before they were known. "
    "Below, also errors of CM times that were left out of the fit."
)


def summary(tables: Sequence[ReproducedTable]) -> tuple[pl.DataFrame, str]:
    """Median and worst relative error by table and kind of time, and of cells left out of the fit.

    Returns
    -------
    tuple
        `of`, `cells`, `median`, `worst` (absolute relative errors) and `worst_at`; and what it shows.
    """
    rows: list[tuple[object, ...]] = []
    for table in tables:
        if table.label == "Figure" or table.number == "text":
            continue
        for kind in ("CM", "elapsed"):
            of_kind = pl.col("quantity").str.ends_with(f" {kind}") & pl.col("error").is_not_null()
            cells = table.cells.filter(of_kind)
            if not cells.is_empty():
                rows.append(summary_row(f"table {table.number}, {kind}", cells, ("quantity", "subgrid")))
    if any(table.label == "Table" and table.number != "text" for table in tables):
        held_out = fitting.left_out().rows()
        rows += [(f"left out: {name}", cells, median, worst, None) for name, cells, median, worst in held_out]
    return pl.DataFrame(rows, schema=SUMMARY, orient="row"), TITLE

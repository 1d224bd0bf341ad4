"""How far ours are from the published times."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from weft.papers.reproduction import SUMMARY, ReproducedTable, summary_row
from weft.papers.wushu1989 import fitting

_HEADS = ("row", "column")


def summary(tables: Sequence[ReproducedTable]) -> tuple[pl.DataFrame, str]:
    """Median and worst relative error over tables 1 to 12, and of ratios that were left out of the router's fit.

    Returns
    -------
    tuple
        `of`, `cells`, `median`, `worst` (absolute relative errors) and `worst_at`; and what it shows.
    """
    parts = {
        table.number: table.cells.filter(pl.col("error").is_not_null()).select(*_HEADS, "error")
        for table in tables
        if table.label == "Table"
    }
    rows: list[tuple[object, ...]] = []
    suite = [cells for number, cells in parts.items() if int(number) <= 12]
    if "5" in parts:
        left = fitting.router_left_out()
        heads = [pl.col("ratio").cast(pl.String).alias("row"), pl.col("pattern").alias("column"), "error"]
        rows.append(summary_row("table 5, each ratio left out of the router's fit", left.select(heads), _HEADS))
    near = ""
    if len(suite) == 12:
        cells = pl.concat(suite)
        rows.append(summary_row("tables 1 to 12 (fitted)", cells, _HEADS))
        size = cells["error"].abs()
        shares = [int((size <= limit).sum()) / len(size) for limit in (0.03, 0.10)]
        near = f" Of tables 1 to 12 {shares[0]:.0%} are within 3%, {shares[1]:.0%} within 10%."
    parameters = len(fitting.figures())
    more = len(fitting.TABLE_14)
    title = (
        f"{parameters - more} figures of the machine file were fitted to tables 1 to 12 and {more} more to table 14, "
        "so "
        f"theirs are errors of the fit; known slips do not count. The measured times of tables 13 and 15 were not "
        "known "
        f"then.{near}"
    )
    return pl.DataFrame(rows, schema=SUMMARY, orient="row"), title

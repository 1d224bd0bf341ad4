"""How far ours are from the published figures, over what the simulator foretells."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from weft.papers.dunigan1991.published import MACHINES
from weft.papers.reproduction import SIMULATED, SUMMARY, ReproducedTable, summary_row


def summary(tables: Sequence[ReproducedTable]) -> pl.DataFrame:
    """Median and worst relative error of what the simulator foretells: rates over 1 and 2 hops by machine and over all;
    other tables by table. Inputs of the machine files do not count, and figures do not: they draw the tables again.

    Returns
    -------
    polars.DataFrame
        `of` (a machine's title, `all machines` or a table), `cells` (how many), `median` and `worst` (absolute relative
        errors) and `worst_at`.
    """
    rates = [table for table in tables if table.number.startswith("A")]
    rows = []
    compared = [_near(table.cells) for table in rates]
    for table, cells in zip(rates, compared, strict=True):
        rows.append(_line(MACHINES[table.cells["machine"][0]], cells))
    if len(compared) > 1:
        rows.append(_line("all machines", pl.concat(compared)))
    for table in tables:
        if table.label == "Figure" or table.number.startswith("A"):
            continue
        cells = table.cells.filter(pl.col("kind") == SIMULATED).with_columns(pl.col("quantity").alias("cell"))
        if not cells.is_empty():
            rows.append(_line("the text" if table.number == "text" else f"table {table.number}", cells))
            compared.append(cells)
    if len(rows) > 1:
        shared = ["machine", "cell", "error"]
        rows.append(_line("all of these", pl.concat([cells.select(shared) for cells in compared])))
    return pl.DataFrame(rows, schema=SUMMARY, orient="row")


def _near(cells: pl.DataFrame) -> pl.DataFrame:
    """The cells over 1 and 2 hops."""
    near = cells.filter(pl.col("path").is_in(["1 hop", "2 hops"]))
    return near.with_columns(pl.concat_str("bytes", pl.lit(" bytes, "), "path").alias("cell"))


def _line(name: str, cells: pl.DataFrame) -> tuple[object, ...]:
    titled = cells.with_columns(pl.col("machine").replace(MACHINES))
    return summary_row(name, titled, ("machine", "cell"))

"""Data rates of appendix A by machine: what the machine files were fitted to, and what was predicted blind."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from weft.papers.dunigan1991.published import MACHINES
from weft.papers.reproduction import BLIND, SUMMARY, ReproducedTable, summary_row

_NEAR = ["1 hop", "2 hops"]


def summary(tables: Sequence[ReproducedTable]) -> pl.DataFrame:
    """Median and worst relative error of the rates between nodes: over 1 and 2 hops, and over 3 to 6, by machine.

    Returns
    -------
    polars.DataFrame
        `of` (a machine's title, or `all machines`, and the hops), `cells` (how many), `median` and `worst` (absolute
        relative errors) and `worst_at`.
    """
    rates = [table.cells for table in tables if table.number.startswith("A")]
    parts = (
        ("1 and 2 hops (fitted)", pl.col("path").is_in(_NEAR)), ("3 to 6 hops (blind)", pl.col("kind") == BLIND),
    )  # fmt: skip
    rows = []
    for what, wanted in parts:
        chosen = [_named(cells.filter(wanted)) for cells in rates]
        rows += [_line(f"{MACHINES[cells['machine'][0]]}, {what}", cells) for cells in chosen]
        if len(chosen) > 1:
            rows.append(_line(f"all machines, {what}", pl.concat(chosen)))
    return pl.DataFrame(rows, schema=SUMMARY, orient="row")


def _named(cells: pl.DataFrame) -> pl.DataFrame:
    """Rates with what the summary calls each."""
    return cells.with_columns(pl.concat_str("bytes", pl.lit(" bytes, "), "path").alias("cell"))


def _line(name: str, cells: pl.DataFrame) -> tuple[object, ...]:
    titled = cells.with_columns(pl.col("machine").replace(MACHINES))
    return summary_row(name, titled, ("machine", "cell"))

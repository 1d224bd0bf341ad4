"""Gates: how far each table may be from what was published before a change has made it worse.

`gates.csv` has one for every table and kind of cell, at what is true today, with the reason for its width. It also has
how many cells are compared, so that no gate is met because cells are left out.
"""

from __future__ import annotations

from importlib.resources import files

import polars as pl

_SCHEMA: dict[str, pl.DataType] = {
    "paper": pl.String(),
    "of": pl.String(),
    "kind": pl.String(),
    "gate_cells": pl.Int64(),
    "gate_median": pl.Float64(),
    "gate_worst": pl.Float64(),
    "reason": pl.String(),
}


def gates() -> pl.DataFrame:
    """All gates.

    Returns
    -------
    polars.DataFrame
        `paper`, `of` and `kind` as `scores` has them, `gate_cells` (at least so many are compared), `gate_median` and
        `gate_worst` (absolute relative errors are at most these) and `reason`.
    """
    return pl.read_csv(files("weft.papers").joinpath("gates.csv").read_bytes(), schema=_SCHEMA)


def judged(scored: pl.DataFrame) -> pl.DataFrame:
    """What `scores` says, each row with its gate and whether it is `met`; a row without a gate has not met one."""
    rows = scored.join(gates(), on=["paper", "of", "kind"], how="left", maintain_order="left")
    within = (pl.col("cells") >= pl.col("gate_cells")) & (pl.col("median") <= pl.col("gate_median"))
    return rows.with_columns((within & (pl.col("worst") <= pl.col("gate_worst"))).fill_null(False).alias("met"))

"""The paper's operations as measured on this machine: columns of their own beside the modelled CM-2.

This machine has no number of processors that virtual ones could share; at a VP ratio of 1 it has as many virtual
processors as the CM-2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import polars as pl

from weft.data_parallel import Operation
from weft.papers.reproduction import MEASURED

COLUMN = " here"
"""What is added to the head of a column."""

NOTE = (
    "Here: measured on this machine with as many virtual processors. Its cm is the time of the work on the arrays "
    "without the call around it; nothing is compared with it."
)

_MS = 1e3


class Here(Protocol):
    """What operations take on this machine."""

    def seconds(self, operation: Operation, time: str) -> float | None:
        """Real time, or in the place of CM time that of the work alone; None where it was not measured."""


def beside(cells: pl.DataFrame, head: str, here: Here, timed: Iterable[tuple[Operation, str]]) -> pl.DataFrame:
    """`cells` with a further cell for each that was measured, in a column (the values of `head`) of its own.

    `timed` has the operation and the time, `real` or `cm`, of each cell.
    """
    seconds = [here.seconds(*one) for one in timed]
    ours = cells.with_columns(
        pl.Series("ours", [None if one is None else one * _MS for one in seconds], pl.Float64()),
        pl.lit(None, pl.Float64()).alias("published"),
        pl.lit(None, pl.Float64()).alias("error"),
        pl.concat_str(pl.col(head), pl.lit(COLUMN)).alias(head),
        pl.lit(MEASURED).alias("kind"),
    )
    return pl.concat([cells, ours.filter(pl.col("ours").is_not_null())], how="vertical_relaxed")

"""The calls of George, Brickner and Johnsson 1994 on this machine, as `weft measure pshift` timed them."""

from __future__ import annotations

import polars as pl

from weft._core import UsageError
from weft.launch.protocol import Progress, Protocol
from weft.study.measuring import measure

_KEYS = ("axes", "extent")
_TIMES = ("cshift_elapsed_s", "pshift_elapsed_s")


class ShiftsHere:
    """Measured times of shifts by one along every axis, both ways, of elements of 8 bytes.

    Parameters
    ----------
    samples
        What `weft measure pshift` wrote.

    Raises
    ------
    UsageError
        If there is no measured sample of such shifts.
    """

    def __init__(self, samples: pl.DataFrame) -> None:
        wanted = {"benchmark": "pshift", "source": "measured", "distance": 1, "precision": "double"}
        lacking = [name for name in (*wanted, *_KEYS, *_TIMES) if name not in samples.columns]
        measured = samples.head(0) if lacking else samples.filter(**wanted)
        if measured.is_empty():
            raise UsageError(
                "the sample file has no measured shifts of george-1994; make one with weft measure pshift -o FILE"
            )
        # A sample is the median of a launch: of launches the median again.
        medians = measured.group_by(_KEYS).agg(pl.col(name).median() for name in _TIMES)
        self._times = {row[:2]: dict(zip(("CSHIFT", "PSHIFT"), row[2:], strict=True)) for row in medians.rows()}

    def seconds(self, rank: int, length: int, call: str) -> float | None:
        """The time of a call, `CSHIFT` or `PSHIFT`, of an array of a rank; None where it was not measured."""
        return self._times.get((rank, length), {}).get(call)


def measured_now(progress: Progress | None = None) -> pl.DataFrame:
    """Samples of tables 1 to 4, measured on this machine: half a minute."""
    return measure("pshift", protocol=Protocol(launches=3, budget=30.0), progress=progress)

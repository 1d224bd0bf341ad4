"""Operations of Wu and Shu 1989 on this machine, as `weft measure` timed them.

Real time is that of the program's call; in the place of CM time stands that of the work on the arrays alone
(`weft.pvar.timing`).
"""

from __future__ import annotations

import polars as pl

from weft._core import UsageError
from weft.data_parallel import Operation
from weft.launch import primitives
from weft.launch.protocol import Progress, Protocol
from weft.study.measuring import measure

_KEYS = ("operation", "bits", "vp_ratio", "pattern", "ratio", "mode", "hops", "extent")


class OperationsHere:
    """Measured times of operations.

    Parameters
    ----------
    samples
        What `weft measure` wrote of the groups `weft.launch.primitives.GROUPS`, or of some of them.

    Raises
    ------
    UsageError
        If there is no measured sample of any of the groups.
    """

    def __init__(self, samples: pl.DataFrame) -> None:
        lacking = [name for name in ("benchmark", "real_s", "cm_s", *_KEYS) if name not in samples.columns]
        measured = samples.head(0) if lacking else samples.filter(pl.col("benchmark").is_in(list(primitives.GROUPS)))
        measured = measured.filter(pl.col("source") == "measured")
        if measured.is_empty():
            raise UsageError(
                "the sample file has no measured operation of wu-shu-1989; make one with "
                f"weft measure {','.join(primitives.GROUPS)} -o FILE"
            )
        # A sample is the median of a launch: of launches the median again.
        medians = measured.group_by(_KEYS).agg(pl.col("real_s").median(), pl.col("cm_s").median())
        self._times = {row[: len(_KEYS)]: row[len(_KEYS) :] for row in medians.select(*_KEYS, "real_s", "cm_s").rows()}

    def seconds(self, operation: Operation, time: str) -> float | None:
        """The real or CM time of an operation; None where it was not measured."""
        heads = primitives.described("", operation)
        times = self._times.get(tuple(heads[name] for name in _KEYS))
        if times is None:
            return None
        return float(times[0 if time == "real" else 1])


def measured_now(progress: Progress | None = None) -> pl.DataFrame:
    """Samples of all groups, measured on this machine: about a minute."""
    return measure(list(primitives.GROUPS), protocol=Protocol(launches=3, budget=60.0), progress=progress)

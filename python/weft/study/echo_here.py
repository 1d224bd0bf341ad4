"""Messages of Dunigan 1991 on this machine, as `weft measure echo` timed them."""

from __future__ import annotations

import polars as pl

from weft._core import UsageError
from weft.launch.protocol import Progress, Protocol
from weft.papers import dunigan1991
from weft.study.measuring import measure


def echo_here(samples: pl.DataFrame) -> dict[int, float]:
    """The seconds of a message between neighbours by its bytes: medians over launches.

    Raises
    ------
    UsageError
        If there is no measured echo of one of the paper's lengths.
    """
    echoes = samples.filter((pl.col("source") == "measured") & (pl.col("benchmark") == "echo"))
    echoes = echoes.filter((pl.col("hops") == 1) & pl.col("bytes").is_in(dunigan1991.LENGTHS))
    if echoes.is_empty():
        shortest, longest = min(dunigan1991.LENGTHS), max(dunigan1991.LENGTHS)
        raise UsageError(
            f"the sample file has no measured echo of {shortest}, {2 * shortest}, … {longest} bytes; make one with "
            f"weft measure echo --bytes {shortest}:{longest} -o FILE"
        )
    return dict(echoes.group_by("bytes").agg(pl.col("seconds").median()).rows())


def measured_now(progress: Progress | None = None) -> pl.DataFrame:
    """Samples of echo at the lengths of the paper, measured on this machine: some seconds."""
    protocol = Protocol(launches=3, budget=20.0)
    return measure("echo", bytes=tuple(dunigan1991.LENGTHS), protocol=protocol, progress=progress)

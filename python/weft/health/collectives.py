"""Collectives over all nodes: what they took, and how much longer that is than expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from weft import units
from weft._core import Machine
from weft.launch.request import Request
from weft.launch.simulate import simulate
from weft.model import compare

BENCHMARKS = ("barrier", "allreduce")
"""What is measured over all nodes at once: one waits for the slowest node, the other for the slowest link too."""


@dataclass(frozen=True)
class CollectiveTime:
    """What a collective over all nodes took.

    Attributes
    ----------
    benchmark
        Its name.
    bytes
        Its length; None where it has none.
    ranks
        How many took part.
    seconds
        The median over launches, s.
    slowdown
        Time over expected time; None without an expectation.
    low, high
        The ends of the interval of `slowdown`; `slowdown` itself where nothing varies.
    """

    benchmark: str
    bytes: int | None
    ranks: int
    seconds: float
    slowdown: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def name(self) -> str:
        """What messages call it.

        Examples
        --------
        >>> CollectiveTime("allreduce", 8, 4, 1e-5).name
        'allreduce of 8 B over 4 ranks'
        >>> CollectiveTime("barrier", None, 4, 1e-5).name
        'barrier over 4 ranks'
        """
        length = "" if self.bytes is None else f" of {units.length(self.bytes)}"
        return f"{self.benchmark}{length} over {self.ranks} ranks"

    def is_slow(self, threshold: float) -> bool:
        """Whether even the lower end of the interval is above what counts."""
        return self.low is not None and self.low > 1.0 + threshold


def requests(pairs: Request) -> list[Request]:
    """The requests that go with one of all pairs: of the same ranks, lengths and launches."""
    common = {name: value for name, value in pairs.parameters.items() if name != "bytes"}
    return [
        Request(
            benchmark, pairs.ranks, dict(pairs.parameters) if benchmark == "allreduce" else common,
            seed=pairs.seed, passes=pairs.passes,
        )
        for benchmark in BENCHMARKS
    ]  # fmt: skip


def simulated(machine: Machine, ranks: int, lengths: Sequence[int], launches: int, seed: int = 0) -> pl.DataFrame:
    """The collectives on the first nodes of a described machine, launch by launch.

    Parameters
    ----------
    machine
        The machine, with its faults.
    ranks
        How many of its nodes.
    lengths
        Bytes of the collectives that have a length.
    launches
        How often; launch number i has the seed `seed + i + 1`, as the launches of pairs have.
    seed
        Of noise.

    Returns
    -------
    polars.DataFrame
        Samples, whose repetition is the launch.

    Examples
    --------
    >>> import weft
    >>> simulated(weft.machine("ipsc860"), 4, [8, 1024], 2).shape[0]
    6
    """
    tables = [
        simulate(machine, list(BENCHMARKS), seed=seed + launch + 1, ranks=ranks, bytes=list(lengths)).with_columns(
            repetition=pl.lit(launch, pl.Int64)
        )
        for launch in range(launches)
    ]
    return pl.concat([pl.DataFrame(table) for table in tables])


def times(samples: pl.DataFrame, expected: pl.DataFrame | None = None) -> list[CollectiveTime]:
    """What the collectives in a table of samples took, beside an expectation.

    Parameters
    ----------
    samples
        Of one machine; rows of other benchmarks are passed over.
    expected
        Samples of the same collectives where all is as it should be. Rows that are only in one table have no slowdown.

    Returns
    -------
    list
        One for each collective and length, in their order.

    Examples
    --------
    >>> import weft
    >>> machine = weft.machine("ipsc860")
    >>> slow = simulated(machine.with_faults(["node:3=0.5"]), 8, [8], 1)
    >>> [round(each.slowdown, 2) for each in times(slow, simulated(machine, 8, [8], 1))]
    [1.3, 1.44]
    """
    measured = _collectives(samples)
    if measured.is_empty():
        return []
    normal = measured.clear() if expected is None else _collectives(expected)
    if normal.is_empty():
        joined = compare(measured, measured, labels=["expected", "measured"])
        joined = joined.with_columns(pl.lit(None, pl.Float64).alias(name) for name in _RATIOS)
    else:
        joined = compare(normal, measured, labels=["expected", "measured"]).filter(
            pl.col("seconds measured").is_not_null()
        )
    lengths = joined["bytes"].to_list() if "bytes" in joined.columns else [None] * len(joined)
    columns = [joined[name].to_list() for name in ("benchmark", "ranks", "seconds measured", *_RATIOS)]
    all_times = [
        CollectiveTime(benchmark, length, ranks, seconds, *ratio)
        for benchmark, ranks, seconds, *ratio, length in zip(*columns, lengths, strict=True)
    ]
    return sorted(all_times, key=lambda each: (BENCHMARKS.index(each.benchmark), each.ranks, each.bytes or 0))


_RATIOS = ("ratio measured", "ratio_low measured", "ratio_high measured")


def _collectives(samples: pl.DataFrame) -> pl.DataFrame:
    return samples.filter(pl.col("benchmark").is_in(BENCHMARKS))

"""How benchmarks measure: sides in turn, medians with their intervals, ratios within a round, awkward sizes."""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
Call = Callable[[], Any]

CONTROL = "again"
"""What the name of a control ends in: a side that runs twice in a round, whose ratio to itself shows the noise."""


@dataclass(frozen=True)
class Spread:
    """The median of some values, and between what it lies.

    Attributes
    ----------
    interval
        What `low` and `high` are: the 95% interval of the median from order statistics, or the range of the values
        where they are too few for one.
    """

    value: float
    low: float
    high: float
    interval: str
    count: int


def spread(values: Sequence[float], coverage: float = 0.95) -> Spread:
    """The median of values and its nonparametric interval.

    The interval is from order statistics: the median of what the values are drawn from lies between the r-th smallest
    and the r-th largest with the probability 1 - 2 P(X < r), X binomial with n and 1/2 (David and Nagaraja, Order
    Statistics, 2003, section 7.1). Five values or fewer have no 95% interval, and the range is given.
    """
    ordered, n = sorted(values), len(values)
    rank, below = 0, 0.0
    while rank < n // 2 and below + math.comb(n, rank) / 2**n <= (1 - coverage) / 2:
        below += math.comb(n, rank) / 2**n
        rank += 1
    median = statistics.median(ordered)
    if rank == 0:
        return Spread(median, ordered[0], ordered[-1], "range", n)
    return Spread(median, ordered[rank - 1], ordered[n - rank], f"{coverage:.0%}", n)


def interleaved(
    sides: Mapping[str, Callable[[], T]], rounds: int, label: str = "", at_most: Mapping[str, int] | None = None
) -> dict[str, list[T]]:
    """What every side returns in every round; all sides run in each, and who begins changes from round to round.

    Parameters
    ----------
    sides
        By name; each is called once a round and returns what it measured.
    rounds
        How many.
    label
        What standard error calls the rounds; nothing is shown without one.
    at_most
        Rounds of sides that are so slow that fewer tell enough.
    """
    outcomes: dict[str, list[T]] = {name: [] for name in sides}
    names = list(sides)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            if number < (at_most or {}).get(name, rounds):
                outcomes[name].append(sides[name]())
        if label:
            print(f"\r{label}: round {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)
    if label:
        print(file=sys.stderr)
    return outcomes


def with_control(sides: Mapping[str, Callable[[], T]], name: str) -> dict[str, Callable[[], T]]:
    """The sides, with one of them a second time, last: how far its two times are apart is what a ratio may be worth."""
    return {**sides, f"{name}, {CONTROL}": sides[name]}


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """The ratio of two sides round by round, so that what slows the machine slows both."""
    return [mine / other for mine, other in zip(ours, theirs, strict=True)]


def timed(call: Call, calls: int = 1) -> float:
    """The mean seconds of so many calls."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def median_time(call: Call, calls: int) -> float:
    """The median seconds of so many calls, each timed by itself."""
    return statistics.median(timed(call) for _ in range(calls))


def loops(calls: Mapping[str, Call], seconds: float) -> dict[str, Callable[[], float]]:
    """For each call a side that calls it in a loop of about so many seconds, and returns the mean time of a call."""
    return {name: _loop(call, seconds) for name, call in calls.items()}


def _loop(call: Call, seconds: float) -> Callable[[], float]:
    import timeit

    timer = timeit.Timer("call()", globals={"call": call})
    count = max(1, round(seconds / (timer.timeit(20) / 20)))
    return lambda: timer.timeit(count) / count


def awkward(extent: int) -> list[int]:
    """Extents that blocks and vectors do not divide: n-1, n+1, and 2^k+1, the largest of these below n-1."""
    power = 1
    while 2 * power + 1 < extent - 1:
        power *= 2
    return sorted({size for size in (power + 1, extent - 1, extent + 1) if size not in (0, extent)})


def awkward_shapes(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The shapes with every extent awkward in the same way; the extents of the shape are alike."""
    assert len(set(shape)) == 1, shape
    return [(extent,) * len(shape) for extent in awkward(shape[0])]

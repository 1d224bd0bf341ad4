"""At what pace the processor works: others on the same hardware can halve it for seconds, and no clock of ours says so.

Virtual processors share cores, and cores share clock, caches and memory, with what other systems do. The process then
has its processor all the time, and everything takes up to twice as long; computing and the caches that cores share slow
down at different times. So two fixed small pieces of work are timed beside what is measured: where they take longer
than they can, so did the measurement.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

FULL = 1.2
"""A probe of up to so many times the least is one at full pace: they differ by some 10% when nothing else runs, and by
100% when something does."""

FAR = 2 << 20
"""Bytes copied in the memory's part of a probe: more than one core's own caches hold, less than those cores share."""

_ROUNDS, _LOOP, _SUMS = 3, 200, 3

_FAR_ROUNDS, _NEAR_ENOUGH = 8, 1.1
"""After a program of many megabytes the first copies wait for what that has left in the caches to be written back: they
are repeated until one is near the least."""


class Probe(NamedTuple):
    """Seconds of the two parts of a probe.

    Attributes
    ----------
    core
        A loop in Python and sums of an array in the first-level cache, some 7 microseconds.
    memory
        A copy of `FAR` bytes, some 50 microseconds.
    """

    core: float
    memory: float

    def least(self, other: Probe) -> Probe:
        """The lesser of either part."""
        return Probe(*map(min, self, other))

    def most(self, other: Probe) -> Probe:
        """The greater of either part."""
        return Probe(*map(max, self, other))

    def over(self, least: Probe) -> float:
        """How many times the least it took: the part that is slowed down more."""
        return max(mine / theirs for mine, theirs in zip(self, least, strict=True))


class Pace:
    """Probes of the pace."""

    def __init__(self) -> None:
        self._array = np.ones(2048)
        self._sum = np.empty(2048)
        self._from = np.ones(FAR // 8)
        self._to = np.ones(FAR // 8)
        self.least = Probe(float("inf"), float("inf"))
        """The fastest so far."""

    def probe(self) -> Probe:
        """A probe now."""
        # The first turn brings the probe's own code and arrays back into the caches that the measurement had.
        memory = float("inf")
        for _ in range(_FAR_ROUNDS):
            memory = min(memory, _seconds(self._copy))
            if memory <= _NEAR_ENOUGH * self.least.memory:
                break
        taken = Probe(min(_seconds(self._compute) for _ in range(_ROUNDS)), memory)
        self.least = self.least.least(taken)
        return taken

    def _compute(self) -> None:
        array, to = self._array, self._sum
        for _ in range(_LOOP):
            pass
        for _ in range(_SUMS):
            np.add(array, array, to)

    def _copy(self) -> None:
        np.copyto(self._to, self._from)

    def full(self, probe: Probe) -> bool:
        """Whether a probe was one at full pace, as far as is known so far."""
        return probe.over(self.least) <= FULL


def _seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - start) * 1e-9

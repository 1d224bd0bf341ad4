"""At what pace the processor works: others on the same hardware can halve it for seconds, and no clock of ours says so.

Virtual processors share cores, and cores share clock, caches and memory, with what other systems do. The process then
has its processor all the time, and everything takes up to twice as long; computing and the caches that cores share slow
down at different times. So two fixed small pieces of work are timed beside what is measured: where they take longer
than they can, so did the measurement.
"""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FULL = 1.2
"""A probe of up to so many times the usual is one at full pace: they differ by some 10% when nothing else runs, and by
100% when something does."""

FAR = 2 << 20
"""Bytes copied in the memory's part of a probe: more than one core's own caches hold, less than those cores share."""

USUAL = 0.1
"""The share of probes that are as fast as full pace or faster. The fastest of all is an accident: a copy may find its
lines where no other does, or a neighbour is silent for a moment, and all others are 15% and more above it then."""

_ROUNDS, _LOOP, _SUMS = 3, 200, 3

_PAGE = 512
"""Numbers of 64 bits in a page of memory. Reads that are so many apart from a write wait for it."""

_FAR_ROUNDS, _NEAR_ENOUGH = 8, 1.1
"""After a program of many megabytes the first copies wait for what that has left in the caches to be written back: they
are repeated until one is near the usual."""


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

    def over(self, reference: Probe) -> float:
        """How many times the reference it took: the part that is slowed down more."""
        return max(mine / theirs for mine, theirs in zip(self, reference, strict=True))


def usual(probes: Sequence[Probe]) -> Probe:
    """What either part takes at full pace: that a share of `USUAL` of the probes are below."""
    return Probe(*(_usual(sorted(part)) for part in zip(*probes, strict=True)))


def _usual(ascending: Sequence[float]) -> float:
    return ascending[int(USUAL * len(ascending))]


class Pace:
    """Probes of the pace."""

    def __init__(self) -> None:
        # Where an array lies within a page makes a fifth of the time.
        self._array, self._sum = _aligned(2048)
        self._from = np.ones(FAR // 8)
        self._to = np.ones(FAR // 8)
        self._parts: tuple[list[float], list[float]] = [], []
        self.usual = Probe(float("inf"), float("inf"))
        """What a probe takes at full pace, as far as is known so far."""

    def probe(self) -> Probe:
        """A probe now."""
        # The first turn brings the probe's own code and arrays back into the caches that the measurement had.
        memory = float("inf")
        for _ in range(_FAR_ROUNDS):
            memory = min(memory, _seconds(self._copy))
            if memory <= _NEAR_ENOUGH * self.usual.memory:
                break
        taken = Probe(min(_seconds(self._compute) for _ in range(_ROUNDS)), memory)
        self.learn(taken)
        return taken

    def learn(self, probe: Probe) -> None:
        """Counts a probe among those that say what full pace is."""
        for part, seconds in zip(self._parts, probe, strict=True):
            bisect.insort(part, seconds)
        self.usual = Probe(*map(_usual, self._parts))

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
        return probe.over(self.usual) <= FULL


def _aligned(elements: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two arrays of ones that begin at cache lines, half a page apart."""
    memory = np.ones(2 * elements + 3 * _PAGE)
    first = -(memory.ctypes.data // memory.itemsize) % _PAGE
    second = first + elements + _PAGE // 2
    return memory[first : first + elements], memory[second : second + elements]


def _seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - start) * 1e-9

"""At what pace the processor works: others on the same hardware can halve it for seconds, and no clock of ours says so.

Virtual processors share cores, and cores share clock and caches, with what other systems do. The process then has its
processor all the time, and everything takes about twice as long. So a fixed small piece of work is timed beside what is
measured: where it takes longer than it can, so did the measurement.
"""

from __future__ import annotations

import time

import numpy as np

FULL = 1.25
"""A probe of up to so many times the least is one at full pace: they differ by some 10% when nothing else runs, and by
100% when something does."""

_TURNS, _LOOP, _SUMS = 3, 200, 3


class Pace:
    """A probe of the pace: a loop in Python and sums of an array in the first-level cache, some 20 microseconds."""

    def __init__(self) -> None:
        self._array = np.ones(2048)
        self._sum = np.empty(2048)
        self.least = float("inf")
        """Seconds of the fastest probe so far."""

    def probe(self) -> float:
        """Seconds of a probe now."""
        # The first turn brings the probe's own code and array back into the caches that the measurement had.
        taken = min(self._turn() for _ in range(_TURNS))
        self.least = min(self.least, taken)
        return taken

    def _turn(self) -> float:
        array, to = self._array, self._sum
        start = time.perf_counter_ns()
        for _ in range(_LOOP):
            pass
        for _ in range(_SUMS):
            np.add(array, array, to)
        return (time.perf_counter_ns() - start) * 1e-9

    def full(self, probe: float) -> bool:
        """Whether a probe was one at full pace, as far as is known so far."""
        return probe <= FULL * self.least

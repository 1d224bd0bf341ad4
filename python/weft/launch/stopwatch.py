"""Timing calls of Python that take a microsecond or more."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

SECONDS_PER_POINT = 0.02
"""Time for the repetitions of a point, s, where nobody says."""

_BATCH = 20e-6
"""What a sample takes at least, s: a clock reading is then a small part of it."""

_MIN_SAMPLES = 5

_LOOKS = 3
"""Calls by the shortest of which the calls of a sample are chosen."""


def timed(call: Callable[[], Any], seconds: float) -> list[float]:
    """Seconds of a call, sample by sample; a sample is the mean of as many calls as a short time has."""
    clock = time.perf_counter
    call()
    looks = []
    # One look may be at a moment at which something else has the processor.
    for _ in range(_LOOKS):
        start = clock()
        call()
        looks.append(clock() - start)
    repeats = range(max(1, math.ceil(_BATCH / max(min(looks), 1e-9))))
    samples: list[float] = []
    begin = clock()
    while len(samples) < _MIN_SAMPLES or clock() - begin < seconds:
        start = clock()
        for _ in repeats:
            call()
        samples.append((clock() - start) / len(repeats))
    return samples

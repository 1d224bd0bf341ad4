"""How long this machine takes now for what it was calibrated with: its pace drifts from one minute to the next.

Virtual processors share their cores' caches with what other systems do, whose work nothing here shows: neither a clock,
nor the time that is stolen, nor the probes of :mod:`weft.estimation.pace`, which stay in the first-level cache or
stream. The same random programs took 27% longer at the median when they were timed again after twenty minutes, and
those probes 7%. So a calibration keeps what some of its programs took, and these are timed again.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from weft._core import UsageError
from weft.estimation import random_programs
from weft.estimation.pace import Pace
from weft.estimation.random_programs import Timed

REFERENCES = 40
"""Programs that are timed again: one differs from the others' drift by some 20%, the median of so many by 4%."""

SHORT = 2e-3
"""Seconds of a program at most: all of them together take a second or two."""

ROUNDS = 2
"""How often each is timed again, as in a calibration, of which the visit that took less counts too."""


class Reference(NamedTuple):
    """A program of a calibration that can be timed again.

    Attributes
    ----------
    number
        Which random program.
    operations
        How many operations it has.
    seconds
        What they took together.
    """

    number: int
    operations: int
    seconds: float


class Drift(NamedTuple):
    """What this machine takes now, relative to when it was calibrated.

    Attributes
    ----------
    ratio
        How many times as long: the median of the programs.
    low, high
        The 95% interval of that.
    """

    ratio: float
    low: float
    high: float


def references(programs: Mapping[int, Timed]) -> tuple[Reference, ...]:
    """Some short ones of a calibration's programs, by their numbers; sizes are spread evenly over any of them."""
    short = [
        Reference(number, len(one.operations), taken)
        for number, one in sorted(programs.items())
        if 0.0 < (taken := _seconds(one)) <= SHORT
    ]
    return tuple(short[:: max(1, len(short) // REFERENCES)][:REFERENCES])


def time_again(chosen: Sequence[Reference], seed: int, pace: Pace) -> list[float]:
    """Seconds of each program now, visited once.

    Raises
    ------
    UsageError
        If this weft draws other programs by these numbers than the calibration did.
    """
    seconds = []
    for one in chosen:
        timed = random_programs.draw(one.number, seed, pace)
        if len(timed.operations) != one.operations:
            raise UsageError(
                "the programs of this calibration cannot be timed again, since this weft draws others; "
                "weft calibrate measures them anew"
            )
        seconds.append(_seconds(timed))
    return seconds


def drift(chosen: Sequence[Reference], seconds: Sequence[float]) -> Drift:
    """How much longer programs take than they did, the interval by order statistics (a sign test of the median).

    >>> drift([Reference(number, 10, 1e-3) for number in range(5)], [1.1e-3, 1.2e-3, 1.3e-3, 1.2e-3, 1.2e-3]).ratio
    1.2
    """
    ratios = sorted(now / one.seconds for one, now in zip(chosen, seconds, strict=True))
    # So far from the middle are the ranks between which the median is with a probability of 95%.
    beyond = 0.98 * math.sqrt(len(ratios)) / (len(ratios) or 1)
    low, high = np.quantile(ratios, [max(0.0, 0.5 - beyond), min(1.0, 0.5 + beyond)])
    return Drift(round(statistics.median(ratios), 6), float(low), float(high))


def now(chosen: Sequence[Reference], seed: int, again: Callable[..., list[float]] = time_again) -> Drift:
    """The drift since a calibration, measured now: takes some seconds.

    Raises
    ------
    UsageError
        If the calibration has kept no programs, or other ones than this weft draws.
    """
    if not chosen:
        raise UsageError("this calibration has kept no programs that could be timed again; weft calibrate does now")
    pace = Pace()
    rounds = [again(chosen, seed, pace) for _ in range(ROUNDS)]
    return drift(chosen, [min(visits) for visits in zip(*rounds, strict=True)])


def _seconds(program: Timed) -> float:
    return math.fsum(seconds for _, seconds in program.operations)

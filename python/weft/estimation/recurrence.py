"""What a call takes by how many operations ago the program executed the statement last.

The branches that an operation takes on its path through the interpreter, numpy and weft are predicted where the same
statement was executed a few operations ago, and its code and objects are in the nearest caches; of a statement that a
program executes once, between hundreds of others, neither is so. Operations of one name alone do not tell that
(`Work.since`): an addition after many other additions is as far from home as one after sines. Random programs are loops
of some twenty operations. So small ones are timed by themselves and then many of them one after the other, again and
again, each of whose statements comes again after all the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from weft.estimation import random_programs
from weft.estimation.curves import Curve
from weft.estimation.kinds import Kind
from weft.estimation.pace import Pace

TOGETHER = (1, 4, 16, 64)
"""So many programs are run one after the other: from some twenty operations to more than a thousand."""

ELEMENTS = 0.3
"""Operations of which elements are no more than this share are counted; the others say little of calls."""


class Recurrence(NamedTuple):
    """What a call takes, relative to one of a calibration.

    Attributes
    ----------
    distances
        Operations since the statement was executed last, rising.
    factors
        How many times as long a call takes at each.
    """

    distances: tuple[int, ...] = ()
    factors: tuple[float, ...] = ()

    def factor(self, recurs: int) -> float:
        """How many times as long, linear in the distance's logarithm; 1 where nothing is known.

        >>> Recurrence((16, 64), (1.0, 1.4)).factor(32), Recurrence().factor(32)
        (1.2, 1.0)
        """
        if not recurs or not self.distances:
            return 1.0
        return float(np.interp(math.log2(recurs), np.log2(self.distances), self.factors))


def measured(curves: Mapping[str, Curve], programs: int, seed: int) -> Recurrence:
    """Time small random programs, so many at most, alone and together: takes some seconds.

    Parameters
    ----------
    curves
        What the calibration says of each kind of operation, whose share of a call counts.
    programs
        How many there are to be at most.
    seed
        Of the random numbers.
    """
    counts = [count for count in TOGETHER if count <= programs]
    chosen = random_programs.small(range(counts[-1]), seed)
    pace = Pace()
    figures: list[tuple[int, float]] = []
    for count in counts:
        groups = [chosen[at : at + count] for at in range(0, len(chosen), count)]
        timed = [random_programs.together(group, pace) for group in groups]
        distance = round(sum(map(len, timed)) / len(timed))
        figures.append((distance, _ratio([one for of_group in timed for one in of_group], curves)))
    first = figures[0][1]
    # What takes longer when it was executed lately is chance.
    factors = np.maximum.accumulate([ratio / first for _, ratio in figures])
    return Recurrence(tuple(distance for distance, _ in figures), tuple(round(float(one), 4) for one in factors))


def _ratio(operations: Sequence[tuple[Kind, float]], curves: Mapping[str, Curve]) -> float:
    """What calls took over what they take by their curves."""
    taken = predicted = 0.0
    for kind, seconds in operations:
        if kind.name not in curves:
            continue
        whole = curves[kind.name].seconds(kind.work)
        call = curves[kind.name].seconds(kind.work.without_elements())
        if whole - call <= ELEMENTS * whole:
            taken += seconds
            predicted += whole
    return taken / predicted if predicted else 1.0

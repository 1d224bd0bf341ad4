"""Where the protocol changes: the best division of a curve into a few straight pieces."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from weft.model.lines import EXACT, Floats, huber, least_absolute

MAX_PIECES = 4
"""The most pieces of a curve."""

MIN_POINTS = 3
"""The fewest lengths of a piece: two determine a line and leave nothing to check it by."""

BREAKS = 64
"""The most points that are tried as breaks at first: the lines between them grow with the square."""

RESOLUTION = 2e-3
"""Relative error below which a curve counts as described: finer structure is no change of protocol."""


@dataclass(frozen=True)
class Segment:
    """Points `first` to `last` (inclusive) and a line through them: a straight piece before it is refined."""

    first: int
    last: int
    startup: float
    byte_time: float
    cost: float

    def at(self, lengths: Floats) -> Floats:
        """Seconds of messages of so many bytes, by this line."""
        return self.startup + self.byte_time * lengths


def divide(
    lengths: Floats,
    seconds: Floats,
    weights: Floats,
    most: int = MAX_PIECES,
    fewest: int = MIN_POINTS,
    tolerance: float = 0.0,
) -> list[Segment]:
    """Divide points into straight pieces, as few as describe them.

    For each number of pieces dynamic programming over the breaks finds the division with the least sum of weighted
    absolute relative errors. The number of pieces has the least Bayesian information criterion for errors with a
    Laplace distribution, `2 m ln(mean error) + k ln m` with `k` two coefficients a piece and one position a break (G.
    Schwarz, Annals of Statistics 6 (1978) 461). Absolute errors, so that a few outliers neither make a piece nor bend
    one. Of more than `BREAKS` points only as many, evenly spread, are tried as breaks; the best are then moved between
    them.

    With a tolerance the fewest pieces with no point further away than that are taken instead, where there are any.
    Their lines and breaks have the least squares of relative errors, since it is the farthest points that few
    pieces have to do for (beyond the tolerance Huber's loss). Where the time jumps by more than the tolerance, the
    longer piece begins at a power of two if that is good enough: limits of real protocols are round numbers.

    Parameters
    ----------
    lengths, seconds, weights
        Bytes, each once and in ascending order, seconds and weights of the points.
    most
        The most pieces.
    fewest
        The fewest lengths in a piece.
    tolerance
        Relative error that is good enough.

    Returns
    -------
    list of Segment
        In ascending order, together covering all points.
    """
    fewest = min(fewest, len(lengths))
    weights = weights / weights.mean()
    if tolerance > 0.0:
        lines = _squares(lengths, seconds, weights, tolerance)
        for division in _best(lines, len(lengths), most, fewest):
            if _is_within(division, lengths, seconds, tolerance):
                return _rounded(lines, division, lengths, seconds, tolerance, fewest)
    chosen: list[Segment] = []
    lowest = np.inf
    count = len(lengths)
    for division in _best(_absolute(lengths, seconds, weights), count, most, fewest):
        coefficients = 3 * len(division) - 1
        error = max(sum(one.cost for one in division) / count, EXACT) + RESOLUTION
        criterion = 2.0 * count * np.log(error) + coefficients * np.log(count)
        if criterion < lowest:
            chosen, lowest = division, criterion
    return chosen


Lines: TypeAlias = Callable[[int, int], Segment]
"""The line through points from the first number to before the second."""


def _absolute(lengths: Floats, seconds: Floats, weights: Floats) -> Lines:
    @functools.cache
    def segment(start: int, end: int) -> Segment:
        part = slice(start, end)
        return Segment(start, end - 1, *least_absolute(lengths[part], seconds[part], weights[part]))

    return segment


def _squares(lengths: Floats, seconds: Floats, weights: Floats, tolerance: float) -> Lines:
    @functools.cache
    def segment(start: int, end: int) -> Segment:
        n, t, w = lengths[start:end], seconds[start:end], weights[start:end]
        near = np.array(least_absolute(n, t, w)[:2])
        design = np.column_stack([np.ones(len(n)), n])
        (startup, byte_time), _, trust = huber(design, t, w, near, rounds=5, tolerance=tolerance)
        errors = (startup + byte_time * n - t) / t * w
        return Segment(start, end - 1, float(startup), float(byte_time), float(trust @ errors**2))

    return segment


def _is_within(division: list[Segment], lengths: Floats, seconds: Floats, tolerance: float) -> bool:
    """Whether all points of some pieces are within the tolerance of their lines."""
    parts = [(one, slice(one.first, one.last + 1)) for one in division]
    return all((np.abs(one.at(lengths[part]) / seconds[part] - 1.0) <= tolerance).all() for one, part in parts)


def _rounded(
    segment: Lines, division: list[Segment], lengths: Floats, seconds: Floats, tolerance: float, fewest: int
) -> list[Segment]:
    """The division with breaks at which the time jumps moved to the next power of two, where that is good enough."""
    for i in range(1, len(division)):
        before, after = division[i - 1], division[i]
        length = lengths[after.first]
        if abs(after.at(length) - before.at(length)) <= tolerance * after.at(length) or _is_round(length):
            continue
        for index in (after.first - 1, after.first + 1):
            long_enough = index - before.first >= fewest and after.last + 1 - index >= fewest
            if not (long_enough and _is_round(lengths[index])):
                continue
            moved = [segment(before.first, index), segment(index, after.last + 1)]
            if _is_within(moved, lengths, seconds, tolerance):
                division = [*division[: i - 1], *moved, *division[i + 1 :]]
                break
    return division


def _is_round(length: float) -> bool:
    return math.frexp(length)[0] == 0.5


def _best(segment: Lines, count: int, most: int, fewest: int) -> Iterator[list[Segment]]:
    """For 1, 2, … `most` pieces the division of so many points with the least cost."""
    step = -(-count // BREAKS)
    edges = [*range(0, count, step), count]
    for breaks in _divisions(segment, edges, min(most, count // fewest), fewest):
        yield _cut(segment, _moved(segment, breaks, step, fewest) if step > 1 else breaks)


def _cut(segment: Lines, breaks: list[int]) -> list[Segment]:
    return [segment(start, end) for start, end in itertools.pairwise(breaks)]


def _divisions(segment: Lines, edges: list[int], most: int, fewest: int) -> Iterator[list[int]]:
    """For 1, 2, … `most` pieces the breaks among `edges`, ends included, with the least cost."""
    last = edges[-1]
    best = {end: (segment(0, end).cost, [0, end]) for end in edges if end >= fewest}
    yield best[last][1]
    for _ in range(most - 1):
        longer: dict[int, tuple[float, list[int]]] = {}
        for start, (cost, breaks) in best.items():
            for end in edges:
                if end - start < fewest:
                    continue
                total = cost + segment(start, end).cost
                if end not in longer or total < longer[end][0]:
                    longer[end] = (total, [*breaks, end])
        best = longer
        if last not in best:
            return
        yield best[last][1]


def _moved(segment: Lines, breaks: list[int], step: int, fewest: int) -> list[int]:
    """The breaks, each moved by less than `step` to where the two pieces beside it cost least."""
    moved = list(breaks)
    for i in range(1, len(moved) - 1):
        low = max(moved[i] - step + 1, moved[i - 1] + fewest)
        high = min(moved[i] + step - 1, moved[i + 1] - fewest)
        left, right = moved[i - 1], moved[i + 1]
        costs = [segment(left, at).cost + segment(at, right).cost for at in range(low, high + 1)]
        moved[i] = low + int(np.argmin(costs))
    return moved

"""Where the protocol changes: the best division of a curve into a few straight pieces."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from weft.model.lines import EXACT, Floats, least_absolute

MOST_PIECES = 4
"""The most pieces of a curve."""

FEWEST_POINTS = 3
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


def divide(
    lengths: Floats, seconds: Floats, weights: Floats, most: int = MOST_PIECES, fewest: int = FEWEST_POINTS
) -> list[Segment]:
    """Divide points into straight pieces, as few as describe them.

    For each number of pieces dynamic programming over the breaks finds the division with the least sum of weighted
    absolute relative errors. The number of pieces has the least Bayesian information criterion for errors with a
    Laplace distribution, `2 m ln(mean error) + k ln m` with `k` two coefficients a piece and one position a break (G.
    Schwarz, Annals of Statistics 6 (1978) 461). Absolute errors, so that a few outliers neither make a piece nor bend
    one. Of more than `BREAKS` points only as many, evenly spread, are tried as breaks; the best are then moved between
    them.

    Parameters
    ----------
    lengths, seconds, weights
        Bytes, each once and in ascending order, seconds and weights of the points.
    most
        The most pieces.
    fewest
        The fewest lengths in a piece.

    Returns
    -------
    list of Segment
        In ascending order, together covering all points.
    """
    count = len(lengths)
    fewest = min(fewest, count)
    weights = weights / weights.mean()
    known: dict[tuple[int, int], Segment] = {}

    def segment(start: int, end: int) -> Segment:
        """The line through points `start` to before `end`."""
        if (start, end) not in known:
            part = slice(start, end)
            known[start, end] = Segment(start, end - 1, *least_absolute(lengths[part], seconds[part], weights[part]))
        return known[start, end]

    step = -(-count // BREAKS)
    edges = [*range(0, count, step), count]
    chosen: list[Segment] = []
    lowest = np.inf
    for breaks in _divisions(segment, edges, min(most, count // fewest), fewest):
        division = _cut(segment, _moved(segment, breaks, step, fewest) if step > 1 else breaks)
        coefficients = 3 * len(division) - 1
        error = max(sum(one.cost for one in division) / count, EXACT) + RESOLUTION
        criterion = 2.0 * count * np.log(error) + coefficients * np.log(count)
        if criterion < lowest:
            chosen, lowest = division, criterion
    return chosen


def _cut(segment: Callable[[int, int], Segment], breaks: list[int]) -> list[Segment]:
    return [segment(start, end) for start, end in itertools.pairwise(breaks)]


def _divisions(segment: Callable[[int, int], Segment], edges: list[int], most: int, fewest: int) -> Iterator[list[int]]:
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


def _moved(segment: Callable[[int, int], Segment], breaks: list[int], step: int, fewest: int) -> list[int]:
    """The breaks, each moved by less than `step` to where the two pieces beside it cost least."""
    moved = list(breaks)
    for i in range(1, len(moved) - 1):
        low = max(moved[i] - step + 1, moved[i - 1] + fewest)
        high = min(moved[i] + step - 1, moved[i + 1] - fewest)
        left, right = moved[i - 1], moved[i + 1]
        costs = [segment(left, at).cost + segment(at, right).cost for at in range(low, high + 1)]
        moved[i] = low + int(np.argmin(costs))
    return moved

"""How much less a series of dependent values says of its median than independent ones would."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

MAX_CORRELATION = 0.9
"""Largest correlation of neighbours that is taken from a series, however it comes out."""

MAX_DECAY = 0.75
"""Largest share of it that one launch more leaves."""

NO_CORRELATION = 0.05
"""Correlations of neighbours up to this say nothing of how they decay."""


def inflation(values: Floats) -> float:
    """The variance of the number of values above the median, relative to that of independent values; at least 1.

    Neighbours are correlated by r, and those k apart by r d^(k-1), as of AR(1) noise and of AR(1) noise with a value's
    own added: the sum of all is 1 + 2 r / (1 - d). d is the ratio of the second correlation to the first, between that
    and `MAX_DECAY`. Both correlations have their bias to first order taken off, -(1 + 3 r) / n (M. G. Kendall,
    Biometrika 41 (1954) 403). They are taken of signs about the median, which are what its interval rests on, and of
    normal scores of ranks, which say more where noise is normal; the larger one counts. Neither depends on the
    distribution of independent values, however heavy its tails.

    Parameters
    ----------
    values
        In the order in which they were measured.

    Examples
    --------
    >>> inflation(np.array([1.0, 3.0, 2.0, 5.0, 4.0, 1.5, 4.5, 2.5, 3.5, 1.2]))
    1.0
    >>> inflation(np.arange(12.0)) > 2.0
    True
    """
    return mean_inflation([values])


def mean_inflation(series: Sequence[Floats]) -> float:
    """As :func:`inflation`, of several series that are taken to depend alike.

    Their correlations are averaged before anything is made of them. The inflations of single series are too large on
    average, since none is below 1: of 20 independent values it is 1.6, and of 14 such series together 1.1.

    Parameters
    ----------
    series
        Each in the order in which it was measured; those of three values or fewer say nothing.
    """
    correlations = [_correlations(values) for values in series if len(values) > 3]
    if not correlations:
        return 1.0
    signs, scores = np.mean(correlations, axis=0)
    return max(1.0, _summed(*signs), _summed(*scores))


def _correlations(values: Floats) -> tuple[tuple[float, float], tuple[float, float]]:
    """Those of neighbours and of the second next, of signs about the median and of normal scores."""
    count = len(values)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse.ravel()]
    scores = np.interp(ranks, np.arange(1, count + 1), _normal_scores(count))
    return _lagged(np.sign(values - np.median(values))), _lagged(scores)


@functools.cache
def _normal_scores(count: int) -> Floats:
    """Quantiles of the normal distribution at the ranks of so many values (van der Waerden)."""
    return np.array([NormalDist().inv_cdf(rank / (count + 1)) for rank in range(1, count + 1)])


def _lagged(series: Floats) -> tuple[float, float]:
    """The correlations of a series about 0 with itself, one and two values later."""
    count, power = len(series), float(series @ series)
    if power == 0.0:
        return 0.0, 0.0
    first, second = ((count * float(series[lag:] @ series[:-lag]) / power + 1.0) / (count - 3) for lag in (1, 2))
    return first, second


def _summed(first: float, second: float) -> float:
    """1 + 2 times the sum of all correlations, by those of neighbours and of the second next."""
    first, second = (min(max(correlation, 0.0), MAX_CORRELATION) for correlation in (first, second))
    decay = second / first if first > NO_CORRELATION else 0.0
    return 1.0 + 2.0 * first / (1.0 - min(max(decay, first), MAX_DECAY))

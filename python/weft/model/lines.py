"""Robust straight lines with physical coefficients: times that are not negative and do not fall with length."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Floats: TypeAlias = NDArray[np.float64]

HUBER = 1.345
"""Where Huber's loss turns from square to absolute, in standard deviations: 95% efficient for normal errors (P. J.
Huber, E. M. Ronchetti, Robust Statistics, 2nd ed., section 4.5)."""

HUBER_LOSS = 0.8214
"""The mean of Huber's weighted squares of normal errors with the variance 1: E w r^2 with `HUBER`."""

CANDIDATES = 24
"""The most points through which lines are tried: their pairs grow with the square."""

EXACT = 1e-9
"""Relative residuals below this are rounding, not error."""


def least_absolute(lengths: Floats, seconds: Floats, weights: Floats) -> tuple[float, float, float]:
    """The line `startup + byte_time n` with both coefficients >= 0 and the least sum of weighted relative errors.

    A convex piecewise linear cost has a minimum at a vertex: a line through two points, a proportional line through
    one, or a constant through one. All are tried, so the answer is exact, up to `CANDIDATES` points; of more points
    only as many, evenly spread, are tried as those that a line goes through.

    Parameters
    ----------
    lengths, seconds, weights
        Bytes, positive seconds and weights of the points.

    Returns
    -------
    tuple of float
        Startup (s), byte time (s/B) and the cost: the weighted sum of |seconds - line| / seconds.
    """
    through = np.unique(np.linspace(0, len(lengths) - 1, min(len(lengths), CANDIDATES)).round().astype(int))
    n, t = lengths[through], seconds[through]
    i, j = np.triu_indices(len(n), 1)
    apart = n[i] != n[j]
    i, j = i[apart], j[apart]
    slopes = (t[j] - t[i]) / (n[j] - n[i])
    startups = t[i] - slopes * n[i]
    physical = (slopes >= 0.0) & (startups >= 0.0)
    positive = n > 0
    zeros = np.zeros(len(n))
    slopes = np.concatenate([slopes[physical], zeros, t[positive] / n[positive]])
    startups = np.concatenate([startups[physical], t, zeros[positive]])
    errors = np.abs(startups[:, None] + slopes[:, None] * lengths[None, :] - seconds) / seconds
    costs = errors @ weights
    best = int(np.argmin(costs))
    return float(startups[best]), float(slopes[best]), float(costs[best])


def huber(
    design: Floats, seconds: Floats, weights: Floats, start: Floats, rounds: int = 50, tolerance: float = 0.0
) -> tuple[Floats, float, Floats]:
    """Coefficients >= 0 that minimise Huber's loss of the weighted relative errors, by reweighted least squares.

    Parameters
    ----------
    design
        One row a point, one column a coefficient.
    seconds, weights
        Positive seconds and weights (inverse relative standard deviations, up to a factor).
    start
        Robust first coefficients: the scale is estimated from their residuals.
    rounds
        Most reweightings.
    tolerance
        Weighted relative errors up to this count in full, however small most are.

    Returns
    -------
    tuple
        Coefficients, the robust relative standard deviation of a point of weight 1, and each point's robustness weight
        (1 within `HUBER` deviations or the tolerance, less beyond).
    """
    scaled = design * (weights / seconds)[:, None]
    norms = np.linalg.norm(scaled, axis=0)
    norms[norms == 0.0] = 1.0
    scaled = scaled / norms
    coefficients = start
    trust = np.ones(len(seconds))
    scale = deviation((design @ start - seconds) / seconds * weights, design.shape[1])
    for _ in range(rounds):
        residuals = (design @ coefficients - seconds) / seconds * weights
        trust = _trust(residuals, max(HUBER * scale, tolerance, EXACT))
        root = np.sqrt(trust)
        previous = coefficients
        coefficients = optimize.nnls(scaled * root[:, None], root * weights)[0] / norms
        if np.allclose(coefficients, previous, rtol=1e-10, atol=0.0):
            break
    return coefficients, scale, trust


def _trust(residuals: Floats, limit: float) -> Floats:
    """Huber's weight of each residual, for a loss that turns from square to absolute at `limit`."""
    return np.asarray(limit / np.maximum(np.abs(residuals), limit))


def deviation(residuals: Floats, coefficients: int) -> float:
    """A robust standard deviation of residuals about 0: their median size, as of a normal distribution.

    The `coefficients` smallest are left out, since that many residuals of a least-absolute fit are 0 by construction.
    """
    sizes = np.sort(np.abs(residuals))[min(coefficients, len(residuals) - 1) :]
    return float(np.median(sizes)) / 0.6744897501960817

"""Coefficients of pieces whose breaks are known: overhead, byte time and the cost of hops, with their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from weft.model.curve import Estimate
from weft.model.lines import EXACT, Floats, huber
from weft.model.points import MIN_LAUNCHES, Points

RESAMPLES = 200
"""Bootstrap samples of launches."""


@dataclass(frozen=True)
class Refined:
    """Coefficients of `1, n, h, h n` of one piece.

    Attributes
    ----------
    coefficients
        All four; 0 for those not in the model.
    active
        Indices of those that were fitted.
    covariance
        Of all four for a relative standard deviation of 1.
    residuals
        Relative, (fit - samples) / samples, one a point.
    losses
        Huber-weighted squared residuals, one a point.
    draws
        Coefficients of bootstrap samples (rows); empty without launches to resample.
    centre
        Coefficients that intervals are about: all four before one was set to 0; default `coefficients`.
    """

    coefficients: Floats
    active: tuple[int, ...]
    covariance: Floats
    residuals: Floats
    losses: Floats
    draws: Floats
    centre: Floats | None = None

    def estimate(self, contrast: Sequence[float], deviation: float, freedom: int, confidence: float) -> Estimate:
        """A linear combination (`contrast`) of the four coefficients with its interval.

        The interval holds both that of Student's t from the residuals, which sees how far the curve is from straight,
        and the percentile bootstrap over launches, which sees how launches differ (B. Efron, R. J. Tibshirani, An
        Introduction to the Bootstrap, chapters 9 and 13).
        """
        row = np.array(contrast)
        value = float(row @ self.coefficients)
        middle = value if self.centre is None else float(row @ self.centre)
        lows, highs = [value], [value]
        if freedom > 0:
            quantile = float(stats.t.ppf(0.5 + confidence / 2.0, freedom))
            width = quantile * deviation * float(np.sqrt(max(0.0, row @ self.covariance @ row)))
            lows.append(middle - width)
            highs.append(middle + width)
        if len(self.draws):
            tail = (1.0 - confidence) / 2.0
            low, high = np.quantile(self.draws @ row, [tail, 1.0 - tail])
            lows.append(float(low))
            highs.append(float(high))
        if len(lows) == 1:
            return Estimate(value, 0.0, float("inf"))
        return Estimate(value, max(0.0, min(lows)), max(highs))


def refine(
    points: Points, active: tuple[int, ...], generator: np.random.Generator | None, tolerance: float = 0.0
) -> Refined:
    """Fit the coefficients with indices `active` of `1, n, h, h n` to the points of one piece.

    Parameters
    ----------
    points
        The points.
    active
        Which coefficients; the others are 0.
    generator
        Draws the bootstrap samples; None for none.
    tolerance
        Relative errors up to this, of points of weight 1, are none of outliers.
    """
    design = _design(points)[:, list(active)]
    start = _start(design, points.seconds, points.weights)
    solution, _, trust = huber(design, points.seconds, points.weights, start, tolerance=tolerance)
    coefficients = np.zeros(4)
    coefficients[list(active)] = solution
    residuals = (design @ solution - points.seconds) / points.seconds
    scaled = design * (points.weights * np.sqrt(trust) / points.seconds)[:, None]
    covariance = np.zeros((4, 4))
    covariance[np.ix_(active, active)] = _inverse(scaled.T @ scaled)
    draws = _bootstrap(points, active, solution, generator, tolerance)
    return Refined(coefficients, active, covariance, residuals, trust * (residuals * points.weights) ** 2, draws)


def determined(points: Points, active: tuple[int, ...]) -> bool:
    """Whether the points tell the coefficients apart."""
    design = _design(points)[:, list(active)] / points.seconds[:, None]
    norms = np.linalg.norm(design, axis=0)
    if not norms.all():
        return False
    return int(np.linalg.matrix_rank(design / norms, tol=1e-6)) == len(active)


def _design(points: Points) -> Floats:
    return np.column_stack([np.ones(len(points)), points.bytes, points.hops, points.hops * points.bytes])


def _start(design: Floats, seconds: Floats, weights: Floats) -> Floats:
    """Coefficients near those of the least absolute relative errors, by reweighted least squares."""
    trust = np.ones(len(seconds))
    norms = np.linalg.norm(design / seconds[:, None], axis=0)
    coefficients = np.zeros(design.shape[1])
    for _ in range(30):
        root = weights * np.sqrt(trust)
        coefficients = optimize.nnls(design / norms * (root / seconds)[:, None], root)[0] / norms
        errors = np.abs(design @ coefficients - seconds) / seconds
        trust = 1.0 / np.maximum(errors, max(EXACT, 1e-4 * float(errors.max(initial=0.0))))
        trust /= trust.max()
    return coefficients


def _bootstrap(
    points: Points, active: tuple[int, ...], start: Floats, generator: np.random.Generator | None, tolerance: float
) -> Floats:
    """Coefficients for launches drawn with replacement."""
    count = len(points.launches)
    if generator is None or np.sum(~np.isnan(points.launches), axis=0).min() < MIN_LAUNCHES:
        return np.empty((0, 4))
    design = _design(points)[:, list(active)]
    draws = np.zeros((RESAMPLES, 4))
    for draw in draws:
        # Launches that differ in the points they have could leave a point with none: draw again.
        while True:
            seconds = points.launches[generator.integers(count, size=count)]
            if not np.isnan(seconds).all(axis=0).any():
                break
        medians = np.nanmedian(seconds, axis=0)
        draw[list(active)] = huber(design, medians, points.weights, start, rounds=5, tolerance=tolerance)[0]
    return draws


def _inverse(matrix: Floats) -> Floats:
    """The inverse of a positive definite matrix whose rows may differ by many orders of magnitude."""
    norms = np.sqrt(np.diag(matrix))
    norms[norms == 0.0] = 1.0
    return np.asarray(np.linalg.pinv(matrix / np.outer(norms, norms)) / np.outer(norms, norms))

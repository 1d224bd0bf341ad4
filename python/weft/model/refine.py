"""Coefficients of pieces whose breaks are known: overhead, byte time and the cost of hops, with their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from weft.model.curve import Estimate
from weft.model.lines import EXACT, Floats, huber
from weft.model.points import MIN_LAUNCHES, Points
from weft.samples.dependence import inflation
from weft.samples.summary import MINIMUM_LAUNCHES

RESAMPLES = 200
"""Bootstrap samples of launches."""

TYPICAL_INFLATION = 1.4
"""Above this the inflation that 20 launches show is too small, below it too large: from the coverage of parameters in
`benches/study/coverage.py`. The correction vanishes with the number of launches."""


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
    common
        Covariance of all four from what the lengths of a launch have in common; 0 without launches to resample.
    apart
        The same from what launches make of each length by itself.
    resampled
        The same from all by which launches differ.
    centre
        Coefficients that intervals are about: all four before one was set to 0; default `coefficients`.
    """

    coefficients: Floats
    active: tuple[int, ...]
    covariance: Floats
    residuals: Floats
    losses: Floats
    common: Floats
    apart: Floats
    resampled: Floats
    centre: Floats | None = None

    def estimate(self, contrast: Sequence[float], deviation: float, freedom: int, confidence: float) -> Estimate:
        """A linear combination (`contrast`) of the four coefficients with its interval.

        Its variance is that from the residuals, which see how far the curve is from straight and what a launch makes of
        each length by itself (or that of a bootstrap of each length by itself, where it is more: residuals of lengths
        far from all others are small), and that of what the lengths of a launch have in common, which no residual
        shows: see :func:`of_launches`. Quantiles are Student's t and normal.
        """
        row = np.array(contrast)
        value = float(row @ self.coefficients)
        middle = value if self.centre is None else float(row @ self.centre)
        upper = 0.5 + confidence / 2.0
        if freedom > 0:
            by_residuals = float(stats.t.ppf(upper, freedom)) ** 2 * deviation**2 * float(row @ self.covariance @ row)
            normal = float(stats.norm.ppf(upper)) ** 2
            by_residuals = max(by_residuals, normal * float(row @ self.apart @ row))
            by_launches = normal * float(row @ self.common @ row)
        elif self.resampled.any():
            by_residuals, by_launches = 0.0, float(stats.norm.ppf(upper)) ** 2 * float(row @ self.resampled @ row)
        else:
            return Estimate(value, 0.0, float("inf"))
        width = float(np.sqrt(max(by_residuals, 0.0) + max(by_launches, 0.0)))
        return Estimate(value, max(0.0, min(value, middle - width)), max(value, middle + width))


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
    differing = of_launches(points, active, solution, generator, tolerance)
    losses = trust * (residuals * points.weights) ** 2
    return Refined(coefficients, active, covariance, residuals, losses, *differing)


def of_launches(
    points: Points, active: tuple[int, ...], start: Floats, generator: np.random.Generator | None, tolerance: float
) -> tuple[Floats, Floats, Floats]:
    """Covariances of coefficients from what lengths of a launch have in common, from each by itself, and from all.

    The last is of a bootstrap that draws launches whole (B. Efron, R. J. Tibshirani, An Introduction to the
    Bootstrap, chapters 9 and 13); the second, of one that draws each length's launches by itself, has everything but
    what they have in common, and the first is the difference. Both draw launches as if they were independent:
    dependence multiplies the first and the last by what it multiplies the variance of medians by, on average over the
    points, since one point says little of it. Few launches show too little of strong dependence and seem to show some
    where there is none, by `TYPICAL_INFLATION`. Sampling from n launches has (n - 1)/n of their variance.
    """
    count = len(points.launches)
    if generator is None or np.sum(~np.isnan(points.launches), axis=0).min() < MIN_LAUNCHES:
        return np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((4, 4))
    whole, apart = (
        np.cov(_bootstrap(points, active, start, generator, tolerance, whole=whole), rowvar=False)
        for whole in (True, False)
    )
    inflated = float(np.mean([inflation(column[~np.isnan(column)]) for column in points.launches.T]))
    small = (inflated / TYPICAL_INFLATION) ** min(1.0, MINIMUM_LAUNCHES / count)
    unbiased = count / (count - 1)
    factor = inflated * small * unbiased
    return (whole - apart) * factor, apart * unbiased, whole * factor


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
    points: Points,
    active: tuple[int, ...],
    start: Floats,
    generator: np.random.Generator,
    tolerance: float,
    *,
    whole: bool,
) -> Floats:
    """Coefficients for launches drawn with replacement, whole ones or for each point by itself."""
    shape = points.launches.shape
    design = _design(points)[:, list(active)]
    draws = np.zeros((RESAMPLES, 4))
    for draw in draws:
        # Launches that differ in the points they have could leave a point with none: draw again.
        while True:
            drawn = generator.integers(shape[0], size=(shape[0], 1) if whole else shape)
            seconds = np.take_along_axis(points.launches, np.broadcast_to(drawn, shape), axis=0)
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

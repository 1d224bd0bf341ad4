"""Coefficients of pieces whose breaks are known: overhead, byte time and the cost of hops, with their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from weft.model.curve import Estimate
from weft.model.lines import EXACT, Floats, huber
from weft.model.points import MIN_LAUNCHES, Points
from weft.samples.summary import DEFAULT_CONFIDENCE

RESAMPLES = 200
"""Bootstrap samples of launches."""

WEIGHTED = 1.01
"""The variance of coefficients of Huber's loss over that of weighted least squares with its final weights, for normal
errors of known variance: E psi^2 E w / (E psi')^2 (P. J. Huber, E. M. Ronchetti, Robust Statistics, 2nd ed., section
7.6), with `weft.model.lines.HUBER` deviations."""


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
            by_residuals = (
                float(special.stdtrit(freedom, upper)) ** 2 * deviation**2 * float(row @ self.covariance @ row)
            )
            normal = float(special.ndtri(upper)) ** 2
            by_residuals = max(by_residuals, normal * float(row @ self.apart @ row))
            by_launches = normal * float(row @ self.common @ row)
        elif self.resampled.any():
            by_residuals, by_launches = 0.0, float(special.ndtri(upper)) ** 2 * float(row @ self.resampled @ row)
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
    relative = points.weights * np.sqrt(trust) / points.seconds
    scaled = design * relative[:, None]
    covariance = np.zeros((4, 4))
    inverse = _inverse(scaled.T @ scaled)
    covariance[np.ix_(active, active)] = WEIGHTED * inverse
    of_seconds = np.zeros((4, len(points)))
    of_seconds[list(active)] = inverse @ scaled.T * relative
    differing = of_launches(points, of_seconds, generator)
    losses = trust * (residuals * points.weights) ** 2
    return Refined(coefficients, active, covariance, residuals, losses, *differing)


def of_launches(
    points: Points, of_seconds: Floats, generator: np.random.Generator | None
) -> tuple[Floats, Floats, Floats]:
    """Covariances of coefficients from what lengths of a launch have in common, from each by itself, and from all.

    All three are of the covariance of medians that choosing among launches has, where they were chosen, else of a
    bootstrap that draws launches whole (B. Efron, R. J. Tibshirani, An Introduction to the
    Bootstrap, chapters 9 and 13). Of the covariance of its medians, what is off the diagonal is in common; on the
    diagonal it is taken to be what a length has in common with its neighbours, and the rest is the length's own. The
    bootstrap draws launches as if they were independent: dependence multiplies the first and the last by what it
    multiplies the variance of medians by, of all points together, since one point says little of it. So many fewer
    launches they are worth, and what few launches say of their own variance is by Student's t of those. Sampling from
    n launches has (n - 1)/n of their variance.
    """
    count = len(points.launches)
    if generator is None or np.sum(~np.isnan(points.launches), axis=0).min() < MIN_LAUNCHES:
        return np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((4, 4))
    medians = points.covariance
    if medians is None:
        medians = np.atleast_2d(np.cov(bootstrap(points, generator) / points.seconds, rowvar=False))
        medians *= count / (count - 1)
    shared = _in_common(medians)
    inflated = points.inflation * _by_few(count / points.inflation)
    relative = of_seconds * points.seconds
    together, own, whole = (
        relative @ one @ relative.T for one in (shared, np.diag(np.diag(medians - shared)), medians)
    )
    return together * inflated, own, whole * inflated


def _by_few(launches: float) -> float:
    """The square of Student's quantile over the normal one, of 95% intervals, where the variance is from so many
    independent launches."""
    upper = 0.5 + DEFAULT_CONFIDENCE / 2.0
    return float(special.stdtrit(max(1.0, launches - 1.0), upper) / special.ndtri(upper)) ** 2


def _in_common(covariance: Floats) -> Floats:
    """A covariance of medians without what each length has by itself."""
    shared = covariance.copy()
    count = len(shared)
    for index in range(count):
        near = [other for other in (index - 1, index + 1) if 0 <= other < count]
        mean = float(np.mean(covariance[index, near])) if near else 0.0
        shared[index, index] = min(max(mean, 0.0), float(covariance[index, index]))
    return shared


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


def bootstrap(points: Points, generator: np.random.Generator) -> Floats:
    """Medians of each point for launches drawn with replacement."""
    count = len(points.launches)
    draws = np.zeros((RESAMPLES, len(points)))
    for draw in draws:
        # Launches that differ in the points they have could leave a point with none: draw again.
        while True:
            seconds = points.launches[generator.integers(count, size=count)]
            if not np.isnan(seconds).all(axis=0).any():
                break
        draw[:] = np.nanmedian(seconds, axis=0)
    return draws


def _inverse(matrix: Floats) -> Floats:
    """The inverse of a positive definite matrix whose rows may differ by many orders of magnitude."""
    norms = np.sqrt(np.diag(matrix))
    norms[norms == 0.0] = 1.0
    return np.asarray(np.linalg.pinv(matrix / np.outer(norms, norms)) / np.outer(norms, norms))

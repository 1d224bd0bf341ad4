"""Noise of launches with a known median, and what intervals of it could ideally be as wide as."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]

BURN_IN = 60
"""Launches before those that are kept: 0.6 to that power is nothing."""

LONG = 4000
"""Launches of a series by which the noise itself is known."""


@dataclass(frozen=True)
class Noise:
    """Noise of launches, without a unit: rows are series, columns launches.

    Attributes
    ----------
    name
        What it is called in a record.
    draw
        Draws so many series of so many launches.
    promised
        Whether intervals promise their coverage for it.
    """

    name: str
    draw: Draw
    promised: bool = True

    @functools.cached_property
    def _long(self) -> Floats:
        return self.draw(np.random.default_rng(0), (1000, LONG))

    @functools.cached_property
    def ordered(self) -> Floats:
        """A large sample of the distribution of one launch."""
        return np.sort(self._long[:, ::7].ravel())

    @functools.cached_property
    def median(self) -> float:
        """The median of one launch."""
        return float(np.median(self.ordered))

    @functools.cached_property
    def inflation(self) -> float:
        """Variance of the sum of signs about the median, relative to that of independent launches."""
        return float(np.sign(self._long - self.median).sum(axis=1).var()) / LONG

    def ideal(self, count: int, sigma: float) -> float:
        """Width of the 95% interval of the median of `count` times exp(sigma noise) for who knows the noise."""
        share = min(0.98 * (self.inflation / count) ** 0.5, 0.5)
        last = len(self.ordered) - 1
        low, high = (self.ordered[int(last * (0.5 + sign * share))] for sign in (-1, 1))
        return float(np.exp(sigma * high) - np.exp(sigma * low))


def autoregressive(correlation: float, innovations: Draw) -> Draw:
    """x_t = correlation x_(t-1) + an innovation, begun where its start is forgotten."""

    def draw(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        steps = innovations(generator, (shape[0], shape[1] + BURN_IN))
        for t in range(1, steps.shape[1]):
            steps[:, t] += correlation * steps[:, t - 1]
        return steps[:, BURN_IN:]

    return draw


def two_modes(share: float, staying: float, gap: float = 6.0) -> Draw:
    """A share of the launches is slower by `gap` standard deviations; a launch keeps the last one's mode so often."""

    def draw(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        slow = generator.random(shape) < share
        kept = generator.random(shape) < staying
        for t in range(1, shape[1]):
            slow[:, t] = np.where(kept[:, t], slow[:, t - 1], slow[:, t])
        return generator.standard_normal(shape) + gap * slow

    return draw


def normal(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Standard normal."""
    return generator.standard_normal(shape)


def heavy(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Student's t with two degrees of freedom: no variance."""
    return generator.standard_t(2, shape)


def skewed(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Log-normal."""
    return generator.lognormal(size=shape)


NOISES = (
    *(Noise(f"normal, AR(1) {rho}", autoregressive(rho, normal)) for rho in (0.0, 0.15, 0.3, 0.45, 0.6)),
    *(Noise(f"t with 2 degrees, AR(1) {rho}", autoregressive(rho, heavy)) for rho in (0.0, 0.3, 0.6)),
    *(Noise(f"log-normal, AR(1) {rho}", autoregressive(rho, skewed)) for rho in (0.0, 0.3, 0.6)),
    *(Noise(f"two modes, {p:.0%} slow", two_modes(p, 0.0)) for p in (0.2, 0.4)),
    Noise("two modes, 20% slow, kept 0.3", two_modes(0.2, 0.3)),
    Noise("two modes, 40% slow, kept 0.6", two_modes(0.4, 0.6), promised=False),
)
"""What coverage is measured over. The last has dependence that outlasts what a few tens of launches show."""

"""Corners of a picture: where brightness changes along both axes, each the strongest of its neighbourhood.

    python programs/corner_detection.py [--size 50] [--machine here] [--seed 1]

A processor has a point of the picture. Slopes are Sobel's, their products are smoothed by a binomial filter, and what
Harris and Stephens (Alvey Vision Conference, 1988) make of them is large at corners. Numbers are of 32 bits. The
strongest are listed. Checked with numpy in 64 bits. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

KAPPA, BOUND = 0.05, 0.02
BINOMIAL = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Rectangles of different brightness, one over the other, with a little noise."""
    generator = np.random.default_rng(seed)
    picture = np.full((size, size), 0.5)
    for _ in range(12):
        top, left = generator.integers(0, size, 2)
        height, width = generator.integers(max(1, size // 8), max(2, size // 2), 2)
        picture[top : top + height, left : left + width] = generator.random()
    return (picture + generator.normal(0, 0.01, picture.shape)).astype(np.float32)


def smooth(x: pvar.ParallelVariable) -> pvar.ParallelVariable:
    """Binomial weights of five along both axes, zero outside."""
    for axis in (0, 1):
        x = sum(weight * pvar.shift(x, by, axis=axis, boundary=0.0) for by, weight in zip(range(-2, 3), BINOMIAL))
    return x


def slope(x: pvar.ParallelVariable, axis: int) -> pvar.ParallelVariable:
    """Sobel's: a difference along an axis, smoothed along the other."""
    along = pvar.shift(x, 1, axis=axis, boundary=0.5) - pvar.shift(x, -1, axis=axis, boundary=0.5)
    before, after = (pvar.shift(along, by, axis=1 - axis, boundary=0.0) for by in (-1, 1))
    return (before + 2.0 * along + after) * 0.25


def solve(picture: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """How much of a corner each point is; the points that are corners, as a mask."""
    vp = pvar.VPSet(picture.shape, machine=machine)
    bright = vp.array(picture)
    down, right = slope(bright, 0), slope(bright, 1)
    both, of_down, of_right = smooth(down * right), smooth(down * down), smooth(right * right)
    trace = of_down + of_right
    strength = of_down * of_right - both * both - KAPPA * trace * trace
    bound = BOUND * pvar.reduce(strength, "max")
    largest = strength
    for axis in (0, 1):
        near = [pvar.shift(largest, by, axis=axis, boundary=-1.0) for by in (-2, -1, 1, 2)]
        for one in near:
            largest = pvar.maximum(largest, one)
    corners = (strength == largest) & (strength > bound)
    return np.asarray(strength), np.asarray(corners)


def windows(x: np.ndarray, side: int, edge: float) -> np.ndarray:
    """The neighbourhood of each point, with an edge outside."""
    padded = np.pad(x, side // 2, constant_values=edge)
    return np.lib.stride_tricks.sliding_window_view(padded, (side, side))


def expected(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same from neighbourhoods, in 64 bits."""
    around = windows(picture.astype(float), 3, 0.5)
    differences = around[..., 2, 1] - around[..., 0, 1], around[..., 1, 2] - around[..., 1, 0]
    weights = np.array([0.25, 0.5, 0.25])
    down = windows(differences[0], 3, 0.0)[..., 1, :] @ weights
    right = windows(differences[1], 3, 0.0)[..., :, 1] @ weights
    binomial = np.outer(BINOMIAL, BINOMIAL)
    both, of_down, of_right = (
        (windows(one, 5, 0.0) * binomial).sum(axis=(2, 3)) for one in (down * right, down**2, right**2)
    )
    strength = of_down * of_right - both**2 - KAPPA * (of_down + of_right) ** 2
    largest = windows(strength, 5, -1.0).max(axis=(2, 3))
    return strength, (strength >= largest) & (strength > BOUND * strength.max())


def main() -> int:
    parser = arguments.parser(__doc__, 50, "points of a side", "the rectangles")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one point")
    picture = problem(chosen.size, chosen.seed)
    strength, corners = solve(picture, chosen.machine)
    print(f"{corners.sum()} corners")
    wanted, wanted_corners = expected(picture)
    scale = max(abs(wanted).max(), 1e-12)
    # Of two neighbours that are nearly as strong, 32 bits may find either.
    right = np.allclose(strength, wanted, atol=1e-4 * scale) and (corners != wanted_corners).sum() <= 2
    return arguments.verdict(bool(right), "corners must be those of numpy within rounding")


if __name__ == "__main__":
    sys.exit(main())

"""A picture smoothed but for its edges: weights by how alike neighbours are, a pixel on each processor.

    python programs/bilateral_filter.py [--size 100] [--machine here] [--seed 1]

Neighbours count the less the farther they are and the more they differ (Tomasi and Manduchi, ICCV 1998). Checked
against numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

REACH, ALIKE = 2, 0.2


def problem(size: int, seed: int = 1) -> np.ndarray:
    """A square on another ground, with noise."""
    picture = np.random.default_rng(seed).normal(0, 0.05, (size, size))
    picture[size // 4 : size // 2, size // 3 :] += 1
    return picture.astype(np.float32)


def solve(picture: np.ndarray, machine: str = "here") -> np.ndarray:
    """The filtered picture; it goes around at its edges."""
    vp = pvar.VPSet(picture.shape, machine=machine)
    x = vp.array(picture)
    total, weights = vp.zeros("float32"), vp.zeros("float32")
    for down in range(-REACH, REACH + 1):
        row = pvar.shift(x, down, axis=0)
        for right in range(-REACH, REACH + 1):
            other = pvar.shift(row, right, axis=1)
            differs = other - x
            weight = pvar.exp(differs * differs * (-0.5 / ALIKE**2) - (down * down + right * right) * 0.25)
            total = total + weight * other
            weights = weights + weight
    return np.asarray(total / weights)


def expected(picture: np.ndarray) -> np.ndarray:
    """The same by numpy, in more digits."""
    x = picture.astype(float)
    steps = [(i, j) for i in range(-REACH, REACH + 1) for j in range(-REACH, REACH + 1)]
    others = np.array([np.roll(x, (-i, -j), (0, 1)) for i, j in steps])
    nearness = np.array([np.exp(-(i * i + j * j) / 4) for i, j in steps])[:, None, None]
    weights = nearness * np.exp(-((others - x) ** 2) / (2 * ALIKE**2))
    return (weights * others).sum(axis=0) / weights.sum(axis=0)


def main() -> int:
    parser = arguments.parser(__doc__, 100, "pixels along a side", "the noise")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one pixel")
    picture = problem(chosen.size, chosen.seed)
    smooth = solve(picture, chosen.machine)
    print(f"deviation {picture.std():.4f} became {smooth.std():.4f}")
    return arguments.verdict(np.allclose(smooth, expected(picture), atol=1e-4), "the picture must be that of numpy")


if __name__ == "__main__":
    sys.exit(main())

"""Edges of a picture: Sobel's gradient of every point, those above a threshold thinned to the crests.

    python programs/edges.py [--size 128] [--rounds 5] [--machine here] [--seed 1]

In each round the picture is smoothed a little more and its edges are found again. Gradients must be scipy's. Ends with
code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np
import scipy.ndimage

from weft import pvar

THRESHOLD = 1.0


def problem(size: int, rounds: int = 5, seed: int = 1) -> tuple[np.ndarray, int]:
    """A noisy picture of some discs, and how many rounds."""
    made = np.random.default_rng(seed)
    row, column = np.mgrid[:size, :size]
    picture = made.normal(0, 0.1, (size, size))
    for _ in range(6):
        centre, radius = made.uniform(0, size, 2), made.uniform(0.05, 0.3) * size
        picture += np.hypot(row - centre[0], column - centre[1]) < radius
    return picture.astype(np.float32), rounds


def solve(given: tuple[np.ndarray, int], machine: str = "here") -> tuple[np.ndarray, list[int]]:
    """The gradients of the last round, and how many points were edges in each."""
    picture, rounds = given
    vp = pvar.VPSet(picture.shape, machine=machine)
    p, number = vp.array(picture), []
    for _ in range(rounds):
        p = smoothed(smoothed(p, 0), 1)
        across = smoothed(slope(p, 0), 1)
        along = smoothed(slope(p, 1), 0)
        gradient = pvar.sqrt(across * across + along * along)
        crest = (gradient >= pvar.shift(gradient, 1, axis=1)) & (gradient >= pvar.shift(gradient, -1, axis=1))
        edge = vp.zeros(np.int32)
        with vp.where(gradient > THRESHOLD):
            edge[...] = crest.astype(np.int32)
        number.append(int(pvar.reduce(edge, "sum")))
    return np.asarray(gradient), number


def smoothed(x, axis: int):
    """Weights 1, 2, 1 over four, along an axis."""
    return (pvar.shift(x, 1, axis=axis) + x * 2.0 + pvar.shift(x, -1, axis=axis)) * 0.25


def slope(x, axis: int):
    """The difference of the neighbours along an axis."""
    return (pvar.shift(x, -1, axis=axis) - pvar.shift(x, 1, axis=axis)) * 4.0


def error(given: tuple[np.ndarray, int], found: np.ndarray) -> float:
    """The largest difference from scipy's."""
    p, rounds = given[0].astype(float), given[1]
    for _ in range(rounds):
        for axis in (0, 1):
            p = scipy.ndimage.convolve1d(p, [0.25, 0.5, 0.25], axis, mode="wrap")
    across, along = (scipy.ndimage.sobel(p, axis, mode="wrap") for axis in (0, 1))
    return float(np.abs(found - np.hypot(across, along)).max())


def main() -> int:
    parser = arguments.parser(__doc__, 128, "points along each axis", "the picture")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default 5)")
    chosen = parser.parse_args()
    if chosen.size < 3 or chosen.rounds < 1:
        parser.error("expected at least three points along each axis and one round")
    given = problem(chosen.size, chosen.rounds, chosen.seed)
    gradient, number = solve(given, chosen.machine)
    off = error(given, gradient)
    print(f"edge points by round: {number}; largest difference from scipy's gradient {off:.1e}")
    return arguments.verdict(off <= 1e-4, "gradients must be scipy's")


if __name__ == "__main__":
    sys.exit(main())

"""An image without its specks: each point becomes the median of the nine around it, by exchanges of pairs.

    python programs/median_filter.py [--size 64] [--rounds 4] [--machine here] [--seed 1]

Nineteen exchanges of the lesser and the larger (Devillard 1998) leave the median in the middle. Points outside are as
those at the edge. Checked against scipy's filter. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np
import scipy.ndimage

from weft import pvar

EXCHANGES = (
    *((1, 2), (4, 5), (7, 8), (0, 1), (3, 4), (6, 7), (1, 2), (4, 5), (7, 8), (0, 3)),
    *((5, 8), (4, 7), (3, 6), (1, 4), (2, 5), (4, 7), (4, 2), (6, 4), (4, 2)),
)
"""Pairs of the nine; the first of a pair gets the lesser."""


def problem(size: int, rounds: int = 4, seed: int = 1) -> tuple[np.ndarray, int]:
    """A slope with specks, and how often it is filtered."""
    generator = np.random.default_rng(seed)
    image = np.add.outer(np.arange(size), np.arange(size)) % 256
    specks = generator.random((size, size)) < 0.2
    return np.where(specks, generator.integers(0, 256, (size, size)), image).astype(np.int32), rounds


def moved(x: pvar.ParallelVariable, distance: int, axis: int) -> pvar.ParallelVariable:
    """The neighbours along an axis; at the edge one's own."""
    neighbor = pvar.shift(x, distance, axis=axis)
    edge = x.shape[axis] - 1 if distance > 0 else 0
    return pvar.where(x.vp.coordinate(axis) == edge, x, neighbor)


def solve(given: tuple[np.ndarray, int], machine: str = "here") -> np.ndarray:
    """The image after all rounds."""
    image, rounds = given
    vp = pvar.VPSet(image.shape, machine=machine)
    point = vp.array(image)
    for _ in range(rounds):
        rows = (moved(point, -1, 0), point, moved(point, 1, 0))
        nine = [one for row in rows for one in (moved(row, -1, 1), row, moved(row, 1, 1))]
        for low, high in EXCHANGES:
            nine[low], nine[high] = pvar.minimum(nine[low], nine[high]), pvar.maximum(nine[low], nine[high])
        point = nine[4]
    return np.asarray(point)


def expected(given: tuple[np.ndarray, int]) -> np.ndarray:
    """The same by scipy."""
    image, rounds = given
    for _ in range(rounds):
        image = scipy.ndimage.median_filter(image, 3, mode="nearest")
    return image


def main() -> int:
    parser = arguments.parser(__doc__, 64, "points of a side", "the specks")
    parser.add_argument("--rounds", type=int, default=4, help="how often the image is filtered (default 4)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.rounds) < 1:
        parser.error("expected at least one point and at least one round")
    given = problem(chosen.size, chosen.rounds, chosen.seed)
    image = solve(given, chosen.machine)
    print(f"{chosen.size}x{chosen.size} points: {np.count_nonzero(image != given[0])} changed")
    return arguments.verdict(np.array_equal(image, expected(given)), "the image must be scipy's")


if __name__ == "__main__":
    sys.exit(main())

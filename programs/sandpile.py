"""A sandpile: cells of four grains and more give one to each neighbour, all at once, until every cell is stable.

    python programs/sandpile.py [--size 64] [--machine here] [--seed 1]

Grains fall off the edge. The order of topplings does not matter (Dhar 1990), so that toppling as many grains of a cell
as there are, in numpy, must come to the same end. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Grains in each cell: up to seven, many cells unstable."""
    return np.random.default_rng(seed).integers(0, 8, (size, size)).astype(np.int32)


def solve(given: np.ndarray, machine: str = "here") -> np.ndarray:
    """The stable pile."""
    vp = pvar.VPSet(given.shape, machine=machine)
    grains = vp.array(given)
    topples = (grains >= 4).astype(np.int32)
    while pvar.reduce(topples, "max"):
        grains = grains - topples * 4
        for axis in (0, 1):
            grains = grains + pvar.shift(topples, 1, axis=axis, boundary=0)
            grains = grains + pvar.shift(topples, -1, axis=axis, boundary=0)
        topples = (grains >= 4).astype(np.int32)
    return np.asarray(grains)


def expected(given: np.ndarray) -> np.ndarray:
    """The same, in another order."""
    grains = np.pad(given.astype(int), 1)
    while (times := grains[1:-1, 1:-1] // 4).any():
        grains[1:-1, 1:-1] -= 4 * times
        for rows, columns in ((slice(0, -2), slice(1, -1)), (slice(2, None), slice(1, -1))):
            grains[rows, columns] += times
            grains[columns, rows] += times
    return grains[1:-1, 1:-1]


def main() -> int:
    parser = arguments.parser(__doc__, 64, "cells along each axis", "the pile")
    chosen = parser.parse_args()
    if chosen.size < 2:
        parser.error("expected at least two cells along each axis")
    given = problem(chosen.size, chosen.seed)
    found = solve(given, chosen.machine)
    print(f"{given.sum()} grains before, {found.sum()} after, at most {found.max()} in a cell")
    return arguments.verdict(bool((found == expected(given)).all()), "the pile must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

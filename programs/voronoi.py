"""The nearest of some seeds for each point of a grid, by jump flooding (Rong and Tan 2006).

    python programs/voronoi.py [--size 64] [--machine here] [--seed 1]

At each step a point asks the eight points so far away for their nearest seed; how far is halved from step to step. It
does not find the nearest seed everywhere, but the same everywhere as the same steps by numpy, against which it is
checked, and a true distance nearly everywhere, which is printed. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np
import scipy.spatial

from weft import pvar

FAR = 1 << 30
"""A squared distance above all others."""

AROUND = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1) if row or column]


def problem(size: int, seed: int = 1) -> tuple[int, np.ndarray]:
    """The points of a side, and where seeds are, one for some hundred points: rows of numbers of row and column."""
    points = np.random.default_rng(seed).choice(size * size, max(1, size * size // 100), replace=False)
    return size, np.stack(np.divmod(points, size), axis=1)


def solve(given: tuple[int, np.ndarray], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """Row and column of the seed that each point takes to be nearest."""
    size, seeds = given
    vp = pvar.VPSet((size, size), machine=machine)
    row, column = vp.coordinate(0), vp.coordinate(1)
    start = np.full((2, size, size), -1)
    start[:, seeds[:, 0], seeds[:, 1]] = seeds.T
    nearest = [vp.array(one).copy() for one in start]
    distance = pvar.where(nearest[0] < 0, FAR, 0)
    jump = 1 << max(0, (size - 1).bit_length() - 1)
    while jump:
        before = [one.copy() for one in nearest]
        for down, right in AROUND:
            there = (row + down * jump, column + right * jump)
            inside = (there[0] >= 0) & (there[0] < size) & (there[1] >= 0) & (there[1] < size)
            with vp.where(inside):
                offered = [pvar.get(one, there) for one in before]
                apart = (row - offered[0]) ** 2 + (column - offered[1]) ** 2
                with vp.where((offered[0] >= 0) & (apart < distance)):
                    distance[...] = apart
                    for one, other in zip(nearest, offered, strict=True):
                        one[...] = other
        jump //= 2
    return np.asarray(nearest[0]), np.asarray(nearest[1])


def expected(given: tuple[int, np.ndarray]) -> np.ndarray:
    """The same steps by numpy, on a grid with points around it that never have a seed."""
    size, seeds = given
    nearest = np.full((2, size, size), -1)
    nearest[:, seeds[:, 0], seeds[:, 1]] = seeds.T
    rows, columns = np.indices((size, size))
    distance = np.where(nearest[0] < 0, FAR, 0)
    jump = 1 << max(0, (size - 1).bit_length() - 1)
    while jump:
        padded = np.pad(nearest, ((0, 0), (jump, jump), (jump, jump)), constant_values=-1)
        for down, right in AROUND:
            top, left = jump + down * jump, jump + right * jump
            offered = padded[:, top : top + size, left : left + size]
            apart = (rows - offered[0]) ** 2 + (columns - offered[1]) ** 2
            closer = (offered[0] >= 0) & (apart < distance)
            distance = np.where(closer, apart, distance)
            nearest = np.where(closer, offered, nearest)
        jump //= 2
    return nearest


def main() -> int:
    parser = arguments.parser(__doc__, 64, "points of a side", "the seeds")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one point")
    given = problem(chosen.size, chosen.seed)
    found = np.stack(solve(given, chosen.machine))
    points = np.indices(found.shape[1:])
    true, _ = scipy.spatial.cKDTree(given[1]).query(points.reshape(2, -1).T)
    exact = np.isclose(np.hypot(*(found - points)).ravel(), true).mean()
    print(f"{len(given[1])} seeds on {chosen.size}x{chosen.size} points: {exact:.1%} have their nearest")
    return arguments.verdict(np.array_equal(found, expected(given)), "seeds must be those of numpy's steps")


if __name__ == "__main__":
    sys.exit(main())

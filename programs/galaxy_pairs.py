"""Pairs of galaxies that are near each other, by their separation, and the nearest neighbour of each.

    python programs/galaxy_pairs.py [--size 1500] [--machine here] [--seed 1]

Galaxies are sorted by the cells of a grid, a second VP set that knows where each cell begins; a galaxy looks at all in
its own and the eight cells around. Checked by a sweep over galaxies in order of one coordinate in numpy. Ends with code
1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

BINS = 12
CLUSTER = 40


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Coordinates from 0 to 1, of which a third are in clusters."""
    generator = np.random.default_rng(seed)
    centres = generator.random((2, size // CLUSTER + 1))
    of_cluster = centres[:, generator.integers(0, centres.shape[1], size)]
    clustered = np.clip(of_cluster + generator.normal(0, 1.5 / np.sqrt(size), (2, size)), 0, 0.999)
    return np.where(generator.random(size) < 1 / 3, clustered, generator.random((2, size)) * 0.999).astype(np.float32)


def cells_of(size: int) -> int:
    """Cells along a side, of some two galaxies each; a cell's side is how far neighbours are looked for."""
    return max(2, int(np.sqrt(size / 2)))


def solve(galaxies: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs by separation, both of each counted; neighbours of each galaxy; the square of the way to the nearest."""
    side = cells_of(galaxies.shape[1])
    vp, bins = pvar.VPSet(galaxies.shape[1], machine=machine), pvar.VPSet(BINS, machine=machine)
    cells = pvar.VPSet(side * side, machine=machine)
    x, y = (vp.array(one) * side for one in galaxies)
    order = pvar.rank(x.astype(np.int32) * side + y.astype(np.int32))
    x, y = pvar.send(x, order), pvar.send(y, order)
    row, column = x.astype(np.int32), y.astype(np.int32)
    number = pvar.send(1, row * side + column, combine="add", vp=cells)
    begin = pvar.scan(number, "add", exclusive=True)
    pairs, neighbours, nearest = bins.zeros(np.int64), vp.zeros(np.int32), vp.full(np.inf, np.float32)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            inside = (row + i >= 0) & (row + i < side) & (column + j >= 0) & (column + j < side)
            with vp.where(inside):
                cell = (row + i) * side + (column + j)
                first, among = pvar.get(begin, cell), pvar.get(number, cell)
                for one in range(int(pvar.reduce(among, "max", initial=0))):
                    with vp.where((one < among) & (first + one != vp.address())):
                        square = pvar.square(pvar.get(x, first + one) - x) + pvar.square(pvar.get(y, first + one) - y)
                        nearest[...] = pvar.minimum(nearest, square)
                        with vp.where(square < 1):
                            neighbours += 1
                            pvar.send(1, (square * BINS).astype(np.int32), combine="add", into=pairs)
    return np.asarray(pairs), np.asarray(pvar.get(neighbours, order)), np.asarray(pvar.get(nearest, order))


def expected(galaxies: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs and neighbours, and the squares up to 1: the distance by which one is looked for at all."""
    size = galaxies.shape[1]
    side = np.float32(cells_of(size))
    order = np.argsort(galaxies[0])
    x, y = galaxies[:, order] * side
    pairs, neighbours, nearest = np.zeros(BINS, int), np.zeros(size, int), np.full(size, np.inf, np.float32)
    for distance in range(1, size):
        across = x[distance:] - x[:-distance]
        if across.min() >= 1:
            break
        square = across**2 + (y[distance:] - y[:-distance]) ** 2
        near = square < 1
        pairs += 2 * np.bincount((square[near] * BINS).astype(int), minlength=BINS)
        for end in (order[distance:], order[:-distance]):
            neighbours[end] += near
            nearest[end] = np.minimum(nearest[end], np.where(near, square, np.inf))
    return pairs, neighbours, nearest


def main() -> int:
    parser = arguments.parser(__doc__, 1500, "galaxies", "the galaxies")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one galaxy")
    galaxies = problem(chosen.size, chosen.seed)
    pairs, neighbours, nearest = solve(galaxies, chosen.machine)
    print(f"{pairs.sum() // 2} pairs; {np.count_nonzero(neighbours == 0)} of {chosen.size} galaxies are alone")
    wanted = expected(galaxies)
    right = np.array_equal(pairs, wanted[0]) and np.array_equal(neighbours, wanted[1])
    right = right and np.array_equal(np.where(nearest < 1, nearest, np.inf), wanted[2])
    return arguments.verdict(right, "pairs must be those of a sweep")


if __name__ == "__main__":
    sys.exit(main())

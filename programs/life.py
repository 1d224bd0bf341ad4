"""Conway's game of life on a torus: neighbours are counted by shifts along both axes.

    python programs/life.py [--size 64] [--generations 100] [--machine here] [--seed 1]

Three cells in a row are added first, then three rows: four shifts instead of eight. Checked against the same in numpy,
and a glider by itself must be one place further along both axes after four generations. Ends with code 1 if a check
fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

GLIDER = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]], np.int8)


def problem(size: int, generations: int = 100, seed: int = 1) -> tuple[np.ndarray, int]:
    """A random start, a third of it alive."""
    return (np.random.default_rng(seed).random((size, size)) < 1 / 3).astype(np.int8), generations


def solve(given: tuple[np.ndarray, int], machine: str = "here") -> np.ndarray:
    """The cells after the generations."""
    start, generations = given
    vp = pvar.VPSet(start.shape, machine=machine)
    cell = vp.array(start, copy=True)
    for _ in range(generations):
        row = (
            cell + pvar.shift(cell, 1, axis=1, boundary="circular") + pvar.shift(cell, -1, axis=1, boundary="circular")
        )
        block = row + pvar.shift(row, 1, axis=0, boundary="circular") + pvar.shift(row, -1, axis=0, boundary="circular")
        # Of the nine, itself included: three make or keep alive, four keep as it is, others die.
        with vp.where(block != 4):
            cell[...] = 0
        with vp.where(block == 3):
            cell[...] = 1
    return np.asarray(cell)


def wrong(given: tuple[np.ndarray, int], found: np.ndarray) -> int:
    """How many cells differ from numpy's."""
    cell, generations = given
    for _ in range(generations):
        around = sum(np.roll(cell, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - cell
        cell = ((around == 3) | ((around == 2) & (cell == 1))).astype(np.int8)
    return int(np.count_nonzero(cell != found))


def glider_moves(machine: str) -> bool:
    """Whether a glider is one place further along both axes after four generations."""
    start = np.zeros((8, 8), np.int8)
    start[1:4, 1:4] = GLIDER
    return bool(np.array_equal(solve((start, 4), machine), np.roll(start, (1, 1), (0, 1))))


def main() -> int:
    parser = arguments.parser(__doc__, 64, "cells along each axis", "the start")
    parser.add_argument("--generations", type=int, default=100, help="generations (default 100)")
    chosen = parser.parse_args()
    if chosen.size < 3 or chosen.generations < 0:
        parser.error("expected at least three cells along each axis")
    given = problem(chosen.size, chosen.generations, chosen.seed)
    answer = solve(given, chosen.machine)
    found, moved = wrong(given, answer), glider_moves("here")
    print(f"{int(answer.sum())} of {answer.size} cells live after {chosen.generations} generations; {found} are wrong")
    passed = found == 0 and moved
    return arguments.verdict(passed, "cells must be numpy's and a glider must glide")


if __name__ == "__main__":
    sys.exit(main())

"""The forest fire of Drossel and Schwabl (1992): trees grow, lightning strikes, and fire spreads to neighbours.

    python programs/forest_fire.py [--size 100] [--rounds 50] [--machine here] [--seed 1]

Each cell has a generator of random numbers of its own (linear congruential, Numerical Recipes' constants). The grid is
a torus. Checked against numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

EMPTY, TREE, FIRE = 0, 1, 2
GROWS, STRUCK = 1 << 27, 1 << 20
"""Of 2**32 draws: how many let a tree grow, and how many strike it."""

FACTOR, TERM, BITS = 1_664_525, 1_013_904_223, (1 << 32) - 1
NEIGHBOURS = ((0, 1), (0, -1), (1, 1), (1, -1))


def problem(size: int, rounds: int = 50, seed: int = 1) -> tuple[np.ndarray, np.ndarray, int]:
    """Cells at first, the states of their generators, and how many rounds."""
    generator = np.random.default_rng(seed)
    cells = generator.choice([EMPTY, TREE, FIRE], (size, size), p=[0.45, 0.5, 0.05])
    return cells, generator.integers(0, BITS, (size, size)), rounds


def solve(given: tuple[np.ndarray, np.ndarray, int], machine: str = "here") -> tuple[np.ndarray, list[int]]:
    """The cells at the end, and how many burned in each round."""
    cells, states, rounds = given
    vp = pvar.VPSet(cells.shape, machine=machine)
    cell, state, burned = vp.array(cells), vp.array(states), []
    for _ in range(rounds):
        state = (state * FACTOR + TERM) & BITS
        burns = cell == FIRE
        beside = pvar.shift(burns, 1, axis=0)
        for axis, distance in NEIGHBOURS[1:]:
            beside = beside | pvar.shift(burns, distance, axis=axis)
        after = pvar.where(burns, EMPTY, cell)
        with vp.where((cell == EMPTY) & (state < GROWS)):
            after[...] = TREE
        with vp.where((cell == TREE) & (beside | (state < STRUCK))):
            after[...] = FIRE
        cell = after
        burned.append(int(pvar.reduce((cell == FIRE).astype(np.int32), "sum")))
    return np.asarray(cell), burned


def expected(given: tuple[np.ndarray, np.ndarray, int]) -> tuple[np.ndarray, list[int]]:
    """The same by numpy."""
    cell, state, burned = given[0], given[1], []
    for _ in range(given[2]):
        state = (state * FACTOR + TERM) % (BITS + 1)
        beside = np.any([np.roll(cell == FIRE, -distance, axis) for axis, distance in NEIGHBOURS], axis=0)
        caught = (cell == TREE) & (beside | (state < STRUCK))
        grown = (cell == EMPTY) & (state < GROWS)
        cell = np.select([cell == FIRE, caught, grown], [EMPTY, FIRE, TREE], cell)
        burned.append(int((cell == FIRE).sum()))
    return cell, burned


def main() -> int:
    parser = arguments.parser(__doc__, 100, "cells of a side", "the forest")
    parser.add_argument("--rounds", type=int, default=50, help="rounds (default 50)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.rounds) < 1:
        parser.error("expected at least one cell and one round")
    given = problem(chosen.size, chosen.rounds, chosen.seed)
    (found, burned), (wanted, as_many) = solve(given, chosen.machine), expected(given)
    print(f"{chosen.rounds} rounds of {chosen.size} x {chosen.size} cells: {sum(burned)} burned, {burned[-1]} still do")
    return arguments.verdict(np.array_equal(found, wanted) and burned == as_many, "cells must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

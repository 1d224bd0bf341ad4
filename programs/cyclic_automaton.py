"""A cyclic cellular automaton: a cell takes the colour that follows its own if one of its four neighbours has it.

    python programs/cyclic_automaton.py [--size 100] [--rounds 60] [--machine here] [--seed 1]

From noise, spirals grow that eat up all else. The grid is a torus. Checked against numpy. Ends with code 1 if the check
fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

COLOURS = 14


def problem(size: int, rounds: int = 60, seed: int = 1) -> tuple[np.ndarray, int]:
    """Colours at random, and how many rounds."""
    return np.random.default_rng(seed).integers(0, COLOURS, (size, size)).astype(np.int16), rounds


def solve(given: tuple[np.ndarray, int], machine: str = "here") -> tuple[np.ndarray, list[int]]:
    """The colours at the end, and how many cells changed in each round."""
    colours, rounds = given
    vp = pvar.VPSet(colours.shape, machine=machine)
    cell, changed = vp.array(colours.astype(np.int32)), []
    for _ in range(rounds):
        after = cell + 1
        with vp.where(after == COLOURS):
            after[...] = 0
        eaten = pvar.shift(cell, 1, axis=0) == after
        for axis, distance in ((0, -1), (1, 1), (1, -1)):
            eaten = eaten | (pvar.shift(cell, distance, axis=axis) == after)
        cell = pvar.where(eaten, after, cell)
        changed.append(int(pvar.reduce(eaten.astype(np.int32), "sum")))
    return np.asarray(cell), changed


def expected(given: tuple[np.ndarray, int]) -> tuple[np.ndarray, list[int]]:
    """The same by numpy."""
    cell, changed = given[0], []
    for _ in range(given[1]):
        after = (cell + 1) % COLOURS
        eaten = np.any([np.roll(cell, by, axis) == after for axis in (0, 1) for by in (1, -1)], axis=0)
        cell = np.where(eaten, after, cell)
        changed.append(int(eaten.sum()))
    return cell, changed


def main() -> int:
    parser = arguments.parser(__doc__, 100, "cells of a side", "the colours")
    parser.add_argument("--rounds", type=int, default=60, help="rounds (default 60)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.rounds) < 1:
        parser.error("expected at least one cell and one round")
    given = problem(chosen.size, chosen.rounds, chosen.seed)
    (found, changed), (wanted, as_often) = solve(given, chosen.machine), expected(given)
    print(f"{chosen.rounds} rounds of {chosen.size} x {chosen.size} cells: {changed[-1]} changed in the last")
    same = np.array_equal(found, wanted) and changed == as_often
    return arguments.verdict(same, "colours must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

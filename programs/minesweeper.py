"""Fields of Minesweeper that one click opens: counts of mines around, and what spreads from where there is none.

    python programs/minesweeper.py [--size 60] [--machine here] [--seed 1]

A processor has a field; an open field without mines around opens its eight neighbours. Checked by a search in Python.
Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

AROUND = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Where mines are; none in the middle, where the click is."""
    mines = np.random.default_rng(seed).random((size, size)) < 0.1
    middle = size // 2
    mines[max(0, middle - 1) : middle + 2, max(0, middle - 1) : middle + 2] = False
    return mines


def solve(mines: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """How many mines are around each field, and which fields are open."""
    vp = pvar.VPSet(mines.shape, machine=machine)
    mine = vp.array(mines).astype("int8")
    rows = pvar.shift(mine, -1, axis=0, boundary=0) + mine + pvar.shift(mine, 1, axis=0, boundary=0)
    around = pvar.shift(rows, -1, axis=1, boundary=0) + rows + pvar.shift(rows, 1, axis=1, boundary=0) - mine
    middle = mines.shape[0] // 2
    is_open = (vp.coordinate(0) == middle) & (vp.coordinate(1) == middle)
    empty = (around == 0) & (mine == 0)
    opened = 1
    while True:
        spreads = is_open & empty
        for axis in (0, 1):
            low, high = (pvar.shift(spreads, by, axis=axis, boundary=False) for by in (-1, 1))
            spreads = spreads | low | high
        is_open = is_open | spreads
        count = int(pvar.reduce(is_open.astype("int32"), "add"))
        if count == opened:
            return np.asarray(around), np.asarray(is_open)
        opened = count


def expected(mines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, field by field."""
    size = len(mines)
    padded = np.pad(mines.astype(int), 1)
    around = sum(padded[1 + i : 1 + i + size, 1 + j : 1 + j + size] for i, j in AROUND)
    is_open, left = np.zeros(mines.shape, bool), [(size // 2, size // 2)]
    while left:
        i, j = left.pop()
        if not (0 <= i < size and 0 <= j < size) or is_open[i, j]:
            continue
        is_open[i, j] = True
        if around[i, j] == 0 and not mines[i, j]:
            left.extend((i + down, j + right) for down, right in AROUND)
    return np.asarray(around), is_open


def main() -> int:
    parser = arguments.parser(__doc__, 60, "fields along a side", "the mines")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one field")
    mines = problem(chosen.size, chosen.seed)
    around, is_open = solve(mines, chosen.machine)
    print(f"one click opens {np.count_nonzero(is_open)} of {mines.size} fields")
    right = all(np.array_equal(one, other) for one, other in zip((around, is_open), expected(mines), strict=True))
    return arguments.verdict(right, "fields must be those of the search")


if __name__ == "__main__":
    sys.exit(main())

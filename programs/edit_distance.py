"""How many letters to insert, delete or replace to make one text another: a table filled diagonal by diagonal.

    python programs/edit_distance.py [--size 500] [--machine here] [--seed 1]

Cells of one diagonal do not depend on each other: each processor has a column of the table, and the second text passes
by, one letter a step. Checked against the table filled row by row by numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

LETTERS = 4


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """A text, and what random changes have made of it."""
    made = np.random.default_rng(seed)
    text = made.integers(0, LETTERS, size).astype(np.int8)
    other = text[made.random(size) > 0.1]
    changed = made.random(len(other)) < 0.15
    other[changed] = made.integers(0, LETTERS, np.count_nonzero(changed))
    return text, np.insert(other, made.integers(0, len(other) + 1, 1 + size // 10), np.int8(1))


def solve(given: tuple[np.ndarray, np.ndarray], machine: str = "here") -> int:
    """The distance of the two."""
    text, other = given
    columns, rows = len(text), len(other)
    vp = pvar.VPSet((columns + 1,), machine=machine)
    place = vp.coordinate(0)
    mine = vp.array(np.concatenate(([np.int8(-1)], text)))
    passing = vp.full(-2, np.int8)
    # On diagonal k, column j holds row k - j; the first column and row are how many letters there are to delete.
    before, last = vp.zeros(np.int32), vp.zeros(np.int32)
    for diagonal in range(1, columns + rows + 1):
        letter = int(other[diagonal - 2]) if 2 <= diagonal <= rows + 1 else -2
        passing = pvar.shift(passing, -1, axis=0, boundary=-2)
        passing[min(1, columns)] = letter
        left = pvar.shift(last, -1, axis=0, boundary=0)
        corner = pvar.shift(before, -1, axis=0, boundary=0)
        now = pvar.minimum(pvar.minimum(left, last) + 1, corner + (mine != passing).astype(np.int32))
        edge = (place == 0) | (place == diagonal)
        with vp.where(edge):
            now[...] = diagonal
        before, last = last, now
    return int(last[columns])


def expected(given: tuple[np.ndarray, np.ndarray]) -> int:
    """Row by row: what is deleted from the left is a running minimum."""
    text, other = given
    place = np.arange(len(text) + 1)
    row = place.copy()
    for number, letter in enumerate(other, 1):
        found = np.concatenate(([number], np.minimum(row[1:] + 1, row[:-1] + (text != letter))))
        row = np.minimum.accumulate(found - place) + place
    return int(row[-1])


def main() -> int:
    parser = arguments.parser(__doc__, 500, "letters of the first text", "the texts")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one letter")
    given = problem(chosen.size, chosen.seed)
    found = solve(given, chosen.machine)
    print(f"texts of {len(given[0])} and {len(given[1])} letters: {found} changes")
    return arguments.verdict(found == expected(given), "the distance must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

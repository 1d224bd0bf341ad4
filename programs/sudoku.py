"""Many sudokus at once, as far as two rules lead.

    python programs/sudoku.py [--size 20] [--machine here] [--seed 1]

A processor is a square with a bit for each digit that it may still have. A digit that is the only one of its square
goes from the others of its row, column and box, and one that no other square of those may have is the square's own:
reductions and scans of bits from both ends say so. Checked with Python's sets. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

SIDE, BOX = 9, 3
GIVEN = 0.5


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Digits 1 to 9, or 0 where a square is empty."""
    generator = np.random.default_rng(seed)
    puzzles = []
    for _ in range(size):
        lines = [
            np.concatenate([3 * band + generator.permutation(3) for band in generator.permutation(3)]) for _ in "rc"
        ]
        row, column = np.ix_(*lines)
        grid = generator.permutation(SIDE)[(BOX * row + row // BOX + column) % SIDE] + 1
        puzzles.append(np.where(generator.random((SIDE, SIDE)) < GIVEN, grid, 0))
    return np.array(puzzles, np.uint8)


def solve(puzzles: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The bits of each square in the end, and how many squares of each puzzle have one digit."""
    vp = pvar.VPSet(puzzles.shape, machine=machine)
    digits = vp.array(puzzles).astype(np.uint16)
    number, row, column = (vp.coordinate(axis) for axis in range(3))
    in_boxes = (number, row // BOX * BOX + column // BOX, row % BOX * BOX + column % BOX)
    bits = vp.full((1 << SIDE) - 1, np.uint16)
    with vp.where(digits > 0):
        bits[...] = 1 << (digits - 1)
    while True:
        before = bits.copy()
        for unit in ("row", "column", "box"):
            # Boxes are lines too after squares have changed places; doing so twice brings them back.
            line = pvar.get(bits, in_boxes) if unit == "box" else bits
            line = narrowed(line, 1 if unit == "column" else 2)
            bits = pvar.get(line, in_boxes) if unit == "box" else line
        if not pvar.reduce(bits != before, "or"):
            break
    solved = pvar.reduce((bits & (bits - 1)) == 0, "count", axis=(1, 2))
    return np.asarray(bits), solved.numpy()[:, 0, 0]


def narrowed(bits: pvar.ParallelVariable, axis: int) -> pvar.ParallelVariable:
    """What is left by both rules along lines."""
    vp = bits.vp
    single = (bits & (bits - 1)) == 0
    with vp.where(single):
        taken = pvar.reduce(bits, "logior", axis=axis)
    bits = pvar.where(single, bits, bits & ~taken)
    others = pvar.scan(bits, "logior", axis=axis, exclusive=True)
    others |= pvar.scan(bits, "logior", axis=axis, exclusive=True, direction="down")
    own = bits & ~others
    return pvar.where(own != 0, own, bits)


def expected(puzzles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, puzzle by puzzle, with a set for each square."""
    squares = [(row, column) for row in range(SIDE) for column in range(SIDE)]
    keys = (lambda row, _: row, lambda _, column: column, lambda row, column: (row // BOX, column // BOX))
    units = [[one for one in squares if key(*one) == value] for key in keys for value in {key(*one) for one in squares}]
    bits = np.zeros(puzzles.shape, int)
    for number, puzzle in enumerate(puzzles.tolist()):
        may = {(row, column): {puzzle[row][column]} - {0} or set(range(1, 10)) for row, column in squares}
        changed = True
        while changed:
            changed = False
            for unit in units:
                for square in unit:
                    rest = [may[other] for other in unit if other != square]
                    left = may[square] - set().union(*(one for one in rest if len(one) == 1))
                    left = left - set().union(*rest) or left
                    changed |= left != may[square]
                    may[square] = left
        for square in squares:
            bits[number][square] = sum(1 << (digit - 1) for digit in may[square])
    return bits, np.count_nonzero(bits & (bits - 1) == 0, axis=(1, 2))


def main() -> int:
    parser = arguments.parser(__doc__, 20, "puzzles", "the puzzles")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one puzzle")
    puzzles = problem(chosen.size, chosen.seed)
    bits, solved = solve(puzzles, chosen.machine)
    print(f"{np.count_nonzero(solved == SIDE**2)} of {chosen.size} puzzles are solved")
    right = all(np.array_equal(one, other) for one, other in zip((bits, solved), expected(puzzles), strict=True))
    return arguments.verdict(right, "squares must have what is left of sets")


if __name__ == "__main__":
    sys.exit(main())

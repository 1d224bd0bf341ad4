"""By how much each block of a picture has moved since the picture before, as compression of videos needs.

    python programs/block_matching.py [--size 64] [--machine here] [--seed 1]

Each processor has a point. For every displacement in a window the absolute differences of both pictures are summed over
blocks by scans along both axes; each block keeps the displacement with the least sum. Checked against numpy. Ends with
code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

BLOCK, WINDOW = 8, 2
"""Points along a side of a block, and how far it may have moved along each axis."""


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Two pictures: of the second, quarters have moved by different displacements, and there is noise."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 256, (size, size)).astype(np.int32)
    second, half = np.empty_like(first), size // 2
    for rows in (slice(half), slice(half, size)):
        for columns in (slice(half), slice(half, size)):
            by = tuple(map(int, rng.integers(-WINDOW, WINDOW + 1, 2)))
            second[rows, columns] = np.roll(first, by, axis=(0, 1))[rows, columns]
    return first, second + rng.integers(0, 20, (size, size)).astype(np.int32)


def displacements() -> list[tuple[int, int]]:
    """All of the window, in the order in which they are tried."""
    return [(down, right) for down in range(-WINDOW, WINDOW + 1) for right in range(-WINDOW, WINDOW + 1)]


def solve(given: tuple[np.ndarray, np.ndarray], machine: str = "here") -> np.ndarray:
    """The number of the displacement of each block."""
    first, second = given
    vp = pvar.VPSet(first.shape, machine=machine)
    before, after = vp.array(first), vp.array(second)
    begins_row, begins_column = vp.coordinate(0) % BLOCK == 0, vp.coordinate(1) % BLOCK == 0
    least, moved = vp.full(1 << 30, np.int32), vp.zeros(np.int32)
    for number, (down, right) in enumerate(displacements()):
        there = pvar.shift(pvar.shift(before, -down, axis=0), -right, axis=1)
        difference = abs(after - there)
        along = pvar.scan(difference, "add", axis=1, segments=begins_column)
        # The sum of a block is at its last point.
        total = pvar.scan(along, "add", axis=0, segments=begins_row)
        is_less = total < least
        least = pvar.minimum(least, total)
        with vp.where(is_less):
            moved[...] = number
    return np.asarray(moved)[BLOCK - 1 :: BLOCK, BLOCK - 1 :: BLOCK]


def expected(given: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The same by numpy."""
    first, second = given
    blocks = len(first) // BLOCK
    sums = []
    for down, right in displacements():
        difference = np.abs(second - np.roll(first, (down, right), axis=(0, 1)))
        sums.append(difference.reshape(blocks, BLOCK, blocks, BLOCK).sum(axis=(1, 3)))
    return np.argmin(sums, axis=0)


def main() -> int:
    parser = arguments.parser(__doc__, 64, f"points along a side, a multiple of {BLOCK}", "the pictures")
    chosen = parser.parse_args()
    if chosen.size < BLOCK or chosen.size % BLOCK:
        parser.error(f"expected a multiple of {BLOCK}")
    given = problem(chosen.size, chosen.seed)
    found = solve(given, chosen.machine)
    most = displacements()[np.bincount(found.reshape(-1)).argmax()]
    print(f"{found.size} blocks, most have moved by {most}")
    return arguments.verdict(bool((found == expected(given)).all()), "displacements must be those of numpy")


if __name__ == "__main__":
    sys.exit(main())

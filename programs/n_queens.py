"""How many ways there are to put queens on a board of which none attacks another, row by row.

    python programs/n_queens.py [--size 8] [--machine here]

Each processor is one way to fill the rows so far: which columns are taken, and which squares of the next row are
attacked along either diagonal, as bits of a word. A row further it has as many successors as squares are left, in a
longer VP set, where each fetches what it comes from and takes the square of its own number. Checked against a search
that goes back where it cannot go on. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import Any

import arguments
import numpy as np

from weft import pvar


def problem(size: int) -> int:
    """The side of the board."""
    return size


def count_of_bits(bits: Any, size: int) -> Any:
    """How many of the lower bits are set."""
    count = bits & 1
    for bit in range(1, size):
        count = count + ((bits >> bit) & 1)
    return count


def solve(size: int, machine: str = "here") -> int:
    """The number of ways."""
    every = (1 << size) - 1
    vp = pvar.VPSet(1, machine=machine)
    columns, left, right = vp.zeros(np.int32), vp.zeros(np.int32), vp.zeros(np.int32)
    for _ in range(size):
        free = ~(columns | left | right) & every
        count = count_of_bits(free, size)
        before = pvar.scan(count, "add", exclusive=True)
        total = pvar.reduce(count, "sum")
        if total == 0:
            return 0
        longer = pvar.VPSet(total, machine=machine)
        # The first successor of each has its address; a scan tells the others.
        first = longer.zeros(np.int32)
        with vp.where(count > 0):
            pvar.send(vp.address(), before, into=first)
        parent = pvar.scan(first, "max")
        columns, left, right, free, before = (pvar.get(one, parent) for one in (columns, left, right, free, before))
        number = longer.address() - before
        # The lowest squares that are left go to those with lower numbers.
        while pvar.reduce(number > 0, "or"):
            with longer.where(number > 0):
                free &= free - 1
                number -= 1
        square = free & -free
        columns, left, right, vp = columns | square, ((left | square) << 1) & every, (right | square) >> 1, longer
    return int(pvar.reduce(columns == every, "count"))


def expected(size: int) -> int:
    """The same by a search that goes back."""

    def ways(columns: int, left: int, right: int) -> int:
        if columns == (1 << size) - 1:
            return 1
        count, free = 0, ~(columns | left | right) & ((1 << size) - 1)
        while free:
            square = free & -free
            free ^= square
            count += ways(columns | square, (left | square) << 1, (right | square) >> 1)
        return count

    return ways(0, 0, 0)


def main() -> int:
    parser = arguments.parser(__doc__, 8, "rows and columns of the board")
    chosen = parser.parse_args()
    if not 1 <= chosen.size <= 14:
        parser.error("expected a board of 1 to 14 rows")
    found = solve(problem(chosen.size), chosen.machine)
    print(f"{found} ways to put {chosen.size} queens")
    return arguments.verdict(found == expected(chosen.size), "the number must be that of a search")


if __name__ == "__main__":
    sys.exit(main())

"""Sparse triangular equations, level by level: all unknowns at once that wait for none that is not known yet.

    python programs/triangular_solve.py [--size 1000] [--machine here] [--seed 1]

There is a processor for each nonzero below the diagonal, and one for each equation. Levels are the longest chains of
unknowns that wait for each other (Anderson and Saad, International Journal of High Speed Computing 1, 1989), by sends
with a maximum. Checked by forward substitution. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

NONZEROS = 3


class Equations(NamedTuple):
    """Row, column and value of each nonzero below the diagonal; the diagonal, and the right-hand side."""

    row: np.ndarray
    column: np.ndarray
    value: np.ndarray
    diagonal: np.ndarray
    right: np.ndarray


def problem(size: int, seed: int = 1) -> Equations:
    """Rows with some nonzeros anywhere to the left, not larger together than the diagonal."""
    generator = np.random.default_rng(seed)
    row = np.repeat(np.arange(1, size), NONZEROS)
    column = (row * generator.random(len(row))).astype(np.int32)
    value = generator.uniform(-0.3, 0.3, len(row))
    diagonal = generator.uniform(1, 2, size) * generator.choice([-1, 1], size)
    return Equations(row.astype(np.int32), column, value, diagonal, generator.normal(0, 1, size))


def solve(equations: Equations, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The unknowns, and the level of each."""
    rows = pvar.VPSet(len(equations.diagonal), machine=machine)
    vp = pvar.VPSet(max(len(equations.row), 1), machine=machine)
    padding = 0 if len(equations.row) else 1
    row, column, value = (vp.array(np.pad(one, (0, padding))) for one in equations[:3])
    diagonal, right = rows.array(equations.diagonal), rows.array(equations.right)
    level = rows.zeros(np.int32)
    with vp.where(row > column):
        while True:
            before = level.copy()
            pvar.send(pvar.get(level, column) + 1, row, combine="max", into=level)
            if (level == before).all():
                break
        of_row = pvar.get(level, row)
    unknown, total = rows.zeros(), rows.zeros()
    for step in range(int(level.max()) + 1):
        with vp.where((of_row == step) & (row > column)):
            pvar.send(value * pvar.get(unknown, column), row, combine="add", into=total)
        with rows.where(level == step):
            unknown[...] = (right - total) / diagonal
    return np.asarray(unknown), np.asarray(level)


def expected(equations: Equations) -> tuple[np.ndarray, np.ndarray]:
    """The same, row by row."""
    size = len(equations.diagonal)
    unknown, level = np.zeros(size), np.zeros(size, int)
    for row in range(size):
        own = slice((row - 1) * NONZEROS, row * NONZEROS) if row else slice(0)
        column = equations.column[own]
        unknown[row] = (equations.right[row] - equations.value[own] @ unknown[column]) / equations.diagonal[row]
        level[row] = level[column].max(initial=-1) + 1
    return unknown, level


def main() -> int:
    parser = arguments.parser(__doc__, 1000, "equations", "the matrix")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one equation")
    equations = problem(chosen.size, chosen.seed)
    unknown, level = solve(equations, chosen.machine)
    print(f"{chosen.size} equations in {level.max() + 1} levels")
    wanted = expected(equations)
    right = np.array_equal(level, wanted[1]) and np.allclose(unknown, wanted[0], rtol=1e-9, atol=1e-12)
    return arguments.verdict(bool(right), "unknowns must be those of forward substitution")


if __name__ == "__main__":
    sys.exit(main())

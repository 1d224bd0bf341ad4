"""Gaussian elimination with partial pivoting, statement by statement as in figure 11 of Wu and Shu 1989.

    python programs/gauss.py [--size 63] [--machine here] [--seed 1]

A system of `size` equations fills a grid of size x (size + 1) virtual processors. No row is exchanged: a pivot row
leaves the active ones, so that what remains is triangular in the order of the pivots. The front end substitutes back.
The solution is checked by its residual, relative to what rounding allows. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import arguments
import numpy as np

from weft import pvar


@dataclass(frozen=True)
class Eliminated:
    """What the elimination leaves: the matrix, and its rows in the order in which they were pivots."""

    matrix: np.ndarray
    order: list[int]


def problem(size: int, seed: int = 1) -> np.ndarray:
    """`size` equations, their right-hand sides in the last column; single precision, as the CM-2's chips have it."""
    return np.random.default_rng(seed).standard_normal((size, size + 1)).astype(np.float32)


def solve(given: np.ndarray, machine: str = "here") -> Eliminated:
    """Figure 11: after it the pivot rows, in their order, are triangular."""
    size = len(given)
    vp = pvar.VPSet(given.shape, machine=machine)
    row, col = vp.coordinate(0), vp.coordinate(1)
    x = vp.array(given, copy=True)
    factor = vp.zeros(given.dtype)
    active = (row < size) & (col <= size)
    order = []
    for i in range(size - 1):
        with vp.where(active):
            with vp.where(col == i):
                pivot = pvar.reduce(abs(x), "max")
                with vp.where(abs(x) == pivot):
                    index = int(pvar.reduce(row, "min"))
            pivots = pvar.spread(x, axis=0, index=index)
            with vp.where(col == i):
                factor[...] = x / pivots
            factor[...] = pvar.spread(factor, axis=1, index=i)
            with vp.where(row == index):
                active[...] = False
            with vp.where(active):
                x[...] = x - factor * pivots
        order.append(index)
    (last,) = set(range(size)) - set(order)
    return Eliminated(np.asarray(x), [*order, last])


def substituted(found: Eliminated) -> np.ndarray:
    """The solution of the triangular system, on the front end."""
    upper = found.matrix[found.order].astype(float)
    size = len(upper)
    solution = np.zeros(size)
    for i in reversed(range(size)):
        solution[i] = (upper[i, size] - upper[i, i + 1 : size] @ solution[i + 1 :]) / upper[i, i]
    return solution


def error(given: np.ndarray, found: Eliminated) -> float:
    """The largest residual, relative to the sizes of matrix and solution and to the rounding of single precision."""
    matrix, right = given[:, :-1].astype(float), given[:, -1].astype(float)
    solution = substituted(found)
    scale = np.abs(matrix).sum(axis=1).max() * np.abs(solution).max() + np.abs(right).max()
    return float(np.abs(matrix @ solution - right).max() / scale / np.finfo(np.float32).eps)


def main() -> int:
    parser = arguments.parser(__doc__, 63, "equations", "the equations")
    chosen = parser.parse_args()
    if chosen.size < 2:
        parser.error("expected at least two equations")
    given = problem(chosen.size, chosen.seed)
    found = error(given, solve(given, chosen.machine))
    print(f"{chosen.size} equations: largest residual {found:.2f} roundings")
    # Backward stable in practice: the growth of partial pivoting on random matrices is far below the size.
    passed = found <= chosen.size
    return arguments.verdict(passed, f"the residual must be within {chosen.size} roundings")


if __name__ == "__main__":
    sys.exit(main())

"""Columns of a matrix made orthonormal, one after the other (Gram and Schmidt, in the modified order).

    python programs/gram_schmidt.py [--size 64] [--machine here] [--seed 1]

Each processor has an element of the matrix. In each step a column is spread over all of them, and taken from those
after it as often as it is in them. Checked: the columns are orthonormal, and with what was taken they make the matrix
again. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> np.ndarray:
    """A square matrix of random numbers."""
    return np.random.default_rng(seed).standard_normal((size, size))


def solve(matrix: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The orthonormal columns, and the triangle of what they are multiplied by."""
    vp = pvar.VPSet(matrix.shape, machine=machine)
    q, r = vp.array(matrix, copy=True), vp.zeros()
    row, column = vp.coordinate(0), vp.coordinate(1)
    for step in range(matrix.shape[1]):
        one = pvar.spread(q, axis=1, index=step)
        length = pvar.sqrt(pvar.reduce(one * one, "sum", axis=0))
        one = one / length
        share = pvar.reduce(one * q, "sum", axis=0)
        with vp.where(column > step):
            q -= share * one
        with vp.where(column == step):
            q[...] = one
        with vp.where((row == step) & (column >= step)):
            r[...] = share
    return np.asarray(q), np.asarray(r)


def main() -> int:
    parser = arguments.parser(__doc__, 64, "rows and columns", "the matrix")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one column")
    matrix = problem(chosen.size, chosen.seed)
    q, r = solve(matrix, chosen.machine)
    orthonormal = float(np.abs(q.T @ q - np.eye(chosen.size)).max())
    same = float(np.abs(q @ r - matrix).max())
    print(f"products of columns are off by {orthonormal:.1e}, the matrix by {same:.1e}")
    return arguments.verdict(
        bool(orthonormal < 1e-8 and same < 1e-10 and np.array_equal(r, np.triu(r))),
        "columns must be orthonormal, and make the matrix with a triangle",
    )


if __name__ == "__main__":
    sys.exit(main())

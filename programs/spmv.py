"""Sparse matrix times vector: a virtual processor for each nonzero, rows summed by a segmented scan.

    python programs/spmv.py [--size 2000] [--row 8] [--times 10] [--machine here] [--seed 1]

The vector lies in the first processors. Every nonzero gets its element (many may want the same one), multiplies, and
the last one of a row, which has the row's sum after the scan, sends it to the row's own processor. Repeated, each time
with the result divided by its largest element: the power method. Checked against the same in double precision with the
matrix of scipy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np
import scipy.sparse

from weft import pvar


def problem(size: int, row: int = 8, times: int = 10, seed: int = 1) -> tuple[scipy.sparse.csr_array, int]:
    """A matrix with `row` nonzeros in a row on average and none empty, and how often it is applied."""
    made = np.random.default_rng(seed)
    lengths = made.integers(1, 2 * row, size)
    columns = made.integers(0, size, int(lengths.sum()))
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    return scipy.sparse.csr_array(
        (made.uniform(0.1, 1, len(columns)).astype(np.float32), columns, bounds), (size, size)
    ), times


def solve(given: tuple[scipy.sparse.csr_array, int], machine: str = "here") -> np.ndarray:
    """The vector after all multiplications, its largest element 1."""
    matrix, times = given
    size, nonzeros = matrix.shape[0], matrix.nnz
    rows = np.repeat(np.arange(size), np.diff(matrix.indptr))
    vp = pvar.VPSet((nonzeros,), machine=machine)
    value, column = vp.array(matrix.data), vp.array(matrix.indices.astype(np.int64))
    row_of = vp.array(rows)
    first = vp.array(np.diff(rows, prepend=-1) != 0)
    last = vp.array(np.diff(rows, append=size) != 0)
    holds_row = vp.coordinate(0) < size
    vector = vp.full(1, np.float32)
    for _ in range(times):
        product = value * pvar.get(vector, column, collisions="many")
        summed = pvar.scan(product, "add", axis=0, segments=first)
        with vp.where(last):
            vector = pvar.send(summed, row_of)
        with vp.where(holds_row):
            vector[...] = vector / float(pvar.reduce(vector, "max"))
    return np.asarray(vector)[:size]


def error(given: tuple[scipy.sparse.csr_array, int], found: np.ndarray) -> float:
    """The largest difference from scipy's products."""
    matrix, times = given
    matrix, vector = matrix.astype(float), np.ones(matrix.shape[0])
    for _ in range(times):
        vector = matrix @ vector
        vector /= vector.max()
    return float(np.abs(found - vector).max())


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "rows and columns", "the matrix")
    parser.add_argument("--row", type=int, default=8, help="nonzeros in a row, on average (default 8)")
    parser.add_argument("--times", type=int, default=10, help="multiplications (default 10)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.row, chosen.times) < 1:
        parser.error("expected at least one row, one nonzero in it and one multiplication")
    given = problem(chosen.size, chosen.row, chosen.times, chosen.seed)
    found = error(given, solve(given, chosen.machine))
    print(f"{chosen.times} products with {given[0].nnz} nonzeros: largest difference {found:.1e}")
    passed = found <= 2e-6 * chosen.times
    return arguments.verdict(passed, f"scipy's products must be met to {2e-6 * chosen.times:.0e}")


if __name__ == "__main__":
    sys.exit(main())

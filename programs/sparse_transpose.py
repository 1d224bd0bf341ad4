"""The transpose of a sparse matrix in compressed rows, by a sort of its columns.

    python programs/sparse_transpose.py [--size 2000] [--row 8] [--machine here] [--seed 1]

Elements are one VP set and rows are another. Each element learns its row from a scan; in the order of columns, which
keeps rows in order, they are the transpose; sends that add count how many a column has, and a scan says where each
begins. Checked against scipy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np
import scipy.sparse

from weft import pvar

Compressed = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Where rows begin, columns, values."""


def problem(size: int, row: int = 8, seed: int = 1) -> Compressed:
    """A square matrix of so many rows, with so many elements in each on average."""
    generator = np.random.default_rng(seed)
    matrix = scipy.sparse.random(size, size, density=min(1.0, row / size), format="csr", random_state=generator)
    matrix.sort_indices()
    return matrix.indptr[:-1].astype(np.int64), matrix.indices.astype(np.int64), matrix.data


def solve(given: Compressed, machine: str = "here") -> Compressed:
    """The transpose, in the same form."""
    begins, columns, values = given
    rows, elements = pvar.VPSet(begins.shape, machine=machine), pvar.VPSet(columns.shape, machine=machine)
    begin, column = rows.array(begins), elements.array(columns)
    end = pvar.shift(begin, 1, boundary=len(columns))
    with rows.where(end > begin):
        mark = pvar.send(rows.coordinate(0), begin, vp=elements)
    row = pvar.scan(mark, "max")
    order = pvar.rank(column)
    counts = pvar.send(elements.full(1), column, combine="add", vp=rows)
    moved = [pvar.send(one, order) for one in (row, elements.array(values))]
    return np.asarray(pvar.scan(counts, "add", exclusive=True)), np.asarray(moved[0]), np.asarray(moved[1])


def expected(given: Compressed) -> Compressed:
    """The same by scipy."""
    begins, columns, values = given
    shape = (len(begins), len(begins))
    transposed = scipy.sparse.csr_matrix((values, columns, np.append(begins, len(columns))), shape).T.tocsr()
    return transposed.indptr[:-1], transposed.indices, transposed.data


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "rows", "the matrix")
    parser.add_argument("--row", type=int, default=8, help="elements of a row on average (default 8)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.row) < 1:
        parser.error("expected at least one row, with one element")
    given = problem(chosen.size, chosen.row, chosen.seed)
    found = solve(given, chosen.machine)
    print(f"{chosen.size} rows with {len(given[1])} elements")
    same = all(np.array_equal(one, other) for one, other in zip(found, expected(given), strict=True))
    return arguments.verdict(same, "the transpose must be scipy's")


if __name__ == "__main__":
    sys.exit(main())

"""The singular values of a matrix, by rotations of many pairs of columns at once (one-sided Jacobi).

    python programs/singular_values.py [--size 24] [--machine here] [--seed 1]

A line of processors has a column. As in a tournament, columns meet in pairs, every two of them once in a sweep (Brent
and Luk, SIAM J. Sci. Stat. Comput. 6, 1985), and a rotation makes each pair orthogonal; after some sweeps all columns
are, and their lengths are the singular values. Checked with numpy's. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

SWEEPS = 30
TOLERANCE = 1e-13
"""The cosine of the angle between two columns that are orthogonal."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """A matrix of more rows than columns, with singular values of some orders of magnitude."""
    generator = np.random.default_rng(seed)
    return generator.normal(0, 1, (size + size // 2, size)) * np.geomspace(1, 0.01, size)


def solve(matrix: np.ndarray, machine: str = "here") -> np.ndarray:
    """The singular values, the largest first."""
    number = matrix.shape[1]
    vp, line = pvar.VPSet(matrix.shape[::-1], machine=machine), pvar.VPSet(number, machine=machine)
    columns = vp.array(np.ascontiguousarray(matrix.T))
    column, element = vp.coordinate(0), vp.coordinate(1)
    for _ in range(SWEEPS):
        largest = 0.0
        for meeting in range(number - 1):
            partner = opponent(column, meeting, number)
            other = pvar.get(columns, (partner, element))
            own_length = pvar.reduce(columns * columns, "sum", axis=1)
            other_length = pvar.reduce(other * other, "sum", axis=1)
            product = pvar.reduce(columns * other, "sum", axis=1)
            cosine = abs(product) / pvar.sqrt(own_length * other_length)
            largest = max(largest, float(cosine.max()))
            with vp.where(cosine > TOLERANCE):
                # Both of a pair rotate by the same angle, in opposite directions.
                ratio = (other_length - own_length) / (2 * product)
                direction = pvar.where(ratio == 0, pvar.sign(partner - column).astype(np.float64), pvar.sign(ratio))
                tangent = direction / (abs(ratio) + pvar.sqrt(1 + ratio * ratio))
                columns[...] = (columns - tangent * other) / pvar.sqrt(1 + tangent * tangent)
        if largest <= TOLERANCE:
            break
    lengths = pvar.reduce(columns * columns, "sum", axis=1)
    of_columns = pvar.get(lengths, (line.address(), 0))
    return np.asarray(pvar.sort(pvar.sqrt(of_columns), descending=True))


def opponent(column: pvar.ParallelVariable, meeting: int, number: int) -> pvar.ParallelVariable:
    """Whom each column meets: numbers of one sum modulo the last one, which meets whoever would meet itself."""
    last = number - 1
    other = (meeting - column) % last
    other = pvar.where(other == column, last, other)
    return pvar.where(column == last, meeting * (number // 2) % last, other)


def main() -> int:
    parser = arguments.parser(__doc__, 24, "columns", "the matrix")
    chosen = parser.parse_args()
    if chosen.size < 2 or chosen.size % 2:
        parser.error("expected an even number of columns, at least two")
    matrix = problem(chosen.size, chosen.seed)
    values = solve(matrix, chosen.machine)
    print(f"singular values are from {values[-1]:.4f} to {values[0]:.4f}")
    right = np.allclose(values, np.linalg.svd(matrix, compute_uv=False), rtol=1e-10)
    return arguments.verdict(right, "singular values must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

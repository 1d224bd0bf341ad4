"""The largest eigenvalue of a symmetric matrix and its vector, by multiplying again and again (von Mises 1929).

    python programs/power_iteration.py [--size 64] [--machine here] [--seed 1]

Each processor has an element of the matrix. A product with a vector is spread down the columns, multiplied, summed
along the rows; what is in the rows then has to get into the columns, which is a transposition through the router. Ends
with code 1 if numpy finds another eigenvalue.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

ROUNDS = 40


def problem(size: int, seed: int = 1) -> np.ndarray:
    """A symmetric matrix of positive numbers, so that one eigenvalue is far above all others."""
    matrix = np.random.default_rng(seed).random((size, size))
    return matrix + matrix.T


def solve(matrix: np.ndarray, machine: str = "here") -> tuple[float, np.ndarray]:
    """The eigenvalue and its vector, of length one."""
    vp = pvar.VPSet(matrix.shape, machine=machine)
    a = vp.array(matrix)
    transposed = vp.coordinate(1) * len(matrix) + vp.coordinate(0)
    vector = vp.full(1 / np.sqrt(len(matrix)))
    length = 0.0
    for _ in range(ROUNDS):
        # Every column has the sums of all rows, so every row of the transposed has the vector.
        product = pvar.get(pvar.reduce(a * vector, "sum", axis=1), transposed)
        length = float(np.sqrt(pvar.reduce(product * product, "sum") / len(matrix)))
        vector = product / length
    return length, np.asarray(vector)[0]


def main() -> int:
    parser = arguments.parser(__doc__, 64, "rows and columns", "the matrix")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one row")
    matrix = problem(chosen.size, chosen.seed)
    value, vector = solve(matrix, chosen.machine)
    expected = float(np.linalg.eigvalsh(matrix)[-1])
    residual = float(np.abs(matrix @ vector - value * vector).max())
    print(f"eigenvalue {value:.6f}, off by {abs(value - expected):.1e}; residual {residual:.1e}")
    return arguments.verdict(
        abs(value - expected) < 1e-9 * expected and residual < 1e-6 * expected, "numpy must find the same eigenvalue"
    )


if __name__ == "__main__":
    sys.exit(main())

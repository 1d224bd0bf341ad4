"""Matrix product by Cannon's method: after a skew, both matrices only ever move by one place.

    python programs/cannon.py [--size 64] [--machine here] [--seed 1]

Processor (i, j) holds an element of each matrix. Row i of the first is skewed by i, column j of the second by j, by one
get each; then in every step each processor multiplies what it has, and rows and columns go around by one. Checked
against numpy's product in double precision. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Two matrices of single precision."""
    made = np.random.default_rng(seed)
    first, second = (made.uniform(-1, 1, (size, size)).astype(np.float32) for _ in range(2))
    return first, second


def solve(given: tuple[np.ndarray, np.ndarray], machine: str = "here") -> np.ndarray:
    """The product."""
    first, second = given
    size = len(first)
    vp = pvar.VPSet(first.shape, machine=machine)
    row, col = vp.coordinate(0), vp.coordinate(1)
    along = (row + col) % size
    a = pvar.get(vp.array(first), (row, along))
    b = pvar.get(vp.array(second), (along, col))
    total = a * b
    for _ in range(size - 1):
        a = pvar.shift(a, 1, axis=1)
        b = pvar.shift(b, 1, axis=0)
        total += a * b
    return np.asarray(total)


def error(given: tuple[np.ndarray, np.ndarray], found: np.ndarray) -> float:
    """The largest difference from numpy's product, relative to what rounding of so many sums allows."""
    first, second = (one.astype(float) for one in given)
    bound = np.abs(first) @ np.abs(second) * len(first) * np.finfo(np.float32).eps
    return float((np.abs(found - first @ second) / bound).max())


def main() -> int:
    parser = arguments.parser(__doc__, 64, "rows and columns", "the matrices")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one row")
    given = problem(chosen.size, chosen.seed)
    found = error(given, solve(given, chosen.machine))
    print(f"product of {chosen.size}x{chosen.size} matrices: largest error {found:.2f} of what rounding allows")
    return arguments.verdict(found <= 1, "the error must be within what rounding allows")


if __name__ == "__main__":
    sys.exit(main())

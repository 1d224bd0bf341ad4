"""Tridiagonal equations by parallel cyclic reduction (Hockney 1965): a processor for each, twice as far at each step.

    python programs/tridiagonal.py [--size 4096] [--machine here] [--seed 1]

Each equation is combined with those so far before and behind it that its unknowns are the ones farther off, until it
has one. Checked against scipy's banded solver. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np
import scipy.linalg

from weft import pvar

TOLERANCE = 1e-10


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Below, on and above the diagonal, which is the largest, and the right-hand side, as rows."""
    generator = np.random.default_rng(seed)
    below, above, right = generator.uniform(-1, 1, (3, size))
    below[0] = above[-1] = 0
    return np.stack([below, 2.5 + generator.random(size), above, right])


def solve(equations: np.ndarray, machine: str = "here") -> np.ndarray:
    """The unknowns."""
    size = equations.shape[1]
    vp = pvar.VPSet((size,), machine=machine)
    below, diagonal, above, right = (vp.array(row) for row in equations)
    distance = 1
    while distance < size:
        before = [pvar.shift(one, -distance, axis=0) for one in (below, above, right)]
        behind = [pvar.shift(one, distance, axis=0) for one in (below, above, right)]
        # Outside there are equations whose unknown is zero: their diagonal must not be.
        low = -below / pvar.shift(diagonal, -distance, axis=0, boundary=1.0)
        high = -above / pvar.shift(diagonal, distance, axis=0, boundary=1.0)
        below, above = low * before[0], high * behind[1]
        diagonal = diagonal + low * before[1] + high * behind[0]
        right = right + low * before[2] + high * behind[2]
        distance *= 2
    return np.asarray(right / diagonal)


def expected(equations: np.ndarray) -> np.ndarray:
    """The same by scipy."""
    below, diagonal, above, right = equations
    if len(right) == 1:
        return right / diagonal
    return scipy.linalg.solve_banded((1, 1), np.stack([np.roll(above, 1), diagonal, np.roll(below, -1)]), right)


def main() -> int:
    parser = arguments.parser(__doc__, 4096, "equations", "the equations")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one equation")
    equations = problem(chosen.size, chosen.seed)
    error = float(np.abs(solve(equations, chosen.machine) - expected(equations)).max())
    print(f"{chosen.size} equations: {error:.1e} from scipy's solution")
    return arguments.verdict(error <= TOLERANCE, f"unknowns must be scipy's within {TOLERANCE:g}")


if __name__ == "__main__":
    sys.exit(main())

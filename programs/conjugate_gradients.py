"""Conjugate gradients for Poisson's equation on a square: the operator is four shifts, products are reductions.

    python programs/conjugate_gradients.py [--size 64] [--steps 100] [--machine here] [--seed 1]

The right-hand side is the operator applied to a known random field, so that the error is known too. Stops when the
residual is a millionth of its first length. Checked against that field: the error is at most the residual times the
condition of the operator. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np

from weft import pvar

WANTED = 1e-6
"""Of the residual's length, relative to its first."""


def problem(size: int, steps: int = 100, seed: int = 1) -> tuple[np.ndarray, int]:
    """The right-hand side of a random field in double precision, and how many steps at most."""
    return laplacian(field(size, seed)), steps


def field(size: int, seed: int) -> np.ndarray:
    """What is to be found."""
    return np.random.default_rng(seed).standard_normal((size, size))


def laplacian(x: np.ndarray) -> np.ndarray:
    """The operator in numpy: four times a point less its four neighbours, zero outside."""
    around = np.pad(x, 1)
    return 4 * x - around[:-2, 1:-1] - around[2:, 1:-1] - around[1:-1, :-2] - around[1:-1, 2:]


def applied(p: pvar.ParallelVariable) -> pvar.ParallelVariable:
    """The operator."""
    north_south = pvar.shift(p, 1, axis=0, boundary=0.0) + pvar.shift(p, -1, axis=0, boundary=0.0)
    east_west = pvar.shift(p, 1, axis=1, boundary=0.0) + pvar.shift(p, -1, axis=1, boundary=0.0)
    return p * 4.0 - north_south - east_west


def solve(given: tuple[np.ndarray, int], machine: str = "here") -> tuple[np.ndarray, int]:
    """The solution, and the steps taken."""
    right, most = given
    vp = pvar.VPSet(right.shape, machine=machine)
    x = vp.zeros(right.dtype)
    r = vp.array(right, copy=True)
    p = r.copy()
    rho = float(pvar.reduce(r * r, "sum"))
    enough = WANTED**2 * rho
    step = 0
    while step < most and rho > enough:
        q = applied(p)
        alpha = rho / float(pvar.reduce(p * q, "sum"))
        x += p * alpha
        r -= q * alpha
        new = float(pvar.reduce(r * r, "sum"))
        p = r + p * (new / rho)
        rho = new
        step += 1
    return np.asarray(x), step


def residual(given: tuple[np.ndarray, int], found: tuple[np.ndarray, int]) -> float:
    """Its length, relative to the right-hand side's, computed in numpy from the solution."""
    right, _ = given
    return float(np.linalg.norm(laplacian(found[0]) - right) / np.linalg.norm(right))


def main() -> int:
    parser = arguments.parser(__doc__, 64, "points along each axis", "the field")
    parser.add_argument("--steps", type=int, default=1000, help="steps at most (default 1000)")
    chosen = parser.parse_args()
    if chosen.size < 2 or chosen.steps < 1:
        parser.error("expected at least two points along each axis and one step")
    given = problem(chosen.size, chosen.steps, chosen.seed)
    answer = solve(given, chosen.machine)
    off = float(np.linalg.norm(answer[0] - field(chosen.size, chosen.seed)))
    left = residual(given, answer)
    # The least eigenvalue of the operator is 8 sin^2(pi h / 2), h = 1 / (size + 1).
    allowed = 1.01 * left * float(np.linalg.norm(given[0])) / (8 * math.sin(math.pi / (2 * (chosen.size + 1))) ** 2)
    print(f"after {answer[1]} steps the residual is {left:.1e} of the right-hand side, the error {off:.1e}")
    passed = left <= 2 * WANTED and off <= allowed + 1e-12 * chosen.size
    return arguments.verdict(passed, f"the residual must be within {2 * WANTED:.0e} and the error within {allowed:.1e}")


if __name__ == "__main__":
    sys.exit(main())

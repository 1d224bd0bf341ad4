"""All roots of many polynomials at once, in the complex plane, by Aberth's method.

    python programs/polynomial_roots.py [--size 60] [--machine here] [--seed 1]

A line of processors has a polynomial, each of them one root, which Newton's method would correct; that others of the
line are taken for roots already keeps it away from them (Aberth, Math. Comp. 27, 1973). Real and imaginary parts are
two variables. Checked with numpy's eigenvalues of companion matrices. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import Any

import arguments
import numpy as np

from weft import pvar

DEGREE, ROUNDS = 7, 60
TOLERANCE = 1e-13
Pair = tuple[Any, Any]
"""The real and the imaginary part of a complex number."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Real coefficients, from the second highest on, of polynomials that begin with 1."""
    return np.random.default_rng(seed).normal(0, 1, (size, DEGREE))


def solve(polynomials: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, int]:
    """Real and imaginary parts of the roots, and how many of them are real."""
    vp = pvar.VPSet(polynomials.shape, machine=machine)
    given = vp.array(polynomials)
    coefficients = [pvar.spread(given, axis=1, index=power) for power in range(DEGREE)]
    radius = 1 + abs(given).max(axis=1) / 2
    angle = 2 * np.pi * vp.coordinate(1).astype(np.float64) / DEGREE + 0.4
    real, imaginary = radius * pvar.cos(angle), radius * pvar.sin(angle)
    active = vp.full(True)
    for _ in range(ROUNDS):
        with vp.where(active):
            value, slope = (vp.full(1.0), vp.zeros()), (vp.zeros(), vp.zeros())
            for coefficient in coefficients:
                slope = plus(times(slope, (real, imaginary)), value)
                value = times(value, (real, imaginary))
                value = value[0] + coefficient, value[1]
            newton = over(value, slope)
            repulsion = vp.zeros(), vp.zeros()
            for distance in range(1, DEGREE):
                apart = real - pvar.shift(real, distance, axis=1), imaginary - pvar.shift(imaginary, distance, axis=1)
                repulsion = plus(repulsion, over((1.0, 0.0), apart))
            slower = times(newton, repulsion)
            step = over(newton, (1 - slower[0], -slower[1]))
            real -= step[0]
            imaginary -= step[1]
            active[...] = pvar.hypot(*step) > TOLERANCE * (1 + pvar.hypot(real, imaginary))
        if not pvar.reduce(active, "or"):
            break
    return np.asarray(real), np.asarray(imaginary), int(pvar.reduce(abs(imaginary) < 1e-8, "count"))


def plus(one: Pair, other: Pair) -> Pair:
    """The sum of two complex numbers."""
    return one[0] + other[0], one[1] + other[1]


def times(one: Pair, other: Pair) -> Pair:
    """The product of two complex numbers."""
    return one[0] * other[0] - one[1] * other[1], one[0] * other[1] + one[1] * other[0]


def over(one: Pair, other: Pair) -> Pair:
    """The quotient of two complex numbers."""
    squared = other[0] * other[0] + other[1] * other[1]
    real, imaginary = times(one, (other[0], -other[1]))
    return real / squared, imaginary / squared


def main() -> int:
    parser = arguments.parser(__doc__, 60, "polynomials", "coefficients")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one polynomial")
    polynomials = problem(chosen.size, chosen.seed)
    real, imaginary, number = solve(polynomials, chosen.machine)
    print(f"{number} of {real.size} roots are real")
    wanted = np.array([np.roots([1, *polynomial]) for polynomial in polynomials])
    apart = abs((real + 1j * imaginary)[:, :, None] - wanted[:, None, :])
    # Roots that nearly coincide are known to half of the digits.
    right = max(apart.min(axis=1).max(), apart.min(axis=2).max()) < 1e-6 * (1 + abs(wanted).max())
    right = right and number == (abs(wanted.imag) < 1e-8).sum()
    return arguments.verdict(bool(right), "roots must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

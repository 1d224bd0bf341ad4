"""The Mandelbrot set: every point of a grid iterates z^2 + c until it has escaped.

    python programs/mandelbrot.py [--size 100] [--rounds 40] [--machine here]

Points that have escaped are not selected any more. Counts must be those of numpy's complex numbers, but for points
where rounding decides. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, rounds: int = 40) -> tuple[np.ndarray, np.ndarray, int]:
    """Real and imaginary parts of the points, and how many rounds."""
    real, imaginary = np.meshgrid(np.linspace(-2.1, 0.7, size), np.linspace(-1.2, 1.2, size))
    return real, imaginary, rounds


def solve(given: tuple[np.ndarray, np.ndarray, int], machine: str = "here") -> np.ndarray:
    """For each point, the rounds in which it had not escaped."""
    real, imaginary, rounds = given
    vp = pvar.VPSet(real.shape, machine=machine)
    a, b = vp.array(real), vp.array(imaginary)
    x, y = vp.zeros(np.float64), vp.zeros(np.float64)
    count = vp.zeros(np.int32)
    for _ in range(rounds):
        xx, yy = x * x, y * y
        with vp.where(xx + yy <= 4.0):
            y[...] = 2.0 * x * y + b
            x[...] = xx - yy + a
            count[...] = count + 1
    return np.asarray(count)


def expected(given: tuple[np.ndarray, np.ndarray, int]) -> np.ndarray:
    """The same by numpy's complex numbers."""
    real, imaginary, rounds = given
    c = real + 1j * imaginary
    z, count = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(rounds):
        inside = z.real**2 + z.imag**2 <= 4
        count += inside
        z = np.where(inside, z * z + c, z)
    return count


def main() -> int:
    parser = arguments.parser(__doc__, 100, "points along each axis")
    parser.add_argument("--rounds", type=int, default=40, help="rounds (default 40)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.rounds) < 1:
        parser.error("expected at least one point and one round")
    given = problem(chosen.size, chosen.rounds)
    found = solve(given, chosen.machine)
    differ = float(np.mean(found != expected(given)))
    print(f"{np.count_nonzero(found == chosen.rounds)} of {found.size} points have not escaped; {differ:.2%} differ")
    return arguments.verdict(differ <= 0.001, "counts must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

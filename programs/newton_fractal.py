"""Which root of z**3 = 1 Newton's method finds from each point of the plane, and after how many steps.

    python programs/newton_fractal.py [--size 200] [--rounds 40] [--machine here]

A point takes part until a step is short. Checked against numpy, to which the last bits of complex divisions may differ,
so that points on the border between two roots are left out. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

SHORT = 1e-9
"""The square of a step that is the last."""

ROOTS = np.exp(2j * np.pi * np.arange(3) / 3)
SAME = 0.999
"""The share of points that must find the same root."""


def problem(size: int, rounds: int = 40) -> tuple[np.ndarray, int]:
    """The points of a square about the origin, which is none of them, and how many steps at most."""
    line = np.linspace(-1.5, 1.5, 2 * size + 1)[1::2] + 1e-3
    return line[np.newaxis, :] + 1j * line[:, np.newaxis], rounds


def solve(given: tuple[np.ndarray, int], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The number of the root that is nearest at the end, and the steps that each point took."""
    points, rounds = given
    vp = pvar.VPSet(points.shape, machine=machine)
    real, imaginary = vp.array(points.real.copy()), vp.array(points.imag.copy())
    steps, goes = vp.zeros(np.int32), vp.full(True)
    for _ in range(rounds):
        with vp.where(goes):
            # Half a square and its conjugate: 1 / z**2 = conj(z**2) / |z|**4.
            length = real * real + imaginary * imaginary
            down = 3.0 * length * length
            next_real = real * (2.0 / 3.0) + (real * real - imaginary * imaginary) / down
            next_imaginary = imaginary * (2.0 / 3.0) - 2.0 * real * imaginary / down
            moved = (next_real - real) ** 2 + (next_imaginary - imaginary) ** 2
            real[...], imaginary[...] = next_real, next_imaginary
            steps[...] = steps + 1
            goes[...] = moved > SHORT
        if not pvar.reduce(goes, "or"):
            break
    nearest, root = vp.full(np.inf), vp.zeros(np.int32)
    for number, one in enumerate(ROOTS):
        distance = (real - one.real) ** 2 + (imaginary - one.imag) ** 2
        with vp.where(distance < nearest):
            nearest[...] = distance
            root[...] = number
    return np.asarray(root), np.asarray(steps)


def expected(given: tuple[np.ndarray, int]) -> np.ndarray:
    """The root of each point by complex numbers of numpy."""
    z = given[0]
    for _ in range(given[1]):
        z = z - (z**3 - 1) / (3 * z**2)
    return np.argmin(np.abs(z[..., np.newaxis] - ROOTS), axis=-1)


def main() -> int:
    parser = arguments.parser(__doc__, 200, "points of a side")
    parser.add_argument("--rounds", type=int, default=40, help="steps at most (default 40)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.rounds) < 1:
        parser.error("expected at least one point and one step")
    given = problem(chosen.size, chosen.rounds)
    root, steps = solve(given, chosen.machine)
    same = float(np.mean(root == expected(given)))
    print(f"{root.size} points took {steps.mean():.1f} steps, {steps.max()} at most; {same:.2%} find numpy's root")
    return arguments.verdict(same >= SAME, f"at least {SAME:.1%} of the points must find numpy's root")


if __name__ == "__main__":
    sys.exit(main())

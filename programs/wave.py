"""Waves on a membrane that is clamped at its edges and heavier in a disc: leapfrog in time, shifts in space.

    python programs/wave.py [--size 100] [--steps 100] [--machine here] [--seed 1]

The membrane begins at rest, pushed up in a few places. Checked against the same steps by numpy. Ends with code 1 if the
check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, steps: int = 100, seed: int = 1) -> tuple[np.ndarray, np.ndarray, int]:
    """Heights at first, the squares of the speed in cells a step, and how many steps."""
    made = np.random.default_rng(seed)
    row, column = np.mgrid[:size, :size] / size
    height = np.zeros((size, size))
    for centre in made.uniform(0.2, 0.8, (3, 2)):
        height += np.exp(-400 * ((row - centre[0]) ** 2 + (column - centre[1]) ** 2))
    disc = (row - 0.5) ** 2 + (column - 0.5) ** 2 < 0.04
    return height, np.where(disc, 0.1, 0.4), steps


def solve(given: tuple[np.ndarray, np.ndarray, int], machine: str = "here") -> tuple[np.ndarray, float]:
    """Heights at the end, and the largest at any time."""
    height, speed, steps = given
    vp = pvar.VPSet(height.shape, machine=machine)
    u, square = vp.array(height), vp.array(speed)
    before, highest = u, 0.0
    for _ in range(steps):
        around = pvar.shift(u, 1, axis=0, boundary=0.0) + pvar.shift(u, -1, axis=0, boundary=0.0)
        around += pvar.shift(u, 1, axis=1, boundary=0.0)
        around += pvar.shift(u, -1, axis=1, boundary=0.0)
        u, before = u * 2.0 - before + square * (around - u * 4.0), u
        highest = max(highest, float(pvar.reduce(pvar.abs(u), "max")))
    return np.asarray(u), highest


def expected(given: tuple[np.ndarray, np.ndarray, int]) -> tuple[np.ndarray, float]:
    """The same by numpy."""
    height, square, steps = given
    u, before, highest = height, height, 0.0
    for _ in range(steps):
        p = np.pad(u, 1)
        around = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
        u, before = u * 2.0 - before + square * (around - u * 4.0), u
        highest = max(highest, float(np.abs(u).max()))
    return u, highest


def main() -> int:
    parser = arguments.parser(__doc__, 100, "points of a side", "the places that are pushed")
    parser.add_argument("--steps", type=int, default=100, help="steps in time (default 100)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.steps) < 1:
        parser.error("expected at least one point and one step")
    given = problem(chosen.size, chosen.steps, chosen.seed)
    found, highest = solve(given, chosen.machine)
    wanted, most = expected(given)
    off = float(np.abs(found - wanted).max())
    print(f"{chosen.steps} steps of {chosen.size} x {chosen.size} points: highest {highest:.4f}, off by {off:.1e}")
    return arguments.verdict(off <= 1e-12 and abs(highest - most) <= 1e-12, "heights must be numpy's to rounding")


if __name__ == "__main__":
    sys.exit(main())

"""Attraction of all pairs of bodies: each processor keeps one, and a copy of all goes around by shifts.

    python programs/nbody.py [--size 200] [--machine here] [--seed 1]

After as many shifts as there are other bodies, each has met all. Checked against all differences at once by numpy; the
forces add up to nothing. Ends with code 1 if a check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

SOFTENING = 1e-3
"""Added to squares of distances, so that close pairs have finite forces."""


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Places in a cube, one row an axis, and masses."""
    made = np.random.default_rng(seed)
    return made.random((3, size)), made.uniform(1, 2, size)


def solve(given: tuple[np.ndarray, np.ndarray], machine: str = "here") -> np.ndarray:
    """The acceleration of each body, one row an axis."""
    places, masses = given
    vp = pvar.VPSet(masses.shape, machine=machine)
    x, y, z = (vp.array(one) for one in places)
    there = [x, y, z, vp.array(masses)]
    ax, ay, az = vp.zeros(np.float64), vp.zeros(np.float64), vp.zeros(np.float64)
    for _ in range(len(masses) - 1):
        there = [pvar.shift(one, 1, axis=0, boundary="circular") for one in there]
        dx, dy, dz = there[0] - x, there[1] - y, there[2] - z
        square = dx * dx + dy * dy + dz * dz + SOFTENING
        pull = there[3] / (square * pvar.sqrt(square))
        ax += dx * pull
        ay += dy * pull
        az += dz * pull
    return np.array([np.asarray(one) for one in (ax, ay, az)])


def expected(given: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """All pairs at once."""
    places, masses = given
    away = places[:, None, :] - places[:, :, None]
    square = (away**2).sum(axis=0) + SOFTENING
    return (away * (masses / square**1.5)).sum(axis=2)


def main() -> int:
    parser = arguments.parser(__doc__, 200, "bodies", "their places")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one body")
    given = problem(chosen.size, chosen.seed)
    found, wanted = solve(given, chosen.machine), expected(given)
    scale = max(1.0, float(np.abs(wanted).max()))
    off = float(np.abs(found - wanted).max()) / scale
    total = float(np.abs((found * given[1]).sum(axis=1)).max()) / scale
    print(f"{chosen.size} bodies: off by {off:.1e}, forces add up to {total:.1e}")
    return arguments.verdict(off <= 1e-10 and total <= 1e-9 * chosen.size, "accelerations must be numpy's to rounding")


if __name__ == "__main__":
    sys.exit(main())

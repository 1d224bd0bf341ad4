"""A shear wave in a fluid: the lattice Boltzmann method with nine velocities (Qian, d'Humieres and Lallemand 1992).

    python programs/lattice_boltzmann.py [--size 64] [--steps 20] [--machine here] [--seed 1]

Each step relaxes the nine populations of every cell towards their equilibrium and shifts each by its velocity, around
the edges. Checked against the same steps by numpy, and mass must be kept. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

VELOCITIES = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
WEIGHTS = (4 / 9, *(1 / 9,) * 4, *(1 / 36,) * 4)
RELAXATION = 1.25
"""Share of the way to equilibrium in a step: a viscosity of 0.1."""


def problem(size: int, steps: int = 20, seed: int = 1) -> tuple[np.ndarray, int]:
    """The populations of a wave with some noise, and how many steps."""
    made = np.random.default_rng(seed)
    speed = 0.05 * np.sin(2 * np.pi * np.arange(size) / size)[:, None] + 0.005 * made.standard_normal((size, size))
    density = 1 + 0.01 * made.standard_normal((size, size))
    return np.array(equilibrium(density, np.zeros((size, size)), speed)), steps


def equilibrium(density, down, right):
    """The populations that rest; of parallel variables and of arrays alike."""
    rest = density - (down * down + right * right) * density * 1.5
    found = []
    for (one, other), weight in zip(VELOCITIES, WEIGHTS, strict=True):
        if not one and not other:
            found.append(rest * weight)
            continue
        along = down * float(one) if not other else right * float(other)
        if one and other:
            along = down * float(one) + right * float(other)
        found.append((rest + density * along * (along * 4.5 + 3.0)) * weight)
    return found


def moments(populations):
    """Density and velocity; of parallel variables and of arrays alike."""
    still, s, n, e, w, se, sw, ne, nw = populations
    density = still + s + n + e + w + se + sw + ne + nw
    return density, (s + se + sw - n - ne - nw) / density, (e + se + ne - w - sw - nw) / density


def solve(given: tuple[np.ndarray, int], machine: str = "here") -> np.ndarray:
    """The populations at the end."""
    first, steps = given
    vp = pvar.VPSet(first.shape[1:], machine=machine)
    populations = [vp.array(one) for one in first]
    for _ in range(steps):
        rests = equilibrium(*moments(populations))
        for number, (one, other) in enumerate(VELOCITIES):
            moved = populations[number] + (rests[number] - populations[number]) * RELAXATION
            if one:
                moved = pvar.shift(moved, -one, axis=0, boundary="circular")
            if other:
                moved = pvar.shift(moved, -other, axis=1, boundary="circular")
            populations[number] = moved
    return np.array([np.asarray(one) for one in populations])


def expected(given: tuple[np.ndarray, int]) -> np.ndarray:
    """The same by numpy."""
    populations, steps = list(given[0]), given[1]
    for _ in range(steps):
        rests = equilibrium(*moments(populations))
        relaxed = [now + (rest - now) * RELAXATION for now, rest in zip(populations, rests, strict=True)]
        populations = [np.roll(one, by, (0, 1)) for one, by in zip(relaxed, VELOCITIES, strict=True)]
    return np.array(populations)


def main() -> int:
    parser = arguments.parser(__doc__, 64, "cells along each axis", "the noise")
    parser.add_argument("--steps", type=int, default=20, help="steps in time (default 20)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.steps) < 1:
        parser.error("expected at least one cell and one step")
    given = problem(chosen.size, chosen.steps, chosen.seed)
    found = solve(given, chosen.machine)
    off = float(np.abs(found - expected(given)).max())
    lost = abs(float(found.sum() / given[0].sum()) - 1)
    print(f"{chosen.steps} steps of {chosen.size}x{chosen.size} cells: off by {off:.1e}, mass by {lost:.1e}")
    return arguments.verdict(off <= 1e-12 and lost <= 1e-12, "populations must be numpy's to rounding, and mass kept")


if __name__ == "__main__":
    sys.exit(main())

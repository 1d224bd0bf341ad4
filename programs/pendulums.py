"""Double pendulums, each begun a little apart from the others, which soon differ (Runge and Kutta's fourth order).

    python programs/pendulums.py [--size 1000] [--machine here]

Each processor has a pendulum of two equal masses on two equal rods: two angles and how fast they change. Checked: the
energy of each stays, and numpy finds the same angles. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import arguments
import numpy as np

from weft import pvar

GRAVITY, STEP, STEPS = 9.81, 0.002, 25


def problem(size: int) -> np.ndarray:
    """The first angles of so many; the others are at rest in the horizontal."""
    return np.linspace(1.5, 1.6, size)


def change(state: list[Any], functions: Any) -> list[Any]:
    """What angles and velocities change by in a second (Lagrange's equations of both angles)."""
    first, second, first_speed, second_speed = state
    apart = first - second
    sine, cosine = functions.sin(apart), functions.cos(apart)
    # Two linear equations of both accelerations, with the determinant 1 + sine^2.
    right = -second_speed * second_speed * sine - (2 * GRAVITY) * functions.sin(first)
    other = first_speed * first_speed * sine - GRAVITY * functions.sin(second)
    determinant = 1.0 + sine * sine
    return [
        first_speed,
        second_speed,
        (right - cosine * other) / determinant,
        (2.0 * other - cosine * right) / determinant,
    ]


def advance(state: list[Any], functions: Any) -> list[Any]:
    """One step."""
    one = change(state, functions)
    two = change([x + (STEP / 2) * dx for x, dx in zip(state, one, strict=True)], functions)
    three = change([x + (STEP / 2) * dx for x, dx in zip(state, two, strict=True)], functions)
    four = change([x + STEP * dx for x, dx in zip(state, three, strict=True)], functions)
    return [
        x + (STEP / 6) * (a + 2.0 * (b + c) + d) for x, a, b, c, d in zip(state, one, two, three, four, strict=True)
    ]


def solve(given: np.ndarray, machine: str = "here") -> np.ndarray:
    """Angles and velocities after all steps, four rows."""
    vp = pvar.VPSet(len(given), machine=machine)
    state: list[Any] = [vp.array(given), vp.full(math.pi / 2), vp.zeros(), vp.zeros()]
    for _ in range(STEPS):
        state = advance(state, pvar)
    return np.stack([np.asarray(one) for one in state])


def energy(state: Any) -> Any:
    """For a mass of one and rods of one."""
    first, second, first_speed, second_speed = state
    kinetic = first_speed**2 + second_speed**2 / 2 + first_speed * second_speed * np.cos(first - second)
    return kinetic - GRAVITY * (2 * np.cos(first) + np.cos(second))


def main() -> int:
    parser = arguments.parser(__doc__, 1000, "pendulums")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one pendulum")
    given = problem(chosen.size)
    found = solve(given, chosen.machine)
    by_numpy: Any = [given, np.full(len(given), math.pi / 2), np.zeros(len(given)), np.zeros(len(given))]
    lost = np.abs(energy(found) - energy(by_numpy)).max()
    for _ in range(STEPS):
        by_numpy = advance(by_numpy, np)
    apart = np.abs(found - np.stack(by_numpy)).max()
    print(f"{chosen.size} pendulums: energy is off by {lost:.1e}, angles and velocities by {apart:.1e}")
    return arguments.verdict(bool(lost < 1e-6 and apart < 1e-9), "the energy must stay, and numpy find the same")


if __name__ == "__main__":
    sys.exit(main())

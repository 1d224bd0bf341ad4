"""Many weathers at once: Lorenz's equations by Runge and Kutta, a trajectory on each processor.

    python programs/lorenz.py [--size 2000] [--machine here] [--seed 1]

Trajectories that begin close together are far apart later (Lorenz, Journal of the Atmospheric Sciences 20, 1963).
Checked against numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

STEPS, STEP = 40, 0.01


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Where each begins."""
    return np.random.default_rng(seed).normal(0, 5, (3, size)) + np.array([[0.0], [0.0], [25.0]])


def change(x, y, z):
    """What x, y and z change by in a unit of time."""
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - z * (8.0 / 3.0)


def step(state):
    """The state a step later."""
    first = change(*state)
    second = change(*(one + by * (STEP / 2) for one, by in zip(state, first, strict=True)))
    third = change(*(one + by * (STEP / 2) for one, by in zip(state, second, strict=True)))
    fourth = change(*(one + by * STEP for one, by in zip(state, third, strict=True)))
    slopes = zip(state, first, second, third, fourth, strict=True)
    return [one + (a + 2.0 * b + 2.0 * c + d) * (STEP / 6) for one, a, b, c, d in slopes]


def solve(begin: np.ndarray, machine: str = "here") -> np.ndarray:
    """Where each is at the end."""
    vp = pvar.VPSet(begin.shape[1], machine=machine)
    state = [vp.array(one) for one in begin]
    for _ in range(STEPS):
        state = step(state)
    return np.stack([np.asarray(one) for one in state])


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "trajectories", "where they begin")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one trajectory")
    begin = problem(chosen.size, chosen.seed)
    end = solve(begin, chosen.machine)
    print(f"{np.count_nonzero(end[0] > 0)} of {chosen.size} trajectories are on the right side")
    state = list(begin)
    for _ in range(STEPS):
        state = step(state)
    return arguments.verdict(np.allclose(end, state), "trajectories must be those of numpy")


if __name__ == "__main__":
    sys.exit(main())

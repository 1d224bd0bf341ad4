"""Gas in a tube after a wall between dense and thin gas is taken away.

    python programs/shock_tube.py [--size 400] [--steps 15] [--machine here] [--seed 1]

A processor is a cell with density, momentum and energy. Euler's equations in finite volumes, with Rusanov's flux (1961)
and as long steps as the fastest wave admits, in Sod's tube (Journal of Computational Physics 27, 1978) with some noise.
Checked against numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

GAMMA, COURANT = 1.4, 0.45
LEFT, RIGHT = (1.0, 0.0, 2.5), (0.125, 0.0, 0.25)
"""Density, momentum and energy beyond the ends."""


class Tube(NamedTuple):
    """Density, momentum and energy of each cell, and how many steps to make."""

    cells: np.ndarray
    steps: int


def problem(size: int, steps: int = 15, seed: int = 1) -> Tube:
    """Sod's states, to the left and to the right of the middle."""
    generator = np.random.default_rng(seed)
    left = np.arange(size) < size // 2
    cells = np.where(left, np.array(LEFT)[:, None], np.array(RIGHT)[:, None])
    cells[0] *= generator.uniform(0.95, 1.05, size)
    return Tube(cells, steps)


def solve(tube: Tube, machine: str = "here") -> tuple[np.ndarray, float, np.ndarray]:
    """Density, momentum and energy, the time that has passed, and the total energy of motion after each step."""
    size = tube.cells.shape[1]
    vp = pvar.VPSet(size, machine=machine)
    state = [vp.array(one, copy=True) for one in tube.cells]
    passed, motion = 0.0, []
    for _ in range(tube.steps):
        density, momentum, energy = state
        velocity = momentum / density
        pressure = (GAMMA - 1) * (energy - 0.5 * momentum * velocity)
        speed = abs(velocity) + pvar.sqrt(GAMMA * pressure / density)
        step = COURANT / pvar.reduce(speed, "max")
        flux = [momentum, momentum * velocity + pressure, velocity * (energy + pressure)]
        edge = [(0.0, pressure_of(ends), 0.0) for ends in (LEFT, RIGHT)]
        sound = [(GAMMA * pressure_of(ends) / ends[0]) ** 0.5 for ends in (LEFT, RIGHT)]
        fastest = pvar.maximum(speed, pvar.shift(speed, 1, boundary=sound[1]))
        first = max(sound[0], float(speed[0]))
        for number, (one, flow) in enumerate(zip(state, flux, strict=True)):
            beyond = pvar.shift(one, 1, boundary=RIGHT[number])
            through = 0.5 * (flow + pvar.shift(flow, 1, boundary=edge[1][number])) - 0.5 * fastest * (beyond - one)
            entering = 0.5 * (edge[0][number] + float(flow[0])) - 0.5 * first * (float(one[0]) - LEFT[number])
            state[number] = one - step * (through - pvar.shift(through, -1, boundary=entering))
        passed += step / size
        motion.append(0.5 * pvar.reduce(state[1] * state[1] / state[0], "sum"))
    return np.array([one.numpy() for one in state]), passed, np.array(motion)


def pressure_of(state: tuple[float, float, float]) -> float:
    """That of gas at rest."""
    return (GAMMA - 1) * state[2]


def expected(tube: Tube) -> tuple[np.ndarray, float, np.ndarray]:
    """The same with cells at both ends that do not change."""
    state = np.column_stack([LEFT, tube.cells, RIGHT])
    passed, motion = 0.0, []
    for _ in range(tube.steps):
        density, momentum, energy = state
        pressure = (GAMMA - 1) * (energy - momentum**2 / density / 2)
        speed = abs(momentum / density) + np.sqrt(GAMMA * pressure / density)
        flux = np.array([momentum, momentum**2 / density + pressure, (energy + pressure) * momentum / density])
        between = (flux[:, 1:] + flux[:, :-1] - np.maximum(speed[1:], speed[:-1]) * np.diff(state)) / 2
        step = COURANT / speed[1:-1].max()
        state[:, 1:-1] -= step * np.diff(between)
        passed += step / tube.cells.shape[1]
        motion.append((state[1, 1:-1] ** 2 / state[0, 1:-1]).sum() / 2)
    return state[:, 1:-1], passed, np.array(motion)


def main() -> int:
    parser = arguments.parser(__doc__, 400, "cells", "the noise")
    parser.add_argument("--steps", type=int, default=15, help="steps to make (default 15)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.steps) < 1:
        parser.error("expected at least one cell and one step")
    tube = problem(chosen.size, chosen.steps, chosen.seed)
    answer = solve(tube, chosen.machine)
    print(f"after {answer[1]:.3e} the densest gas has {answer[0][0].max():.3f}")
    pairs = zip(answer, expected(tube), strict=True)
    right = all(np.allclose(one, other, rtol=1e-9, atol=1e-12) for one, other in pairs)
    return arguments.verdict(right, "the gas must be that of numpy's cells")


if __name__ == "__main__":
    sys.exit(main())

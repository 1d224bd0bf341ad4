"""A cloth that falls over a ball, of points that springs hold together.

    python programs/cloth.py [--size 24] [--steps 30] [--machine here] [--seed 1]

A processor has a point, with springs to twelve neighbours: beside it, diagonally, and two apart against bends (Provot,
Graphics Interface 1995). Verlet's method moves all points; two corners are held, and whoever would be within the ball
is put onto it. In 32 bits; checked with numpy, spring by spring in 64. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

SPRINGS = ((0, 1), (1, 0), (1, 1), (1, -1), (0, 2), (2, 0))
"""To whom a point has springs; as many come from the other direction."""
STIFFNESS, DAMPING, GRAVITY, STEP = 400.0, 0.99, 9.81, 0.01
CENTRE, RADIUS = (0.5, 0.5, -0.25), 0.2


class Cloth(NamedTuple):
    """Heights of points at first, the wind, and for how many steps."""

    height: np.ndarray
    wind: tuple[float, float]
    steps: int


def problem(size: int, seed: int = 1, steps: int = 30) -> Cloth:
    """A cloth with some wrinkles."""
    generator = np.random.default_rng(seed)
    across = np.linspace(0, 1, size)
    waves = generator.uniform(3, 9, 4)
    height = 0.02 * np.sin(waves[0] * across + waves[1])[:, None] * np.sin(waves[2] * across + waves[3])
    return Cloth(height, tuple(generator.uniform(-2, 2, 2).tolist()), steps)


def solve(cloth: Cloth, machine: str = "here") -> tuple[np.ndarray, int]:
    """Where points are in the end, and how often the ball held one."""
    vp = pvar.VPSet(cloth.height.shape, machine=machine)
    size = len(cloth.height)
    side = 1 / size
    row, column = vp.coordinate(0, np.float32), vp.coordinate(1, np.float32)
    now = [row * np.float32(side), column * np.float32(side), vp.array(cloth.height.astype(np.float32))]
    before = [one.copy() for one in now]
    constant = (*cloth.wind, -GRAVITY)
    springs = [(down * sign, right * sign) for down, right in SPRINGS for sign in (1, -1)]
    there = [exists(vp, size, spring) for spring in springs]
    held = (column == 0) & ((row == 0) | (row == size - 1))
    touched = 0
    for _ in range(cloth.steps):
        force = [vp.full(one, np.float32) for one in constant]
        for (down, right), both in zip(springs, there, strict=True):
            apart = [pvar.shift(one, (down, right), axis=(0, 1), boundary=0) - one for one in now]
            length = pvar.sqrt(apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2])
            with vp.where(both):
                pull = STIFFNESS * (1 - side * float(np.hypot(down, right)) / length)
                for axis in range(3):
                    force[axis] += pull * apart[axis]
        with vp.where(~held):
            for axis in range(3):
                velocity = (now[axis] - before[axis]) * DAMPING
                before[axis][...] = now[axis]
                now[axis] += velocity + force[axis] * (STEP * STEP)
            from_ball = [one - centre for one, centre in zip(now, CENTRE, strict=True)]
            distance = pvar.sqrt(sum(one * one for one in from_ball))
            with vp.where(distance < RADIUS):
                touched += int(pvar.reduce(vp.selected, "count"))
                for axis in range(3):
                    now[axis][...] = CENTRE[axis] + from_ball[axis] * (RADIUS / distance)
    return np.stack([one.numpy() for one in now]), touched


def exists(vp: pvar.VPSet, size: int, spring: tuple[int, int]) -> pvar.ParallelVariable:
    """Whether there is a neighbour in that direction."""
    row, column = vp.coordinate(0) + spring[0], vp.coordinate(1) + spring[1]
    return (row >= 0) & (row < size) & (column >= 0) & (column < size)


def expected(cloth: Cloth) -> tuple[np.ndarray, int]:
    """The same with a list of springs, each of which pulls at both ends."""
    size, side = len(cloth.height), 1 / len(cloth.height)
    points = np.arange(size * size).reshape(size, size)
    ends, rest = [], []
    for down, right in SPRINGS:
        one = points[: size - down, max(0, -right) : size - max(0, right)].ravel()
        other = points[down:, max(0, right) : size + min(0, right)].ravel()
        ends.append(np.stack([one, other]))
        rest.append(np.full(len(one), side * np.hypot(down, right)))
    (one, other), lengths = np.concatenate(ends, axis=1), np.concatenate(rest)
    now = np.stack([*(np.indices((size, size)) * side), cloth.height]).reshape(3, -1)
    before, touched = now.copy(), 0
    free = np.ones(size * size, bool)
    free[points[[0, -1], 0]] = False
    for _ in range(cloth.steps):
        apart = now[:, other] - now[:, one]
        pull = STIFFNESS * (1 - lengths / np.linalg.norm(apart, axis=0)) * apart
        force = np.tile(np.array([*cloth.wind, -GRAVITY])[:, None], size * size)
        for axis in range(3):
            np.add.at(force[axis], one, pull[axis])
            np.subtract.at(force[axis], other, pull[axis])
        moved = now + DAMPING * (now - before) + STEP**2 * force
        before = np.where(free, now, before)
        from_ball = moved - np.array(CENTRE)[:, None]
        distance = np.linalg.norm(from_ball, axis=0)
        within = free & (distance < RADIUS)
        touched += int(within.sum())
        moved[:, within] = np.array(CENTRE)[:, None] + RADIUS * from_ball[:, within] / distance[within]
        now = np.where(free, moved, now)
    return now.reshape(3, size, size), touched


def main() -> int:
    parser = arguments.parser(__doc__, 24, "points along each side", "wrinkles and wind")
    parser.add_argument("--steps", type=int, default=30, help="steps of a hundredth of a second (default 30)")
    chosen = parser.parse_args()
    if chosen.size < 1 or chosen.steps < 1:
        parser.error("expected at least one point and one step")
    cloth = problem(chosen.size, chosen.seed, chosen.steps)
    points, touched = solve(cloth, chosen.machine)
    print(f"after {chosen.steps} steps the lowest point is {points[2].min():.3f} high; the ball held {touched} times")
    wanted = expected(cloth)
    right = np.allclose(points, wanted[0], rtol=1e-3, atol=1e-3) and abs(touched - wanted[1]) <= 0.01 * wanted[1]
    return arguments.verdict(bool(right), "points must be where springs pull them")


if __name__ == "__main__":
    sys.exit(main())

"""Jams on a ring road: the cellular automaton of Nagel and Schreckenberg, a processor for each cell of the road.

    python programs/traffic.py [--size 5000] [--machine here] [--seed 1]

A car speeds up by one cell a step, up to the limit, drives no farther than the gap before it, and dawdles now and then
(Journal de Physique I 2, 1992). Checked against the same rules car by car. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

LIMIT, STEPS = 5, 20
NONE = -1
"""The speed where no car is."""


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Speeds by cell, and by step and cell whether a car there dawdles."""
    generator = np.random.default_rng(seed)
    cars = generator.random(size) < 0.2
    return np.where(cars, 0, NONE).astype(np.int32), generator.random((STEPS, size)) < 0.25


def solve(start: tuple[np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, int]:
    """Speeds by cell after all steps, and how many cells all cars have driven."""
    speeds, dawdles = start
    vp = pvar.VPSet(speeds.shape, machine=machine)
    speed, driven = vp.array(speeds), 0
    for chance in dawdles:
        car = speed >= 0
        gap = vp.array(np.full(vp.shape, LIMIT, np.int32))
        for distance in range(LIMIT, 0, -1):
            gap = pvar.where(pvar.shift(car, distance, axis=0), distance - 1, gap)
        speed = pvar.minimum(pvar.minimum(speed + 1, LIMIT), gap)
        speed = pvar.maximum(speed - vp.array(chance).astype(np.int32), 0)
        speed = pvar.where(car, speed, NONE)
        with vp.where(car):
            driven += int(pvar.reduce(speed, "add"))
        moved = pvar.where(speed == 0, 0, NONE)
        for distance in range(1, LIMIT + 1):
            behind = pvar.shift(speed, -distance, axis=0)
            moved = pvar.where(behind == distance, distance, moved)
        speed = moved.astype(np.int32)
    return np.asarray(speed), driven


def expected(start: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, int]:
    """The same car by car."""
    speeds, dawdles = start
    size, driven = speeds.size, 0
    cars = {int(cell): int(speeds[cell]) for cell in np.flatnonzero(speeds >= 0)}
    for chance in dawdles:
        after = {}
        for cell, speed in cars.items():
            gap = next((step for step in range(LIMIT) if (cell + step + 1) % size in cars), LIMIT)
            faster = max(0, min(speed + 1, LIMIT, gap) - int(chance[cell]))
            driven += faster
            after[(cell + faster) % size] = faster
        cars = after
    road = np.full(size, NONE)
    for cell, speed in cars.items():
        road[cell] = speed
    return road, driven


def main() -> int:
    parser = arguments.parser(__doc__, 5000, "cells of the road", "cars and chances")
    chosen = parser.parse_args()
    if chosen.size <= LIMIT:
        parser.error(f"expected more than {LIMIT} cells")
    start = problem(chosen.size, chosen.seed)
    road, driven = solve(start, chosen.machine)
    print(f"{np.count_nonzero(road >= 0)} cars, {np.count_nonzero(road == 0)} of which stand; {driven} cells driven")
    wanted, as_far = expected(start)
    return arguments.verdict(np.array_equal(road, wanted) and driven == as_far, "cars must be where single ones are")


if __name__ == "__main__":
    sys.exit(main())

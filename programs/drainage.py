"""How much rain runs through each field of a terrain: water goes to the lowest neighbour, step by step.

    python programs/drainage.py [--size 60] [--machine here] [--seed 1]

A processor has a field, which drains into the steepest of its eight directions (O'Callaghan and Mark 1984); sends with
addition move all water on until it has come to fields that are lower than all around. Checked field by field, from the
highest to the lowest. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

DIRECTIONS = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Heights of a slope with hills, and the rain on each field."""
    generator = np.random.default_rng(seed)
    down, right = np.indices((size, size)) / 20
    height = 2 * down + generator.random((size, size)) / 8
    for angle, phase in generator.uniform(0, 2 * np.pi, (6, 2)).tolist():
        height += np.sin(np.cos(angle) * down + np.sin(angle) * right + phase)
    return height.astype(np.float32), generator.integers(1, 10, (size, size), dtype=np.int32)


def solve(terrain: tuple[np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """Where each field drains to, itself in a hollow, and how much water runs through it."""
    vp = pvar.VPSet(terrain[0].shape, machine=machine)
    height, water = vp.array(terrain[0]), vp.array(terrain[1], copy=True)
    steepest, target = vp.zeros(np.float32), vp.address()
    for i, j in DIRECTIONS:
        other = pvar.shift(height, (i, j), axis=(0, 1), boundary=np.inf)
        slope = (height - other) * (1.0 / np.hypot(i, j))
        target = pvar.where(slope > steepest, vp.address() + (i * vp.shape[1] + j), target)
        steepest = pvar.maximum(slope, steepest)
    through, drains = water.copy(), steepest > 0
    while True:
        moves = drains & (water > 0)
        if not pvar.reduce(moves, "or"):
            return np.asarray(target), np.asarray(through)
        arriving = vp.zeros(np.int32)
        with vp.where(moves):
            pvar.send(water, target, combine="add", into=arriving)
        water = arriving
        through += water


def expected(terrain: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The same, field by field."""
    height, rain = terrain
    size = len(height)
    padded = np.pad(height, 1, constant_values=np.inf)
    slopes = [
        (height - padded[1 + i : 1 + i + size, 1 + j : 1 + j + size]) * np.float32(1 / np.hypot(i, j))
        for i, j in DIRECTIONS
    ]
    steps = np.array([i * size + j for i, j in DIRECTIONS])[np.argmax(slopes, axis=0)]
    target = np.arange(size * size).reshape(size, size) + np.where(np.max(slopes, axis=0) > 0, steps, 0)
    through, following = rain.ravel().tolist(), target.ravel().tolist()
    for field in np.argsort(-height, axis=None, kind="stable").tolist():
        if following[field] != field:
            through[following[field]] += through[field]
    return target, np.reshape(through, height.shape)


def main() -> int:
    parser = arguments.parser(__doc__, 60, "fields along a side", "the terrain")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one field")
    terrain = problem(chosen.size, chosen.seed)
    target, through = solve(terrain, chosen.machine)
    print(f"of {terrain[1].sum()} units of rain {through.max()} run through one field")
    right = all(np.array_equal(one, other) for one, other in zip((target, through), expected(terrain), strict=True))
    return arguments.verdict(right, "water must be that of a walk from the highest field")


if __name__ == "__main__":
    sys.exit(main())

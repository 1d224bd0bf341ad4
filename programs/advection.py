"""A cloud carried by a steady wind through a box that is closed upon itself: upwind differences in three axes.

    python programs/advection.py [--size 32] [--rounds 40] [--machine here]

The wind turns about the middle of the box and rises; it is one array for each axis. Checked against numpy; what the
cloud is in all stays the same. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

STEP = 0.4
"""Cells that the fastest wind along an axis crosses in a step."""

Given = tuple[np.ndarray, list[np.ndarray], int]


def problem(size: int, rounds: int = 40) -> Given:
    """The cloud, the wind through the lower face of each cell by axis, and how many steps."""
    line = (np.arange(size) + 0.5) / size - 0.5
    x, y, z = np.meshgrid(line, line, line, indexing="ij")
    cloud = np.exp(-40.0 * ((x - 0.2) ** 2 + y**2 + (z + 0.1) ** 2))
    wind = [-np.sin(2 * np.pi * y), np.sin(2 * np.pi * x), np.full_like(x, 0.5)]
    return cloud, [STEP / 3.0 * one for one in wind], rounds


def solve(given: Given, machine: str = "here") -> tuple[np.ndarray, float]:
    """The cloud at the end, and how much of it there is."""
    cloud, wind, rounds = given
    vp = pvar.VPSet(cloud.shape, machine=machine)
    density, speeds = vp.array(cloud), [vp.array(one) for one in wind]
    forward = [pvar.maximum(one, 0.0) for one in speeds]
    backward = [pvar.minimum(one, 0.0) for one in speeds]
    for _ in range(rounds):
        change = vp.zeros(np.float64)
        for axis in range(3):
            through = forward[axis] * pvar.shift(density, -1, axis=axis) + backward[axis] * density
            change = change + through - pvar.shift(through, 1, axis=axis)
        density = density + change
    return np.asarray(density), float(pvar.reduce(density, "sum"))


def expected(given: Given) -> np.ndarray:
    """The same by numpy."""
    density, wind, rounds = given
    for _ in range(rounds):
        change = np.zeros_like(density)
        for axis, speed in enumerate(wind):
            through = np.where(speed > 0, speed * np.roll(density, 1, axis), speed * density)
            change += through - np.roll(through, -1, axis)
        density = density + change
    return density


def main() -> int:
    parser = arguments.parser(__doc__, 32, "cells of a side")
    parser.add_argument("--rounds", type=int, default=40, help="steps (default 40)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.rounds) < 1:
        parser.error("expected at least one cell and one step")
    given = problem(chosen.size, chosen.rounds)
    (found, total), at_first = solve(given, chosen.machine), float(given[0].sum())
    print(f"{chosen.size}^3 cells, {chosen.rounds} steps: {total:.6f} in all, {found.max():.4f} in a cell at most")
    same = np.allclose(found, expected(given), atol=1e-12) and abs(total - at_first) < 1e-9 * at_first
    return arguments.verdict(same, "the cloud must be numpy's, and as much as at first")


if __name__ == "__main__":
    sys.exit(main())

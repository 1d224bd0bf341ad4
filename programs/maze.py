"""How far each field of a maze is from the entrance, by a wave that spreads over all fields at once.

    python programs/maze.py [--size 100] [--machine here] [--seed 1]

At each step a field that is free and beside the front joins it. Walls are at random. Checked against a queue. Ends with
code 1 if the check fails.
"""

from __future__ import annotations

import sys
from collections import deque

import arguments
import numpy as np

from weft import pvar

UNREACHED = -1


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Which fields are free: three of four, and the corner with the entrance."""
    free = np.random.default_rng(seed).random((size, size)) < 0.75
    free[:2, :2] = True
    return free


def solve(free: np.ndarray, machine: str = "here") -> np.ndarray:
    """Steps from the entrance, and `UNREACHED` where there is no way."""
    vp = pvar.VPSet(free.shape, machine=machine)
    front = (vp.coordinate(0) + vp.coordinate(1)) == 0
    open_field = vp.array(free) & ~front
    distance, steps = pvar.where(front, 0, UNREACHED), 0
    while pvar.reduce(front, "or"):
        steps += 1
        beside = pvar.shift(front, 1, axis=0, boundary=False)
        for axis, way in ((0, -1), (1, 1), (1, -1)):
            beside = beside | pvar.shift(front, way, axis=axis, boundary=False)
        front = beside & open_field
        open_field = open_field & ~front
        with vp.where(front):
            distance[...] = steps
    return np.asarray(distance)


def expected(free: np.ndarray) -> np.ndarray:
    """The same with a queue."""
    distance, queue = np.full(free.shape, UNREACHED), deque([(0, 0)])
    distance[0, 0] = 0
    while queue:
        row, column = queue.popleft()
        for one in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if min(one) >= 0 and max(one) < len(free) and free[one] and distance[one] == UNREACHED:
                distance[one] = distance[row, column] + 1
                queue.append(one)
    return distance


def main() -> int:
    parser = arguments.parser(__doc__, 100, "fields of a side", "the walls")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one field")
    free = problem(chosen.size, chosen.seed)
    found = solve(free, chosen.machine)
    reached = np.count_nonzero(found != UNREACHED)
    print(f"{reached} of {free.size} fields are reached, the last after {found.max()} steps")
    return arguments.verdict(np.array_equal(found, expected(free)), "distances must be those of a queue")


if __name__ == "__main__":
    sys.exit(main())

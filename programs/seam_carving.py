"""A picture made narrower without squeezing what is in it, by cutting out seams where little happens.

    python programs/seam_carving.py [--size 40] [--machine here] [--seed 1]

A seam has a point in each row, at most a column from that of the row before (Avidan and Shamir, ACM Transactions on
Graphics 26, 2007). Costs go down row by row, on a line of processors; what is to the right of the seam moves left on
the whole grid. Checked with numpy, point by point. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

SEAMS = 4
OUTSIDE = 1_000_000


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Brightness: noise and a disc."""
    generator = np.random.default_rng(seed)
    down, right = np.indices((size, size)) - size // 2
    disc = np.where(down**2 + right**2 < (size / 3) ** 2, 120, 0)
    return (disc + generator.integers(0, 100, (size, size))).astype(np.uint8)


def solve(picture: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The picture, with zeros where it was made narrower, and what each seam cost."""
    size = len(picture)
    vp, line = (pvar.VPSet(shape, machine=machine) for shape in (picture.shape, size))
    points = vp.array(picture).astype(np.int32)
    right, column, row = vp.coordinate(1), line.address(), vp.coordinate(0)
    costs = []
    for width in range(size, size - min(SEAMS, size - 1), -1):
        energy = abs(pvar.shift(points, 1, axis=1, boundary=0) - points)
        energy += abs(pvar.shift(points, 1, axis=0, boundary=0) - points)
        with vp.where(right >= width):
            energy[...] = OUTSIDE
        total, steps = pvar.get(energy, (0, column)), []
        for level in range(1, size):
            left, beyond = (pvar.shift(total, by, boundary=OUTSIDE) for by in (-1, 1))
            step = pvar.where(left <= total, -1, 0)
            best = pvar.minimum(left, total)
            step = pvar.where(beyond < best, 1, step)
            total = pvar.get(energy, (level, column)) + pvar.minimum(best, beyond)
            steps.append(step)
        (at,) = total.argmin()
        costs.append(int(total[at]))
        seam = [at]
        for step in reversed(steps):
            seam.append(seam[-1] + int(step[seam[-1]]))
        first = pvar.get(line.array(np.array(seam[::-1])), row)
        with vp.where(right >= first):
            points[...] = pvar.shift(points, 1, axis=1, boundary=0)
    return points.numpy().astype(np.uint8), np.array(costs)


def expected(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same on lists that become shorter."""
    rows = picture.astype(int).tolist()
    size, costs = len(rows), []
    for width in range(size, size - min(SEAMS, size - 1), -1):
        padded = np.pad(np.array(rows), ((0, 1), (0, 1)))
        energy = abs(np.diff(padded, axis=1))[:-1] + abs(np.diff(padded, axis=0))[:, :-1]
        table = [energy[0].tolist()]
        for level in range(1, size):
            above = table[-1]
            table.append([int(energy[level, c]) + min(above[max(c - 1, 0) : c + 2]) for c in range(width)])
        at = int(np.argmin(table[-1]))
        costs.append(table[-1][at])
        for level in range(size - 1, -1, -1):
            del rows[level][at]
            if level:
                near = range(max(at - 1, 0), min(at + 2, width))
                at = min(near, key=lambda one: table[level - 1][one])
    return np.pad(np.array(rows), ((0, 0), (0, size - len(rows[0])))), np.array(costs)


def main() -> int:
    parser = arguments.parser(__doc__, 40, "points along each side", "the picture")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one point")
    picture = problem(chosen.size, chosen.seed)
    answer = solve(picture, chosen.machine)
    print(f"{len(answer[1])} seams, of {answer[1].tolist()}")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(picture), strict=True))
    return arguments.verdict(right, "the picture must be what is left of lists")


if __name__ == "__main__":
    sys.exit(main())

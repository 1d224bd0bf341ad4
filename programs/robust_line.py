"""A line through points of which many belong to no line at all.

    python programs/robust_line.py [--size 100] [--machine here] [--seed 1]

Each of many tries takes two points, and a processor is a try with a point that is near its line or not (Fischler and
Bolles, Communications of the ACM 24, 1981). The points near the best line give one of least squares. Checked with
Python's integers and numpy's lstsq. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

POINTS, WIDTH, NEAR = 50, 1000, 8


class Cloud(NamedTuple):
    """Whole coordinates of the points, and which two each try takes."""

    x: np.ndarray
    y: np.ndarray
    pairs: np.ndarray


def problem(size: int, seed: int = 1) -> Cloud:
    """Half of the points are near a line."""
    generator = np.random.default_rng(seed)
    x, y = generator.integers(0, WIDTH, (2, POINTS))
    slope, start = generator.uniform(-0.5, 0.5), generator.uniform(400, 600)
    along = generator.random(POINTS) < 0.5
    y = np.where(along, np.rint(slope * x + start + generator.normal(0, 4, POINTS)), y)
    first = generator.integers(0, POINTS, size)
    pairs = np.array([first, (first + generator.integers(1, POINTS, size)) % POINTS])
    return Cloud(x.astype(np.int16), y.astype(np.int16), pairs.astype(np.uint8))


def solve(cloud: Cloud, machine: str = "here") -> tuple[np.ndarray, int, np.ndarray]:
    """How many points are near each line, the best try, and start and slope of the final line."""
    size = cloud.pairs.shape[1]
    points, tries = pvar.VPSet(POINTS, machine=machine), pvar.VPSet(size, machine=machine)
    vp = pvar.VPSet((size, POINTS), machine=machine)
    x, y = (points.array(one).astype(np.int32) for one in (cloud.x, cloud.y))
    one, other = (tries.array(which).astype(np.int32) for which in cloud.pairs)
    x0, y0 = pvar.get(x, one), pvar.get(y, one)
    dx, dy = pvar.get(x, other) - x0, pvar.get(y, other) - y0
    number, point = vp.coordinate(0), vp.coordinate(1)
    limit = NEAR * NEAR * (dx * dx + dy * dy).astype(np.float64)
    off = pvar.get(dy, number) * (pvar.get(x, point) - pvar.get(x0, number))
    off -= pvar.get(dx, number) * (pvar.get(y, point) - pvar.get(y0, number))
    far = off.astype(np.float64)
    near = far * far <= pvar.get(limit, number)
    count = pvar.get(near.count(axis=1), (tries.address(), 0))
    with tries.where((dx != 0) | (dy != 0)):
        (best,) = count.argmax()
    with points.where(pvar.get(near, (best, points.address()))):
        across, up = x.astype(np.float64), y.astype(np.float64)
        middle, height = across.mean(), up.mean()
        across -= middle
        spread = pvar.reduce(across * across, "sum")
        slope = pvar.reduce(across * (up - height), "sum") / spread if spread else 0.0
    return np.asarray(count), int(best), np.array([height - slope * middle, slope])


def expected(cloud: Cloud) -> tuple[np.ndarray, int, np.ndarray]:
    """The same with whole numbers, try by try."""
    points = list(zip(cloud.x.tolist(), cloud.y.tolist(), strict=True))
    near, usable = [], []
    for first, second in cloud.pairs.T.tolist():
        (x0, y0), (x1, y1) = points[first], points[second]
        square = NEAR**2 * ((x1 - x0) ** 2 + (y1 - y0) ** 2)
        near.append([((y1 - y0) * (x - x0) - (x1 - x0) * (y - y0)) ** 2 <= square for x, y in points])
        usable.append(points[first] != points[second])
    counts = np.array(near).sum(axis=1)
    best = int(np.argmax(np.where(usable, counts, -1)))
    x, y = np.array(points, float)[near[best]].T
    (start, slope), *_ = np.linalg.lstsq(np.column_stack([np.ones_like(x), x]), y, rcond=None)
    return counts, best, np.array([start, slope])


def main() -> int:
    parser = arguments.parser(__doc__, 100, "tries", "points and tries")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one try")
    cloud = problem(chosen.size, chosen.seed)
    answer = solve(cloud, chosen.machine)
    print(f"{answer[0].max()} of {POINTS} points are near y = {answer[2][0]:.1f} + {answer[2][1]:.4f} x")
    right = all(np.allclose(one, other, rtol=1e-6) for one, other in zip(answer, expected(cloud), strict=True))
    return arguments.verdict(right, "the line must be that of the try with most points")


if __name__ == "__main__":
    sys.exit(main())

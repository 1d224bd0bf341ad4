"""The convex hull of points by quickhull, on both sides and in all of its parts at once.

    python programs/convex_hull.py [--size 20000] [--machine here] [--seed 1]

A part is the points beyond one edge of the hull so far, which lie beside each other as a segment. Scans find the
farthest point of each part, which is a corner. It leaves two edges in place of one; points that are beyond neither are
dropped, and the others go to a shorter VP set in the order of their parts. Coordinates are whole numbers, so that the
side of a point is exact. Checked against Andrew's monotone chain. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import Any

import arguments
import numpy as np

from weft import pvar

RADIUS = 1 << 20


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Points in a disk, a row of two coordinates for each."""
    generator = np.random.default_rng(seed)
    angle, radius = generator.random(size) * 2 * np.pi, np.sqrt(generator.random(size)) * RADIUS
    return np.rint(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)).astype(np.int64)


def beyond(edge: list[Any], x: Any, y: Any) -> Any:
    """Twice the area of the triangle of an edge and a point: above 0 on the left of the edge."""
    from_x, from_y, to_x, to_y = edge
    return (to_x - from_x) * (y - from_y) - (to_y - from_y) * (x - from_x)


def of_segment(one: Any, operator: str, begins: Any) -> Any:
    """What the elements of each segment come to, on all of it."""
    return pvar.scan(pvar.scan(one, operator, segments=begins), "copy", segments=begins, direction="down")


def solve(points: np.ndarray, machine: str = "here") -> np.ndarray:
    """The corners, in the order of their coordinates."""
    all_points = pvar.VPSet(len(points), machine=machine)
    x, y = all_points.array(points[:, 0]), all_points.array(points[:, 1])
    # In the order of coordinates the first of several points on a line is at an end of them.
    order = pvar.rank(x * (4 * RADIUS) + y)
    x, y, number = pvar.send(x, order), pvar.send(y, order), all_points.address()
    all_x, all_y, is_corner = x, y, (number == 0) | (number == len(points) - 1)
    first, last = [int(x[0]), int(y[0])], [int(x[-1]), int(y[-1])]
    side = beyond(first + last, x, y)
    edge = [pvar.where(side > 0, one, other) for one, other in zip(first + last, last + first, strict=True)]
    part, stays, vp = pvar.where(side > 0, 0, 1), side != 0, all_points
    while count := pvar.reduce(stays, "count"):
        shorter = pvar.VPSet(count, machine=machine)
        with vp.where(stays):
            order = pvar.rank(part)
            part, number, x, y, *edge = [pvar.send(one, order, vp=shorter) for one in (part, number, x, y, *edge)]
        vp = shorter
        begins = part != pvar.shift(part, -1, boundary=-1)
        area, here = beyond(edge, x, y), vp.address()
        is_farthest = area == of_segment(area, "max", begins)
        corner = of_segment(pvar.where(is_farthest, here, count), "min", begins)
        with vp.where(corner == here):
            pvar.send(True, number, into=is_corner)
        corner_x, corner_y = pvar.get(x, corner), pvar.get(y, corner)
        before, after = [*edge[:2], corner_x, corner_y], [corner_x, corner_y, *edge[2:]]
        is_before, is_after = beyond(before, x, y) > 0, beyond(after, x, y) > 0
        edge = [pvar.where(is_before, one, other) for one, other in zip(before, after, strict=True)]
        part = 2 * pvar.scan(begins.astype(np.int32), "add") + pvar.where(is_before, 0, 1)
        stays = is_before | is_after
    of_hull = np.asarray(is_corner)
    return np.unique(np.stack([np.asarray(all_x)[of_hull], np.asarray(all_y)[of_hull]], axis=1), axis=0)


def expected(points: np.ndarray) -> np.ndarray:
    """The same by Andrew's monotone chain (Information Processing Letters 9, 1979): one point after the other."""
    in_order = sorted({(int(x), int(y)) for x, y in points})
    corners = {in_order[0], in_order[-1]}
    for way in (in_order, in_order[::-1]):
        chain: list[tuple[int, int]] = []
        for point in way:
            while len(chain) > 1 and beyond([*chain[-2], *chain[-1]], *point) <= 0:
                chain.pop()
            chain.append(point)
        corners |= set(chain)
    return np.array(sorted(corners))


def main() -> int:
    parser = arguments.parser(__doc__, 20_000, "points", "the points")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one point")
    points = problem(chosen.size, chosen.seed)
    found = solve(points, chosen.machine)
    print(f"{len(found)} of {len(points)} points are corners of the hull")
    return arguments.verdict(np.array_equal(found, expected(points)), "corners must be those of a monotone chain")


if __name__ == "__main__":
    sys.exit(main())

"""Which points lie within a polygon: a processor for each point, and the edges one after another.

    python programs/point_in_polygon.py [--size 5000] [--machine here] [--seed 1]

A ray to the right crosses the boundary an odd number of times from within (Shimrat, Communications of the ACM 5, 1962).
Checked against the angles that the edges are seen at, which add up to a circle from within. Ends with code 1 if the
check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

CORNERS = 60


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Points, and the corners of a star in order."""
    generator = np.random.default_rng(seed)
    angle = np.arange(CORNERS) * 2 * np.pi / CORNERS
    star = generator.uniform(0.3, 1.0, CORNERS) * np.stack([np.cos(angle), np.sin(angle)])
    return generator.uniform(-1, 1, (2, size)), star


def solve(scene: tuple[np.ndarray, np.ndarray], machine: str = "here") -> np.ndarray:
    """Whether each is within."""
    points, corners = scene
    vp = pvar.VPSet(points.shape[1], machine=machine)
    x, y = (vp.array(one) for one in points)
    within = vp.zeros("bool")
    for (ax, ay), (bx, by) in zip(corners.T.tolist(), np.roll(corners, -1, axis=1).T.tolist(), strict=True):
        spans = (y < ay) ^ (y < by)
        crosses = x < (y - ay) * ((bx - ax) / (by - ay)) + ax
        within = within ^ (spans & crosses)
    return np.asarray(within)


def expected(scene: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The same by angles."""
    points, corners = scene
    seen = np.angle(np.exp(1j * np.diff(_directions(points, np.append(corners, corners[:, :1], axis=1)), axis=0)))
    return np.asarray(abs(seen.sum(axis=0)) > np.pi)


def _directions(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    return np.asarray(np.arctan2(*(corners[at][:, None] - points[at] for at in (1, 0))))


def main() -> int:
    parser = arguments.parser(__doc__, 5000, "points", "the points")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one point")
    scene = problem(chosen.size, chosen.seed)
    within = solve(scene, chosen.machine)
    print(f"{np.count_nonzero(within)} of {chosen.size} points lie within the star")
    return arguments.verdict(np.array_equal(within, expected(scene)), "points must be where the angles say")


if __name__ == "__main__":
    sys.exit(main())

"""Straight lines among points: a Hough transform, whose votes are sent with addition.

    python programs/hough.py [--size 2000] [--machine here] [--seed 1]

A processor has a point; for each angle it votes for the line through the point, by its distance from the origin (Duda
and Hart, Communications of the ACM 15, 1972). The line of the most votes is the one that many points were put on.
Checked against numpy's histograms. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np

from weft import pvar

ANGLES, DISTANCES = 90, 256


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Coordinates within a square of two: a quarter of the points near a line, the others anywhere."""
    generator = np.random.default_rng(seed)
    points = generator.uniform(-1, 1, (2, size))
    on = slice(0, size // 4)
    points[1, on] = 0.3 - 0.5 * points[0, on] + generator.normal(0, 0.002, size // 4)
    return points.astype(np.float32)


def solve(points: np.ndarray, machine: str = "here") -> np.ndarray:
    """Votes by angle and distance."""
    vp, lines = pvar.VPSet(points.shape[1], machine=machine), pvar.VPSet(ANGLES * DISTANCES, machine=machine)
    x, y = (vp.array(one) for one in points)
    votes, one = lines.zeros("int32"), vp.array(np.ones(points.shape[1], np.int32))
    for number in range(ANGLES):
        angle = math.pi * number / ANGLES
        distance = x * math.cos(angle) + y * math.sin(angle)
        row = ((distance + 1.5) * (DISTANCES / 3)).astype(np.int32)
        pvar.send(one, row + number * DISTANCES, combine="add", into=votes)
    return np.asarray(votes).reshape(ANGLES, DISTANCES)


def expected(points: np.ndarray) -> np.ndarray:
    """The same by numpy, in more digits: votes at the edge of two distances may differ."""
    angles = np.pi * np.arange(ANGLES) / ANGLES
    distances = np.outer(np.cos(angles), points[0]) + np.outer(np.sin(angles), points[1])
    return np.array([np.histogram(of, DISTANCES, (-1.5, 1.5))[0] for of in distances])


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "points", "the points")
    chosen = parser.parse_args()
    if chosen.size < 8:
        parser.error("expected at least eight points")
    points = problem(chosen.size, chosen.seed)
    votes = solve(points, chosen.machine)
    angle, distance = np.unravel_index(int(votes.argmax()), votes.shape)
    print(f"{votes.max()} of {chosen.size} points vote for the angle {180 * angle / ANGLES:.0f}, distance {distance}")
    differ = abs(votes - expected(points)).sum()
    right = votes.sum() == ANGLES * chosen.size and differ <= 1e-3 * votes.sum() + 2
    return arguments.verdict(bool(right), "votes must be those of numpy")


if __name__ == "__main__":
    sys.exit(main())

"""Clusters of numbers by the method of k means: centres are on the front end, each point finds its nearest.

    python programs/kmeans.py [--size 20000] [--clusters 6] [--rounds 10] [--machine here] [--seed 1]

In each round every point compares its distance to one centre after the other; then the points of a cluster are selected
and added up, and their mean is its new centre. Checked against the same in numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, clusters: int = 6, rounds: int = 10, seed: int = 1) -> tuple[np.ndarray, np.ndarray, int]:
    """Points around some places, the first centres, and how many rounds."""
    made = np.random.default_rng(seed)
    around = made.choice(np.arange(clusters) * 3.0, size)
    return around + made.standard_normal(size), np.linspace(-2, 3 * clusters, clusters), rounds


def solve(given: tuple[np.ndarray, np.ndarray, int], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The centres after the rounds, and the cluster of each point in the last."""
    points, first, rounds = given
    centres = list(map(float, first))
    vp = pvar.VPSet(points.shape, machine=machine)
    x = vp.array(points)
    nearest = vp.zeros(np.int32)
    for _ in range(rounds):
        least = abs(x - centres[0])
        nearest[...] = 0
        for number, centre in enumerate(centres[1:], 1):
            distance = abs(x - centre)
            with vp.where(distance < least):
                least[...] = distance
                nearest[...] = number
        for number in range(len(centres)):
            mine = nearest == number
            count = pvar.reduce(mine.astype(np.int32), "sum")
            with vp.where(mine):
                if count:
                    centres[number] = pvar.reduce(x, "sum") / count
    return np.array(centres), np.asarray(nearest)


def error(given: tuple[np.ndarray, np.ndarray, int], found: tuple[np.ndarray, np.ndarray]) -> float:
    """The largest difference of a centre from numpy's, and the share of points in another cluster."""
    points, centres, rounds = given
    centres = centres.copy()
    for _ in range(rounds):
        nearest = np.abs(points[:, None] - centres).argmin(axis=1)
        for number in np.unique(nearest):
            centres[number] = points[nearest == number].mean()
    return max(float(np.abs(found[0] - centres).max()), float(np.mean(found[1] != nearest)))


def main() -> int:
    parser = arguments.parser(__doc__, 20000, "points", "the points")
    parser.add_argument("--clusters", type=int, default=6, help="clusters (default 6)")
    parser.add_argument("--rounds", type=int, default=10, help="rounds (default 10)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.clusters, chosen.rounds) < 1:
        parser.error("expected at least one point, one cluster and one round")
    given = problem(chosen.size, chosen.clusters, chosen.rounds, chosen.seed)
    answer = solve(given, chosen.machine)
    found = error(given, answer)
    print(f"centres {np.array2string(answer[0], precision=3)}; against numpy's: {found:.1e}")
    return arguments.verdict(found <= 1e-9, "centres and clusters must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

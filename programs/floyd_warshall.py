"""Distances of all pairs in a graph with directed, weighted edges: Floyd and Warshall's, by spreads.

    python programs/floyd_warshall.py [--size 64] [--machine here] [--seed 1]

Each processor has a pair of places. In step k, row k and column k of the distances are spread over all others, and a
way over place k replaces a longer one. Checked against scipy's. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np
import scipy.sparse.csgraph

from weft import pvar

FAR = 1 << 28
"""The distance where there is no way: twice of it is still a number of 32 bits."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Lengths of edges, some four from each place, and FAR where there is none."""
    made = np.random.default_rng(seed)
    length = np.where(made.random((size, size)) < min(1.0, 4 / size), made.integers(1, 100, (size, size)), FAR)
    np.fill_diagonal(length, 0)
    return length.astype(np.int32)


def solve(length: np.ndarray, machine: str = "here") -> np.ndarray:
    """The distances."""
    vp = pvar.VPSet(length.shape, machine=machine)
    distance = vp.array(length)
    for over in range(len(length)):
        to = pvar.spread(distance, axis=1, index=over)
        onward = pvar.spread(distance, axis=0, index=over)
        distance = pvar.minimum(distance, to + onward)
    return np.asarray(distance)


def expected(length: np.ndarray) -> np.ndarray:
    """The same by scipy, which takes zeros for edges that are not there: none is that short."""
    graph = np.where((length < FAR) & (length > 0), length, 0)
    found = scipy.sparse.csgraph.floyd_warshall(graph)
    return np.where(np.isinf(found), FAR, found)


def main() -> int:
    parser = arguments.parser(__doc__, 64, "places", "the edges")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one place")
    given = problem(chosen.size, chosen.seed)
    found, wanted = solve(given, chosen.machine), expected(given)
    reached = wanted < FAR
    print(f"{chosen.size} places: {int(reached.sum())} pairs with a way, the longest of {int(wanted[reached].max())}")
    same = np.array_equal(found[reached], wanted[reached]) and bool((found[~reached] >= FAR).all())
    return arguments.verdict(same, "distances must be scipy's")


if __name__ == "__main__":
    sys.exit(main())

"""Shortest paths from one vertex by the method of Bellman and Ford: a virtual processor for each edge.

    python programs/shortest_paths.py [--size 500] [--degree 8] [--machine here] [--seed 1]

Distances lie in the first processors. In each round every edge gets the distance of where it begins, adds its own
length, and sends the sum to where it ends, the least arriving; until nothing changes. Checked against scipy's Dijkstra;
lengths are whole numbers, so the distances are equal. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

from weft import pvar

FAR = 1 << 40
"""More than any path: not reached."""


def problem(size: int, degree: int = 8, seed: int = 1) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, and of each edge where it begins, where it ends and its length; a ring makes all reachable."""
    made = np.random.default_rng(seed)
    ring = np.arange(size)
    more = (degree - 1) * size
    begins = np.concatenate((ring, made.integers(0, size, more)))
    ends = np.concatenate(((ring + 1) % size, made.integers(0, size, more)))
    return size, begins, ends, made.integers(1, 1000, len(begins))


def solve(given: tuple[int, np.ndarray, np.ndarray, np.ndarray], machine: str = "here") -> np.ndarray:
    """The distance of every vertex from the first."""
    size, begins, ends, lengths = given
    vp = pvar.VPSet(begins.shape, machine=machine)
    begin, end, length = vp.array(begins), vp.array(ends), vp.array(lengths)
    vertex = vp.coordinate(0) < size
    distance = vp.full(FAR, np.int64)
    distance[0] = 0
    changed = True
    while changed:
        reached = pvar.get(distance, begin, collisions="many") + length
        offered = pvar.send(reached, end, combine="min")
        with vp.where(vertex):
            shorter = offered < distance
            changed = bool(pvar.reduce(shorter, "or"))
            with vp.where(shorter):
                distance[...] = offered
    return np.asarray(distance)[:size]


def wrong(given: tuple[int, np.ndarray, np.ndarray, np.ndarray], found: np.ndarray) -> int:
    """How many distances differ from scipy's."""
    size, begins, ends, lengths = given
    # Of several edges between two vertices the shortest counts; a sparse matrix would add them.
    order = np.lexsort((lengths, ends, begins))
    begins, ends, lengths = begins[order], ends[order], lengths[order]
    kept = np.ones(len(begins), bool)
    kept[1:] = (np.diff(begins) != 0) | (np.diff(ends) != 0)
    graph = scipy.sparse.csr_array((lengths[kept], (begins[kept], ends[kept])), (size, size))
    return int(np.count_nonzero(scipy.sparse.csgraph.dijkstra(graph, indices=0) != found))


def main() -> int:
    parser = arguments.parser(__doc__, 500, "vertices", "the graph")
    parser.add_argument("--degree", type=int, default=8, help="edges that begin at a vertex, on average (default 8)")
    chosen = parser.parse_args()
    if chosen.size < 2 or chosen.degree < 1:
        parser.error("expected at least two vertices and an edge at each")
    given = problem(chosen.size, chosen.degree, chosen.seed)
    found = wrong(given, solve(given, chosen.machine))
    print(f"{chosen.size} vertices, {len(given[1])} edges: {found} distances differ from scipy's")
    return arguments.verdict(found == 0, "the distances must be scipy's")


if __name__ == "__main__":
    sys.exit(main())

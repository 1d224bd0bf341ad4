"""Connected components of a graph by hooking and pointer jumping (Shiloach and Vishkin 1982, with least labels).

    python programs/graph_components.py [--size 3000] [--machine here] [--seed 1]

Each processor has an edge and a vertex. Roots of edges' ends hook onto the lesser root by sends that take the least,
and paths are halved by gets until they are flat. Checked against scipy. Ends with code 1 if a check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

from weft import pvar


def problem(size: int, seed: int = 1) -> tuple[int, np.ndarray, np.ndarray]:
    """How many vertices, and the ends of as many edges: there are components of all sizes."""
    made = np.random.default_rng(seed)
    begins, ends = made.integers(0, size, (2, size))
    return size, begins, ends


def solve(given: tuple[int, np.ndarray, np.ndarray], machine: str = "here") -> np.ndarray:
    """The least vertex of each vertex's component."""
    _, begins, ends = given
    vp = pvar.VPSet(begins.shape, machine=machine)
    begin, end, root = vp.array(begins), vp.array(ends), vp.address().astype(np.int64)
    while True:
        one, other = pvar.get(root, begin, collisions="many"), pvar.get(root, end, collisions="many")
        apart = one != other
        if not pvar.reduce(apart, "or"):
            return np.asarray(root)
        lesser, larger = pvar.minimum(one, other), pvar.maximum(one, other)
        with vp.where(apart):
            pvar.send(lesser, larger, combine="min", into=root)
        flat = False
        while not flat:
            above = pvar.get(root, root, collisions="many")
            flat = not pvar.reduce(above != root, "or")
            root = above


def expected(given: tuple[int, np.ndarray, np.ndarray]) -> np.ndarray:
    """The same by scipy's labels."""
    size, begins, ends = given
    graph = scipy.sparse.coo_array((np.ones(len(begins)), (begins, ends)), shape=(size, size))
    _, labels = scipy.sparse.csgraph.connected_components(graph, directed=False)
    least = np.full(size, size)
    np.minimum.at(least, labels, np.arange(size))
    return least[labels]


def main() -> int:
    parser = arguments.parser(__doc__, 3000, "vertices and edges", "the edges")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one vertex")
    given = problem(chosen.size, chosen.seed)
    found = solve(given, chosen.machine)
    print(f"{chosen.size} vertices and as many edges: {len(np.unique(found))} components")
    return arguments.verdict(np.array_equal(found, expected(given)), "components must be scipy's")


if __name__ == "__main__":
    sys.exit(main())

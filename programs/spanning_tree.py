"""The minimum spanning tree of a graph by Boruvka's method: each tree takes its lightest edge to another one.

    python programs/spanning_tree.py [--size 2000] [--machine here] [--seed 1]

Edges and vertices are two VP sets. Edges send their weight to the trees of both ends, which keep the least; trees hook
onto each other along the edges that won, and paths are halved until they are flat. Weights differ, so that the tree is
one. Checked against scipy's. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

from weft import pvar

DEGREE = 4
"""Edges of a vertex, those of the ring among them."""


def problem(size: int, seed: int = 1) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """How many vertices; the ends of the edges: a ring, so that all is connected, and others; their weights."""
    generator = np.random.default_rng(seed)
    ring = np.arange(size)
    begins = np.concatenate([ring, generator.integers(0, size, (DEGREE - 1) * size)])
    ends = np.concatenate([(ring + 1) % size, generator.integers(0, size, (DEGREE - 1) * size)])
    return size, begins, ends, generator.permutation(len(begins)) + 1


def solve(given: tuple[int, np.ndarray, np.ndarray, np.ndarray], machine: str = "here") -> np.ndarray:
    """Which edges are in the tree."""
    size, begins, ends, weights = given
    edges, vertices = pvar.VPSet(begins.shape, machine=machine), pvar.VPSet((size,), machine=machine)
    begin, end, weight = edges.array(begins), edges.array(ends), edges.array(weights)
    root, taken = vertices.address().astype(np.int64), edges.zeros(bool)
    while True:
        one, other = pvar.get(root, begin), pvar.get(root, end)
        apart = one != other
        if not pvar.reduce(apart, "or"):
            return np.asarray(taken)
        least, above = vertices.full(len(weights) + 1), vertices.address().astype(np.int64)
        with edges.where(apart):
            pvar.send(weight, one, combine="min", into=least)
            pvar.send(weight, other, combine="min", into=least)
            for own, neighbor in ((one, other), (other, one)):
                with edges.where(pvar.get(least, own) == weight):
                    taken[...] = True
                    pvar.send(neighbor, own, into=above)
        # Two trees that took the same edge point at each other: the lesser becomes a root.
        back = pvar.get(above, above)
        vertex = vertices.address()
        with vertices.where((back == vertex) & (vertex < above)):
            above[...] = vertex
        root = pvar.get(above, root)
        flat = False
        while not flat:
            higher = pvar.get(above, root)
            flat = not pvar.reduce(higher != root, "or")
            root = higher


def expected(given: tuple[int, np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    """The same by scipy: the lightest edge of each pair of ends that it takes."""
    size, begins, ends, weights = given
    low, high = np.minimum(begins, ends), np.maximum(begins, ends)
    order = np.argsort(-weights)
    between = scipy.sparse.lil_array((size, size), dtype=np.int64)
    for edge in order:
        between[low[edge], high[edge]] = weights[edge]
    between.setdiag(0)
    tree = scipy.sparse.csgraph.minimum_spanning_tree(between.tocsr())
    return np.isin(weights, tree.data.astype(np.int64))


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "vertices", "the graph")
    chosen = parser.parse_args()
    if chosen.size < 2:
        parser.error("expected at least two vertices")
    given = problem(chosen.size, chosen.seed)
    taken = solve(given, chosen.machine)
    print(f"{chosen.size} vertices, {len(taken)} edges: the tree has {taken.sum()}, of weight {given[3][taken].sum()}")
    return arguments.verdict(np.array_equal(taken, expected(given)), "the tree must be scipy's")


if __name__ == "__main__":
    sys.exit(main())

"""The cores of a graph: what is left when vertices of few neighbours are removed again and again.

    python programs/k_core.py [--size 1000] [--machine here] [--seed 1]

A processor has an edge, and another VP set the vertices; in each round edges tell their ends that they are still there,
and vertices with fewer than k of them leave (Seidman, Social Networks 5, 1983). Checked against removing vertex by
vertex. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

DEGREE = 4
"""Edges a vertex, on average."""


def problem(size: int, seed: int = 1) -> tuple[int, np.ndarray]:
    """So many vertices, and the two ends of each edge; some vertices have many more than others."""
    generator = np.random.default_rng(seed)
    ends = (size * generator.random((2, DEGREE * size)) ** 1.5).astype(np.int64)
    return size, ends[:, ends[0] != ends[1]]


def solve(graph: tuple[int, np.ndarray], machine: str = "here") -> np.ndarray:
    """The core number of each vertex: the largest k of whose core it is part."""
    size, ends = graph
    edges, vertices = pvar.VPSet(ends.shape[1], machine=machine), pvar.VPSet(size, machine=machine)
    one, other = (edges.array(end) for end in ends)
    there = edges.array(np.ones(ends.shape[1], bool))
    left = vertices.array(np.ones(size, bool))
    core, k = vertices.zeros("int32"), 1
    while pvar.reduce(left, "or"):
        present = there.astype(np.int32)
        degree = vertices.zeros("int32")
        pvar.send(present, one, combine="add", into=degree)
        pvar.send(present, other, combine="add", into=degree)
        stays = left & (degree >= k)
        if not pvar.reduce(left & ~stays, "or"):
            core = pvar.where(left, k, core)
            k += 1
            continue
        left = stays
        there = there & pvar.get(left, one) & pvar.get(left, other)
    return np.asarray(core)


def expected(graph: tuple[int, np.ndarray]) -> np.ndarray:
    """The same, a vertex at a time: the one of the fewest neighbours first (Batagelj and Zaversnik 2003)."""
    size, ends = graph
    neighbours: list[list[int]] = [[] for _ in range(size)]
    for one, other in ends.T.tolist():
        neighbours[one].append(other)
        neighbours[other].append(one)
    degree = [len(of) for of in neighbours]
    core, left, k = np.zeros(size, np.int64), set(range(size)), 0
    while left:
        waiting = [vertex for vertex in left if degree[vertex] <= k]
        if not waiting:
            k += 1
        while waiting:
            vertex = waiting.pop()
            if vertex not in left:
                continue
            left.remove(vertex)
            core[vertex] = k
            for other in neighbours[vertex]:
                degree[other] -= 1
                if other in left and degree[other] <= k:
                    waiting.append(other)
    return core


def main() -> int:
    parser = arguments.parser(__doc__, 1000, "vertices", "the edges")
    chosen = parser.parse_args()
    if chosen.size < 2:
        parser.error("expected at least two vertices")
    graph = problem(chosen.size, chosen.seed)
    core = solve(graph, chosen.machine)
    print(f"{chosen.size} vertices: {np.count_nonzero(core == core.max())} of them in the core of {core.max()}")
    return arguments.verdict(np.array_equal(core, expected(graph)), "cores must be those of single vertices")


if __name__ == "__main__":
    sys.exit(main())

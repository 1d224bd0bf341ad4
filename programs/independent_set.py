"""A maximal independent set of a graph: in every round those vertices join that come before all of their neighbours.

    python programs/independent_set.py [--size 5000] [--degree 6] [--machine here] [--seed 1]

Vertices are one VP set, edges another, each edge in both directions. Each vertex has a random priority (Luby, SIAM
Journal on Computing 15, 1986); edges send it to their ends, which keep the highest. As priorities stay the same, the
set is the one that a greedy walk through the vertices in the order of priorities comes to (Blelloch, Fineman and Shun,
SPAA 2012), which it is checked against. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

Graph = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Priorities of the vertices, and the two ends of the edges, each edge once."""


def problem(size: int, degree: int = 6, seed: int = 1) -> Graph:
    """So many vertices, with so many edges at each on average."""
    generator = np.random.default_rng(seed)
    ends = generator.integers(0, size, max(1, size * degree // 2))
    others = (ends + generator.integers(1, size, len(ends))) % size
    return generator.permutation(size).astype(np.int32), ends, others


def solve(graph: Graph, machine: str = "here") -> np.ndarray:
    """Whether each vertex is in the set."""
    priorities, ends, others = graph
    vertices = pvar.VPSet(len(priorities), machine=machine)
    edges = pvar.VPSet(2 * len(ends), machine=machine)
    here, there = edges.array(np.append(ends, others)), edges.array(np.append(others, ends))
    priority, is_open, in_set = vertices.array(priorities), vertices.full(True), vertices.zeros(bool)
    from_here = pvar.get(priority, here)
    is_alive = edges.full(True)
    while pvar.reduce(is_open, "or"):
        highest = vertices.full(np.int32(-1))
        with edges.where(is_alive):
            pvar.send(from_here, there, combine="max", into=highest)
        joins = is_open & (priority > highest)
        in_set = in_set | joins
        with edges.where(is_alive):
            is_beside = pvar.send(pvar.get(joins, here), there, combine="or", vp=vertices)
        is_open = is_open & ~joins & ~is_beside
        is_alive = pvar.get(is_open, here) & pvar.get(is_open, there)
    return np.asarray(in_set)


def expected(graph: Graph) -> np.ndarray:
    """The same by a walk through the vertices, the highest priority first."""
    priorities, ends, others = graph
    neighbours: list[list[int]] = [[] for _ in priorities]
    for one, other in zip(ends.tolist(), others.tolist(), strict=True):
        neighbours[one].append(other)
        neighbours[other].append(one)
    in_set = np.zeros(len(priorities), bool)
    for vertex in np.argsort(-priorities).tolist():
        in_set[vertex] = not any(in_set[one] for one in neighbours[vertex])
    return in_set


def main() -> int:
    parser = arguments.parser(__doc__, 5000, "vertices", "graph and priorities")
    parser.add_argument("--degree", type=int, default=6, help="edges at a vertex on average (default 6)")
    chosen = parser.parse_args()
    if chosen.size < 2 or chosen.degree < 1:
        parser.error("expected at least two vertices, with an edge at each")
    graph = problem(chosen.size, chosen.degree, chosen.seed)
    found = solve(graph, chosen.machine)
    print(f"{np.count_nonzero(found)} of {len(found)} vertices are in the set")
    return arguments.verdict(np.array_equal(found, expected(graph)), "the set must be that of a greedy walk")


if __name__ == "__main__":
    sys.exit(main())

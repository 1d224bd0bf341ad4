"""The vertices of a graph coloured so that neighbours differ, as many at once as do not touch.

    python programs/coloring.py [--size 1000] [--machine here] [--seed 1]

Vertices and arcs are two VP sets. A vertex waits for those neighbours that come before it in a random order, and takes
the first colour that none of them has, as bits of a word (Jones and Plassmann, SIAM Journal on Scientific Computing 14,
1993). Checked against the vertices one by one in that order. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

DEGREE = 6

Graph = tuple[np.ndarray, np.ndarray]


def problem(size: int, seed: int = 1) -> Graph:
    """Both ends of all arcs, each edge in both directions, and the number of each vertex in the order."""
    generator = np.random.default_rng(seed)
    ends = generator.integers(0, size, (2, DEGREE * size // 2), dtype=np.int32)
    ends[1] = np.where(ends[0] == ends[1], (ends[1] + 1) % size, ends[1])
    return np.concatenate([ends, ends[::-1]], axis=1), generator.permutation(size).astype(np.int32)


def solve(graph: Graph, machine: str = "here") -> np.ndarray:
    """The colour of each vertex, from 0."""
    (sources, targets), order = graph
    vp, arcs = pvar.VPSet(order.shape, machine=machine), pvar.VPSet(sources.shape, machine=machine)
    source, target, number = arcs.array(sources), arcs.array(targets), vp.array(order)
    waits = pvar.get(number, source) < pvar.get(number, target)
    colour, taken = vp.zeros(np.int64), vp.zeros(np.int64)
    while pvar.reduce(colour == 0, "or"):
        blocked = vp.zeros(np.bool_)
        with arcs.where(waits):
            pvar.send(pvar.get(colour, source) == 0, target, combine="or", into=blocked)
        with vp.where((colour == 0) & ~blocked):
            colour[...] = ~taken & (taken + 1)
        with arcs.where(waits):
            pvar.send(pvar.get(colour, source), target, combine="logior", into=taken)
            waits[...] = pvar.get(colour, target) == 0
    return np.asarray(pvar.log2(colour.astype(np.float64)).astype(np.int8))


def expected(graph: Graph) -> np.ndarray:
    """The same, vertex by vertex."""
    (sources, targets), order = graph
    neighbours: list[list[int]] = [[] for _ in order]
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        neighbours[target].append(source)
    colours = np.full(len(order), -1)
    for vertex in np.argsort(order).tolist():
        taken = {colours[other] for other in neighbours[vertex]}
        colours[vertex] = next(colour for colour in range(len(order)) if colour not in taken)
    return colours


def main() -> int:
    parser = arguments.parser(__doc__, 1000, "vertices", "the graph and the order")
    chosen = parser.parse_args()
    if chosen.size < 2:
        parser.error("expected at least two vertices")
    graph = problem(chosen.size, chosen.seed)
    colours = solve(graph, chosen.machine)
    print(f"{colours.max() + 1} colours; the first for {np.count_nonzero(colours == 0)} of {chosen.size} vertices")
    return arguments.verdict(np.array_equal(colours, expected(graph)), "colours must be those of vertices one by one")


if __name__ == "__main__":
    sys.exit(main())

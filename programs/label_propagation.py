"""Communities of a graph: each vertex takes the largest label around, for some rounds, under a limit.

    python programs/label_propagation.py [--size 2000] [--machine here] [--seed 1]

A processor has an edge, another set the vertices: labels are fetched to the edges, and sent from there with the largest
arriving. Labels of more than eight edges away do not count. Checked against numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

ROUNDS = 8


def problem(size: int, seed: int = 1) -> tuple[int, np.ndarray]:
    """How many vertices, and the ends of three edges for each."""
    generator = np.random.default_rng(seed)
    first = generator.integers(0, size, 3 * size)
    near = (first + generator.geometric(0.05, 3 * size)) % size
    return size, np.stack([first, near]).astype(np.int32)


def solve(graph: tuple[int, np.ndarray], machine: str = "here") -> tuple[np.ndarray, int]:
    """The label of each vertex, and how many edges are within communities."""
    size, ends = graph
    edges, vertices = pvar.VPSet(ends.shape[1], machine=machine), pvar.VPSet(size, machine=machine)
    one, other = (edges.array(end) for end in ends)
    label = vertices.address().astype("int32")
    for _ in range(ROUNDS):
        mine, theirs = pvar.get(label, one), pvar.get(label, other)
        arriving = vertices.zeros("int32")
        pvar.send(theirs, one, combine="max", into=arriving)
        pvar.send(mine, other, combine="max", into=arriving)
        label = pvar.maximum(label, arriving)
    within = pvar.get(label, one) == pvar.get(label, other)
    return np.asarray(label), int(pvar.reduce(within.astype("int32"), "add"))


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "vertices", "the graph")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one vertex")
    size, (one, other) = problem(chosen.size, chosen.seed)
    labels, within = solve((size, np.stack([one, other])), chosen.machine)
    print(f"{len(np.unique(labels))} communities hold {within} of {len(one)} edges")
    wanted = np.arange(size)
    for _ in range(ROUNDS):
        after = wanted.copy()
        np.maximum.at(after, one, wanted[other])
        np.maximum.at(after, other, wanted[one])
        wanted = after
    right = np.array_equal(labels, wanted) and within == np.count_nonzero(wanted[one] == wanted[other])
    return arguments.verdict(right, "labels must be those of numpy")


if __name__ == "__main__":
    sys.exit(main())

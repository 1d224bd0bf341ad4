"""Walkers on a graph of which each takes any of the edges of its vertex, and where they are in the end.

    python programs/random_walks.py [--size 2000] [--rounds 20] [--machine here] [--seed 1]

Vertices, edges and walkers are a VP set each; the edges of a vertex lie beside each other. A walker draws one of them
and fetches its end. The share of the walkers at a vertex comes near its share of the edges, which is checked, and that
the walkers are where numpy's are by the same random numbers. Ends with code 1 if a check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

WALKERS = 4

Given = tuple[np.ndarray, np.ndarray, int, int]
"""Where the edges of each vertex begin, one number more than there are vertices; their other ends; rounds; a seed."""


def problem(size: int, rounds: int = 20, seed: int = 1) -> Given:
    """A graph of so many vertices with some edges at each, in both directions, and a circle through all of them."""
    generator = np.random.default_rng(seed)
    circle = np.arange(size)
    ends = np.concatenate([circle, generator.integers(0, size, 2 * size)])
    others = np.concatenate([(circle + 1) % size, generator.integers(0, size, 2 * size)])
    here, there = np.append(ends, others), np.append(others, ends)
    order = np.argsort(here, kind="stable")
    begins = np.searchsorted(here[order], np.arange(size + 1))
    return begins, there[order].astype(np.int32), rounds, seed


def solve(given: Given, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The vertex of each walker in the end, and how many are at each vertex."""
    begins, ends, rounds, seed = given
    size = len(begins) - 1
    vertices, edges = pvar.VPSet(size, machine=machine), pvar.VPSet(len(ends), machine=machine)
    walkers = pvar.VPSet(WALKERS * size, machine=machine)
    first, degree = vertices.array(begins[:-1]), vertices.array(np.diff(begins))
    end, chance = edges.array(ends), walkers.rng(seed)
    at = walkers.address() // WALKERS
    for _ in range(rounds):
        draw = (chance.random(np.float64) * pvar.get(degree, at)).astype(np.int64)
        at = pvar.get(end, pvar.get(first, at) + draw)
    count = pvar.send(1, at, combine="add", vp=vertices)
    return np.asarray(at), np.asarray(count)


def expected(given: Given) -> np.ndarray:
    """The walkers by numpy, with random numbers of a VP set."""
    begins, ends, rounds, seed = given
    size = len(begins) - 1
    chance = pvar.VPSet(WALKERS * size).rng(seed)
    at = np.arange(WALKERS * size) // WALKERS
    for _ in range(rounds):
        draw = (chance.random(np.float64).numpy() * np.diff(begins)[at]).astype(np.int64)
        at = ends[begins[at] + draw]
    return at


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "vertices", "graph and walks")
    parser.add_argument("--rounds", type=int, default=20, help="steps of each walker (default 20)")
    chosen = parser.parse_args()
    if chosen.size < 2 or chosen.rounds < 1:
        parser.error("expected at least two vertices and one step")
    given = problem(chosen.size, chosen.rounds, chosen.seed)
    at, count = solve(given, chosen.machine)
    share = float(np.corrcoef(count, np.diff(given[0]))[0, 1]) if np.ptp(count) and np.ptp(np.diff(given[0])) else 1.0
    print(f"{len(at)} walkers; how many are at a vertex goes with its edges, correlation {share:.2f}")
    same = np.array_equal(at, expected(given)) and int(count.sum()) == len(at)
    return arguments.verdict(same and np.array_equal(count, np.bincount(at, minlength=len(count))), "as by numpy")


if __name__ == "__main__":
    sys.exit(main())

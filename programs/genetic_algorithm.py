"""Bits that a population of candidates finds by selection, crossover and mutation.

    python programs/genetic_algorithm.py [--size 64] [--rounds 60] [--machine here] [--seed 1]

A row of the grid is a candidate, whose fitness is how many of its bits are those of a pattern. In each round every row
draws two others and takes after the fitter one, twice: bits before a random place are those of one parent, the others
those of the second, and a few change (Holland, Adaptation in Natural and Artificial Systems, 1975). Checked against
numpy with the same random numbers. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import Any

import arguments
import numpy as np

from weft import pvar

BITS = 64
MUTATION = 1 / (2 * BITS)

Given = tuple[np.ndarray, np.ndarray, int, int]
"""The pattern, the bits of the candidates, rounds, and the seed of the random numbers."""


def problem(size: int, rounds: int = 60, seed: int = 1) -> Given:
    """So many candidates with random bits."""
    generator = np.random.default_rng(seed)
    return generator.random(BITS) < 0.5, generator.random((size, BITS)) < 0.5, rounds, seed


def solve(given: Given, machine: str = "here") -> np.ndarray:
    """The bits of all candidates in the end."""
    pattern, bits, rounds, seed = given
    size = len(bits)
    grid, rows = pvar.VPSet(bits.shape, machine=machine), pvar.VPSet(size, machine=machine)
    wanted, bit = grid.array(np.tile(pattern, (size, 1))), grid.array(bits, copy=True)
    row, column = grid.coordinate(0), grid.coordinate(1)
    chance, change = rows.rng(seed), grid.rng(seed + 1)
    for _ in range(rounds):
        # Counted in the rows' own VP set.
        fitness = pvar.send((bit == wanted).astype(np.int32), row, combine="add", vp=rows)
        parents = []
        for _ in range(2):
            one, other = chance.integers(0, size), chance.integers(0, size)
            parents.append(pvar.where(pvar.get(fitness, one) >= pvar.get(fitness, other), one, other))
        place = pvar.get(chance.integers(0, BITS + 1), row)
        parent = pvar.where(column < place, pvar.get(parents[0], row), pvar.get(parents[1], row))
        bit = pvar.get(bit, (parent, column)) ^ (change.random(np.float64) < MUTATION)
    return np.asarray(bit)


def expected(given: Given) -> np.ndarray:
    """The same by numpy, with random numbers of VP sets."""
    pattern, bits, rounds, seed = given
    size = len(bits)
    chance, change = pvar.VPSet(size).rng(seed), pvar.VPSet(bits.shape).rng(seed + 1)
    for _ in range(rounds):
        fitness = np.sum(bits == pattern, axis=1)
        parents: list[Any] = []
        for _ in range(2):
            one, other = (chance.integers(0, size).numpy() for _ in range(2))
            parents.append(np.where(fitness[one] >= fitness[other], one, other))
        place = chance.integers(0, BITS + 1).numpy()
        bits = np.where(np.arange(BITS) < place[:, None], bits[parents[0]], bits[parents[1]])
        bits = bits ^ (change.random(np.float64).numpy() < MUTATION)
    return bits


def main() -> int:
    parser = arguments.parser(__doc__, 64, "candidates", "bits and chances")
    parser.add_argument("--rounds", type=int, default=60, help="rounds (default 60)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.rounds) < 1:
        parser.error("expected at least one candidate and one round")
    given = problem(chosen.size, chosen.rounds, chosen.seed)
    found = solve(given, chosen.machine)
    fittest = int(np.sum(found == given[0], axis=1).max())
    print(f"the fittest of {chosen.size} has {fittest} of {BITS} bits after {chosen.rounds} rounds")
    return arguments.verdict(np.array_equal(found, expected(given)), "bits must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

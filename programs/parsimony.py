"""Which of several family trees needs the fewest mutations, at all sites of an alignment at once.

    python programs/parsimony.py [--size 3000] [--machine here] [--seed 1]

A processor has a site; the bases that an ancestor may have are bits, and where its children have none in common there
was a mutation (Fitch, Systematic Zoology 20, 1971). Checked by least costs of each base (Sankoff 1975). Ends with code
1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

SPECIES = 16
TREES = 8
UNKNOWN = 15


class Alignment(NamedTuple):
    """Bases of all species as bits, and trees: pairs of children, by number, the first ancestor's being SPECIES."""

    bases: np.ndarray
    trees: list[list[tuple[int, int]]]


def a_tree(generator: np.random.Generator) -> list[tuple[int, int]]:
    """Any two of those without an ancestor get one, until there is a single one."""
    alone, pairs = list(range(SPECIES)), []
    while len(alone) > 1:
        one, other = (alone.pop(int(generator.integers(len(alone)))) for _ in range(2))
        alone.append(SPECIES + len(pairs))
        pairs.append((one, other))
    return pairs


def problem(size: int, seed: int = 1) -> Alignment:
    """Bases that have mutated along the first of the trees."""
    generator = np.random.default_rng(seed)
    trees = [a_tree(generator) for _ in range(TREES)]
    bases = np.zeros((2 * SPECIES - 1, size), np.int8)
    bases[-1] = generator.integers(0, 4, size)
    for number, pair in reversed(list(enumerate(trees[0], SPECIES))):
        for child in pair:
            mutates = generator.random(size) < 0.08
            bases[child] = np.where(mutates, generator.integers(0, 4, size), bases[number])
    gaps = generator.random((SPECIES, size)) < 0.02
    return Alignment(np.where(gaps, UNKNOWN, 1 << bases[:SPECIES]).astype(np.int8), trees)


def solve(alignment: Alignment, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mutations of each tree, those at each site in the best one, and how many sites have how many there."""
    vp = pvar.VPSet(alignment.bases.shape[1:], machine=machine)
    numbers = pvar.VPSet(SPECIES, machine=machine)
    leaves = [vp.array(one) for one in alignment.bases]
    lengths, best = [], vp.zeros(np.int8)
    for pairs in alignment.trees:
        states, mutations = list(leaves), vp.zeros(np.int8)
        for one, other in pairs:
            common = states[one] & states[other]
            disjoint = common == 0
            with vp.where(disjoint):
                common[...] = states[one] | states[other]
                mutations += 1
            states.append(common)
        lengths.append(int(pvar.reduce(mutations, "sum")))
        if lengths[-1] == min(lengths) and lengths.count(lengths[-1]) == 1:
            best = mutations
    sites = pvar.send(1, best, combine="add", vp=numbers)
    return np.array(lengths), np.asarray(best), np.asarray(sites)


def expected(alignment: Alignment) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by the cost of each base of each ancestor."""
    leaves = np.where((alignment.bases[:, None] >> np.arange(4)[:, None]) & 1, 0, 1000)
    of_sites = []
    for pairs in alignment.trees:
        costs = list(leaves)
        for pair in pairs:
            costs.append(sum(np.minimum(costs[child], costs[child].min(axis=0) + 1) for child in pair))
        of_sites.append(costs[-1].min(axis=0))
    lengths = np.sum(of_sites, axis=1)
    best = of_sites[int(lengths.argmin())]
    return lengths, best, np.bincount(best, minlength=SPECIES)


def main() -> int:
    parser = arguments.parser(__doc__, 3000, "sites", "trees and mutations")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one site")
    alignment = problem(chosen.size, chosen.seed)
    answer = solve(alignment, chosen.machine)
    print(f"the trees need {answer[0].tolist()} mutations; {answer[2][0]} sites of the best one need none")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(alignment), strict=True))
    return arguments.verdict(right, "mutations must be those of the least costs")


if __name__ == "__main__":
    sys.exit(main())

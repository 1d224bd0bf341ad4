"""Which species are alike: the closest two groups become one, again and again.

    python programs/dendrogram.py [--size 30] [--machine here] [--seed 1]

A processor has the distance of two groups, that of their members in the mean (Sokal and Michener 1958). The distances
of a new group follow from those of both (Lance and Williams, The Computer Journal 9, 1967), whose rows are spread.
Checked from the definition. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

TRAITS = 4


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Distances of species of some families."""
    generator = np.random.default_rng(seed)
    families = generator.uniform(0, 10, (max(size // 6, 1), TRAITS))
    traits = families[generator.integers(0, len(families), size)] + generator.normal(0, 1, (size, TRAITS))
    return np.linalg.norm(traits[:, None] - traits, axis=2)


def solve(distances: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which groups are joined, at which distance, and at which each two species come together."""
    size = len(distances)
    vp, line = pvar.VPSet(distances.shape, machine=machine), pvar.VPSet(size, machine=machine)
    apart, together = vp.array(distances, copy=True), vp.zeros()
    row, column = vp.coordinate(0), vp.coordinate(1)
    left, members, group = row < column, line.full(1, np.int32), line.address()
    pairs, heights = [], []
    for _ in range(size - 1):
        with vp.where(left):
            first, second = apart.argmin()
        height = float(apart[first, second])
        pairs.append((first, second))
        heights.append(height)
        both = [int(members[one]) for one in (first, second)]
        share = both[0] / sum(both)
        with vp.where(row == first):
            apart[...] = share * apart + (1 - share) * pvar.spread(apart, axis=0, index=second)
        with vp.where(column == first):
            apart[...] = share * apart + (1 - share) * pvar.spread(apart, axis=1, index=second)
        members[first] = sum(both)
        left &= (row != second) & (column != second)
        of_row, of_column = pvar.get(group, row), pvar.get(group, column)
        meet = (of_row == first) & (of_column == second) | (of_row == second) & (of_column == first)
        with vp.where(meet):
            together[...] = height
        group[...] = pvar.where(group == second, first, group)
    return np.array(pairs).reshape(-1, 2), np.array(heights), np.asarray(together)


def expected(distances: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same with lists of members."""
    groups = {number: [number] for number in range(len(distances))}
    pairs, heights, together = [], [], np.zeros_like(distances)
    while len(groups) > 1:
        two = [(first, second) for first in groups for second in groups if first < second]
        means = [distances[np.ix_(groups[first], groups[second])].mean() for first, second in two]
        number = int(np.argmin(means))
        first, second = two[number]
        heights.append(means[number])
        pairs.append((first, second))
        together[np.ix_(groups[first], groups[second])] = means[number]
        together[np.ix_(groups[second], groups[first])] = means[number]
        groups[first] += groups.pop(second)
    return np.array(pairs).reshape(-1, 2), np.array(heights), together


def main() -> int:
    parser = arguments.parser(__doc__, 30, "species", "the species")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one species")
    distances = problem(chosen.size, chosen.seed)
    answer = solve(distances, chosen.machine)
    print(f"{chosen.size} species are within {answer[1].max(initial=0):.2f} of each other in the mean")
    right = all(np.allclose(one, other) for one, other in zip(answer, expected(distances), strict=True))
    return arguments.verdict(right, "groups must be those of the members' mean distances")


if __name__ == "__main__":
    sys.exit(main())

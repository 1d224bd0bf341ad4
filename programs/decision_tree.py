"""A decision tree that learns two classes from examples, all of its nodes of a level at once.

    python programs/decision_tree.py [--size 500] [--machine here] [--seed 1]

A processor has a feature of an example. Sends count examples by node, feature and value in a VP set of three axes,
where scans along values say how pure both sides of every split would be; each node takes its best, and examples move on
to one of its two children. Checked node by node. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

FEATURES, VALUES, LEVELS = 6, 16, 4


class Examples(NamedTuple):
    """Values by feature and example, and which of two classes each is in."""

    values: np.ndarray
    positive: np.ndarray


def problem(size: int, seed: int = 1) -> Examples:
    """A class that depends on some of the features, with some noise."""
    generator = np.random.default_rng(seed)
    values = generator.integers(0, VALUES, (FEATURES, size)).astype(np.uint8)
    chosen = generator.permutation(FEATURES)
    inside = (values[chosen[0]] > 6) ^ ((values[chosen[1]] > 10) & (values[chosen[2]] < 9))
    return Examples(values, inside ^ (generator.random(size) < 0.1))


def solve(examples: Examples, machine: str = "here") -> tuple[np.ndarray, ...]:
    """Each node's feature and largest value of the left side; examples of leaves; and the part that is predicted."""
    size = len(examples.positive)
    grid, line = pvar.VPSet((FEATURES, size), machine=machine), pvar.VPSet(size, machine=machine)
    value, feature, example = grid.array(examples.values), grid.coordinate(0), grid.coordinate(1)
    positive = line.array(examples.positive)
    of_grid = pvar.get(positive, example)
    node = line.zeros(np.int32)
    features, bounds = [], []
    for level in range(LEVELS):
        nodes = pvar.VPSet(2**level, machine=machine)
        counts = pvar.VPSet((2**level, FEATURES, VALUES), machine=machine)
        address = pvar.get(node, example), feature, value.astype(np.int32)
        left = pvar.scan(pvar.send(1, address, combine="add", vp=counts), "add", axis=2)
        with grid.where(of_grid):
            of_left = pvar.send(1, address, combine="add", vp=counts)
        of_left = pvar.scan(of_left, "add", axis=2)
        right, of_right = (pvar.spread(one, axis=2, index=VALUES - 1) - one for one in (left, of_left))
        purity = counts.full(-1.0)
        with counts.where((left > 0) & (right > 0)):
            purity[...] = squares(of_left, left) + squares(of_right, right)
        best = purity.max(axis=(1, 2))
        choice = counts.coordinate(1) * VALUES + counts.coordinate(2)
        with counts.where(purity == best):
            first = pvar.reduce(choice, "min", axis=(1, 2))
            chosen = pvar.send(first, counts.coordinate(0), combine="max", vp=nodes)
        of_node = pvar.get(chosen, node)
        own = pvar.get(value, (of_node // VALUES, line.address()))
        features.append(np.asarray(chosen // VALUES))
        bounds.append(np.asarray(chosen % VALUES))
        node = 2 * node + (own > of_node % VALUES).astype(np.int32)
    leaves = pvar.VPSet(2**LEVELS, machine=machine)
    total = pvar.send(1, node, combine="add", vp=leaves)
    with line.where(positive):
        of_class = pvar.send(1, node, combine="add", vp=leaves)
    predicted = pvar.get(2 * of_class > total, node)
    right_ones = pvar.reduce(predicted == positive, "count")
    counted = np.stack([np.asarray(total), np.asarray(of_class)])
    return np.concatenate(features), np.concatenate(bounds), counted, np.array(right_ones / size)


def squares(of_class: pvar.ParallelVariable, total: pvar.ParallelVariable) -> pvar.ParallelVariable:
    """How pure a side is: twice this, less the number that a split leaves alike, is what Gini's impurity lacks."""
    part = of_class.astype(np.float64)
    return part * part / total


def expected(examples: Examples) -> tuple[np.ndarray, ...]:
    """The same, node by node and split by split."""
    values, positive = examples.values.astype(int), examples.positive
    nodes, features, bounds = [np.arange(len(positive))], [], []
    for _ in range(LEVELS):
        children = []
        for members in nodes:
            best = -2.0, 0, 0
            for feature in range(FEATURES):
                own, ordered = values[feature, members], positive[members]
                for bound in range(VALUES):
                    sides = [ordered[own <= bound], ordered[own > bound]]
                    purity = sum(int(side.sum()) ** 2 / len(side) for side in sides) if min(map(len, sides)) else -1
                    if purity > best[0]:
                        best = purity, feature, bound
            features.append(best[1])
            bounds.append(best[2])
            right = values[best[1], members] > best[2]
            children += [members[~right], members[right]]
        nodes = children
    counted = [(len(members), int(positive[members].sum())) for members in nodes]
    part = sum(max(of_class, total - of_class) for total, of_class in counted) / len(positive)
    return np.array(features), np.array(bounds), np.transpose(counted), np.array(part)


def main() -> int:
    parser = arguments.parser(__doc__, 500, "examples", "the examples")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one example")
    examples = problem(chosen.size, chosen.seed)
    answer = solve(examples, chosen.machine)
    print(f"{answer[3]:.1%} of the examples are in the class of their leaf")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(examples), strict=True))
    return arguments.verdict(right, "splits must be the best of all, one by one")


if __name__ == "__main__":
    sys.exit(main())

"""Two classes told apart by a line through many dimensions, which is found by going down the slope of the loss.

    python programs/logistic_regression.py [--size 1000] [--rounds 40] [--machine here] [--seed 1]

A row of the grid is a sample, a column one of its features. In each round all samples weigh their features, add along
the row, and take from each weight the mean of what its feature has to do with the error. Checked against numpy. Ends
with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

FEATURES, RATE = 12, 0.5

Given = tuple[np.ndarray, np.ndarray, int]
"""Features, a row for each sample; the class of each, 0 or 1; rounds."""


def problem(size: int, rounds: int = 40, seed: int = 1) -> Given:
    """Samples of classes that overlap a little."""
    generator = np.random.default_rng(seed)
    features = generator.standard_normal((size, FEATURES))
    score = features @ generator.standard_normal(FEATURES) + generator.standard_normal(size)
    return features, (score > 0).astype(float), rounds


def solve(given: Given, machine: str = "here") -> np.ndarray:
    """The weight of each feature."""
    features, classes, rounds = given
    size = len(classes)
    vp = pvar.VPSet(features.shape, machine=machine)
    feature, label = vp.array(features), vp.array(np.repeat(classes[:, None], FEATURES, axis=1))
    weight = vp.zeros()
    for _ in range(rounds):
        score = pvar.reduce(feature * weight, "sum", axis=1)
        error = 1.0 / (1.0 + pvar.exp(-score)) - label
        weight = weight - RATE / size * pvar.reduce(error * feature, "sum", axis=0)
    return np.asarray(weight)[0]


def expected(given: Given) -> np.ndarray:
    """The same by numpy."""
    features, classes, rounds = given
    weight = np.zeros(FEATURES)
    for _ in range(rounds):
        error = 1.0 / (1.0 + np.exp(-features @ weight)) - classes
        weight = weight - RATE / len(classes) * (error @ features)
    return weight


def main() -> int:
    parser = arguments.parser(__doc__, 1000, "samples", "the samples")
    parser.add_argument("--rounds", type=int, default=40, help="rounds (default 40)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.rounds) < 1:
        parser.error("expected at least one sample and one round")
    given = problem(chosen.size, chosen.rounds, chosen.seed)
    found = solve(given, chosen.machine)
    right = np.mean((given[0] @ found > 0) == (given[1] > 0))
    print(f"{right:.1%} of {chosen.size} samples are on their side of the line")
    return arguments.verdict(np.allclose(found, expected(given), rtol=1e-9, atol=1e-12), "weights must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

"""A histogram by one send with combining: every value sends a one to its bin, where they are added.

    python programs/histogram.py [--size 65536] [--bins 256] [--rounds 5] [--machine here] [--seed 1]

Bins are the first virtual processors. The values are equalised with what was found and counted again, `rounds` times:
the running sum of the histogram, fetched by every value, is its new value, as when the contrast of a picture is
stretched. Checked against numpy's counts. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, bins: int = 256, rounds: int = 5, seed: int = 1) -> tuple[np.ndarray, int, int]:
    """Values that crowd in the middle of the bins."""
    made = np.random.default_rng(seed).binomial(bins - 1, 0.4, size)
    return made.astype(np.int64), bins, rounds


def solve(given: tuple[np.ndarray, int, int], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The histogram of the last round, and the values that it is of."""
    values, bins, rounds = given
    vp = pvar.VPSet(values.shape, machine=machine)
    value = vp.array(values)
    ones = vp.full(1, np.int64)
    counted = pvar.send(ones, value, combine="add")
    for _ in range(rounds):
        below = pvar.scan(counted, "add", axis=0)
        value = (pvar.get(below, value, collisions="many") - 1) * bins // len(values)
        counted = pvar.send(ones, value, combine="add")
    return np.asarray(counted)[:bins], np.asarray(value)


def wrong(given: tuple[np.ndarray, int, int], found: tuple[np.ndarray, np.ndarray]) -> int:
    """How many bins or values differ from numpy's."""
    values, bins, rounds = given
    counted = np.bincount(values, minlength=bins)
    for _ in range(rounds):
        values = (np.cumsum(counted)[values] - 1) * bins // len(values)
        counted = np.bincount(values, minlength=bins)
    return int(np.count_nonzero(found[0] != counted) + np.count_nonzero(found[1] != values))


def main() -> int:
    parser = arguments.parser(__doc__, 65536, "values", "the values")
    parser.add_argument("--bins", type=int, default=256, help="bins, no more than values (default 256)")
    parser.add_argument("--rounds", type=int, default=5, help="how often the values are equalised (default 5)")
    chosen = parser.parse_args()
    if not 1 <= chosen.bins <= chosen.size or chosen.rounds < 0:
        parser.error("expected at least one bin and no more bins than values")
    given = problem(chosen.size, chosen.bins, chosen.rounds, chosen.seed)
    found = wrong(given, solve(given, chosen.machine))
    print(f"{chosen.size} values in {chosen.bins} bins, equalised {chosen.rounds} times: {found} differ from numpy's")
    return arguments.verdict(found == 0, "counts and values must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

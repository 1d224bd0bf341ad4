"""The most valuable load of a knapsack by dynamic programming: a processor for each capacity, a shift for each item.

    python programs/knapsack.py [--size 5000] [--items 40] [--machine here] [--seed 1]

The items that are taken are found by going back through what each step decided. They are checked to fit and to be worth
what was found, and the value of every capacity against numpy's. Ends with code 1 if a check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, items: int = 40, seed: int = 1) -> tuple[int, np.ndarray, np.ndarray]:
    """The capacity, and what items weigh and are worth: heavier ones more, but not in proportion."""
    made = np.random.default_rng(seed)
    weights = made.integers(1, max(2, size // 8), items)
    return size, weights, weights * 10 + made.integers(0, 5 * max(2, size // 8), items)


def solve(given: tuple[int, np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, list[int]]:
    """The most value of each capacity from 0, and the items of the largest."""
    size, weights, values = given
    vp = pvar.VPSet((size + 1,), machine=machine)
    capacity, best, taken = vp.coordinate(0), vp.zeros(np.int64), []
    for weight, value in zip(weights.tolist(), values.tolist(), strict=True):
        if weight > size:
            taken.append(None)
            continue
        with_it = pvar.shift(best, -weight, axis=0, boundary=0) + value
        better = (capacity >= weight) & (with_it > best)
        with vp.where(better):
            best[...] = with_it
        taken.append(better)
    load, left = [], size
    for number in range(len(weights) - 1, -1, -1):
        if taken[number] is not None and taken[number][left]:
            load.append(number)
            left -= int(weights[number])
    return np.asarray(best), load


def expected(given: tuple[int, np.ndarray, np.ndarray]) -> np.ndarray:
    """The most value of each capacity, by numpy."""
    size, weights, values = given
    best = np.zeros(size + 1, np.int64)
    for weight, value in zip(weights, values, strict=True):
        if weight <= size:
            best[weight:] = np.maximum(best[weight:], best[: size + 1 - weight] + value)
    return best


def main() -> int:
    parser = arguments.parser(__doc__, 5000, "the largest capacity", "the items")
    parser.add_argument("--items", type=int, default=40, help="items (default 40)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.items) < 1:
        parser.error("expected a capacity of at least one and at least one item")
    given = problem(chosen.size, chosen.items, chosen.seed)
    best, load = solve(given, chosen.machine)
    weight, value = int(given[1][load].sum()), int(given[2][load].sum())
    print(f"{len(load)} of {chosen.items} items weigh {weight} of {chosen.size} and are worth {value}")
    fits = weight <= chosen.size and value == best[-1]
    return arguments.verdict(fits and np.array_equal(best, expected(given)), "values must be numpy's, and the load fit")


if __name__ == "__main__":
    sys.exit(main())

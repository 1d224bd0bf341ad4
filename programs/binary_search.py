"""Many numbers looked for in a sorted list at once, each by halving where it may be.

    python programs/binary_search.py [--size 10000] [--machine here] [--seed 1]

The list is one VP set, and what is looked for another with three times as many processors. Each knows between which two
elements its number is, and fetches the one in the middle. Checked against numpy's searchsorted. Ends with code 1 if the
check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

Lists = tuple[np.ndarray, np.ndarray]
"""The list in order, and what is looked for."""


def problem(size: int, seed: int = 1) -> Lists:
    """A list of so many numbers, of which several are the same, and three times as many to look for."""
    generator = np.random.default_rng(seed)
    return np.sort(generator.integers(0, 4 * size, size)), generator.integers(-1, 4 * size + 1, 3 * size)


def solve(lists: Lists, machine: str = "here") -> np.ndarray:
    """How many elements of the list are less than each number."""
    in_order, wanted = lists
    elements = pvar.VPSet(len(in_order), machine=machine)
    seekers = pvar.VPSet(len(wanted), machine=machine)
    element, number = elements.array(in_order), seekers.array(wanted)
    low, high = seekers.zeros(np.int64), seekers.full(len(in_order), np.int64)
    seeks = low < high
    while pvar.reduce(seeks, "or"):
        middle = (low + high) >> 1
        with seekers.where(seeks):
            is_less = pvar.get(element, middle) < number
            low[...] = pvar.where(is_less, middle + 1, low)
            high[...] = pvar.where(is_less, high, middle)
        seeks = low < high
    return np.asarray(low)


def main() -> int:
    parser = arguments.parser(__doc__, 10_000, "elements of the list", "list and numbers")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one element")
    lists = problem(chosen.size, chosen.seed)
    found = solve(lists, chosen.machine)
    there = np.count_nonzero(np.isin(lists[1], lists[0]))
    print(f"{there} of {len(found)} numbers are in the list of {len(lists[0])}")
    return arguments.verdict(np.array_equal(found, np.searchsorted(*lists)), "places must be those of numpy")


if __name__ == "__main__":
    sys.exit(main())

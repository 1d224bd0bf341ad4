"""Sorting by comparing elements far apart first: a processor for each element, and gaps that shrink.

    python programs/comb_sort.py [--size 2000] [--machine here] [--seed 1]

Pairs at a gap that begin in an even block of it are ordered at once, then those of odd blocks; gaps shrink to ten
thirteenths (Lacey and Box, Byte, April 1991), and at a gap of one it goes on until nothing changes. Checked against
numpy's sort. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Whole numbers."""
    return np.random.default_rng(seed).integers(-(10**6), 10**6, size).astype(np.int32)


def exchanged(x: pvar.ParallelVariable, first: pvar.ParallelVariable, gap: int) -> pvar.ParallelVariable:
    """The lesser of each pair at its first processor, the larger behind it; `first` says where pairs begin."""
    second = pvar.shift(first, -gap, axis=0, boundary=False)
    ahead, behind = (pvar.shift(x, distance, axis=0) for distance in (gap, -gap))
    return pvar.where(first, pvar.minimum(x, ahead), pvar.where(second, pvar.maximum(x, behind), x))


def solve(numbers: np.ndarray, machine: str = "here") -> np.ndarray:
    """The numbers in order."""
    size = numbers.size
    vp = pvar.VPSet(numbers.shape, machine=machine)
    x, index = vp.array(numbers), vp.coordinate(0)
    gap = size
    while True:
        gap = max(1, gap * 10 // 13)
        odd, before = (index // gap) % 2 == 1, x
        paired = index < size - gap
        x = exchanged(x, paired & ~odd, gap)
        x = exchanged(x, paired & odd, gap)
        if gap == 1 and not pvar.reduce(x != before, "or"):
            return np.asarray(x)


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "numbers", "the numbers")
    chosen = parser.parse_args()
    if chosen.size < 2:
        parser.error("expected at least two numbers")
    numbers = problem(chosen.size, chosen.seed)
    ordered = solve(numbers, chosen.machine)
    print(f"{chosen.size} numbers from {ordered[0]} to {ordered[-1]}")
    return arguments.verdict(np.array_equal(ordered, np.sort(numbers)), "numbers must be in numpy's order")


if __name__ == "__main__":
    sys.exit(main())

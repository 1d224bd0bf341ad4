"""Quantiles of many numbers without sorting them: each is bisected to, by counting who is below.

    python programs/quantiles.py [--size 100000] [--machine here] [--seed 1]

Numbers are doubles, in which a bisection ends when there is none between two. Checked against numpy's partition. Ends
with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

SHARES = (0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0)


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Numbers with a heavy tail."""
    return np.random.default_rng(seed).standard_cauchy(size)


def rank_of(share: float, size: int) -> int:
    """Which of so many numbers in order, from 0, is the quantile."""
    return min(size - 1, int(share * size))


def solve(numbers: np.ndarray, machine: str = "here") -> list[float]:
    """The number at each of the shares."""
    vp = pvar.VPSet(numbers.shape, machine=machine)
    number, found = vp.array(numbers), []
    least, most = float(pvar.reduce(number, "min")), float(pvar.reduce(number, "max"))
    for share in SHARES:
        wanted, low, high = rank_of(share, len(numbers)), np.nextafter(least, -np.inf), most
        # The quantile is above `low` and not above `high`.
        while (middle := low + (high - low) / 2.0) not in (low, high):
            if int(pvar.reduce((number <= middle).astype(np.int64), "sum")) > wanted:
                high = middle
            else:
                low = middle
        found.append(float(high))
    return found


def main() -> int:
    parser = arguments.parser(__doc__, 100_000, "numbers", "the numbers")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one number")
    numbers = problem(chosen.size, chosen.seed)
    found = solve(numbers, chosen.machine)
    print(", ".join(f"{share:.0%} {value:.4g}" for share, value in zip(SHARES, found, strict=True)))
    in_order = np.sort(numbers)
    wanted = [float(in_order[rank_of(share, len(numbers))]) for share in SHARES]
    return arguments.verdict(found == wanted, "quantiles must be the numbers that a sort puts there")


if __name__ == "__main__":
    sys.exit(main())

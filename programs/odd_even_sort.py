"""Sorting by exchanges with neighbours, in odd and even rounds: as many rounds as there are keys.

    python programs/odd_even_sort.py [--size 1000] [--machine here] [--seed 1]

Of a pair the lower processor keeps the smaller key. Who is lower alternates. Checked against numpy. Ends with code 1 if
the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> np.ndarray:
    """The keys."""
    return np.random.default_rng(seed).standard_normal(size).astype(np.float32)


def solve(keys: np.ndarray, machine: str = "here") -> np.ndarray:
    """The keys in order."""
    vp = pvar.VPSet(keys.shape, machine=machine)
    key, is_odd = vp.array(keys), vp.coordinate(0) % 2 == 1
    for number in range(len(keys)):
        # What lies beyond an end never changes places with a key.
        above = pvar.shift(key, 1, boundary=np.float32(np.inf))
        below = pvar.shift(key, -1, boundary=np.float32(-np.inf))
        is_lower = is_odd if number % 2 else ~is_odd
        key = pvar.where(is_lower, pvar.minimum(key, above), pvar.maximum(key, below))
    return np.asarray(key)


def main() -> int:
    parser = arguments.parser(__doc__, 1000, "keys", "the keys")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one key")
    keys = problem(chosen.size, chosen.seed)
    found = solve(keys, chosen.machine)
    print(f"{len(found)} keys from {found[0]:.3f} to {found[-1]:.3f}")
    return arguments.verdict(np.array_equal(found, np.sort(keys)), "keys must be in numpy's order")


if __name__ == "__main__":
    sys.exit(main())

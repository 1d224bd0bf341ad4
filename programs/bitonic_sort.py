"""Bitonic sort: every processor compares with the one whose address differs in one bit, all at once.

    python programs/bitonic_sort.py [--size 4096] [--machine here] [--seed 1]

In each stage of half-length h the partner lies h further where bit h of the address is 0 and h before where it is 1;
who keeps the smaller key is said by two bits of the address (Batcher's network). Checked against numpy's sort. Ends
with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Keys of 32 bits."""
    return np.random.default_rng(seed).integers(-(1 << 31), 1 << 31, size).astype(np.int32)


def solve(given: np.ndarray, machine: str = "here") -> np.ndarray:
    """The keys in order."""
    size = len(given)
    vp = pvar.VPSet((size,), machine=machine)
    key, place = vp.array(given, copy=True), vp.coordinate(0)
    length = 2
    while length <= size:
        descends = (place & length) != 0
        half = length // 2
        while half >= 1:
            second = (place & half) != 0
            partner = pvar.shift(key, half, axis=0)
            with vp.where(second):
                partner[...] = pvar.shift(key, -half, axis=0)
            larger = pvar.maximum(key, partner)
            key = pvar.minimum(key, partner)
            with vp.where(second ^ descends):
                key[...] = larger
            half //= 2
        length *= 2
    return np.asarray(key)


def wrong(given: np.ndarray, found: np.ndarray) -> int:
    """How many places hold another key than after numpy's sort."""
    return int(np.count_nonzero(np.sort(given) != found))


def main() -> int:
    parser = arguments.parser(__doc__, 4096, "keys, a power of two", "the keys")
    chosen = parser.parse_args()
    if chosen.size < 2 or chosen.size & (chosen.size - 1):
        parser.error(f"expected a power of two, not {chosen.size}")
    given = problem(chosen.size, chosen.seed)
    found = wrong(given, solve(given, chosen.machine))
    print(f"{chosen.size} keys: {found} out of place")
    return arguments.verdict(found == 0, "the keys must be as after numpy's sort")


if __name__ == "__main__":
    sys.exit(main())

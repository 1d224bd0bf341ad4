"""Quicksort of all parts at once: segmented scans divide every part by its first key, and one send moves all keys.

    python programs/quicksort.py [--size 10000] [--machine here] [--seed 1]

After G. E. Blelloch's example of segmented scans: keys below a part's pivot go before those that equal it, others
after; the three are parts of the next round, until no key is above the one after it. Checked against numpy's sort. Ends
with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Keys, some of them equal."""
    return np.random.default_rng(seed).integers(0, 2 * size, size).astype(np.int32)


def solve(keys: np.ndarray, machine: str = "here") -> np.ndarray:
    """The keys in order."""
    vp = pvar.VPSet(keys.shape, machine=machine)
    key, place = vp.array(keys), vp.coordinate(0)
    begins = place == 0
    while bool(pvar.reduce(key > pvar.shift(key, 1, axis=0, boundary=2 * len(keys)), "or")):
        pivot = pvar.scan(key, "copy", segments=begins)
        start = pvar.scan(place, "copy", segments=begins)
        less, equal = key < pivot, key == pivot
        before = pvar.scan(less.astype(np.int32), "add", segments=begins)
        same = pvar.scan(equal.astype(np.int32), "add", segments=begins)
        all_less = pvar.scan(before, "copy", segments=begins, direction="down")
        all_same = pvar.scan(same, "copy", segments=begins, direction="down")
        # Counts go up to and with an element: its own place is one less.
        to = start + all_less + all_same + (place - start - before - same)
        with vp.where(equal):
            to[...] = start + all_less + same - 1
        with vp.where(less):
            to[...] = start + before - 1
        key = pvar.send(key, to)
        begins = begins | (place == start + all_less) | (place == start + all_less + all_same)
    return np.asarray(key)


def main() -> int:
    parser = arguments.parser(__doc__, 10000, "keys", "the keys")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one key")
    given = problem(chosen.size, chosen.seed)
    found = solve(given, chosen.machine)
    print(f"{chosen.size} keys from {found[0]} to {found[-1]}")
    return arguments.verdict(np.array_equal(found, np.sort(given)), "keys must be in numpy's order")


if __name__ == "__main__":
    sys.exit(main())

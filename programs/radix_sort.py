"""Radix sort: for each bit the zeros before the ones, places by scans, keys moved by one send.

    python programs/radix_sort.py [--size 8192] [--bits 16] [--machine here] [--seed 1]

Splitting by a bit keeps the order of equal bits, so that after all bits the keys are sorted; who moved where is carried
along, which shows that the sort is stable. Checked against numpy's stable sort. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, bits: int = 16, seed: int = 1) -> tuple[np.ndarray, int]:
    """Keys of so many bits."""
    return np.random.default_rng(seed).integers(0, 1 << bits, size, dtype=np.int64), bits


def solve(given: tuple[np.ndarray, int], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The keys in order, and where each came from."""
    keys, bits = given
    vp = pvar.VPSet(keys.shape, machine=machine)
    key, here = vp.array(keys), vp.coordinate(0)
    origin = here
    for bit in range(bits):
        one = (key >> bit) & 1
        ones_before = pvar.scan(one, "add", axis=0, exclusive=True)
        zeros = len(keys) - int(pvar.reduce(one, "sum"))
        # A zero goes behind the zeros before it: its own place less the ones before it.
        place = here - ones_before
        with vp.where(one == 1):
            place[...] = ones_before + zeros
        key, origin = pvar.send(key, place), pvar.send(origin, place)
    return np.asarray(key), np.asarray(origin)


def wrong(given: tuple[np.ndarray, int], found: tuple[np.ndarray, np.ndarray]) -> int:
    """How many places hold another key, or a key from elsewhere, than after a stable sort."""
    keys, _ = given
    order = np.argsort(keys, kind="stable")
    return int(np.count_nonzero((found[0] != keys[order]) | (found[1] != order)))


def main() -> int:
    parser = arguments.parser(__doc__, 8192, "keys", "the keys")
    parser.add_argument("--bits", type=int, default=16, help="bits of a key (default 16)")
    chosen = parser.parse_args()
    if chosen.size < 1 or not 1 <= chosen.bits <= 62:
        parser.error("expected at least one key, of 1 to 62 bits")
    given = problem(chosen.size, chosen.bits, chosen.seed)
    found = wrong(given, solve(given, chosen.machine))
    print(f"{chosen.size} keys of {chosen.bits} bits: {found} out of place")
    return arguments.verdict(found == 0, "the keys must be as after numpy's stable sort")


if __name__ == "__main__":
    sys.exit(main())

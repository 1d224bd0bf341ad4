"""A hash table filled by all processors at once: who loses an entry to another key looks for the next free one.

    python programs/hash_table.py [--size 10000] [--machine here] [--seed 1]

Keys and entries are two VP sets. Keys that are not in the table yet send themselves to their entry, if it is free; of
several the largest stays; the others go on by a step of their own. Then all keys are looked up. Checked: every key has
an entry that holds it, and the table holds no others. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

EMPTY = -1
MULTIPLIER = 2_654_435_761
"""Knuth's, close to 2**32 by the golden ratio."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Different keys."""
    return np.random.default_rng(seed).choice(10 * size, size, replace=False)


def solve(keys: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The table, and the entry of each key."""
    entries = 1 << (2 * len(keys) - 1).bit_length()
    vp, table = pvar.VPSet(keys.shape, machine=machine), pvar.VPSet((entries,), machine=machine)
    key, held = vp.array(keys), table.full(EMPTY)
    hashed = (key * MULTIPLIER) % (1 << 32)
    entry, step = hashed % entries, hashed // entries % (entries // 2) * 2 + 1
    looking = key != EMPTY
    while pvar.reduce(looking, "or"):
        with vp.where(looking):
            with vp.where(pvar.get(held, entry) == EMPTY):
                pvar.send(key, entry, combine="max", into=held)
            looking[...] = pvar.get(held, entry) != key
            with vp.where(looking):
                entry[...] = (entry + step) % entries
    return np.asarray(held), np.asarray(entry)


def wrong(keys: np.ndarray, found: tuple[np.ndarray, np.ndarray]) -> int:
    """How many keys are not where they should be, and how many entries hold what is no key."""
    held, entry = found
    if len(entry) != len(keys):
        return len(keys)
    strangers = np.setdiff1d(held[held != EMPTY], keys)
    return int(np.count_nonzero(held[entry] != keys)) + len(strangers)


def main() -> int:
    parser = arguments.parser(__doc__, 10_000, "keys", "the keys")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one key")
    keys = problem(chosen.size, chosen.seed)
    held, entry = solve(keys, chosen.machine)
    print(f"{chosen.size} keys in {len(held)} entries")
    return arguments.verdict(wrong(keys, (held, entry)) == 0, "every key must be where it is looked for, and no other")


if __name__ == "__main__":
    sys.exit(main())

"""Which of many numbers are in a set, by a few bits for each of its members (Bloom 1970).

    python programs/bloom_filter.py [--size 10000] [--machine here] [--seed 1]

Each member sets bits at several places that are computed from it; a number is in the set only if all of its places are
set. Some that are not in it pass: about as many as the theory says, and no member is refused. Checked against numpy's
bits. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import arguments
import numpy as np

from weft import pvar

FUNCTIONS, BITS = 4, 8
"""Places of a number, and bits of the filter for each member."""


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The members, and twice as many numbers to look up, half of which are members."""
    numbers = np.random.default_rng(seed).permutation(8 * size)[: 2 * size].astype(np.int64)
    return numbers[:size], np.random.default_rng(seed + 1).permutation(numbers)


def places(numbers: Any, extent: int) -> list[Any]:
    """By multiplying with odd numbers and keeping upper bits of 32 (Knuth, The Art of Computer Programming, 6.4)."""
    factors = (2654435761, 2246822519, 3266489917, 668265263)
    return [(((numbers * factor) & 0xFFFFFFFF) >> 7) % extent for factor in factors[:FUNCTIONS]]


def solve(given: tuple[np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The filter, and which of the others pass."""
    members, others = given
    extent = BITS * len(members)
    vp, look_up = pvar.VPSet(len(members), machine=machine), pvar.VPSet(len(others), machine=machine)
    bits = pvar.VPSet(extent, machine=machine).zeros(bool)
    for at in places(vp.array(members), extent):
        pvar.send(True, at, combine="overwrite", into=bits)
    passes = look_up.full(True)
    for at in places(look_up.array(others), extent):
        passes = passes & pvar.get(bits, at)
    return np.asarray(bits), np.asarray(passes)


def main() -> int:
    parser = arguments.parser(__doc__, 10_000, "members", "the numbers")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one member")
    members, others = given = problem(chosen.size, chosen.seed)
    bits, passes = solve(given, chosen.machine)
    expected = np.zeros(len(bits), bool)
    for at in places(members, len(bits)):
        expected[at] = True
    is_member = np.isin(others, members)
    false = float(np.mean(passes[~is_member])) if not is_member.all() else 0.0
    theory = (1 - math.exp(-FUNCTIONS / BITS)) ** FUNCTIONS
    print(f"{chosen.size} members; {false:.2%} of the others pass, {theory:.2%} in theory")
    passed = (bits == expected).all() and passes[is_member].all() and false <= 2 * theory + 5 / chosen.size
    return arguments.verdict(bool(passed), "no member may be refused, and few others pass")


if __name__ == "__main__":
    sys.exit(main())

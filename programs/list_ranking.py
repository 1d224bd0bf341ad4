"""How far every element of a linked list is from its end, by pointer jumping (Wyllie 1979).

    python programs/list_ranking.py [--size 10000] [--machine here] [--seed 1]

In each round everyone adds the rank of whom it points to, and then points to whom that one points to: the distance
doubles. Checked by walking the list. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Whom each element points to; the last points to itself."""
    order = np.random.default_rng(seed).permutation(size)
    following = np.empty(size, np.int64)
    following[order[:-1]] = order[1:]
    following[order[-1]] = order[-1]
    return following


def solve(given: np.ndarray, machine: str = "here") -> np.ndarray:
    """The number of elements after each."""
    vp = pvar.VPSet(given.shape, machine=machine)
    to = vp.array(given)
    rank = (to != vp.coordinate(0)).astype(np.int32)
    reached = 1
    while reached < len(given):
        rank = rank + pvar.get(rank, to, collisions="many")
        to = pvar.get(to, to, collisions="many")
        reached *= 2
    return np.asarray(rank)


def expected(given: np.ndarray) -> np.ndarray:
    """By walking from the start."""
    pointed = np.zeros(len(given), bool)
    pointed[given[given != np.arange(len(given))]] = True
    ranks = np.zeros(len(given), int)
    at = int(np.flatnonzero(~pointed)[0])
    for rank in range(len(given) - 1, -1, -1):
        ranks[at] = rank
        at = int(given[at])
    return ranks


def main() -> int:
    parser = arguments.parser(__doc__, 10000, "elements", "the list")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one element")
    given = problem(chosen.size, chosen.seed)
    found = solve(given, chosen.machine)
    print(f"ranks 0 to {found.max()} of {len(given)} elements")
    return arguments.verdict(bool((found == expected(given)).all()), "ranks must be those of a walk")


if __name__ == "__main__":
    sys.exit(main())

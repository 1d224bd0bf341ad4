"""Collatz' sequences: each processor halves its number, or triples it and adds one, until it is one.

    python programs/collatz.py [--size 10000] [--machine here] [--seed 1]

Fewer and fewer processors are selected. Checked against sequences of Python's integers. Ends with code 1 if the check
fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Where the sequences begin: numbers below a million, at which none leaves 64 bits."""
    return np.random.default_rng(seed).integers(1, 1_000_000, size)


def solve(starts: np.ndarray, machine: str = "here") -> np.ndarray:
    """How many rounds each sequence takes to one; in a round an odd number is tripled and then halved."""
    vp = pvar.VPSet(starts.shape, machine=machine)
    number, rounds = vp.array(starts).copy(), vp.zeros(np.int32)
    while True:
        moving = number != 1
        if not pvar.reduce(moving, "or"):
            return np.asarray(rounds)
        with vp.where(moving):
            rounds += 1
            with vp.where(number % 2 == 1):
                number[...] = 3 * number + 1
            with vp.where(number % 2 == 0):
                number[...] = number // 2


def expected(starts: np.ndarray) -> np.ndarray:
    """The same, one sequence after the other."""
    return np.array([length(int(start)) for start in starts])


def length(number: int) -> int:
    """Rounds of `solve` until this number is one."""
    rounds = 0
    while number != 1:
        number = (3 * number + 1) // 2 if number % 2 else number // 2
        rounds += 1
    return rounds


def main() -> int:
    parser = arguments.parser(__doc__, 10_000, "sequences", "their beginnings")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one sequence")
    starts = problem(chosen.size, chosen.seed)
    rounds = solve(starts, chosen.machine)
    print(f"{chosen.size} sequences: the longest takes {rounds.max()} rounds, from {starts[rounds.argmax()]}")
    return arguments.verdict(np.array_equal(rounds, expected(starts)), "rounds must be those of Python's integers")


if __name__ == "__main__":
    sys.exit(main())

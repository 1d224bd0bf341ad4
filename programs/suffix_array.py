"""The suffixes of a text in order, by prefix doubling: letters, then pairs, then fours, until all are told apart.

    python programs/suffix_array.py [--size 5000] [--machine here] [--seed 1]

Each suffix has the number of its first letters among those of all; with that of the suffix so many letters on, it is a
key to twice as many (Manber and Myers, SIAM Journal on Computing 22, 1993). Keys are ranked, and a scan counts where
they differ. Checked against Python's sort with comparisons of the text. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import functools
import sys

import arguments
import numpy as np

from weft import pvar

LETTERS = 4


def problem(size: int, seed: int = 1) -> np.ndarray:
    """A text that repeats pieces of itself, as genomes do."""
    generator = np.random.default_rng(seed)
    text = generator.integers(0, LETTERS, size).astype(np.uint8)
    for _ in range(size // 200):
        length = int(generator.integers(10, 100))
        here, there = generator.integers(0, size - length, 2)
        text[there : there + length] = text[here : here + length].copy()
    return text


def solve(text: np.ndarray, machine: str = "here") -> np.ndarray:
    """Where the suffixes begin, in order."""
    vp = pvar.VPSet(text.shape, machine=machine)
    key, length = vp.array(text).astype(np.int64), 1
    while True:
        order = pvar.rank(key)
        in_order = pvar.send(key, order)
        differs = in_order != pvar.shift(in_order, -1, boundary=-1)
        number = pvar.scan(differs.astype(np.int64), "add")
        if number[-1] == len(text):
            return np.asarray(pvar.send(vp.address(), order))
        # Numbers begin with 1: 0 is beyond the end, and comes before all letters.
        first = pvar.get(number, order)
        key = first * (len(text) + 1) + pvar.shift(first, length, boundary=0)
        length *= 2


def expected(text: np.ndarray) -> list[int]:
    """The same by Python's sort."""
    letters = text.tobytes()

    def compare(one: int, other: int) -> int:
        length = 32
        while letters[one : one + length] == letters[other : other + length]:
            length *= 2
        return -1 if letters[one : one + length] < letters[other : other + length] else 1

    return sorted(range(len(letters)), key=functools.cmp_to_key(compare))


def main() -> int:
    parser = arguments.parser(__doc__, 5000, "letters", "the text")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one letter")
    text = problem(chosen.size, chosen.seed)
    found = solve(text, chosen.machine)
    print(f"the first of {len(found)} suffixes begins at {found[0]}")
    return arguments.verdict(np.array_equal(found, expected(text)), "suffixes must be in Python's order")


if __name__ == "__main__":
    sys.exit(main())

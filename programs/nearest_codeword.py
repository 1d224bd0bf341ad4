"""Words that noise has changed, corrected: the nearest of some codewords, by counting bits that differ.

    python programs/nearest_codeword.py [--size 3000] [--machine here] [--seed 1]

A processor has a word of 32 bits; codewords come one after another. Checked against Python's counting of bits. Ends
with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

CODEWORDS = 48


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Received words, each a codeword with up to five bits changed, and the codewords."""
    generator = np.random.default_rng(seed)
    codewords = generator.integers(0, 1 << 31, CODEWORDS)
    noise = np.bitwise_or.reduce(1 << generator.integers(0, 31, (5, size)), axis=0)
    return (codewords[generator.integers(0, CODEWORDS, size)] ^ noise).astype(np.int32), codewords


def bits(x: pvar.ParallelVariable) -> pvar.ParallelVariable:
    """How many bits of each word are set."""
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    x = x + (x >> 8)
    return (x + (x >> 16)) & 0x3F


def solve(words: tuple[np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The number of the nearest codeword, the first of several, and how many bits differ."""
    received, codewords = words
    vp = pvar.VPSet(received.shape, machine=machine)
    word, nearest, least = vp.array(received), vp.zeros("int32"), vp.array(np.full(received.shape, 33, np.int32))
    for number, codeword in enumerate(codewords.tolist()):
        differ = bits(word ^ codeword)
        nearest = pvar.where(differ < least, number, nearest)
        least = pvar.minimum(least, differ)
    return np.asarray(nearest), np.asarray(least)


def main() -> int:
    parser = arguments.parser(__doc__, 3000, "words", "the words")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one word")
    received, codewords = problem(chosen.size, chosen.seed)
    nearest, least = solve((received, codewords), chosen.machine)
    print(f"{least.mean():.2f} bits of a word were changed")
    some = range(0, chosen.size, max(1, chosen.size // 100))
    counts = [[(int(received[at]) ^ int(one)).bit_count() for one in codewords] for at in some]
    right = all((nearest[at], least[at]) == (np.argmin(of), min(of)) for at, of in zip(some, counts, strict=True))
    return arguments.verdict(right, "codewords must be the nearest ones")


if __name__ == "__main__":
    sys.exit(main())

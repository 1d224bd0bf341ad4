"""Short words in reads of DNA: how often each occurs on either strand, and how many represent each read.

    python programs/k_mers.py [--size 100] [--machine here] [--seed 1]

A processor has a base of a read. Shifts along the read join the words that begin there and their reverse complements,
a send counts them, and the least hash of each window is its minimizer (Roberts et al., Bioinformatics 20, 2004).
Checked with strings of Python. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from collections import Counter

import arguments
import numpy as np

from weft import pvar

LENGTH, WORD, WINDOW = 60, 6, 5
WORDS = 4**WORD
UNKNOWN = 4
MULTIPLIER = 2_531
"""Odd, so that hashes of different words differ."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Bases of the reads by number: 0 to 3 are A, C, G and T, and 4 is one that could not be read."""
    generator = np.random.default_rng(seed)
    genome = generator.choice(4, 20 * LENGTH, p=[0.3, 0.2, 0.2, 0.3])
    reads = genome[generator.integers(0, 19 * LENGTH, (size, 1)) + np.arange(LENGTH)]
    return np.where(generator.random(reads.shape) < 0.01, UNKNOWN, reads).astype(np.int8)


def solve(reads: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How often each word occurs, how many minimizers each read has, and all minimizers in order."""
    vp, table = pvar.VPSet(reads.shape, machine=machine), pvar.VPSet(WORDS, machine=machine)
    base = vp.array(reads)
    known = base != UNKNOWN
    is_word, word, complement = known, vp.zeros(np.int32), vp.zeros(np.int32)
    for distance in range(WORD):
        letter = pvar.shift(base, distance, axis=1, boundary=UNKNOWN)
        is_word = is_word & (letter != UNKNOWN)
        letter = letter.astype(np.int32) & 3
        word = word << 2 | letter
        complement = complement | (3 - letter) << 2 * distance
    word = pvar.minimum(word, complement)
    counts = table.zeros(np.int32)
    with vp.where(is_word):
        pvar.send(1, word, combine="add", into=counts)
    hashed = pvar.where(is_word, word * MULTIPLIER % WORDS, WORDS)
    least = hashed
    for distance in range(1, WINDOW):
        least = pvar.minimum(least, pvar.shift(hashed, distance, axis=1, boundary=WORDS))
    picked = (least != WORDS) & (least != pvar.shift(least, -1, axis=1, boundary=WORDS))
    of_reads = pvar.reduce(picked, "sum", axis=1)
    with vp.where(picked):
        in_order = pvar.sort(least)
        number = int(pvar.reduce(picked, "sum"))
        packed = pvar.send(in_order, vp.enumerate(), vp=pvar.VPSet(max(1, number), machine=machine))
    return np.asarray(counts), np.asarray(of_reads)[:, 0], np.asarray(packed)[:number]


def expected(reads: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by strings."""
    counts: Counter[str] = Counter()
    of_reads, minimizers = [], []
    values = str.maketrans("ACGT", "0123")
    for read in ("".join("ACGT?"[base] for base in row) for row in reads.tolist()):
        hashes = []
        for start in range(LENGTH):
            word = read[start : start + WORD]
            hashes.append(WORDS)
            if len(word) == WORD and "?" not in word:
                word = min(word, word[::-1].translate(str.maketrans("ACGT", "TGCA")))
                counts[word] += 1
                hashes[-1] = int(word.translate(values), 4) * MULTIPLIER % WORDS
        windows = [min(hashes[start : start + WINDOW]) for start in range(LENGTH)]
        picked = [one for before, one in zip([WORDS, *windows], windows, strict=False) if one not in (before, WORDS)]
        of_reads.append(len(picked))
        minimizers += picked
    table = np.zeros(WORDS, int)
    for word, count in counts.items():
        table[int(word.translate(values), 4)] = count
    return table, np.array(of_reads), np.sort(np.array(minimizers, int))


def main() -> int:
    parser = arguments.parser(__doc__, 100, "reads", "the genome and the reads")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one read")
    reads = problem(chosen.size, chosen.seed)
    answer = solve(reads, chosen.machine)
    print(
        f"{np.count_nonzero(answer[0])} words, {answer[0].max()} times at most; {answer[1].mean():.1f} stand for a read"
    )
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(reads), strict=True))
    return arguments.verdict(right, "words must be those of Python's strings")


if __name__ == "__main__":
    sys.exit(main())

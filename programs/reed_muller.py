"""Pictures from Mars: words of 32 bits, some of them wrong, decoded to 6 bits by a fast Hadamard transform.

    python programs/reed_muller.py [--size 100] [--machine here] [--seed 1]

A processor has a bit of a word. Butterflies along the word correlate it with all codewords of the Reed-Muller code of
Mariner 9 at once (Green, JPL Space Programs Summary 37-39, 1966); the largest correlation says which was sent. Checked
against the nearest of all codewords. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

LOGARITHM = 5
LENGTH = 2**LOGARITHM
CORRECTABLE = 7


def problem(size: int, seed: int = 1) -> np.ndarray:
    """The bits of words of which up to seven are wrong."""
    generator = np.random.default_rng(seed)
    messages = generator.integers(0, 2 * LENGTH, size)
    words = codewords()[messages]
    wrong = generator.random((size, LENGTH)).argsort(axis=1) < generator.integers(0, CORRECTABLE + 1, size)[:, None]
    return (words ^ wrong).astype(np.int8)


def codewords() -> np.ndarray:
    """The bits of all codewords: those of affine functions of five bits."""
    rows = [np.ones(LENGTH, int), *(np.arange(LENGTH) >> bit & 1 for bit in range(LOGARITHM))]
    bits = [np.arange(2 * LENGTH) >> bit & 1 for bit in (LOGARITHM, *range(LOGARITHM))]
    return np.transpose(bits) @ np.array(rows) % 2


def solve(words: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The messages, the words without wrong bits, and how many words had how many of those."""
    vp = pvar.VPSet(words.shape, machine=machine)
    lines, numbers = pvar.VPSet(len(words), machine=machine), pvar.VPSet(LENGTH, machine=machine)
    received, column = vp.array(words), vp.coordinate(1, np.int8)
    correlation = 1 - 2 * received
    for bit in range(LOGARITHM):
        step = 1 << bit
        later = pvar.shift(correlation, step, axis=1)
        earlier = pvar.shift(correlation, -step, axis=1)
        correlation = pvar.where((column & step) == 0, correlation + later, earlier - correlation)
    magnitude = pvar.abs(correlation)
    message = vp.zeros(np.int8)
    with vp.where(magnitude == pvar.reduce(magnitude, "max", axis=1)):
        message[...] = column + LENGTH * (correlation < 0).astype(np.int8)
    message = pvar.reduce(message, "max", axis=1)
    masked = message & column
    for bit in (4, 2, 1):
        masked = masked ^ (masked >> bit)
    corrected = (masked ^ (message >> LOGARITHM)) & 1
    wrong = pvar.reduce((corrected != received).astype(np.int32), "sum", axis=1)
    of_words = pvar.get(wrong, (lines.address(), 0))
    counts = pvar.send(1, of_words, combine="add", vp=numbers)
    first = pvar.get(message, lines.address() * LENGTH)
    return np.asarray(first), np.asarray(corrected), np.asarray(counts)


def expected(words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by the number of bits that differ from each codeword."""
    all_of_them = codewords()
    differ = np.array([(all_of_them != word).sum(axis=1) for word in words])
    messages = differ.argmin(axis=1)
    return messages, all_of_them[messages], np.bincount(differ.min(axis=1), minlength=LENGTH)


def main() -> int:
    parser = arguments.parser(__doc__, 100, "words", "messages and wrong bits")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one word")
    words = problem(chosen.size, chosen.seed)
    answer = solve(words, chosen.machine)
    print(f"{answer[2][0]} of {chosen.size} words had no wrong bit, {answer[2][CORRECTABLE]} had {CORRECTABLE}")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(words), strict=True))
    return arguments.verdict(right, "messages must be those of the nearest codewords")


if __name__ == "__main__":
    sys.exit(main())

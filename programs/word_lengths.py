"""How long the words of a text are: a processor for each character, and scans within words.

    python programs/word_lengths.py [--size 10000] [--machine here] [--seed 1]

Letters become small, what is no letter ends a word, and a segmented scan numbers the letters of each; lengths are
counted at the last. Checked against Python's splitting. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

LONGEST = 32
"""Words of so many letters and more are counted together."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Bytes of a text of letters, blanks and points."""
    generator = np.random.default_rng(seed)
    letters = np.frombuffer(b"etaoinshrdlucmfwypvbgkjqxzETAOINS", np.uint8)
    text = letters[(len(letters) * generator.random(size) ** 2).astype(int)]
    return np.where(generator.random(size) < 0.2, generator.choice([32, 46], size), text).astype(np.int8)


def solve(text: np.ndarray, machine: str = "here") -> tuple[np.ndarray, int]:
    """How many words there are of each length, and how many begin as they end."""
    vp, lengths = pvar.VPSet(text.shape, machine=machine), pvar.VPSet(LONGEST + 1, machine=machine)
    character = vp.array(text)
    small = character | 32
    letter = (small >= ord("a")) & (small <= ord("z"))
    before, after = (pvar.shift(letter, distance, axis=0, boundary=False) for distance in (-1, 1))
    begins, ends = letter & ~before, letter & ~after
    number = pvar.scan(letter.astype(np.int32), "add", 0, segments=begins | ~letter)
    first = pvar.scan(small, "copy", 0, segments=begins | ~letter)
    counts = lengths.zeros("int32")
    with vp.where(ends):
        pvar.send(letter.astype(np.int32), pvar.minimum(number, LONGEST), combine="add", into=counts)
        alike = int(pvar.reduce((first == small).astype(np.int32), "add"))
    return np.asarray(counts), alike


def expected(text: np.ndarray) -> tuple[np.ndarray, int]:
    """The same by Python."""
    words = text.tobytes().decode().lower().replace(".", " ").split()
    counts = np.bincount([min(len(word), LONGEST) for word in words], minlength=LONGEST + 1)
    return counts, sum(word[0] == word[-1] for word in words)


def main() -> int:
    parser = arguments.parser(__doc__, 10_000, "characters", "the text")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one character")
    text = problem(chosen.size, chosen.seed)
    counts, alike = solve(text, chosen.machine)
    print(f"{counts.sum()} words, {alike} of which begin as they end")
    wanted, as_many = expected(text)
    right = np.array_equal(counts, wanted) and alike == as_many
    return arguments.verdict(right, "counts must be those of Python")


if __name__ == "__main__":
    sys.exit(main())

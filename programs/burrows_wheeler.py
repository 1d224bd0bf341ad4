"""A text from its Burrows-Wheeler transform, and how many of the transform's letters repeat the one before.

    python programs/burrows_wheeler.py [--size 3000] [--machine here] [--seed 1]

The rank of each letter says which row of the sorted rotations ends before it (Burrows and Wheeler 1994); pointers that
double their reach say how far each row is from the end. Checked letter by letter, and against the text itself. Ends
with code 1 if the check fails.
"""

from __future__ import annotations

import itertools
import sys

import arguments
import numpy as np

from weft import pvar

WORDS = ["the", "weaver", "throws", "a", "shuttle", "through", "warp", "and", "weft", "that", "thread", "ties"]
LETTERS = 128


def text_of(size: int, seed: int) -> np.ndarray:
    """A text of words, with a 0 at its end."""
    words = np.random.default_rng(seed).choice(WORDS, size)
    return np.frombuffer(" ".join(words.tolist())[:size].encode() + b"\0", np.int8)


def problem(size: int, seed: int = 1) -> np.ndarray:
    """The transform of a text: the last letters of its rotations in order."""
    text = text_of(size, seed)
    order, reach = text.astype(np.int64), 1
    while True:
        both = order * (len(text) + LETTERS) + np.roll(order, -reach)
        order = np.unique(both, return_inverse=True)[1]
        reach *= 2
        if order.max() == len(text) - 1:
            return text[np.argsort(order) - 1]


def solve(transform: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The text, and how often each letter of the transform is that before."""
    vp, letters = pvar.VPSet(transform.shape, machine=machine), pvar.VPSet(LETTERS, machine=machine)
    letter = vp.array(transform)
    is_end = letter == 0
    following = pvar.where(is_end, vp.address(), pvar.rank(letter))
    distance = (~is_end).astype(np.int32)
    for _ in range(len(transform).bit_length()):
        distance += pvar.get(distance, following)
        following = pvar.get(following, following)
    # The end mark comes last, after the letter of the first row, which is the farthest from it.
    text = pvar.send(letter, pvar.where(is_end, len(transform) - 1, distance - 1))
    repeats = letter == pvar.shift(letter, -1, boundary=-1)
    saved = letters.zeros(np.int64)
    with vp.where(repeats):
        pvar.send(1, letter, combine="add", into=saved)
    return np.asarray(text), np.asarray(saved)


def expected(transform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, letter by letter from the end."""
    letters = transform.tolist()
    before = [0] * len(letters)
    for number, row in enumerate(sorted(range(len(letters)), key=lambda row: letters[row])):
        before[row] = number
    text, row = [0], 0
    while letters[row]:
        text.append(letters[row])
        row = before[row]
    saved = [0] * LETTERS
    for one, other in itertools.pairwise(letters):
        saved[one] += one == other
    return np.array(text[::-1]), np.array(saved)


def main() -> int:
    parser = arguments.parser(__doc__, 3000, "letters", "the text")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one letter")
    transform = problem(chosen.size, chosen.seed)
    text, saved = solve(transform, chosen.machine)
    print(f"{bytes(text[:40])!r}; {saved.sum()} of {len(text)} letters are repeated")
    right = all(np.array_equal(one, other) for one, other in zip((text, saved), expected(transform), strict=True))
    right = right and np.array_equal(text, text_of(chosen.size, chosen.seed))
    return arguments.verdict(right, "the text must be that which was transformed")


if __name__ == "__main__":
    sys.exit(main())

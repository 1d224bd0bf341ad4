"""Curves that grow by rewriting letters, all at once, and the path that a turtle takes along them.

    python programs/l_system.py [--size 20] [--machine here] [--seed 1]

Each letter becomes a word (Lindenmayer 1968): a scan of the words' lengths says where each begins, another which letter
a new one comes from. Headings are a scan of bends by 60 degrees, and positions are scans of steps, on a triangular
lattice. Checked with Python's strings. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

LETTERS = "AB+-"
RULES = {"A": "B-A-B", "B": "A+B+A", "+": "+", "-": "-"}
"""Sierpinski's arrowhead (Prusinkiewicz and Lindenmayer, The Algorithmic Beauty of Plants, 1990, section 1.3)."""
ROUNDS = 4
STEPS = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))
"""Along the lattice's two axes, for each heading."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """The letters that a curve begins with, by number."""
    return np.random.default_rng(seed).integers(0, len(LETTERS), size, dtype=np.int8)


def solve(axiom: np.ndarray, machine: str = "here") -> tuple[np.ndarray, ...]:
    """The letters, both coordinates after each, the bounds of the curve, and twice the area to its left."""
    longest = max(map(len, RULES.values()))
    words = [[LETTERS.index(one) for one in RULES[letter].ljust(longest, "A")] for letter in LETTERS]
    rules = pvar.VPSet((len(LETTERS), longest), machine=machine).array(np.array(words, np.int8))
    kinds, headings = (pvar.VPSet(number, machine=machine) for number in (len(LETTERS), len(STEPS)))
    lengths = kinds.array(np.array([len(RULES[letter]) for letter in LETTERS], np.int32))
    vp = pvar.VPSet(axiom.shape, machine=machine)
    letter = vp.array(axiom)
    for _ in range(ROUNDS):
        length = pvar.get(lengths, letter)
        start = pvar.scan(length, "add", exclusive=True)
        longer = pvar.VPSet(int(pvar.reduce(length, "sum")), machine=machine)
        parent = pvar.scan(pvar.send(vp.address(), start, vp=longer), "max")
        offset = longer.address() - pvar.get(start, parent)
        letter = pvar.get(rules, (pvar.get(letter, parent), offset))
        vp = longer
    bend = (letter == LETTERS.index("+")).astype(np.int32) - (letter == LETTERS.index("-")).astype(np.int32)
    heading = pvar.scan(bend, "add") % len(STEPS)
    steps = []
    for axis in (0, 1):
        along = headings.array(np.array([step[axis] for step in STEPS], np.int32))
        with vp.where(bend == 0):
            steps.append(pvar.get(along, heading))
    right, up = (pvar.scan(step, "add") for step in steps)
    bounds = [pvar.reduce(one, which) for one in (right, up) for which in ("min", "max")]
    wide = [one.astype(np.int64) for one in (right, up)]
    area = pvar.reduce(wide[0] * steps[1] - wide[1] * steps[0], "sum")
    return np.asarray(letter), np.asarray(right), np.asarray(up), np.array([*bounds, area])


def expected(axiom: np.ndarray) -> tuple[np.ndarray, ...]:
    """The same with strings, letter by letter."""
    text = "".join(LETTERS[number] for number in axiom)
    for _ in range(ROUNDS):
        text = "".join(RULES[letter] for letter in text)
    right = up = heading = area = 0
    path = []
    for letter in text:
        if letter in "+-":
            heading += 1 if letter == "+" else -1
        else:
            east, north = STEPS[heading % 6]
            area += right * north - up * east
            right, up = right + east, up + north
        path.append((right, up))
    both = np.array(path).T
    bounds = [*(limit for one in both for limit in (one.min(), one.max())), area]
    return np.array([LETTERS.index(letter) for letter in text]), *both, np.array(bounds)


def main() -> int:
    parser = arguments.parser(__doc__, 20, "letters at first", "these letters")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one letter")
    axiom = problem(chosen.size, chosen.seed)
    answer = solve(axiom, chosen.machine)
    print(f"{len(axiom)} letters become {len(answer[0])}, within {answer[3][:4].tolist()}")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(axiom), strict=True))
    return arguments.verdict(right, "letters and positions must be those of Python's strings")


if __name__ == "__main__":
    sys.exit(main())

"""Names that sound alike: the Soundex code of every name of a list, and how many names share each code.

    python programs/soundex.py [--size 500] [--machine here] [--seed 1]

A processor has a letter, another a name. Letters become digits by a table (Russell's patent 1261167, 1918); equal ones
in a row count once, also with an h or w between, vowels part them; scans number those that are left in each name, and
sends put the first three behind the initial. Checked name by name. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from collections import Counter

import arguments
import numpy as np

from weft import pvar

CODES = np.array([int(one) for one in "01230127022455012623017202"], np.int8)
"""Of the letters a to z; 0 is a vowel, 7 stands for h and w, that are passed over."""
DIGITS, SKIPPED = 7, 7
ALL = 26 * DIGITS**3


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Letters of all names, 0 to 25, and where names begin."""
    generator = np.random.default_rng(seed)
    frequent = np.array([8, 2, 3, 4, 12, 2, 2, 6, 7, 1, 1, 4, 3, 7, 8, 2, 1, 6, 6, 9, 3, 1, 2, 1, 2, 1], float)
    lengths = generator.integers(2, 11, size)
    letters = generator.choice(26, lengths.sum(), p=frequent / frequent.sum()).astype(np.int8)
    return letters, np.cumsum(lengths) - lengths


def solve(names: tuple[np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, ...]:
    """The code of each name as a number; how many codes there are, and the names of the most frequent one."""
    letters, starts = names
    vp, line = pvar.VPSet(len(letters), machine=machine), pvar.VPSet(len(starts), machine=machine)
    table = pvar.VPSet(26, machine=machine).array(CODES)
    letter, start = vp.array(letters), line.array(starts.astype(np.int32))
    begins = pvar.send(True, start, into=vp.zeros(np.bool_))
    name = pvar.scan(begins.astype(np.int32), "add") - 1
    digit = pvar.get(table, letter.astype(np.int32))
    # What h and w pass on is the digit before them; only an initial keeps its own.
    heard = begins | (digit != SKIPPED)
    carried = pvar.scan(digit, "copy", segments=heard)
    before = pvar.shift(carried, -1, boundary=0)
    counts = ~begins & (digit != 0) & (digit != SKIPPED) & (digit != before)
    number = pvar.scan(counts.astype(np.int16), "add", segments=begins)
    code = pvar.get(letter, start).astype(np.int32) * DIGITS**3
    for place in range(3):
        with vp.where(counts & (number == place + 1)):
            pvar.send(digit.astype(np.int32) * DIGITS ** (2 - place), name, combine="add", into=code)
    codes = pvar.VPSet(ALL, machine=machine)
    shared = pvar.send(1, code, combine="add", vp=codes)
    return np.asarray(code), np.array([pvar.reduce(shared > 0, "sum"), pvar.reduce(shared, "max")])


def expected(names: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, ...]:
    """The same, name by name."""
    letters, starts = names
    found = []
    for own in np.split(letters, starts[1:]):
        digits, before = [], CODES[own[0]]
        for letter in own[1:].tolist():
            digit = int(CODES[letter])
            if digit == SKIPPED:
                continue
            if digit and digit != before:
                digits.append(digit)
            before = digit
        first, second, third = [*digits, 0, 0, 0][:3]
        found.append(((int(own[0]) * DIGITS + first) * DIGITS + second) * DIGITS + third)
    counts = Counter(found)
    return np.array(found), np.array([len(counts), max(counts.values())])


def main() -> int:
    parser = arguments.parser(__doc__, 500, "names", "the names")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one name")
    names = problem(chosen.size, chosen.seed)
    answer = solve(names, chosen.machine)
    print(f"{answer[1][0]} codes; {answer[1][1]} names share one")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(names), strict=True))
    return arguments.verdict(right, "codes must be those of the names one by one")


if __name__ == "__main__":
    sys.exit(main())

"""Where a pattern occurs in a text, with at most one letter wrong: the text is shifted past each letter of the pattern.

    python programs/string_matching.py [--size 20000] [--patterns 5] [--machine here] [--seed 1]

Each processor has a letter and counts how many letters from it on differ from the pattern's. Of places that match and
overlap, the first of each run counts. Checked against numpy's windows. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

LETTERS, LENGTH, WRONG = 4, 9, 1


def problem(size: int, patterns: int = 5, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """A text, and patterns that it has pieces of."""
    made = np.random.default_rng(seed)
    text = made.integers(1, LETTERS + 1, size).astype(np.int8)
    begins = made.integers(0, max(1, size - LENGTH), patterns)
    return text, np.stack([np.resize(text[begin : begin + LENGTH], LENGTH) for begin in begins])


def solve(given: tuple[np.ndarray, np.ndarray], machine: str = "here") -> list[tuple[int, int, int]]:
    """Of each pattern: how many places match, in how many runs, and the first of them (the text's length: none)."""
    text, patterns = given
    vp = pvar.VPSet(text.shape, machine=machine)
    letter, place, found = vp.array(text), vp.coordinate(0), []
    for pattern in patterns:
        wrong, ahead = vp.zeros(np.int8), letter
        for number, wanted in enumerate(pattern):
            if number:
                ahead = pvar.shift(ahead, 1, axis=0, boundary=0)
            with vp.where(ahead != int(wanted)):
                wrong += 1
        matches = wrong <= WRONG
        begins = matches & ~pvar.shift(matches, -1, axis=0, boundary=False)
        places = pvar.reduce(matches.astype(np.int32), "sum")
        runs = pvar.reduce(begins.astype(np.int32), "sum")
        with vp.where(matches):
            first = pvar.reduce(place, "min", initial=len(text))
        found.append((int(places), int(runs), int(first)))
    return found


def expected(given: tuple[np.ndarray, np.ndarray]) -> list[tuple[int, int, int]]:
    """The same by numpy."""
    text, patterns = given
    windows = np.lib.stride_tricks.sliding_window_view(np.concatenate([text, np.zeros(LENGTH - 1, np.int8)]), LENGTH)
    found = []
    for pattern in patterns:
        matches = np.count_nonzero(windows != pattern, axis=1) <= WRONG
        begins = matches & ~np.concatenate([[False], matches[:-1]])
        first = int(matches.argmax()) if matches.any() else len(text)
        found.append((int(matches.sum()), int(begins.sum()), first))
    return found


def main() -> int:
    parser = arguments.parser(__doc__, 20000, "letters", "text and patterns")
    parser.add_argument("--patterns", type=int, default=5, help="patterns (default 5)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.patterns) < 1:
        parser.error("expected at least one letter and one pattern")
    given = problem(chosen.size, chosen.patterns, chosen.seed)
    found = solve(given, chosen.machine)
    print(f"{chosen.patterns} patterns in {chosen.size} letters: {sum(one[0] for one in found)} places")
    return arguments.verdict(found == expected(given), "places must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

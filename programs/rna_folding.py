"""How a strand of RNA folds on itself with the strongest pairs of bases, diagonal by diagonal.

    python programs/rna_folding.py [--size 24] [--machine here] [--seed 1]

The best fold of a part of the strand pairs its ends, or is divided somewhere (Nussinov and Jacobson, PNAS 77, 1980).
The processors of a row try all divisions of the part that begins there at once. Checked with a table that is filled by
what the last base pairs with. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

LOOP = 3
"""Bases that are at least between the two of a pair."""
STRENGTH = {"CG": 3, "AU": 2, "GU": 1}
BASES = "ACGU"


def problem(size: int, seed: int = 1) -> np.ndarray:
    """The bases of a strand, by number."""
    return np.random.default_rng(seed).integers(0, 4, size, dtype=np.int8)


def solve(strand: np.ndarray, machine: str = "here") -> tuple[np.ndarray, int]:
    """The strength of the best fold from each base to each later one, and how many parts fold at all."""
    size = len(strand)
    vp, line = pvar.VPSet((size, size), machine=machine), pvar.VPSet(size, machine=machine)
    kinds = pvar.VPSet((4, 4), machine=machine)
    row, column, base = vp.coordinate(0), vp.coordinate(1), line.array(strand)
    strengths = np.zeros((4, 4), np.int16)
    for pair, strength in STRENGTH.items():
        one, other = (BASES.index(letter) for letter in pair)
        strengths[one, other] = strengths[other, one] = strength
    pairs = pvar.get(kinds.array(strengths), (pvar.get(base, row), pvar.get(base, column)))
    table = vp.zeros(np.int16)
    after = pvar.minimum(column + 1, size - 1) * size
    for distance in range(LOOP + 1, size):
        end = row + distance
        divided = vp.zeros(np.int16)
        with vp.where((column >= row) & (column < end) & (end < size)):
            divided[...] = table + pvar.get(table, after + end)
        best = pvar.reduce(divided, "max", axis=1)
        with vp.where(column == end):
            inner = pvar.shift(table, (1, -1), axis=(0, 1), boundary=0)
            table[...] = pvar.maximum(best, inner + pairs)
    return np.asarray(table), int(pvar.reduce(table > 0, "sum"))


def expected(strand: np.ndarray) -> tuple[np.ndarray, int]:
    """The same, base by base."""
    letters = [BASES[base] for base in strand]
    size = len(letters)
    table = [[0] * (size + 1) for _ in range(size + 2)]  # shifted by one, so that nothing is before the first base
    for first in range(size - 1, -1, -1):
        for last in range(first + 1, size):
            best = table[first][last]
            for partner in range(first, last - LOOP):
                strength = STRENGTH.get("".join(sorted(letters[partner] + letters[last])), 0)
                if strength:
                    best = max(best, table[first][partner] + table[partner + 1][last] + strength)
            table[first][last + 1] = best
    strengths = np.triu(np.array(table)[:size, 1:])
    return strengths, np.count_nonzero(strengths)


def main() -> int:
    parser = arguments.parser(__doc__, 24, "bases", "the strand")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one base")
    strand = problem(chosen.size, chosen.seed)
    table, folding = solve(strand, chosen.machine)
    print(f"the strand's best fold has the strength {table[0, -1]}; {folding} of its parts fold")
    wanted = expected(strand)
    right = np.array_equal(table, wanted[0]) and folding == wanted[1]
    return arguments.verdict(right, "strengths must be those of the last bases' partners")


if __name__ == "__main__":
    sys.exit(main())

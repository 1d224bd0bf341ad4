"""The area of a quarter of a disc by random points: each processor draws its own by a hash of its number and the round.

    python programs/monte_carlo.py [--size 20000] [--rounds 10] [--machine here] [--seed 1]

The hash multiplies and folds words of 64 bits. How many points of each round fall into the disc is checked against
numpy, which draws the same, and the area against pi. Ends with code 1 if a check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np

from weft import pvar

FACTORS = (0x9E3779B97F4A7C1, 0x2545F4914F6CDD1D)
BITS = 30


def problem(size: int, rounds: int = 10, seed: int = 1) -> tuple[np.ndarray, int]:
    """Where each processor's numbers begin, and how many rounds."""
    return np.arange(size, dtype=np.int64) * 2654435761 + seed * 1013904223, rounds


def mixed(word):
    """A word whose bits all depend on those of another; of parallel variables and of arrays alike."""
    word = (word ^ (word >> 29)) * FACTORS[0]
    word = (word ^ (word >> 32)) * FACTORS[1]
    return word ^ (word >> 31)


def solve(given: tuple[np.ndarray, int], machine: str = "here") -> list[int]:
    """How many points were in the disc in each round."""
    seeds, rounds = given
    vp = pvar.VPSet(seeds.shape, machine=machine)
    state, inside = vp.array(seeds), []
    for _ in range(rounds):
        state = mixed(state + 1)
        x = (state & ((1 << BITS) - 1)).astype(np.float64) * 2.0**-BITS
        y = ((state >> BITS) & ((1 << BITS) - 1)).astype(np.float64) * 2.0**-BITS
        hit = x * x + y * y <= 1.0
        inside.append(int(pvar.reduce(hit.astype(np.int32), "sum")))
    return inside


def expected(given: tuple[np.ndarray, int]) -> list[int]:
    """The same by numpy."""
    state, inside = given[0], []
    for _ in range(given[1]):
        state = mixed(state + 1)
        x = (state & ((1 << BITS) - 1)) * 2.0**-BITS
        y = ((state >> BITS) & ((1 << BITS) - 1)) * 2.0**-BITS
        inside.append(int(np.count_nonzero(x * x + y * y <= 1.0)))
    return inside


def main() -> int:
    parser = arguments.parser(__doc__, 20000, "points of a round", "the points")
    parser.add_argument("--rounds", type=int, default=10, help="rounds (default 10)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.rounds) < 1:
        parser.error("expected at least one point and one round")
    given = problem(chosen.size, chosen.rounds, chosen.seed)
    inside = solve(given, chosen.machine)
    points = chosen.size * chosen.rounds
    found = 4 * sum(inside) / points
    print(f"{points} points: pi is about {found:.4f}")
    # Six standard deviations of a share of points.
    near = abs(found - math.pi) <= 6 * math.sqrt(math.pi * (4 - math.pi) / points)
    return arguments.verdict(inside == expected(given) and near, "points must be numpy's, and the area near pi")


if __name__ == "__main__":
    sys.exit(main())

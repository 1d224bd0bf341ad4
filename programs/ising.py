"""Magnets that turn each other: the Ising model by Metropolis' rule, on the squares of a chessboard in turn.

    python programs/ising.py [--size 64] [--sweeps 20] [--machine here] [--seed 1]

Spins of one colour have all their neighbours on the other, so that half of them turn at once. Each has its own random
numbers, by a linear congruence. Checked against the same sweeps by numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

COUPLING = 0.44
"""Close to where order begins: half the logarithm of 1 + sqrt(2)."""

FACTOR, ADDED, BITS = 6364136223846793005, 1442695040888963407, 24


def problem(size: int, sweeps: int = 20, seed: int = 1) -> tuple[np.ndarray, np.ndarray, int]:
    """Spins of 1 and -1, where random numbers begin, and how many sweeps."""
    made = np.random.default_rng(seed)
    spins = made.choice(np.array([-1, 1], np.int32), (size, size))
    return spins, made.integers(0, 1 << 62, (size, size)), sweeps


def solve(given: tuple[np.ndarray, np.ndarray, int], machine: str = "here") -> tuple[np.ndarray, list[int]]:
    """The spins at the end, and their sum after each sweep."""
    spins, seeds, sweeps = given
    vp = pvar.VPSet(spins.shape, machine=machine)
    spin, state, sums = vp.array(spins).copy(), vp.array(seeds), []
    white = (vp.coordinate(0) + vp.coordinate(1)) % 2 == 0
    for _ in range(sweeps):
        for colour in (white, ~white):
            around = pvar.shift(spin, 1, axis=0, boundary="circular")
            for axis, distance in ((0, -1), (1, 1), (1, -1)):
                around += pvar.shift(spin, distance, axis=axis, boundary="circular")
            state = state * FACTOR + ADDED
            drawn = ((state >> 32) & ((1 << BITS) - 1)).astype(np.float32) * 2.0**-BITS
            chance = pvar.exp((spin * around).astype(np.float32) * (-2 * COUPLING))
            with vp.where(colour & (drawn < chance)):
                spin[...] = -spin
        sums.append(int(pvar.reduce(spin, "sum")))
    return np.asarray(spin), sums


def expected(given: tuple[np.ndarray, np.ndarray, int]) -> tuple[np.ndarray, list[int]]:
    """The same by numpy."""
    spin, state, sums = given[0].copy(), given[1], []
    white = np.indices(spin.shape).sum(axis=0) % 2 == 0
    for _ in range(given[2]):
        for colour in (white, ~white):
            around = sum(np.roll(spin, by, axis) for axis in (0, 1) for by in (1, -1))
            state = state * FACTOR + ADDED
            drawn = ((state >> 32) & ((1 << BITS) - 1)).astype(np.float32) * np.float32(2.0**-BITS)
            chance = np.exp((spin * around).astype(np.float32) * np.float32(-2 * COUPLING))
            spin = np.where(colour & (drawn < chance), -spin, spin)
        sums.append(int(spin.sum()))
    return spin, sums


def main() -> int:
    parser = arguments.parser(__doc__, 64, "spins of a side", "spins and random numbers")
    parser.add_argument("--sweeps", type=int, default=20, help="sweeps over all spins (default 20)")
    chosen = parser.parse_args()
    if chosen.size < 2 or chosen.size % 2 or chosen.sweeps < 1:
        parser.error("expected an even number of spins of a side, at least two, and at least one sweep")
    given = problem(chosen.size, chosen.sweeps, chosen.seed)
    (spins, sums), (wanted, means) = solve(given, chosen.machine), expected(given)
    print(f"{chosen.size}x{chosen.size} spins after {chosen.sweeps} sweeps: mean {sums[-1] / chosen.size**2:+.3f}")
    return arguments.verdict(np.array_equal(spins, wanted) and sums == means, "spins must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

"""Run lengths of a sequence: encoded by scans and sends, and decoded again.

    python programs/run_lengths.py [--size 20000] [--rounds 4] [--machine here] [--seed 1]

A run begins where the value differs from the one before; a scan counts the runs, a send brings their values and starts
together, and a segmented scan spreads them out again. In each round what was decoded is shifted and encoded anew.
Checked against numpy's differences. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar


def problem(size: int, rounds: int = 4, seed: int = 1) -> tuple[np.ndarray, int]:
    """A sequence with runs of eight on average, and how many rounds."""
    made = np.random.default_rng(seed)
    begins = made.random(size) < 1 / 8
    return made.integers(0, 1000, size)[np.cumsum(begins)[::-1] % size].astype(np.int32), rounds


def solve(given: tuple[np.ndarray, int], machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values and lengths of the runs of the last round, and what was decoded from them."""
    sequence, rounds = given
    vp = pvar.VPSet(sequence.shape, machine=machine)
    x, place = vp.array(sequence), vp.coordinate(0)
    for _ in range(rounds):
        x = pvar.shift(x, 1, axis=0)
        begins = (x != pvar.shift(x, -1, axis=0)) | (place == 0)
        run = pvar.scan(begins.astype(np.int32), "add", axis=0) - 1
        number = int(pvar.reduce(run, "max")) + 1
        with vp.where(begins):
            value = pvar.send(x, run)
            start = pvar.send(place, run)
        following = pvar.shift(start, 1, axis=0, boundary=0)
        following[number - 1] = len(sequence)
        length = following - start
        with vp.where(place < number):
            first = pvar.send(value, start)
        x = pvar.scan(first, "copy", axis=0, segments=begins)
    return np.asarray(value)[:number], np.asarray(length)[:number], np.asarray(x)


def expected(given: tuple[np.ndarray, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by numpy."""
    sequence = np.roll(given[0], -given[1])
    starts = np.concatenate([[0], np.flatnonzero(np.diff(sequence)) + 1])
    return sequence[starts], np.diff(starts, append=len(sequence)), sequence


def main() -> int:
    parser = arguments.parser(__doc__, 20000, "elements", "the sequence")
    parser.add_argument("--rounds", type=int, default=4, help="rounds (default 4)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.rounds) < 1:
        parser.error("expected at least one element and one round")
    given = problem(chosen.size, chosen.rounds, chosen.seed)
    found = solve(given, chosen.machine)
    print(f"{len(found[0])} runs in {chosen.size} elements, the longest of {found[1].max()}")
    same = all(np.array_equal(one, other) for one, other in zip(found, expected(given), strict=True))
    return arguments.verdict(same, "runs must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

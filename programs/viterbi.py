"""The most likely states behind many sequences of what was observed (Viterbi 1967).

    python programs/viterbi.py [--size 500] [--machine here] [--seed 1]

Each processor has a sequence, and for each state the logarithm of how likely the best way to it is. In each step all
states are tried as the one before; which was the best is kept, and followed backwards in the end. Checked against
numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

STATES, SYMBOLS, STEPS = 3, 4, 20


class Given(NamedTuple):
    """Logarithms of probabilities, and what was observed: a row for each sequence."""

    first: np.ndarray
    change: np.ndarray
    shows: np.ndarray
    observed: np.ndarray


def problem(size: int, seed: int = 1) -> Given:
    """So many sequences, of random models' symbols."""
    rng = np.random.default_rng(seed)
    first, change, shows = (
        np.log(rng.dirichlet(np.ones(of), rows)) for of, rows in ((STATES, 1), (STATES, STATES), (SYMBOLS, STATES))
    )
    return Given(first[0], change, shows, rng.integers(0, SYMBOLS, (size, STEPS)).astype(np.int32))


def solve(given: Given, machine: str = "here") -> np.ndarray:
    """The states of each sequence, a row for each."""
    vp = pvar.VPSet(len(given.observed), machine=machine)
    table = pvar.VPSet(STATES * SYMBOLS, machine=machine)
    shows = table.array(given.shows.reshape(-1))
    symbols = [vp.array(np.ascontiguousarray(one)) for one in given.observed.T]
    best = [float(given.first[state]) + pvar.get(shows, symbols[0] + state * SYMBOLS) for state in range(STATES)]
    before = []
    for symbol in symbols[1:]:
        after, origins = [], []
        for state in range(STATES):
            likely, origin = best[0] + float(given.change[0, state]), vp.zeros(np.int8)
            for other in range(1, STATES):
                way = best[other] + float(given.change[other, state])
                better = way > likely
                likely = pvar.maximum(likely, way)
                with vp.where(better):
                    origin[...] = other
            after.append(likely + pvar.get(shows, symbol + state * SYMBOLS))
            origins.append(origin)
        best = after
        before.append(origins)
    last, likely = vp.zeros(np.int8), best[0]
    for state in range(1, STATES):
        with vp.where(best[state] > likely):
            last[...] = state
        likely = pvar.maximum(likely, best[state])
    states = [last]
    for origins in reversed(before):
        earlier = origins[0]
        for state in range(1, STATES):
            earlier = pvar.where(states[-1] == state, origins[state], earlier)
        states.append(earlier)
    return np.stack([np.asarray(one) for one in reversed(states)], axis=1)


def expected(given: Given) -> np.ndarray:
    """The same by numpy, sequence by sequence."""
    paths = []
    for observed in given.observed:
        best, before = given.first + given.shows[:, observed[0]], []
        for symbol in observed[1:]:
            ways = best[:, None] + given.change
            before.append(ways.argmax(axis=0))
            best = ways.max(axis=0) + given.shows[:, symbol]
        path = [int(best.argmax())]
        for origins in reversed(before):
            path.append(int(origins[path[-1]]))
        paths.append(path[::-1])
    return np.array(paths)


def main() -> int:
    parser = arguments.parser(__doc__, 500, "sequences", "models and sequences")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one sequence")
    given = problem(chosen.size, chosen.seed)
    found = solve(given, chosen.machine)
    print(f"{chosen.size} sequences of {STEPS}; state 0 is the most likely {np.mean(found == 0):.0%} of the time")
    return arguments.verdict(bool((found == expected(given)).all()), "states must be those of numpy")


if __name__ == "__main__":
    sys.exit(main())

"""An election by instant runoff: whoever is first on the fewest ballots drops out, until somebody has a majority.

    python programs/runoff_voting.py [--size 2000] [--machine here] [--seed 1]

A processor has one line of one ballot, and asks a second VP set whether its candidate is still standing; the least such
line of each ballot counts. Checked ballot by ballot in Python. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

CANDIDATES = 9
NOBODY = -1


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Candidates in the order of each ballot, and nobody after the last that a voter cares about."""
    generator = np.random.default_rng(seed)
    view, stand = generator.normal(0, 1, (size, 1, 2)), generator.normal(0, 1, (CANDIDATES, 2))
    ballots = np.argsort(np.hypot(*np.moveaxis(view - stand, -1, 0)), axis=1)
    lines = generator.integers(1, CANDIDATES + 1, (size, 1))
    return np.where(np.arange(CANDIDATES) < lines, ballots, NOBODY).astype(np.int8)


def solve(ballots: np.ndarray, machine: str = "here") -> tuple[int, np.ndarray]:
    """The winner, and the votes of each candidate in each round."""
    vp, candidates = pvar.VPSet(ballots.shape, machine=machine), pvar.VPSet(CANDIDATES, machine=machine)
    choice, line = vp.array(ballots), vp.coordinate(1, np.int8)
    standing, rounds = candidates.full(True, np.bool_), []
    with vp.where(choice != NOBODY):
        while True:
            counts = line + CANDIDATES * (~pvar.get(standing, choice)).astype(np.int8)
            votes = candidates.zeros(np.int32)
            with vp.where((counts < CANDIDATES) & (counts == pvar.reduce(counts, "min", axis=1, initial=CANDIDATES))):
                pvar.send(1, choice, combine="add", into=votes)
            rounds.append(np.asarray(votes))
            with candidates.where(standing):
                (leader,), (last,) = pvar.reduce(votes, "argmax"), pvar.reduce(votes, "argmin")
                if 2 * votes[leader] > pvar.reduce(votes, "sum") or leader == last:
                    return int(leader), np.array(rounds)
                standing[...] = candidates.coordinate(0) != last


def expected(ballots: np.ndarray) -> tuple[int, np.ndarray]:
    """The same, ballot by ballot."""
    piles = [[candidate for candidate in ballot if candidate != NOBODY] for ballot in ballots.tolist()]
    standing, rounds = list(range(CANDIDATES)), []
    while True:
        votes = [0] * CANDIDATES
        for pile in piles:
            if pile:
                votes[pile[0]] += 1
        rounds.append(votes)
        leader = max(standing, key=lambda candidate: votes[candidate])
        if 2 * votes[leader] > sum(votes) or len(standing) == 1:
            return leader, np.array(rounds)
        last = min(standing, key=lambda candidate: votes[candidate])
        standing.remove(last)
        piles = [[candidate for candidate in pile if candidate != last] for pile in piles]


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "ballots", "voters and candidates")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one ballot")
    ballots = problem(chosen.size, chosen.seed)
    winner, rounds = solve(ballots, chosen.machine)
    print(f"candidate {winner} wins after {len(rounds)} rounds with {rounds[-1][winner]} votes")
    best, votes = expected(ballots)
    return arguments.verdict(winner == best and np.array_equal(rounds, votes), "votes must be those of the ballots")


if __name__ == "__main__":
    sys.exit(main())

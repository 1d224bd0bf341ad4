"""A tournament of the prisoner's dilemma, round after round, among players who sometimes err.

    python programs/prisoners_dilemma.py [--size 24] [--machine here] [--seed 1]

A processor has one side of one match, and there are several matches of each pair. A player's answer depends on what
both did in the round before (Axelrod, The Evolution of Cooperation, 1984; payoffs of his tournament). What the opponent
did is on the processor across the diagonal. Checked match by match with tables. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

MATCHES = 4
ROUNDS = 20
BOTH, BETRAYED, BETRAYS, NEITHER = 3, 0, 5, 1


def problem(size: int, seed: int = 1) -> np.ndarray:
    """A byte for each player: bit 0 is what it does first, bits 1 to 4 what after each pair of moves; 1 cooperates."""
    return np.random.default_rng(seed).integers(0, 32, size, dtype=np.int8)


def solve(strategies: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of each player, its rank, and how many cooperate in each round."""
    size = len(strategies)
    vp, players = pvar.VPSet((size, size, MATCHES), machine=machine), pvar.VPSet(size, machine=machine)
    player, opponent, match = (vp.coordinate(axis) for axis in range(3))
    strategy = pvar.get(players.array(strategies), player)
    across = (opponent * size + player) * MATCHES + match
    luck = player * 7919 + opponent * 6007 + match * 3571
    move, points, cooperating = strategy & 1, vp.zeros(np.int16), []
    for number in range(ROUNDS):
        other = pvar.get(move, across)
        cooperating.append(int(pvar.reduce(move, "sum")))
        points += pvar.where(move == 1, other * (BOTH - BETRAYED) + BETRAYED, other * (BETRAYS - NEITHER) + NEITHER)
        move = (strategy >> (move * 2 + other + 1)) & 1
        luck = (luck * 1103 + number * 12_345) & 65_535
        with vp.where(luck < 2500):
            move[...] = 1 - move
    with vp.where(player != opponent):
        sums = pvar.reduce(pvar.reduce(points, "sum", axis=2), "sum", axis=1)
        totals = players.zeros(np.int64)
        with vp.where((opponent == (player + 1) % size) & (match == 0)):
            pvar.send(sums, player, into=totals)
    return np.asarray(totals), np.asarray(pvar.rank(totals, descending=True)), np.array(cooperating)


def expected(strategies: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same, pair by pair, with a table of points."""
    size = len(strategies)
    answers = np.array([[strategy >> bit & 1 for bit in range(5)] for strategy in strategies.tolist()])
    payoff = np.array([[NEITHER, BETRAYS], [BETRAYED, BOTH]])
    totals, cooperating = np.zeros(size, int), np.zeros(ROUNDS, int)
    for one in range(size):
        others = np.arange(one, size).repeat(MATCHES)
        matches = np.tile(np.arange(MATCHES), size - one)
        errs = [one * 7919 + others * 6007 + matches * 3571, others * 7919 + one * 6007 + matches * 3571]
        mine, theirs = np.full(len(others), answers[one, 0]), answers[others, 0]
        is_self = others == one
        for number in range(ROUNDS):
            cooperating[number] += mine.sum() + theirs[~is_self].sum()
            totals[one] += payoff[mine, theirs][~is_self].sum()
            np.add.at(totals, others[~is_self], payoff[theirs, mine][~is_self])
            mine, theirs = answers[one, 1 + 2 * mine + theirs], answers[others, 1 + 2 * theirs + mine]
            errs = [(luck * 1103 + number * 12_345) % 65_536 for luck in errs]
            mine, theirs = mine ^ (errs[0] < 2500), theirs ^ (errs[1] < 2500)
    ranks = np.empty(size, int)
    ranks[np.argsort(-totals, kind="stable")] = np.arange(size)
    return totals, ranks, cooperating


def main() -> int:
    parser = arguments.parser(__doc__, 24, "players", "the strategies")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one player")
    strategies = problem(chosen.size, chosen.seed)
    answer = solve(strategies, chosen.machine)
    winner = int(answer[1].argmin())
    print(f"strategy {strategies[winner]:05b} wins with {answer[0][winner]} points")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(strategies), strict=True))
    return arguments.verdict(right, "points must be those of the matches one by one")


if __name__ == "__main__":
    sys.exit(main())

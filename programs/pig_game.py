"""Pig, a game of dice: when to hold and when to roll again, from every score of both players.

    python programs/pig_game.py [--size 12] [--machine here] [--seed 1]

A processor is a state: the points of who plays, of the other, and of the round so far. Chances to win are improved
round by round (value iteration, Neller and Presser, The UMAP Journal 25, 2004) until none changes by more than a
little: whoever rolls a one has no points of the round, and the other plays. Checked state by state, in another order.
Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

CLOSE, DIE = 1e-6, 6


def problem(size: int, seed: int = 1) -> tuple[int, np.ndarray]:
    """With how many points the game is won, and how likely each side of a die is, of which a one ends a round."""
    weights = np.random.default_rng(seed).uniform(0.8, 1.2, DIE)
    return size, weights / weights.sum()


def solve(game: tuple[int, np.ndarray], machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The chance to win of each state, and where to roll again."""
    goal, chances = game[0], game[1].tolist()
    vp = pvar.VPSet((goal, goal, goal), machine=machine)
    own, other, round_ = (vp.coordinate(axis) for axis in range(3))
    nothing = vp.zeros(np.int32)
    after = pvar.minimum(own + round_, goal - 1)
    wins = own + round_ >= goal
    chance = vp.full(0.5)
    while True:
        held = 1.0 - pvar.get(chance, (other, after, nothing))
        lost = 1.0 - pvar.get(chance, (other, own, nothing))
        rolled = chances[0] * lost
        for side in range(2, DIE + 1):
            ahead = pvar.shift(chance, side, axis=2, boundary=1.0)
            rolled += chances[side - 1] * pvar.where(own + round_ + side >= goal, 1.0, ahead)
        better = pvar.where(wins, 1.0, pvar.maximum(held, rolled))
        change = pvar.reduce(abs(better - chance), "max")
        chance = better
        if change < CLOSE:
            break
    rolls = ~wins & (rolled > held)
    return np.asarray(chance), np.asarray(rolls)


def expected(game: tuple[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Chances in place, state by state for both players' points, from the end of the game."""
    goal, chances = game
    value = np.ones((goal, goal, 2 * goal + DIE))
    rolls = np.zeros((goal, goal, goal), bool)
    value[..., :goal] = 0.5
    for own in range(goal):
        value[own, :, goal - own :] = 1.0
    for total in reversed(range(2 * goal - 1)):
        pairs = [(own, total - own) for own in range(goal) if 0 <= total - own < goal]
        change = 1.0
        while change > CLOSE / 100:
            change = 0.0
            for own, other in pairs:
                for round_ in reversed(range(goal - own)):
                    held = 1 - value[other, own + round_, 0]
                    ahead = value[own, other, round_ + 2 : round_ + DIE + 1]
                    rolled = chances[0] * (1 - value[other, own, 0]) + (chances[1:] * ahead).sum()
                    change = max(change, abs(max(held, rolled) - value[own, other, round_]))
                    value[own, other, round_], rolls[own, other, round_] = max(held, rolled), rolled > held
    return value[..., :goal], rolls


def main() -> int:
    parser = arguments.parser(__doc__, 12, "points to win", "the die")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one point")
    game = problem(chosen.size, chosen.seed)
    chance, rolls = solve(game, chosen.machine)
    print(f"who begins wins with {chance[0, 0, 0]:.4f}, and rolls again in {rolls.mean():.1%} of all states")
    wanted, wanted_rolls = expected(game)
    # Where both choices are as good, either may be taken.
    right = np.allclose(chance, wanted, atol=20 * CLOSE) and (rolls != wanted_rolls).mean() <= 0.01
    return arguments.verdict(bool(right), "chances must be those of the states one by one")


if __name__ == "__main__":
    sys.exit(main())

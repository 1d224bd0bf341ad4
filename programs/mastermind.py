"""A code guessed in few rounds: each time the guess that leaves the fewest codes in the worst case.

    python programs/mastermind.py [--size 60] [--machine here] [--seed 1]

A processor has a pair of codes, and says how many of their pegs are right in position and colour, and how many in
colour alone (Knuth, Journal of Recreational Mathematics 9, 1976). Sends count the answers to each guess; codes that do
not agree with the answer drop out. Checked pair by pair with Python's counters. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import collections
import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

PEGS, COLOURS = 5, 8
ANSWERS = (PEGS + 1) ** 2


class Game(NamedTuple):
    """The codes that there may be, as numbers, and the index of the right one."""

    codes: np.ndarray
    secret: int


def problem(size: int, seed: int = 1) -> Game:
    """Some of all codes."""
    generator = np.random.default_rng(seed)
    codes = generator.choice(COLOURS**PEGS, size, replace=False).astype(np.uint16)
    return Game(codes, int(generator.integers(size)))


def solve(game: Game, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The guesses, and how many codes were left before each."""
    codes, guesses, numbers = game.codes, [], []
    secret = game.codes[game.secret]
    while True:
        size = len(codes)
        vp, line = pvar.VPSet((size, size), machine=machine), pvar.VPSet(size, machine=machine)
        counts = pvar.VPSet((size, ANSWERS), machine=machine)
        code = line.array(codes)
        digits = [(code // COLOURS**peg % COLOURS).astype(np.int8) for peg in range(PEGS)]
        own, other = ([pvar.get(digit, vp.coordinate(axis)) for digit in digits] for axis in (0, 1))
        exact, common = vp.zeros(np.int8), vp.zeros(np.int8)
        for one, another in zip(own, other, strict=True):
            exact += one == another
        for colour in range(COLOURS):
            mine, theirs = (sum((digit == colour).astype(np.int8) for digit in digits) for digits in (own, other))
            common += pvar.minimum(mine, theirs)
        answer = exact * (PEGS + 1) + (common - exact)
        leaves = pvar.send(1, (vp.coordinate(0), answer), combine="add", vp=counts)
        worst = leaves.max(axis=1)
        (guess, _) = worst.argmin()
        guesses.append(int(codes[guess]))
        numbers.append(size)
        if codes[guess] == secret:
            return np.array(guesses), np.array(numbers)
        (right,) = (code == int(secret)).argmax()
        said = pvar.get(answer, (line.address(), guess))
        with line.where(said == int(answer[right, guess])):
            left = pvar.VPSet(int(pvar.reduce(said >= 0, "count")), machine=machine)
            codes = pvar.send(code, line.enumerate(), vp=left).numpy()


def expected(game: Game) -> tuple[np.ndarray, np.ndarray]:
    """The same, pair by pair."""

    def pegs(code: int) -> tuple[int, ...]:
        return tuple(code // COLOURS**peg % COLOURS for peg in range(PEGS))

    def answer(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, int]:
        common = sum(min(one.count(colour), other.count(colour)) for colour in set(one))
        return sum(map(int.__eq__, one, other)), common

    codes, secret = game.codes.tolist(), pegs(int(game.codes[game.secret]))
    guesses, numbers = [], []
    while True:
        each = [pegs(code) for code in codes]
        worst = [max(collections.Counter(answer(one, other) for other in each).values()) for one in each]
        guess = worst.index(min(worst))
        guesses.append(codes[guess])
        numbers.append(len(codes))
        if each[guess] == secret:
            return np.array(guesses), np.array(numbers)
        said = answer(each[guess], secret)
        codes = [code for code, one in zip(codes, each, strict=True) if answer(each[guess], one) == said]


def main() -> int:
    parser = arguments.parser(__doc__, 60, "codes", "the codes")
    chosen = parser.parse_args()
    if not 1 <= chosen.size <= COLOURS**PEGS:
        parser.error(f"expected 1 to {COLOURS**PEGS} codes")
    game = problem(chosen.size, chosen.seed)
    guesses, numbers = solve(game, chosen.machine)
    print(f"one of {chosen.size} codes after {len(guesses)} guesses, with {numbers.tolist()} left before each")
    right = all(np.array_equal(one, other) for one, other in zip((guesses, numbers), expected(game), strict=True))
    return arguments.verdict(right, "guesses must be those of counters")


if __name__ == "__main__":
    sys.exit(main())

"""Games of connect four that are played at random, one on each processor.

    python programs/connect_four.py [--size 1000] [--machine here] [--seed 1]

A board is a whole number of 49 bits, seven of each column, the topmost of which stays empty; four in a row are four
bits at equal distances. Columns are drawn before, and one that is full is passed. Checked against boards of rows and
columns. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

COLUMNS, ROWS = 7, 6
DISTANCES = (1, COLUMNS - 1, COLUMNS, COLUMNS + 1)
"""Of bits upwards, along both diagonals and along a row: a column has one bit more than rows."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """The columns that are drawn, by move and game."""
    return np.random.default_rng(seed).integers(0, COLUMNS, (COLUMNS * ROWS, size))


def solve(moves: np.ndarray, machine: str = "here") -> np.ndarray:
    """Who wins each game: 1 who begins, 2 who follows, or 0 nobody."""
    vp = pvar.VPSet(moves.shape[1], machine=machine)
    boards = [vp.zeros("int64"), vp.zeros("int64")]
    height = [vp.zeros("int64") for _ in range(COLUMNS)]
    winner = vp.zeros("int32")
    for at, drawn in enumerate(moves):
        column, player = vp.array(drawn), at % 2
        piece = vp.zeros("int64")
        for number in range(COLUMNS):
            falls = (column == number) & (height[number] < ROWS)
            piece = piece | pvar.where(falls, 1 << (height[number] + (ROWS + 1) * number), 0)
            height[number] = height[number] + falls.astype(np.int64)
        board = boards[player] | piece
        boards[player] = board
        for distance in DISTANCES:
            pairs = board & (board >> distance)
            won = ((pairs & (pairs >> (2 * distance))) != 0) & (winner == 0)
            winner = pvar.where(won, player + 1, winner)
        if not pvar.reduce(winner == 0, "or"):
            break
    return np.asarray(winner)


def expected(moves: np.ndarray) -> np.ndarray:
    """The same on boards of rows and columns, game by game."""
    return np.array([_played([int(column) for column in game]) for game in moves.T])


def _played(columns: list[int]) -> int:
    board: dict[tuple[int, int], int] = {}
    for at, column in enumerate(columns):
        row = sum((column, other) in board for other in range(ROWS))
        if row == ROWS:
            continue
        player = at % 2 + 1
        board[column, row] = player
        for dx, dy in ((0, 1), (1, -1), (1, 0), (1, 1)):
            line = [board.get((column + step * dx, row + step * dy)) == player for step in range(-3, 4)]
            if any(all(line[start : start + 4]) for start in range(4)):
                return player
    return 0


def main() -> int:
    parser = arguments.parser(__doc__, 1000, "games", "the moves")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one game")
    moves = problem(chosen.size, chosen.seed)
    winner = solve(moves, chosen.machine)
    print(f"{chosen.size} games: who begins wins {np.mean(winner == 1):.1%}, who follows {np.mean(winner == 2):.1%}")
    return arguments.verdict(np.array_equal(winner, expected(moves)), "winners must be those of boards of rows")


if __name__ == "__main__":
    sys.exit(main())

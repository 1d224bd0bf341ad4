"""King and rook against king, on a board with holes: in how many moves each position is mate.

    python programs/endgame.py [--size 4] [--machine here] [--seed 1]

A processor has a position: the rows and columns of three pieces. From mate backwards (Thompson, ICCA Journal 9, 1986):
moves of kings are shifts along two axes, those of rooks scans that end at whoever is in between. Checked position by
position, by counts of what can be answered. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

AROUND = tuple((down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0))
STRAIGHT = ((-1, 0), (1, 0), (0, -1), (0, 1))
KING, ROOK, OTHER = (0, 1), (2, 3), (4, 5)
"""The axes of the white pieces, and of the black king."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Where the board has holes."""
    return np.random.default_rng(seed).random((size, size)) < 1 / 16


def solve(holes: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """In how many moves white, who is to move, mates (0: never), and how many positions there are of each number."""
    vp, board = pvar.VPSet(holes.shape * 3, machine=machine), pvar.VPSet(holes.shape, machine=machine)
    hole = board.array(holes)
    at = [vp.coordinate(axis) for axis in range(6)]
    king, rook, other = (at[0], at[1]), (at[2], at[3]), (at[4], at[5])
    allowed = ~(pvar.get(hole, king) | pvar.get(hole, rook) | pvar.get(hole, other))
    near = (abs(king[0] - other[0]) <= 1) & (abs(king[1] - other[1]) <= 1)
    rook_is_king, rook_is_other = same(rook, king), same(rook, other)
    allowed &= ~near & ~rook_is_king
    ends = rook_is_king | pvar.get(hole, rook)
    attacked = rook_moves(rook_is_other, ends)
    captures = allowed & rook_is_other
    allowed &= ~rook_is_other
    white = allowed & ~attacked
    ends |= rook_is_other
    can_move = king_moves(white | captures, OTHER)
    moves, mates_in = vp.zeros(np.int8), []
    lost = allowed & attacked & ~can_move
    while True:
        won = white & (moves == 0) & (king_moves(lost, KING) | rook_moves(lost, ends))
        if not pvar.reduce(won, "or"):
            break
        mates_in.append(won.count())
        moves[won] = len(mates_in)
        escapes = king_moves((white & (moves == 0)) | captures, OTHER)
        lost = allowed & ~escapes & (attacked | can_move)
    return np.asarray(moves), np.array(mates_in, int)


def same(one: tuple[pvar.ParallelVariable, ...], other: tuple[pvar.ParallelVariable, ...]) -> pvar.ParallelVariable:
    """Whether two pieces are on one square."""
    return (one[0] == other[0]) & (one[1] == other[1])


def king_moves(x: pvar.ParallelVariable, axes: tuple[int, int]) -> pvar.ParallelVariable:
    """Whether a move of a king leads to where `x` is true."""
    total = pvar.shift(x, AROUND[0], axis=axes, boundary=False)
    for step in AROUND[1:]:
        total |= pvar.shift(x, step, axis=axes, boundary=False)
    return total


def rook_moves(x: pvar.ParallelVariable, ends: pvar.ParallelVariable) -> pvar.ParallelVariable:
    """Whether a move of the rook leads to where `x` is true, if none goes beyond `ends`."""
    total = x.vp.zeros(np.bool_)
    for axis in ROOK:
        for direction in ("up", "down"):
            total |= pvar.scan(x, "or", axis=axis, segments=ends, exclusive=True, direction=direction)
    return total


def expected(holes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same by moves taken back, one position after the other."""
    size = len(holes)
    squares = [(row, column) for row, column in np.ndindex(holes.shape) if not holes[row, column]]

    def kings(square: tuple[int, int]) -> list[tuple[int, int]]:
        return [one for one in ((square[0] + down, square[1] + right) for down, right in AROUND) if one in free]

    def rooks(square: tuple[int, int], others: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
        reached = []
        for down, right in STRAIGHT:
            one = square[0] + down, square[1] + right
            while one in free and one not in others:
                reached.append(one)
                one = one[0] + down, one[1] + right
        return reached

    free = set(squares)
    around = {square: kings(square) for square in squares}
    checks = {(king, rook): set(rooks(rook, (king,))) for king in squares for rook in squares if king != rook}
    positions = [
        (king, rook, other)
        for king, rook in checks
        for other in squares
        if other not in (king, rook) and max(abs(king[0] - other[0]), abs(king[1] - other[1])) > 1
    ]
    answers, lost = {}, []
    for king, rook, other in positions:
        beside = [one for one in around[other] if max(abs(king[0] - one[0]), abs(king[1] - one[1])) > 1]
        answers[king, rook, other] = sum(one == rook or one not in checks[king, rook] for one in beside)
        if not answers[king, rook, other] and other in checks[king, rook]:
            lost.append((king, rook, other))
    moves, mates_in = np.zeros((size,) * 6, int), list[int]()
    while lost:
        number, following = 0, []
        for king, rook, other in lost:
            before = [(one, rook, other) for one in around[king]]
            before += [(king, one, other) for one in rooks(rook, (king, other))]
            for one in before:
                if one in answers and other not in checks[one[:2]] and not moves[one[0] + one[1] + other]:
                    moves[one[0] + one[1] + other] = len(mates_in) + 1
                    number += 1
                    for square in around[other]:
                        earlier = (*one[:2], square)
                        if earlier in answers:
                            answers[earlier] -= 1
                            if not answers[earlier]:
                                following.append(earlier)
        if number:
            mates_in.append(number)
        lost = following
    return moves, np.array(mates_in, int)


def main() -> int:
    parser = arguments.parser(__doc__, 4, "squares along each side", "the holes")
    chosen = parser.parse_args()
    if not 1 <= chosen.size <= 10:
        parser.error("expected 1 to 10 squares along each side")
    holes = problem(chosen.size, chosen.seed)
    answer = solve(holes, chosen.machine)
    print(f"{answer[1].sum()} positions are won, the longest in {len(answer[1])} moves")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(holes), strict=True))
    return arguments.verdict(right, "positions must be won in as many moves as one by one")


if __name__ == "__main__":
    sys.exit(main())

"""Games of poker for two: what each hand is worth, and who wins, a hand on each processor.

    python programs/poker.py [--size 1000] [--machine here] [--seed 1]

Each hand counts its cards of a rank in an array of its own; kinds come before ranks that occur often, and those before
others. Checked hand by hand in Python. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from collections import Counter

import arguments
import numpy as np

from weft import pvar

RANKS, KINDS = 13, 9
WHEEL = 0b1_0000_0000_1111
"""The ranks of the lowest straight, in which the ace comes before the two."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Five cards of two hands of each game, by number: four suits of each rank."""
    decks = np.random.default_rng(seed).permuted(np.tile(np.arange(4 * RANKS, dtype=np.int8), (size, 1)), axis=1)
    return np.ascontiguousarray(decks[:, :10].T).reshape(5, 2, size)


def solve(cards: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """How many hands there are of each kind, and by how much which hand of a game wins: 1, -1, or 0 where both do."""
    vp, kinds = pvar.VPSet(cards.shape[1:], machine=machine), pvar.VPSet(KINDS, machine=machine)
    count = vp.arrays(RANKS, np.int8)
    ranks, suits, flush = vp.zeros(np.int32), vp.array(cards[0]) & 3, vp.full(True)
    for one in cards:
        card = vp.array(one)
        rank = card >> 2
        count[rank] += 1
        ranks = ranks | (1 << rank.astype(np.int32))
        flush = flush & (card & 3 == suits)
    wheel = ranks == WHEEL
    straight = (ranks & ranks >> 1 & ranks >> 2 & ranks >> 3 & ranks >> 4 != 0) | wheel
    most, pairs, value = vp.zeros(np.int8), vp.zeros(np.int8), vp.zeros(np.int32)
    for rank in range(RANKS):
        most = pvar.maximum(most, count[rank])
        pairs = pairs + (count[rank] == 2).astype(np.int8)
    for times in (4, 3, 2, 1):
        for rank in reversed(range(RANKS)):
            value = pvar.where(count[rank] == times, value << 4 | rank, value)
    value[wheel] = 3
    kind = pvar.where(most == 2, pairs.astype(np.int32), 0)
    kind = pvar.where(most == 3, pvar.where(pairs == 1, 6, 3), kind)
    kind = pvar.where(most == 4, 7, kind)
    kind = pvar.where(flush, pvar.where(straight, 8, 5), pvar.where(straight, 4, kind))
    value = kind << 20 | value
    wins = pvar.sign(value - pvar.shift(value, 1, axis=0))
    numbers = pvar.send(1, kind, combine="add", vp=kinds)
    return np.asarray(numbers), np.asarray(wins)[0]


def worth(cards: list[int]) -> tuple[int, list[int]]:
    """The kind of a hand, and its ranks in the order in which they decide."""
    count = Counter(card // 4 for card in cards)
    ranks = sorted(count, key=lambda rank: (count[rank], rank), reverse=True)
    times = [count[rank] for rank in ranks]
    flush = len({card % 4 for card in cards}) == 1
    if ranks == [12, 3, 2, 1, 0]:
        ranks = [3, 2, 1, 0, -1]
    straight = len(ranks) == 5 and ranks[0] - ranks[4] == 4
    if flush or straight:
        return {(True, True): 8, (True, False): 5, (False, True): 4}[flush, straight], ranks
    order = [[1, 1, 1, 1, 1], [2, 1, 1, 1], [2, 2, 1], [3, 1, 1], [], [], [3, 2], [4, 1]]
    return order.index(times), ranks


def expected(cards: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The same, hand by hand."""
    hands = [[worth(hand) for hand in player] for player in cards.transpose(1, 2, 0).tolist()]
    numbers = np.bincount([kind for player in hands for kind, _ in player], minlength=KINDS)
    return numbers, [(one > other) - (one < other) for one, other in zip(*hands, strict=True)]


def main() -> int:
    parser = arguments.parser(__doc__, 1000, "games", "the cards")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one game")
    cards = problem(chosen.size, chosen.seed)
    numbers, wins = solve(cards, chosen.machine)
    print(
        f"the first hand wins {np.count_nonzero(wins > 0)} of {chosen.size} games; hands of a kind: {numbers.tolist()}"
    )
    right = all(np.array_equal(one, other) for one, other in zip((numbers, wins), expected(cards), strict=True))
    return arguments.verdict(right, "hands must be worth what Python says")


if __name__ == "__main__":
    sys.exit(main())

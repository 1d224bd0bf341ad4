"""Who does which task, so that all together do best: an auction in which everybody bids for the best offer.

    python programs/assignment.py [--size 30] [--machine here] [--seed 1]

Whoever has no task bids for the one that is worth most at its price, up to what the second best is worth, and the
highest bidder gets it (Bertsekas, Annals of Operations Research 14, 1988). Prices are kept while bids get finer, until
the result is the best there is. Checked against the Hungarian method. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

WORTH = 100
FINER = 6
FREE = -1


def problem(size: int, seed: int = 1) -> np.ndarray:
    """What each task is worth, done by each person."""
    generator = np.random.default_rng(seed)
    return generator.integers(0, WORTH, (size, size)).astype(np.int32)


def solve(worth: np.ndarray, machine: str = "here") -> tuple[np.ndarray, int, int]:
    """The task of each person, what all of them are worth together, and how many rounds of bids there were."""
    size = len(worth)
    vp, line = pvar.VPSet(worth.shape, machine=machine), pvar.VPSet(size, machine=machine)
    person, task = vp.coordinate(0), vp.coordinate(1)
    number = line.address()
    # Integers, in units so small that bids of one are fine enough for the best.
    value = vp.array(worth).astype(np.int64) * (size + 1)
    price = line.zeros(np.int64)
    step, rounds = WORTH * (size + 1) // FINER, 0
    while True:
        owner, own = line.full(FREE, np.int32), line.full(FREE, np.int32)
        while pvar.reduce(own == FREE, "or"):
            rounds += 1
            profit = value - pvar.get(price, task)
            best = profit.argmax(axis=1)
            most = profit.max(axis=1)
            with vp.where(task != best):
                second = profit.max(axis=1) if size > 1 else most
            bid = pvar.get(price, best) + most - second + step
            bids, target = (pvar.get(one, (number, 0)) for one in (bid, best))
            offer = line.full(FREE, np.int64)
            with line.where(own == FREE):
                pvar.send(bids * size + number, target, combine="max", into=offer)
            with line.where((offer >= 0) & (owner >= 0)):
                pvar.send(line.full(FREE, np.int32), owner, into=own)
            with line.where(offer >= 0):
                price[...] = offer // size
                owner[...] = (offer % size).astype(np.int32)
                pvar.send(number, owner, into=own)
        if step <= 1:
            break
        step = max(step // FINER, 1)
    with vp.where(pvar.get(own, person) == task):
        total = vp.array(worth).sum()
    return np.asarray(own), int(total), rounds


def expected(worth: np.ndarray) -> int:
    """What the best assignment is worth: shortest augmenting paths, person by person (Kuhn 1955, Munkres 1957)."""
    size = len(worth)
    cost = -worth.astype(np.int64)
    of_person, of_task = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    who = np.full(size + 1, size)
    for person in range(size):
        who[size], task = person, size
        least, came = np.full(size, 1 << 60), np.full(size, size)
        done = np.zeros(size + 1, bool)
        while who[task] != size:
            done[task] = True
            reduced = cost[who[task]] - of_person[who[task]] - of_task[:size]
            nearer = ~done[:size] & (reduced < least)
            least[nearer], came[nearer] = reduced[nearer], task
            following = int(np.where(done[:size], 1 << 61, least).argmin())
            delta = least[following]
            of_person[who[done]] += delta
            of_task[done] -= delta
            least[~done[:size]] -= delta
            task = following
        while task != size:
            who[task], task = who[came[task]], came[task]
        who[size] = size
    return int(worth[who[:size], np.arange(size)].sum())


def main() -> int:
    parser = arguments.parser(__doc__, 30, "persons, and tasks", "what tasks are worth")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one person")
    worth = problem(chosen.size, chosen.seed)
    own, total, rounds = solve(worth, chosen.machine)
    print(f"all tasks are worth {total}, after {rounds} rounds of bids")
    everybody = np.arange(chosen.size)
    right = np.array_equal(np.sort(own), everybody) and total == worth[everybody, own].sum() == expected(worth)
    return arguments.verdict(bool(right), "tasks must be worth as much as those of the Hungarian method")


if __name__ == "__main__":
    sys.exit(main())

"""Two tables of a database joined by a key that neither has only once, and sums of what belongs together.

    python programs/table_join.py [--size 2000] [--machine here] [--seed 1]

Orders meet the advertisements that their customers have seen. The keys of both tables are sorted together; within a
key, every order goes with every advertisement, so that a third VP set has as many processors as there are pairs.
Checked with Python's dictionaries. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

CAMPAIGNS = 12


class Tables(NamedTuple):
    """Customers and amounts of orders, customers and campaigns of advertisements."""

    buyer: np.ndarray
    amount: np.ndarray
    viewer: np.ndarray
    campaign: np.ndarray


def problem(size: int, seed: int = 1) -> Tables:
    """Customers of large, sparse numbers, some of whom buy and see much, and many in one table only."""
    generator = np.random.default_rng(seed)
    known = generator.choice(2**31 - 1, size // 2 + 1, replace=False).astype(np.int32)

    def some(number: int) -> np.ndarray:
        return np.take(known, (len(known) * generator.random(number) ** 1.5).astype(int))

    seen = size // 2 + 1
    amount = generator.integers(100, 50_000, size).astype(np.int32)
    return Tables(some(size), amount, some(seen), generator.integers(0, CAMPAIGNS, seen).astype(np.int8))


def solve(tables: Tables, machine: str = "here") -> tuple[np.ndarray, ...]:
    """The pairs of rows, in the order of keys; how many orders have none; sums, largest and numbers by campaign."""
    sizes = len(tables.buyer), len(tables.viewer)
    vp, orders, seen, groups = (pvar.VPSet(size, machine=machine) for size in (sum(sizes), *sizes, CAMPAIGNS))
    key = vp.array(np.concatenate([tables.buyer, tables.viewer]))
    order = pvar.rank(key)
    key, row = pvar.send(key, order), pvar.send(vp.address(), order)
    seeing = row >= sizes[0]
    begins = key != pvar.shift(key, -1, boundary=-1)
    number = pvar.scan(seeing.astype(np.int32), "add")
    before = number - seeing.astype(np.int32)
    first = pvar.scan(before, "copy", segments=begins)
    last = pvar.scan(number, "copy", segments=begins, direction="down")
    with vp.where(seeing):
        in_order = pvar.send(row - sizes[0], before, vp=seen)
    with vp.where(~seeing):
        matches = last - first
        start = pvar.scan(matches, "add", exclusive=True)
        pairs = pvar.VPSet(int(matches.sum()), machine=machine)
        alone = pvar.reduce(matches == 0, "count")
    with vp.where(~seeing & (matches > 0)):
        left = pvar.send(row, start, vp=pairs)
        offset = pvar.send(start - first, start, vp=pairs)
        starts = pvar.send(1, start, vp=pairs) > 0
    left = pvar.scan(left, "copy", segments=starts)
    right = pvar.get(in_order, pairs.address() - pvar.scan(offset, "copy", segments=starts))
    amount = pvar.get(orders.array(tables.amount), left)
    campaign = pvar.get(seen.array(tables.campaign), right)
    total = pvar.send(amount.astype(np.int64), campaign, combine="add", vp=groups)
    largest = pvar.send(amount, campaign, combine="max", vp=groups)
    count = pvar.send(1, campaign, combine="add", vp=groups)
    return np.stack([np.asarray(left), np.asarray(right)]), np.array(alone), *map(np.asarray, (total, largest, count))


def expected(tables: Tables) -> tuple[np.ndarray, ...]:
    """The same, order by order."""
    views: dict[int, list[int]] = {}
    for row, viewer in enumerate(tables.viewer.tolist()):
        views.setdefault(viewer, []).append(row)
    buyers = tables.buyer.tolist()
    rows = sorted(range(len(buyers)), key=buyers.__getitem__)
    pairs = [(row, other) for row in rows for other in views.get(buyers[row], [])]
    groups: list[list[int]] = [[] for _ in range(CAMPAIGNS)]
    for row, other in pairs:
        groups[tables.campaign[other]].append(int(tables.amount[row]))
    return (
        np.array(pairs, int).reshape(-1, 2).T,
        np.array(sum(buyer not in views for buyer in buyers)),
        *(np.array([of(group) for group in groups]) for of in (sum, lambda group: max(group, default=0), len)),
    )


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "orders", "the tables")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one order")
    tables = problem(chosen.size, chosen.seed)
    answer = solve(tables, chosen.machine)
    print(f"{answer[0].shape[1]} pairs of an order and an advertisement; {answer[1]} orders without any")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(tables), strict=True))
    return arguments.verdict(right, "pairs must be those of dictionaries")


if __name__ == "__main__":
    sys.exit(main())

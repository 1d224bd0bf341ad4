"""The opening of an exchange: the price at which most shares change hands, and who gets how many.

    python programs/call_auction.py [--size 3000] [--machine here] [--seed 1]

Orders and prices are two VP sets. Demand and supply at each price are sums of what orders send, scanned from above and
from below; orders with the better price are served first, then those that came first. Checked order by order in Python.
Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

PRICES = 2_000

Orders = tuple[np.ndarray, np.ndarray, np.ndarray]


def problem(size: int, seed: int = 1) -> Orders:
    """Who buys, the limit of each order as a number of ticks, and its shares."""
    generator = np.random.default_rng(seed)
    buys = generator.random(size) < 0.5
    limits = generator.normal(np.where(buys, 980, 1020), 60)
    return buys, np.clip(np.rint(limits), 0, PRICES - 1).astype(np.int32), generator.integers(1, 500, size)


def solve(orders: Orders, machine: str = "here") -> tuple[int, int, np.ndarray]:
    """The price, the shares that change hands, and those of each order."""
    vp, prices = pvar.VPSet(orders[0].shape, machine=machine), pvar.VPSet(PRICES, machine=machine)
    buys, limit, shares = (vp.array(one) for one in orders)
    wanted, offered = prices.zeros(np.int64), prices.zeros(np.int64)
    buyers = vp.where(buys)
    with buyers:
        pvar.send(shares, limit, combine="add", into=wanted)
    with buyers.otherwise():
        pvar.send(shares, limit, combine="add", into=offered)
    demand, supply = pvar.scan(wanted, "add", direction="down"), pvar.scan(offered, "add")
    volume = pvar.minimum(demand, supply)
    traded = int(pvar.reduce(volume, "max"))
    with prices.where(volume == traded):
        (price,) = pvar.reduce(abs(demand - supply), "argmin")
    filled = vp.zeros(np.int64)
    for side, descending in ((buys & (limit >= price), True), (~buys & (limit <= price), False)):
        with vp.where(side):
            order = pvar.rank(limit, descending=descending)
            queue = pvar.send(shares, order)
        before = pvar.scan(queue, "add", exclusive=True)
        with vp.where(side):
            filled[...] = pvar.minimum(pvar.maximum(traded - pvar.get(before, order), 0), shares)
    return int(price), traded, np.asarray(filled)


def expected(orders: Orders) -> tuple[int, int, np.ndarray]:
    """The same, order by order."""
    rows = list(zip(*(one.tolist() for one in orders), range(len(orders[0])), strict=True))
    demand, supply = [0] * (PRICES + 1), [0] * (PRICES + 1)
    for buys, limit, shares, _ in rows:
        (demand if buys else supply)[limit] += shares
    for price in range(1, PRICES):
        supply[price] += supply[price - 1]
        demand[PRICES - 1 - price] += demand[PRICES - price]
    best = min(
        range(PRICES), key=lambda price: (-min(demand[price], supply[price]), abs(demand[price] - supply[price]))
    )
    traded = min(demand[best], supply[best])
    filled = [0] * len(rows)
    served = (
        sorted((row for row in rows if row[0] and row[1] >= best), key=lambda row: -row[1]),
        sorted((row for row in rows if not row[0] and row[1] <= best), key=lambda row: row[1]),
    )
    for side in served:
        left = traded
        for _, _, shares, number in side:
            filled[number] = min(left, shares)
            left -= filled[number]
    return best, traded, np.array(filled)


def main() -> int:
    parser = arguments.parser(__doc__, 3000, "orders", "the orders")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one order")
    orders = problem(chosen.size, chosen.seed)
    price, traded, filled = solve(orders, chosen.machine)
    print(f"{traded} shares change hands at {price}, in {np.count_nonzero(filled)} of {chosen.size} orders")
    best, most, each = expected(orders)
    right = (price, traded) == (best, most) and np.array_equal(filled, each)
    return arguments.verdict(right, "price and shares must be those of the orders one by one")


if __name__ == "__main__":
    sys.exit(main())

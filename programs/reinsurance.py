"""What layers of reinsurance pay for the claims of many contracts: by event, and by year up to an aggregate.

    python programs/reinsurance.py [--size 2000] [--machine here] [--seed 1]

Claims and contracts are two VP sets. A rank brings claims into order; claims within 72 hours of the one before are one
event, and scans within events and contracts say what was paid before. Checked claim by claim in Python. Ends with code
1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

HOURS = 72
LAYERS = 4
"""Each begins where the one below ends."""
EACH = 40


class Book(NamedTuple):
    """Contract, hour and cents of each claim; retention, limit of an event and aggregate of each contract, in cents."""

    contract: np.ndarray
    hour: np.ndarray
    cents: np.ndarray
    terms: np.ndarray


def problem(size: int, seed: int = 1) -> Book:
    """Some 40 claims a contract, of whose sizes few are large."""
    generator = np.random.default_rng(seed)
    contracts = -(-size // EACH)
    terms = generator.integers(
        [[100_000], [1_000_000], [2_000_000]], [[900_000], [4_000_000], [9_000_000]], (3, contracts)
    )
    cents = (100_000 * (1 + generator.pareto(1.4, size))).astype(np.int64)
    contract, hour = (generator.integers(0, one, size, dtype=np.int32) for one in (contracts, 365 * 24))
    return Book(contract, hour, cents, terms)


def solve(book: Book, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What reinsurance pays for each claim, and cents and events that it pays for each contract."""
    vp, contracts = pvar.VPSet(book.contract.shape, machine=machine), pvar.VPSet(book.terms.shape[1], machine=machine)
    contract, hour, cents = (vp.array(one) for one in book[:3])
    order = pvar.rank((hour, contract))
    contract, hour, cents = (pvar.send(one, order) for one in (contract, hour, cents))
    retention, limit, aggregate = (pvar.get(contracts.array(one), contract) for one in book.terms)
    of_contract = contract != pvar.shift(contract, -1, boundary=-1)
    of_event = of_contract | (hour - pvar.shift(hour, -1, boundary=0) > HOURS)
    ends = pvar.shift(of_event, 1, boundary=True)
    total = pvar.scan(cents, "add", segments=of_event)
    paid = vp.zeros(np.int64)
    with vp.where(ends):
        for number in range(LAYERS):
            layer = pvar.minimum(pvar.maximum(total - retention - limit * number, 0), limit)
            before = pvar.scan(layer, "add", segments=of_contract, exclusive=True)
            paid += pvar.maximum(pvar.minimum(layer, aggregate - before), 0)
    paid_contract, events = contracts.zeros(np.int64), contracts.zeros(np.int32)
    with vp.where(ends & (paid > 0)):
        pvar.send(paid, contract, combine="add", into=paid_contract)
        pvar.send(1, contract, combine="add", into=events)
    share = pvar.where(ends, paid.astype(np.float64) / total.astype(np.float64), 0.0)
    share = pvar.scan(share, "max", segments=of_event, direction="down")
    of_claims = pvar.get(share * cents.astype(np.float64), order)
    return np.asarray(of_claims), np.asarray(paid_contract), np.asarray(events)


def expected(book: Book) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same, claim by claim."""
    of_claims, paid_contract, events = np.zeros(len(book.contract)), [], []
    claims: list[list[tuple[int, int, int]]] = [[] for _ in book.terms[0]]
    for number, (contract, hour, cents) in enumerate(zip(*(one.tolist() for one in book[:3]), strict=True)):
        claims[contract].append((hour, number, cents))
    for rows, (retention, limit, aggregate) in zip(claims, book.terms.T.tolist(), strict=True):
        groups: list[list[tuple[int, int, int]]] = []
        for row in sorted(rows):
            if groups and row[0] - groups[-1][-1][0] <= HOURS:
                groups[-1].append(row)
            else:
                groups.append([row])
        left, paying = [aggregate] * LAYERS, 0
        for group in groups:
            total = sum(cents for _, _, cents in group)
            paid = 0
            for layer in range(LAYERS):
                from_layer = min(max(total - retention - layer * limit, 0), limit, left[layer])
                left[layer] -= from_layer
                paid += from_layer
            paying += paid > 0
            for _, number, cents in group:
                of_claims[number] = cents * paid / total
        paid_contract.append(LAYERS * aggregate - sum(left))
        events.append(paying)
    return of_claims, np.array(paid_contract), np.array(events)


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "claims", "claims and contracts")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one claim")
    book = problem(chosen.size, chosen.seed)
    of_claims, paid, events = solve(book, chosen.machine)
    print(f"{paid.sum() / 100:.0f} of {book.cents.sum() / 100:.0f} are paid for {events.sum()} events")
    claims, *others = expected(book)
    right = np.allclose(of_claims, claims) and all(map(np.array_equal, (paid, events), others))
    return arguments.verdict(right, "cents must be those of the claims one by one")


if __name__ == "__main__":
    sys.exit(main())

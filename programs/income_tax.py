"""What an income tax yields, who pays it, and how much more equal incomes are after it.

    python programs/income_tax.py [--size 5000] [--machine here] [--seed 1]

A processor has a household, whose tax follows from rates that rise with income, and from its children. Couples are
taxed as two persons of half the income. Amounts are whole cents, rounded down. Sorted incomes give the shares of tenths
and Gini's coefficient. Checked with numpy's sums. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

BANDS = ((0, 0), (11_000_00, 14), (17_000_00, 24), (66_000_00, 42), (278_000_00, 45))
"""From how many cents on what is earned more is taxed with how many percent."""
BENEFIT, LIMIT = 3_000_00, 100_000_00
"""For each child; halved beyond an income."""
TENTHS = 10


class Households(NamedTuple):
    """Cents that each earns, how many children there are, and whether it is a couple."""

    income: np.ndarray
    children: np.ndarray
    couple: np.ndarray


def problem(size: int, seed: int = 1) -> Households:
    """Incomes of which a few are large, and some nothing."""
    generator = np.random.default_rng(seed)
    income = np.exp(generator.normal(10.4, 0.8, size)) * 100 * (generator.random(size) > 0.03)
    children = np.minimum(generator.poisson(0.7, size), 9)
    return Households(income.astype(np.int64), children.astype(np.uint8), generator.random(size) < 0.45)


def solve(households: Households, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is left of each income, how much tenths of households have of all, and Gini's coefficient of both."""
    size = len(households.income)
    vp, tenths = (pvar.VPSet(extent, machine=machine) for extent in (size, TENTHS))
    income, children, couple = (vp.array(one) for one in households)
    taxed = income.copy()
    taxed[couple] //= 2
    tax, below = vp.zeros(np.int64), 0
    for band, (start, rate) in enumerate(BANDS):
        top = BANDS[band + 1][0] if band + 1 < len(BANDS) else None
        selection = vp.where(taxed >= start)
        with selection:
            over = taxed - start
            tax[...] = below + over * rate // 100
        if top is not None:
            below += (top - start) * rate // 100
    tax[couple] *= 2
    benefit = children.astype(np.int64) * BENEFIT
    well_off = vp.where((income > LIMIT) & (children > 0))
    with well_off:
        benefit //= 2
    left = income.copy()
    left -= tax
    left += benefit
    shares, coefficients = [], []
    for amount in (income, left):
        in_order = pvar.sort(amount)
        number = vp.address(np.int64)
        share = pvar.send(in_order, number * TENTHS // size, combine="add", vp=tenths)
        total = float(in_order.sum())
        shares.append(share.numpy() / total)
        weighted = (in_order.astype(np.float64) * (2 * number + 1 - size)).sum()
        coefficients.append(weighted / (size * total))
    return np.asarray(left), np.array(shares), np.array(coefficients)


def expected(households: Households) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by tables of the tax of all full bands, and by the areas under Lorenz' curves."""
    income, children, couple = households
    starts, rates = np.transpose(BANDS)
    full = np.concatenate([[0], np.cumsum(np.diff(starts) * rates[:-1] // 100)])
    persons = 1 + couple
    taxed = income // persons
    band = np.searchsorted(starts, taxed, side="right") - 1
    tax = persons * (full[band] + (taxed - starts[band]) * rates[band] // 100)
    left = income - tax + children.astype(int) * BENEFIT // np.where(income > LIMIT, 2, 1)
    shares, coefficients = [], []
    for amount in (income, left):
        curve = np.concatenate([[0], np.cumsum(np.sort(amount))]) / amount.sum()
        ends = [-(-len(amount) * tenth // TENTHS) for tenth in range(TENTHS + 1)]
        shares.append(np.diff(curve[ends]))
        coefficients.append(1 - (curve[1:] + curve[:-1]).mean())
    return left, np.array(shares), np.array(coefficients)


def main() -> int:
    parser = arguments.parser(__doc__, 5000, "households", "incomes")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one household")
    households = problem(chosen.size, chosen.seed)
    left, shares, coefficients = solve(households, chosen.machine)
    print(f"Gini's coefficient is {coefficients[0]:.3f} before and {coefficients[1]:.3f} after tax")
    wanted = expected(households)
    right = np.array_equal(left, wanted[0]) and np.allclose(shares, wanted[1], rtol=1e-9, atol=1e-12)
    right = right and np.allclose(coefficients, wanted[2], rtol=1e-9, atol=1e-9)
    return arguments.verdict(bool(right), "incomes must be what numpy leaves of them")


if __name__ == "__main__":
    sys.exit(main())

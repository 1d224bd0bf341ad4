"""What a bank may lose with its loans: defaults that depend on one economy, in many scenarios.

    python programs/credit_risk.py [--size 200] [--machine here] [--seed 1]

A processor has a loan in a scenario, which defaults if its debtor's assets fall below a threshold (Vasicek, Risk 15,
2002). Sorted losses give the value at risk, and the scenarios beyond it what each loan contributes. Checked against
numpy, scenario by scenario. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

LOANS = 24
CORRELATION = 0.3
LEVEL = 0.95


class Portfolio(NamedTuple):
    """Threshold and size of each loan; the economy in each scenario, and what else happens to each debtor in it."""

    threshold: np.ndarray
    exposure: np.ndarray
    economy: np.ndarray
    own: np.ndarray


def problem(size: int, seed: int = 1) -> Portfolio:
    """Loans of which some default in a typical year, and scenarios."""
    generator = np.random.default_rng(seed)
    arrays = generator.uniform(-2.2, -1.0, LOANS), generator.lognormal(1, 1, LOANS)
    arrays += generator.standard_normal(size), generator.standard_normal((size, LOANS))
    return Portfolio(*(one.astype(np.float32) for one in arrays))


def solve(portfolio: Portfolio, machine: str = "here") -> tuple[np.ndarray, float, float, np.ndarray]:
    """Losses from the least to the largest, value at risk, expected shortfall, and the loans' shares of the latter."""
    size = len(portfolio.economy)
    vp = pvar.VPSet((size, LOANS), machine=machine)
    scenarios, loans = pvar.VPSet(size, machine=machine), pvar.VPSet(LOANS, machine=machine)
    economy = pvar.get(scenarios.array(portfolio.economy), vp.coordinate(0))
    loan = vp.coordinate(1)
    threshold, exposure = (pvar.get(loans.array(one), loan) for one in portfolio[:2])
    assets = economy * math.sqrt(CORRELATION) + vp.array(portfolio.own) * math.sqrt(1 - CORRELATION)
    loss = vp.zeros(np.float32)
    with vp.where(assets < threshold):
        loss[...] = exposure / (pvar.exp(economy * 0.5) + 1.0)
    total = pvar.reduce(loss, "sum", axis=1)
    in_order = pvar.sort(pvar.get(total, (scenarios.address(), 0)))
    at_risk = float(in_order[int(LEVEL * (size - 1))])
    with vp.where(total >= at_risk):
        sums = pvar.reduce(loss, "sum", axis=0)
        tail = pvar.reduce(loan == 0, "sum")
        shares = loans.zeros(np.float32)
        pvar.send(sums, loan, combine="max", into=shares)
    shares /= float(tail)
    return np.asarray(in_order), at_risk, float(pvar.reduce(shares, "sum")), np.asarray(shares)


def expected(portfolio: Portfolio) -> tuple[np.ndarray, float, float, np.ndarray]:
    """The same, scenario by scenario."""
    losses = np.zeros((len(portfolio.economy), LOANS))
    common, apart = np.float32(math.sqrt(CORRELATION)), np.float32(math.sqrt(1 - CORRELATION))
    for number, (economy, own) in enumerate(zip(portfolio.economy, portfolio.own, strict=True)):
        default = np.flatnonzero(economy * common + own * apart < portfolio.threshold)
        losses[number, default] = portfolio.exposure[default] / (1 + math.exp(economy / 2))
    totals = losses.sum(axis=1)
    order = np.argsort(totals)
    first = int(LEVEL * (len(totals) - 1))
    tail = totals >= totals[order[first]] - 1e-4
    return totals[order], totals[order[first]], totals[tail].mean(), losses[tail].mean(axis=0)


def main() -> int:
    parser = arguments.parser(__doc__, 200, "scenarios", "loans and scenarios")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one scenario")
    portfolio = problem(chosen.size, chosen.seed)
    answer = solve(portfolio, chosen.machine)
    print(f"the value at risk is {answer[1]:.2f}, the expected shortfall {answer[2]:.2f}")
    pairs = zip(answer, expected(portfolio), strict=True)
    right = all(np.allclose(one, other, rtol=1e-4, atol=1e-3) for one, other in pairs)
    return arguments.verdict(right, "losses must be those of the scenarios one by one")


if __name__ == "__main__":
    sys.exit(main())

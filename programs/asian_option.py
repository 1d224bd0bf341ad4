"""What options on the mean of a price are worth, with and without a barrier, by paths that are drawn at random.

    python programs/asian_option.py [--size 4000] [--machine here] [--seed 1]

A processor has a path for a contract, and its mirror image. The option on the geometric mean, whose worth is known,
tells how lucky the draws were (Kemna and Vorst, J. Banking & Finance 14, 1990). Checked with that formula, and with
numpy's paths, within what chance allows. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

CONTRACTS, STEPS = 4, 24
RATE, YEARS = 0.03, 1.0
SIGMAS = 5.5
"""By how many standard errors an estimate may be off."""


class Contracts(NamedTuple):
    """How many paths for each; strikes, volatilities and barriers for a price of 100 now; a seed for the paths."""

    paths: int
    strike: np.ndarray
    volatility: np.ndarray
    barrier: np.ndarray
    seed: int


def problem(size: int, seed: int = 1) -> Contracts:
    """Contracts of different strikes."""
    generator = np.random.default_rng(seed)
    strike, volatility = generator.uniform(80, 110, CONTRACTS), generator.uniform(0.15, 0.4, CONTRACTS)
    return Contracts(size, strike, volatility, strike * generator.uniform(1.25, 1.5, CONTRACTS), seed)


def solve(contracts: Contracts, machine: str = "here") -> np.ndarray:
    """Of each contract the worth by the geometric and the arithmetic mean, and with the barrier; and their errors."""
    vp = pvar.VPSet((CONTRACTS, contracts.paths), machine=machine)
    lines = pvar.VPSet(CONTRACTS, machine=machine)
    number = vp.coordinate(0)
    strike, volatility, barrier = (pvar.get(lines.array(one), number) for one in contracts[1:4])
    generator = vp.rng(contracts.seed)
    drift = (RATE - volatility * volatility / 2) * (YEARS / STEPS)
    scale = volatility * math.sqrt(YEARS / STEPS)
    payoffs = [vp.zeros() for _ in range(3)]
    logarithms, sums, sums_of_logarithms = ([vp.zeros(), vp.zeros()] for _ in range(3))
    alive = [vp.full(True), vp.full(True)]
    for _ in range(STEPS):
        change = scale * generator.normal()
        for mirrored in (0, 1):
            logarithms[mirrored] += drift - change if mirrored else drift + change
            price = 100 * pvar.exp(logarithms[mirrored])
            sums[mirrored] += price
            sums_of_logarithms[mirrored] += logarithms[mirrored]
            alive[mirrored] &= price < barrier
    for mirrored in (0, 1):
        geometric = 100 * pvar.exp(sums_of_logarithms[mirrored] / STEPS)
        arithmetic = pvar.maximum(sums[mirrored] / STEPS - strike, 0)
        payoffs[0] += pvar.maximum(geometric - strike, 0) / 2
        payoffs[1] += arithmetic / 2
        with vp.where(alive[mirrored]):
            payoffs[2] += arithmetic / 2
    known = pvar.get(lines.array(of_geometric_mean(contracts)), number) * math.exp(RATE * YEARS)
    off = payoffs[0] - payoffs[0].mean(axis=1)
    variance = (off * off).mean(axis=1)
    slope = (off * payoffs[1]).mean(axis=1) / pvar.maximum(variance, 1e-12)
    payoffs[1] -= slope * (payoffs[0] - known)
    table = [pvar.get(one.mean(axis=1), (lines.address(), 0)).numpy() for one in payoffs]
    table += [pvar.get(one.std(axis=1), (lines.address(), 0)).numpy() / math.sqrt(contracts.paths) for one in payoffs]
    return math.exp(-RATE * YEARS) * np.array(table)


def of_geometric_mean(contracts: Contracts) -> np.ndarray:
    """The worth by the geometric mean, whose logarithm is normally distributed."""
    worths = []
    for strike, volatility in zip(contracts.strike, contracts.volatility, strict=True):
        mean = math.log(100) + (RATE - volatility**2 / 2) * YEARS * (STEPS + 1) / (2 * STEPS)
        deviation = volatility * math.sqrt(YEARS * (STEPS + 1) * (2 * STEPS + 1) / (6 * STEPS**2))
        above = (mean - math.log(strike)) / deviation
        forward = math.exp(mean + deviation**2 / 2) * normal(above + deviation)
        worths.append(math.exp(-RATE * YEARS) * (forward - strike * normal(above)))
    return np.array(worths)


def normal(x: float) -> float:
    """How likely a normal number is below `x`."""
    return (1 + math.erf(x / math.sqrt(2))) / 2


def expected(contracts: Contracts, paths: int = 20_000) -> np.ndarray:
    """The worth by the arithmetic mean, and with the barrier, by other paths; and the errors of both."""
    generator = np.random.default_rng(99)
    table = np.zeros((4, CONTRACTS))
    for number, (strike, volatility, barrier) in enumerate(zip(*contracts[1:4], strict=True)):
        steps = generator.normal((RATE - volatility**2 / 2) / STEPS, volatility / STEPS**0.5, (STEPS, paths))
        prices = 100 * np.exp(steps.cumsum(axis=0))
        payoff = np.maximum(prices.mean(axis=0) - strike, 0) * math.exp(-RATE * YEARS)
        for row, one in enumerate((payoff, payoff * (prices.max(axis=0) < barrier))):
            table[row, number], table[row + 2, number] = one.mean(), one.std() / paths**0.5
    return table


def main() -> int:
    parser = arguments.parser(__doc__, 4000, "pairs of paths for each contract", "contracts and paths")
    chosen = parser.parse_args()
    if chosen.size < 100:
        parser.error("expected at least 100 pairs of paths, for estimates of errors")
    contracts = problem(chosen.size, chosen.seed)
    answer = solve(contracts, chosen.machine)
    print(f"worths by the arithmetic mean are {answer[1].round(3).tolist()}, within {answer[4].max():.4f}")
    right = np.all(abs(answer[0] - of_geometric_mean(contracts)) <= SIGMAS * answer[3] + 1e-9)
    wanted = expected(contracts)
    right &= np.all(abs(answer[1:3] - wanted[:2]) <= SIGMAS * np.hypot(answer[4:], wanted[2:]) + 1e-9)
    return arguments.verdict(bool(right), "worths must be those of the formula and of other paths")


if __name__ == "__main__":
    sys.exit(main())

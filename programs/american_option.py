"""What an American put option is worth, backwards through a binomial tree.

    python programs/american_option.py [--size 500] [--machine here]

Processors are prices that the share may have, one more than there are steps. From the last day to the first each takes
the mean of what its two successors are worth, or the payoff where to exercise the option at once is better (Cox, Ross
and Rubinstein, Journal of Financial Economics 7, 1979). Checked against the same recursion by numpy. Ends with code 1
if the check fails.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar


class Option(NamedTuple):
    """A put: prices in any currency, years, rates for a year."""

    steps: int
    share: float = 100.0
    strike: float = 105.0
    years: float = 1.0
    interest: float = 0.04
    volatility: float = 0.3

    def tree(self) -> tuple[float, float, float]:
        """By what a price goes up in a step, and the discounted probabilities of up and down."""
        step = self.years / self.steps
        up = math.exp(self.volatility * math.sqrt(step))
        probability = (math.exp(self.interest * step) - 1 / up) / (up - 1 / up)
        discount = math.exp(-self.interest * step)
        return up, discount * probability, discount * (1 - probability)


def problem(size: int) -> Option:
    """With so many steps."""
    return Option(size)


def solve(option: Option, machine: str = "here") -> float:
    """What it is worth on the first day."""
    up, higher, lower = option.tree()
    vp = pvar.VPSet(option.steps + 1, machine=machine)
    ups = vp.coordinate(0).astype(np.float64)
    price = option.share * pvar.exp(math.log(up) * (2.0 * ups - option.steps))
    worth = pvar.maximum(option.strike - price, 0.0)
    for _ in range(option.steps):
        # A day before, a share of as many ups has one down less.
        price = price * up
        worth = pvar.maximum(higher * pvar.shift(worth, 1, boundary=0.0) + lower * worth, option.strike - price)
    return float(worth[0])


def expected(option: Option) -> float:
    """The same by numpy, on as many prices as there are at each step."""
    up, higher, lower = option.tree()
    worth = np.maximum(option.strike - option.share * up ** (2.0 * np.arange(option.steps + 1) - option.steps), 0.0)
    for step in range(option.steps - 1, -1, -1):
        price = option.share * up ** (2.0 * np.arange(step + 1) - step)
        worth = np.maximum(higher * worth[1:] + lower * worth[:-1], option.strike - price)
    return float(worth[0])


def main() -> int:
    parser = arguments.parser(__doc__, 500, "steps")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one step")
    option = problem(chosen.size)
    found = solve(option, chosen.machine)
    print(f"a put at {option.strike:.0f} of a share at {option.share:.0f} is worth {found:.4f}")
    return arguments.verdict(math.isclose(found, expected(option), rel_tol=1e-9), "the price must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

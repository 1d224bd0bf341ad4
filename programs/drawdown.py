"""Portfolios through the years: how far each falls below its best, for how long, and what the worst days take.

    python programs/drawdown.py [--size 40] [--machine here] [--seed 1]

A processor has a portfolio on a day. Values are running products of returns, the best so far a running maximum, times
under it lengths of segments; expected shortfall is the mean of the twentieth of days that are worst (Acerbi and Tasche,
Journal of Banking and Finance 26, 2002), by ranks within each portfolio. Checked portfolio by portfolio. Ends with code
1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

DAYS, PARTS = 250, 20


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Daily returns, of portfolios in rows."""
    generator = np.random.default_rng(seed)
    market = generator.standard_t(4, DAYS) * 0.007 + 0.0003
    return market * generator.uniform(0.3, 1.6, (size, 1)) + generator.normal(0, 0.004, (size, DAYS))


def solve(returns: np.ndarray, machine: str = "here") -> tuple[np.ndarray, ...]:
    """Of each portfolio: its last value, the deepest fall, the longest time under water, and expected shortfall."""
    vp = pvar.VPSet(returns.shape, machine=machine)
    change = vp.array(returns)
    value = pvar.scan(change + 1.0, "multiply", axis=1)
    best = pvar.maximum(pvar.scan(value, "max", axis=1), 1.0)
    fall = 1.0 - value / best
    under = fall > 0.0
    begins = under & ~pvar.shift(under, -1, axis=1, boundary=False)
    run = pvar.scan(under.astype(np.int32), "add", axis=1, segments=begins | ~under)
    deepest, longest = fall.max(axis=1), run.max(axis=1)
    # Days of a portfolio one after the other, from the worst on: by the return, then by the portfolio.
    order = pvar.rank(change)
    row = vp.coordinate(0)
    sorted_row = pvar.send(row, order, vp=pvar.VPSet(vp.size, machine=machine))
    of_row = pvar.rank(sorted_row)
    place = pvar.get(of_row, order) - row * DAYS
    worst = place < DAYS // PARTS
    with vp.where(worst):
        lost = pvar.reduce(change, "sum", axis=1)
    ends = value.numpy()[:, -1], deepest.numpy()[:, 0], longest.numpy()[:, 0], lost.numpy()[:, 0] / -(DAYS // PARTS)
    return tuple(np.asarray(one) for one in ends)


def expected(returns: np.ndarray) -> tuple[np.ndarray, ...]:
    """The same, portfolio by portfolio and day by day."""
    found = []
    for own in returns.tolist():
        value = best = 1.0
        deepest, longest, run = 0.0, 0, 0
        for one in own:
            value *= 1 + one
            best = max(best, value)
            run = run + 1 if value < best else 0
            deepest, longest = max(deepest, 1 - value / best), max(longest, run)
        days = DAYS // PARTS
        found.append((value, deepest, longest, -sum(sorted(own)[:days]) / days))
    return tuple(np.array(one) for one in zip(*found, strict=True))


def main() -> int:
    parser = arguments.parser(__doc__, 40, "portfolios", "returns")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one portfolio")
    returns = problem(chosen.size, chosen.seed)
    answer = solve(returns, chosen.machine)
    print(f"the deepest fall is {answer[1].max():.1%}, the longest lasts {answer[2].max()} days")
    pairs = zip(answer, expected(returns), strict=True)
    right = all(one.shape == other.shape and np.allclose(one, other, rtol=1e-9) for one, other in pairs)
    return arguments.verdict(right, "figures must be those of the portfolios one by one")


if __name__ == "__main__":
    sys.exit(main())

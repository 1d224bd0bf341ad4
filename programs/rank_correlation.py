"""Whether two columns rise together: Spearman's correlation of their ranks, row by row, and by lots.

    python programs/rank_correlation.py [--size 3000] [--machine here] [--seed 1]

A processor has a row. Ranks are correlated, then those of one column against the other in another order each time,
which says how much is chance. Checked against numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

LOTS = 10


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two columns, and the orders."""
    generator = np.random.default_rng(seed)
    first = generator.exponential(1, size)
    orders = np.argsort(generator.random((LOTS, size)), axis=1)
    return first, first + generator.normal(0, 2, size), orders


def solve(columns: tuple[np.ndarray, np.ndarray, np.ndarray], machine: str = "here") -> np.ndarray:
    """The correlation, then those of the lots."""
    first, second, orders = columns
    vp = pvar.VPSet(first.shape, machine=machine)
    centre = 0.5 * (first.size - 1)
    one, other = (pvar.rank(vp.array(column)).astype("float64") - centre for column in (first, second))
    variance = pvar.reduce(one * one, "add")
    again = [pvar.reduce(one * pvar.get(other, vp.array(order)), "add") for order in orders]
    return np.array([pvar.reduce(one * other, "add"), *again]) / variance


def main() -> int:
    parser = arguments.parser(__doc__, 3000, "rows", "the columns")
    chosen = parser.parse_args()
    if chosen.size < 2:
        parser.error("expected at least two rows")
    first, second, orders = problem(chosen.size, chosen.seed)
    correlations = solve((first, second, orders), chosen.machine)
    print(f"correlation {correlations[0]:.4f}; by chance up to {abs(correlations[1:]).max():.4f}")
    ranks = [np.argsort(np.argsort(column)) for column in (first, second)]
    wanted = [np.corrcoef(ranks[0], ranks[1][order])[0, 1] for order in (np.arange(chosen.size), *orders)]
    return arguments.verdict(np.allclose(correlations, wanted), "correlations must be those of numpy")


if __name__ == "__main__":
    sys.exit(main())

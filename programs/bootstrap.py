"""How certain a correlation is: drawn again from the same sample many times, a pair for each processor.

    python programs/bootstrap.py [--size 2000] [--machine here] [--seed 1]

Each resample fetches pairs at random and correlates them (Efron, Annals of Statistics 7, 1979); their spread is the
standard error. Which are drawn comes from a table of numpy's, so that the check can draw the same. Checked against
numpy's correlations. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np

from weft import pvar

RESAMPLES = 40


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Pairs that belong together somewhat, and by resample whom each processor fetches."""
    generator = np.random.default_rng(seed)
    x = generator.normal(0, 1, size)
    return np.stack([x, 0.6 * x + generator.normal(0, 0.8, size)]), generator.integers(0, size, (RESAMPLES, size))


def solve(sample: tuple[np.ndarray, np.ndarray], machine: str = "here") -> np.ndarray:
    """The correlation of each resample."""
    pairs, drawn = sample
    size = pairs.shape[1]
    vp = pvar.VPSet(size, machine=machine)
    x, y = (vp.array(one) for one in pairs)
    correlations = []
    for numbers in drawn:
        whom = vp.array(numbers)
        one, other = pvar.get(x, whom), pvar.get(y, whom)
        one = one - pvar.reduce(one, "add") / size
        other = other - pvar.reduce(other, "add") / size
        products = (float(pvar.reduce(product, "add")) for product in (one * other, one * one, other * other))
        both, of_one, of_other = products
        correlations.append(both / math.sqrt(of_one * of_other))
    return np.array(correlations)


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "pairs", "the pairs")
    chosen = parser.parse_args()
    if chosen.size < 3:
        parser.error("expected at least three pairs")
    pairs, drawn = problem(chosen.size, chosen.seed)
    correlations = solve((pairs, drawn), chosen.machine)
    print(f"a correlation of {correlations.mean():.3f} with a standard error of {correlations.std(ddof=1):.3f}")
    wanted = [np.corrcoef(pairs[:, numbers])[0, 1] for numbers in drawn]
    return arguments.verdict(np.allclose(correlations, wanted), "correlations must be numpy's")


if __name__ == "__main__":
    sys.exit(main())

"""Means of a window that moves along a series, by running sums and fetches of two of them.

    python programs/moving_means.py [--size 10000] [--machine here] [--seed 1]

Windows of several lengths; at the ends they are cut. What is more than one and a half deviations from the mean of every
window is an outlier. Checked against numpy. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

HALVES = (2, 5, 20, 60)


def problem(size: int, seed: int = 1) -> np.ndarray:
    """A walk with outliers."""
    generator = np.random.default_rng(seed)
    walk = np.cumsum(generator.normal(0, 1, size))
    return np.where(generator.random(size) < 0.01, walk + 50, walk)


def solve(series: np.ndarray, machine: str = "here") -> tuple[np.ndarray, int]:
    """The means of each window, and how many values are outliers of all."""
    vp = pvar.VPSet(series.shape, machine=machine)
    x, position = vp.array(series), vp.address()
    sums, squares = pvar.scan(x, "add"), pvar.scan(x * x, "add")
    means, outlier = [], vp.array(np.ones(series.shape, bool))
    for half in HALVES:
        last = pvar.minimum(position + half, series.size - 1)
        before = position - half - 1
        inside = before >= 0
        first = pvar.maximum(before, 0)
        count = (last - pvar.where(inside, before, -1)).astype("float64")
        total = pvar.get(sums, last) - pvar.where(inside, pvar.get(sums, first), 0.0)
        square = pvar.get(squares, last) - pvar.where(inside, pvar.get(squares, first), 0.0)
        mean = total / count
        deviation = pvar.sqrt(pvar.maximum(square / count - mean * mean, 0.0))
        outlier = outlier & (abs(x - mean) > deviation * 1.5)
        means.append(np.asarray(mean))
    return np.stack(means), int(pvar.reduce(outlier.astype("int32"), "add"))


def main() -> int:
    parser = arguments.parser(__doc__, 10_000, "values", "the series")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one value")
    series = problem(chosen.size, chosen.seed)
    means, outliers = solve(series, chosen.machine)
    print(f"{outliers} of {chosen.size} values are outliers of every window")
    some = range(0, chosen.size, max(1, chosen.size // 200))
    right = all(
        np.isclose(means[row, at], series[max(0, at - half) : at + half + 1].mean())
        for row, half in enumerate(HALVES)
        for at in some
    )
    return arguments.verdict(right, "means must be those of numpy")


if __name__ == "__main__":
    sys.exit(main())

"""A signal compressed by Haar's wavelets: sums and differences of pairs, of pairs of pairs, and so on, in index.

    python programs/wavelet.py [--size 4096] [--machine here] [--seed 1]

At each level every second of the processors that still hold a sum works. Small differences are set to zero, and the
signal is made of the rest. Checked against the same by numpy on ever shorter arrays. Ends with code 1 if the check
fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

THRESHOLD = 0.1
"""Differences below are dropped."""

TOLERANCE = 1e-12


def problem(size: int, seed: int = 1) -> np.ndarray:
    """A random walk, of a power of two steps."""
    return np.cumsum(np.random.default_rng(seed).normal(0, 0.1, size))


def solve(signal: np.ndarray, machine: str = "here") -> tuple[np.ndarray, int]:
    """The signal from what was kept, and how many numbers that was."""
    size = len(signal)
    vp = pvar.VPSet(signal.shape, machine=machine)
    index, value = vp.coordinate(0), vp.array(signal).copy()
    stride = 1
    while stride < size:
        second = pvar.shift(value, stride, axis=0)
        first = pvar.shift(value, -stride, axis=0)
        left = index % (2 * stride) == 0
        right = index % (2 * stride) == stride
        value = pvar.where(left, (value + second) / 2, pvar.where(right, (first - value) / 2, value))
        stride *= 2
    kept = (index == 0) | (abs(value) >= THRESHOLD)
    with vp.where(~kept):
        value[...] = 0.0
    while stride > 1:
        stride //= 2
        difference = pvar.shift(value, stride, axis=0)
        mean = pvar.shift(value, -stride, axis=0)
        left = index % (2 * stride) == 0
        right = index % (2 * stride) == stride
        value = pvar.where(left, value + difference, pvar.where(right, mean - value, value))
    return np.asarray(value), int(pvar.reduce(kept.astype(np.int64), "sum"))


def expected(signal: np.ndarray) -> tuple[np.ndarray, int]:
    """The same by numpy: means and differences apart."""
    means, levels = signal, []
    while len(means) > 1:
        levels.append((means[::2] - means[1::2]) / 2)
        means = (means[::2] + means[1::2]) / 2
    kept = 1
    for differences in reversed(levels):
        large = np.where(np.abs(differences) >= THRESHOLD, differences, 0.0)
        kept += np.count_nonzero(np.abs(differences) >= THRESHOLD)
        means = np.stack([means + large, means - large], axis=1).ravel()
    return means, kept


def main() -> int:
    parser = arguments.parser(__doc__, 4096, "steps of the signal", "the signal")
    chosen = parser.parse_args()
    if chosen.size < 1 or chosen.size & (chosen.size - 1):
        parser.error(f"expected a power of two, not {chosen.size}")
    signal = problem(chosen.size, chosen.seed)
    (found, kept), (wanted, numbers) = solve(signal, chosen.machine), expected(signal)
    error = float(np.abs(found - wanted).max())
    print(f"{kept} of {chosen.size} numbers kept: at most {np.abs(found - signal).max():.2f} from the signal")
    return arguments.verdict(error <= TOLERANCE and kept == numbers, f"the signal must be numpy's within {TOLERANCE:g}")


if __name__ == "__main__":
    sys.exit(main())

"""The period of a noisy signal, from its autocorrelation: a processor for each sample.

    python programs/autocorrelation.py [--size 4000] [--machine here] [--seed 1]

For each lag the signal is moved by it, multiplied by what it was, and summed; the lag of the largest sum after the
first dip is the period. Checked against numpy's correlation. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

LAGS = 150
"""Lags that are tried."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Samples of a wave of a period between 40 and 120, and noise."""
    generator = np.random.default_rng(seed)
    phase = np.arange(size) * 2 * np.pi / generator.uniform(40, 120)
    return (np.sin(phase) + 0.4 * np.sin(2 * phase) + generator.normal(0, 0.5, size)).astype(np.float32)


def solve(signal: np.ndarray, machine: str = "here") -> np.ndarray:
    """The autocorrelation by lag, that of lag 0 being one."""
    vp = pvar.VPSet(signal.shape, machine=machine)
    x = vp.array(signal)
    x = x - pvar.reduce(x, "add") / signal.size
    sums, moved = [], x
    for _ in range(LAGS):
        sums.append(float(pvar.reduce(x * moved, "add")))
        moved = pvar.shift(moved, -1, axis=0, boundary=0.0)
    return np.array(sums) / sums[0]


def main() -> int:
    parser = arguments.parser(__doc__, 4000, "samples", "the signal")
    chosen = parser.parse_args()
    if chosen.size <= LAGS:
        parser.error(f"expected more than {LAGS} samples")
    signal = problem(chosen.size, chosen.seed)
    correlation = solve(signal, chosen.machine)
    dip = int(np.argmax(correlation < 0))
    print(f"a period of {dip + int(np.argmax(correlation[dip:]))} samples")
    exact = signal.astype(np.float64) - signal.mean(dtype=np.float64)
    wanted = np.correlate(exact, exact, "full")[chosen.size - 1 :][:LAGS]
    return arguments.verdict(np.allclose(correlation, wanted / wanted[0], atol=1e-3), "sums must be those of numpy")


if __name__ == "__main__":
    sys.exit(main())

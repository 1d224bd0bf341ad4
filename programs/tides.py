"""A tide table: water levels from the tides of moon and sun, high waters, and how long a bank is dry.

    python programs/tides.py [--size 1000] [--machine here] [--seed 1]

A processor has a time, a quarter of an hour after the one before. The level is a sum of constituents (Doodson 1921,
speeds as tide tables list them); high waters lie between samples, on a parabola, and rise from the low water before,
which a scan brings. Checked sample by sample. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np

from weft import pvar

STEP = 0.25
SPEEDS = (28.984104, 30.0, 28.439730, 15.041069, 13.943036, 30.082137, 14.958931, 57.968208)
"""Degrees an hour of M2, S2, N2, K1, O1, K2, P1 and M4."""
TYPICAL = (1.6, 0.5, 0.3, 0.15, 0.1, 0.14, 0.05, 0.1)
BANK = -0.4


def problem(size: int, seed: int = 1) -> tuple[int, np.ndarray, np.ndarray]:
    """How many samples, and amplitude and phase of each constituent at a port."""
    generator = np.random.default_rng(seed)
    return size, np.array(TYPICAL) * generator.uniform(0.6, 1.5, 8), generator.uniform(0, 2 * math.pi, 8)


def solve(port: tuple[int, np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, ...]:
    """Times, levels and rises of all high waters; for how many samples the bank is dry in all, and at most at once."""
    size, amplitudes, phases = port
    vp = pvar.VPSet(size, machine=machine)
    time, level = vp.address().astype(np.float64) * STEP, vp.zeros()
    for speed, amplitude, phase in zip(SPEEDS, amplitudes.tolist(), phases.tolist(), strict=True):
        level += pvar.cos(time * math.radians(speed) - phase) * amplitude
    before, after = (pvar.shift(level, step, boundary=99) for step in (-1, 1))
    is_high = (level > before) & (level >= after)
    is_low = (level < before) & (level <= after) & (vp.address() > 0)
    half = (before - after) * 0.5
    off = half / pvar.where(is_high, before - level * 2.0 + after, 1.0)
    high = level - half * off * 0.5
    rise = high - pvar.scan(level, "copy", segments=is_low)
    highs = int(pvar.reduce(is_high, "sum"))
    table = pvar.VPSet(max(highs, 1), machine=machine)
    with vp.where(is_high):
        number = vp.enumerate()
        lines = [pvar.send(one, number, vp=table) for one in (time + off * STEP, high, rise)]
    is_dry = level < BANK
    begins = is_dry & ~pvar.shift(is_dry, -1, boundary=False)
    lengths = pvar.scan(is_dry.astype(np.int32), "add", segments=begins)
    dry = np.array([pvar.reduce(is_dry, "sum"), pvar.reduce(lengths, "max")])
    return *(np.asarray(one)[:highs] for one in lines), dry


def expected(port: tuple[int, np.ndarray, np.ndarray]) -> tuple[np.ndarray, ...]:
    """The same, sample by sample."""
    size, amplitudes, phases = port
    angles = np.outer(np.arange(size) * STEP, np.deg2rad(SPEEDS)) - phases
    levels = (np.exp(1j * angles).real @ amplitudes).tolist()
    table, low, dry, longest, run = [], levels[0], 0, 0, 0
    for index, level in enumerate(levels):
        run = run + 1 if level < BANK else 0
        dry, longest = dry + (level < BANK), max(longest, run)
        if not 0 < index < size - 1:
            if index and level < levels[index - 1]:
                low = level
            continue
        around = levels[index - 1 : index + 2]
        if around[0] > level <= around[2]:
            low = level
        elif around[0] < level >= around[2]:
            square, slope, _ = np.polyfit([-1, 0, 1], around, 2).tolist()
            off = -slope / (2 * square)
            high = level + slope * off / 2
            table.append((index * STEP + off * STEP, high, high - low))
    return *np.array(table).reshape(-1, 3).T, np.array([dry, longest])


def main() -> int:
    parser = arguments.parser(__doc__, 1000, "samples", "the port")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one sample")
    port = problem(chosen.size, chosen.seed)
    answer = solve(port, chosen.machine)
    print(f"{len(answer[0])} high waters, the bank is dry for {answer[-1][0] * STEP} hours")
    pairs = list(zip(answer, expected(port), strict=True))
    right = all(one.shape == other.shape and np.allclose(one, other, atol=1e-8) for one, other in pairs)
    return arguments.verdict(right, "the tide table must be that of the samples one by one")


if __name__ == "__main__":
    sys.exit(main())

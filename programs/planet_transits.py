"""Planets that dim their star by a little, again and again: the period at which the light of dips adds up.

    python programs/planet_transits.py [--size 60] [--machine here] [--seed 1]

A processor has a measurement, folded at a period that is tried; sends add up the light of each phase, and windows of
some phases are compared with all others (the box search of Kovacs, Zucker and Mazeh, Astronomy and Astrophysics 391,
2002). Checked with numpy, period by period. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

NIGHTS, PHASES = 600, 50
WIDTHS = (2, 3, 5)


class Light(NamedTuple):
    """Days and brightness of the measurements, and the periods to try."""

    day: np.ndarray
    flux: np.ndarray
    periods: np.ndarray


def problem(size: int, seed: int = 1) -> Light:
    """A star whose light is less for a twentieth of a period, in noise."""
    generator = np.random.default_rng(seed)
    day = np.sort(generator.uniform(0, 90, NIGHTS))
    periods = np.linspace(2, 8, size)
    period = periods[generator.integers(size)]
    dims = (day / period + generator.random()) % 1 < 0.05
    return Light(day, (generator.normal(0, 0.002, NIGHTS) - 0.008 * dims).astype(np.float32), periods)


def solve(light: Light, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """How much each period's deepest dip stands out; number, first phase and width of the best of all."""
    size = len(light.periods)
    vp, folded = (pvar.VPSet((size, extent), machine=machine) for extent in (NIGHTS, PHASES))
    nights, trials = pvar.VPSet(NIGHTS, machine=machine), pvar.VPSet(size, machine=machine)
    trial, night = vp.coordinate(0), vp.coordinate(1)
    day, flux = (pvar.get(nights.array(one), night) for one in light[:2])
    cycles = day / pvar.get(trials.array(light.periods), trial)
    phase = ((cycles - np.floor(cycles)) * PHASES).astype(np.int32)
    dimmed = pvar.send(flux, (trial, phase), combine="add", vp=folded)
    counts = pvar.send(1, (trial, phase), combine="add", vp=folded).astype(np.float32)
    best, wide = folded.zeros(np.float32), folded.zeros(np.int8)
    mean = dimmed.sum(axis=1) / NIGHTS
    for width in WIDTHS:
        inside, number = folded.zeros(np.float32), folded.zeros(np.float32)
        for by in range(width):
            inside += pvar.shift(dimmed, by, axis=1)
            number += pvar.shift(counts, by, axis=1)
        excess = inside - number * mean
        power = np.square(excess) / np.maximum(number * (NIGHTS - number), 1) * NIGHTS
        with folded.where((excess < 0) & (power > best)):
            best[...] = power
            wide[...] = width
    strength = best.max(axis=1)
    at = best.argmax()
    each = pvar.get(strength, (trials.address(), 0))
    return np.asarray(np.sqrt(each)), np.array([*at, wide[at]])


def expected(light: Light) -> tuple[np.ndarray, np.ndarray]:
    """The same by sorted phases, one period after the other."""
    strengths, best = [], (0.0, [0, 0, 0])
    flux = light.flux.astype(float) - light.flux.mean(dtype=float)
    for number, period in enumerate(light.periods):
        cycles = light.day / period
        phase = ((cycles - np.floor(cycles)) * PHASES).astype(int)
        strength = 0.0
        for first in range(PHASES):
            for width in WIDTHS:
                chosen = (phase - first) % PHASES < width
                count = chosen.sum()
                depth = -flux[chosen].sum()
                if depth > 0 and count < NIGHTS:
                    power = depth**2 * NIGHTS / (count * (NIGHTS - count))
                    strength = max(strength, power)
                    best = max(best, (power, [number, first, width]))
        strengths.append(strength)
    return np.sqrt(strengths), np.array(best[1])


def main() -> int:
    parser = arguments.parser(__doc__, 60, "periods", "the star")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one period")
    light = problem(chosen.size, chosen.seed)
    strength, best = solve(light, chosen.machine)
    print(f"the star dims every {light.periods[best[0]]:.3f} days, for {best[2] / PHASES:.0%} of them")
    wanted = expected(light)
    right = np.allclose(strength, wanted[0], rtol=1e-3) and np.array_equal(best, wanted[1])
    return arguments.verdict(bool(right), "dips must be as strong as those of sorted phases")


if __name__ == "__main__":
    sys.exit(main())

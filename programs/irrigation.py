"""The water of many fields through a season: rain, evaporation, and irrigation where it gets too dry.

    python programs/irrigation.py [--size 2000] [--machine here] [--seed 1]

A processor has a field with its soil, its crop and its farmer's patience; the weather is the same for all. What a crop
needs grows with the warmth it has had; what the soil does not hold runs off. Checked against numpy. Ends with code 1 if
the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

DAYS = 60
DOSE = 24.0


class Season(NamedTuple):
    """Rain, evaporation and warmth of each day; how much water the soils hold, and limits and needs of the crops."""

    weather: np.ndarray
    capacity: np.ndarray
    limit: np.ndarray
    ripe: np.ndarray


def problem(size: int, seed: int = 1) -> Season:
    """A dry summer."""
    generator = np.random.default_rng(seed)
    rain = np.where(generator.random(DAYS) < 0.2, generator.exponential(9, DAYS), 0.0)
    weather = np.stack([rain, generator.uniform(3, 8, DAYS), generator.normal(17, 4, DAYS)], axis=1)
    fields = generator.uniform([[60.0], [0.3], [300.0]], [[160.0], [0.6], [700.0]], (3, size))
    return Season(weather.astype(np.float32), *fields.astype(np.float32))


def solve(season: Season, machine: str = "here") -> np.ndarray:
    """Of each field: water at the end, doses that it got, what ran off, and the harvest."""
    vp = pvar.VPSet(season.capacity.shape, machine=machine)
    capacity, limit, ripe = (vp.array(one) for one in season[1:])
    water, warmth, lost, harvest = capacity * 0.75, vp.zeros(np.float32), vp.zeros(np.float32), vp.zeros(np.float32)
    doses, pause = vp.zeros(np.int8), vp.zeros(np.int8)
    for rain, evaporation, temperature in season.weather.tolist():
        warmth += max(temperature - 8.0, 0.0)
        stage = pvar.minimum(warmth / ripe, 1.0)
        need = (0.3 + stage * (1.7 - stage)) * evaporation
        taken = need * pvar.minimum(water / (capacity * 0.5), 1.0)
        with vp.where(stage < 1.0):
            harvest += taken / need
        water[...] = pvar.maximum(water - taken, 0.0) + rain
        dry = vp.where((water < limit * capacity) & (pause == 0))
        with dry:
            water += DOSE
            doses += 1
            pause[...] = 4
        with dry.otherwise():
            pause[...] = pvar.maximum(pause - 1, 0)
        with vp.where(water > capacity):
            lost += water - capacity
            water[...] = capacity
    return np.stack([np.asarray(one) for one in (water, doses.astype(np.float32), lost, harvest)])


def expected(season: Season) -> np.ndarray:
    """The same by numpy."""
    capacity, limit, ripe = season[1:]
    water = capacity * np.float32(0.75)
    warmth, lost, harvest, doses, pause = np.zeros((5, len(capacity)), np.float32)
    for rain, evaporation, temperature in season.weather:
        warmth = warmth + max(temperature - np.float32(8), np.float32(0))
        stage = np.minimum(warmth / ripe, 1)
        need = (np.float32(0.3) + stage * (np.float32(1.7) - stage)) * evaporation
        taken = need * np.clip(water / (capacity * np.float32(0.5)), None, 1)
        harvest = np.where(stage < 1, harvest + taken / need, harvest)
        water = np.clip(water - taken, 0, None) + rain
        dry = (water < limit * capacity) & (pause <= 0)
        doses, pause = doses + dry, np.where(dry, 4, pause - 1)
        water = water + np.float32(DOSE) * dry
        lost = lost + np.clip(water - capacity, 0, None)
        water = np.minimum(water, capacity)
    return np.stack([water, doses, lost, harvest])


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "fields", "the weather and the fields")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one field")
    season = problem(chosen.size, chosen.seed)
    answer = solve(season, chosen.machine)
    print(f"{answer[1].mean():.1f} doses a field, of which {answer[2].mean():.1f} mm ran off with the rain")
    return arguments.verdict(np.allclose(answer, expected(season), atol=1e-3), "water must be that of numpy")


if __name__ == "__main__":
    sys.exit(main())

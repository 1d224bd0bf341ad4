"""A calendar of the sun: when it rises and sets, on every day of a year at many latitudes.

    python programs/sunrise.py [--size 20] [--machine here] [--seed 1]

A processor has a day at a latitude. The sun's longitude follows from Kepler's equation to second order (Meeus,
Astronomical Algorithms, 1998, chapter 25), its declination from that; where it never rises or never sets there is no
time. Checked with vectors that are turned day by day. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np

from weft import pvar

DAYS = 365
TILT, ECCENTRICITY, PERIHELION = math.radians(23.4393), 0.016709, math.radians(282.94)
MEAN, RATE = math.radians(357.529), math.radians(0.98560028)
HORIZON = math.radians(-0.833)
"""Of the sun's upper limb, with refraction."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Latitudes in radians, of towns at random."""
    return np.random.default_rng(seed).uniform(math.radians(-80), math.radians(80), size)


def solve(latitudes: np.ndarray, machine: str = "here") -> tuple[np.ndarray, ...]:
    """Hours of rise and set, zero where there are none; of each latitude the longest day, and how many polar days."""
    vp = pvar.VPSet((len(latitudes), DAYS), machine=machine)
    line = pvar.VPSet(len(latitudes), machine=machine)
    latitude = pvar.get(line.array(latitudes), vp.coordinate(0))
    anomaly = MEAN + RATE * vp.coordinate(1).astype(np.float64)
    center = 2 * ECCENTRICITY * pvar.sin(anomaly) + 1.25 * ECCENTRICITY**2 * pvar.sin(2.0 * anomaly)
    longitude = anomaly + center + PERIHELION
    declination = pvar.asin(math.sin(TILT) * pvar.sin(longitude))
    ascension = pvar.atan2(math.cos(TILT) * pvar.sin(longitude), pvar.cos(longitude))
    off = anomaly + PERIHELION - ascension
    off -= 2 * math.pi * pvar.round(off / (2 * math.pi))
    numerator = math.sin(HORIZON) - pvar.sin(latitude) * pvar.sin(declination)
    denominator = pvar.cos(latitude) * pvar.cos(declination)
    cosine = numerator / denominator
    is_day, is_night = cosine < -1.0, cosine > 1.0
    half = pvar.acos(pvar.minimum(pvar.maximum(cosine, -1.0), 1.0)) * (12 / math.pi)
    noon = 12.0 - off * (12 / math.pi)
    rises, sets = vp.zeros(), vp.zeros()
    with vp.where(~is_day & ~is_night):
        rises[...] = noon - half
        sets[...] = noon + half
    longest = pvar.reduce(2.0 * half, "max", axis=1)
    polar = pvar.reduce(is_day.astype(np.int32), "sum", axis=1)
    return np.asarray(rises), np.asarray(sets), longest.numpy()[:, 0], polar.numpy()[:, 0]


def expected(latitudes: np.ndarray) -> tuple[np.ndarray, ...]:
    """The same, day by day, with the sun as a vector and the time by which the horizon turns."""
    rises, sets = np.zeros((len(latitudes), DAYS)), np.zeros((len(latitudes), DAYS))
    longest, polar = np.zeros(len(latitudes)), np.zeros(len(latitudes), int)
    for day in range(DAYS):
        mean = MEAN + RATE * day
        true = mean + 2 * ECCENTRICITY * math.sin(mean) + 1.25 * ECCENTRICITY**2 * math.sin(2 * mean)
        along = true + PERIHELION
        x, y, z = math.cos(along), math.sin(along) * math.cos(TILT), math.sin(along) * math.sin(TILT)
        # The time between the mean sun's noon and this one's, as an angle between two directions.
        turned = np.exp(1j * (mean + PERIHELION)) / complex(x, y)
        noon = 12 - math.atan2(turned.imag, turned.real) * 12 / math.pi
        for town, latitude in enumerate(latitudes.tolist()):
            up, over = math.sin(latitude) * z, math.cos(latitude) * math.hypot(x, y)
            cosine = (math.sin(HORIZON) - up) / over
            half = math.acos(min(max(cosine, -1), 1)) * 12 / math.pi
            longest[town] = max(longest[town], 2 * half)
            polar[town] += cosine < -1
            if abs(cosine) <= 1:
                rises[town, day], sets[town, day] = noon - half, noon + half
    return rises, sets, longest, polar


def main() -> int:
    parser = arguments.parser(__doc__, 20, "towns", "their latitudes")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one town")
    latitudes = problem(chosen.size, chosen.seed)
    answer = solve(latitudes, chosen.machine)
    print(f"the longest day has {answer[2].max():.2f} hours; {(answer[3] > 0).sum()} towns have polar days")
    pairs = zip(answer, expected(latitudes), strict=True)
    right = all(one.shape == other.shape and np.allclose(one, other, atol=1e-6) for one, other in pairs)
    return arguments.verdict(right, "times must be those of days one by one")


if __name__ == "__main__":
    sys.exit(main())

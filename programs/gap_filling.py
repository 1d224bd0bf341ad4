"""Readings of many stations without their gaps and faults, and the typical day of each station.

    python programs/gap_filling.py [--size 20] [--machine here] [--seed 1]

A processor has the reading of an hour, or NaN. Scans in both directions bring the nearest readings before and after to
it, and it takes what lies between them; what is far off the station's mean is then replaced by its neighbours. Checked
with numpy, station by station. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

HOURS, DAY = 336, 24
FAULT = 3.5
"""Standard deviations that a reading may be off."""


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Temperatures with gaps of some hours, and a few that are wrong."""
    generator = np.random.default_rng(seed)
    hour = np.arange(HOURS)
    readings = generator.uniform(5, 20, (size, 1)) + generator.uniform(2, 8, (size, 1)) * np.sin(hour * (np.pi / 12))
    readings += generator.normal(0, 0.5, (size, HOURS))
    readings += np.where(generator.random((size, HOURS)) < 0.004, generator.choice([-60.0, 60.0], (size, HOURS)), 0)
    missing = generator.random((size, HOURS)) < 0.08
    for _ in range(4):
        missing |= np.roll(missing, 1, axis=1) & (generator.random((size, HOURS)) < 0.6)
    missing[np.arange(size), generator.integers(0, HOURS, size)] = False
    return np.where(missing, np.nan, readings).astype(np.float32)


def solve(readings: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The readings without gaps and faults, the mean of each hour of the day, and faults and mean of each station."""
    vp = pvar.VPSet(readings.shape, machine=machine)
    days = pvar.VPSet((len(readings), DAY), machine=machine)
    reading = vp.array(readings)
    hour = vp.coordinate(1).astype(np.float32)
    known = ~pvar.isnan(reading)
    first = pvar.shift(known, -1, axis=1, boundary=True)
    before, since = (pvar.scan(one, "copy", axis=1, segments=known) for one in (reading, hour))
    after, until = (pvar.scan(one, "copy", axis=1, segments=first, direction="down") for one in (reading, hour))
    filled = before + (after - before) * ((hour - since) / np.maximum(until - since, 1))
    with vp.where(pvar.isnan(before)):
        filled[...] = after
    with vp.where(pvar.isnan(after)):
        filled[...] = before
    mean, deviation = filled.mean(axis=1), filled.std(axis=1)
    wrong = abs(filled - mean) > FAULT * deviation
    beside = (pvar.shift(filled, -1, axis=1) + pvar.shift(filled, 1, axis=1)) / 2
    filled[wrong] = beside
    station, clock = vp.coordinate(0), vp.coordinate(1) % DAY
    total = pvar.send(filled, (station, clock), combine="add", vp=days)
    typical = total / (HOURS / DAY)
    each = np.column_stack([wrong.sum(axis=1).numpy()[:, 0], filled.mean(axis=1).numpy()[:, 0]])
    return np.asarray(filled), np.asarray(typical), each


def expected(readings: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same, station by station."""
    filled, each = np.zeros(readings.shape), []
    hour = np.arange(HOURS)
    for number, reading in enumerate(readings.astype(float)):
        known = ~np.isnan(reading)
        own = np.interp(hour, hour[known], reading[known])
        wrong = abs(own - own.mean()) > FAULT * own.std()
        filled[number] = np.where(wrong, (np.roll(own, 1) + np.roll(own, -1)) / 2, own)
        each.append((wrong.sum(), filled[number].mean()))
    return filled, filled.reshape(len(filled), -1, DAY).mean(axis=1), np.array(each)


def main() -> int:
    parser = arguments.parser(__doc__, 20, "stations", "the readings")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one station")
    readings = problem(chosen.size, chosen.seed)
    answer = solve(readings, chosen.machine)
    print(f"{np.isnan(readings).sum()} readings were missing, {answer[2][:, 0].sum():.0f} were wrong")
    pairs = zip(answer, expected(readings), strict=True)
    right = all(np.allclose(one, other, rtol=1e-4, atol=1e-3) for one, other in pairs)
    return arguments.verdict(right, "readings must be those that numpy interpolates")


if __name__ == "__main__":
    sys.exit(main())

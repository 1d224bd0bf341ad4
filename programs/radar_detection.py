"""Echoes of a radar that stand out of noise: the threshold follows the mean of the cells around (CFAR).

    python programs/radar_detection.py [--size 200] [--machine here] [--seed 1]

A processor has a cell of the map of velocities and ranges. Means of the training cells on both sides are differences of
two scans, of the power's sums from either end (Finn and Johnson, RCA Review 29, 1968). Peaks above the threshold are
packed into a list. Checked cell by cell. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np

from weft import pvar

VELOCITIES = 16
GUARD, TRAINING = 2, 8
FALSE_ALARMS = 1e-4


def problem(size: int, seed: int = 1) -> np.ndarray:
    """The power of noise that grows with the range, and of some echoes."""
    generator = np.random.default_rng(seed)
    power = generator.exponential(1 + np.arange(size) / size, (VELOCITIES, size))
    for _ in range(4 + size // 20):
        power[generator.integers(VELOCITIES), generator.integers(size)] += generator.exponential(60)
    return power.astype(np.float32)


def solve(power: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Addresses of the cells with an echo, by how much each exceeds the mean, and how many each velocity has."""
    size = power.shape[1]
    vp = pvar.VPSet(power.shape, machine=machine)
    cell, distance = vp.array(power), vp.coordinate(1)
    wide = cell.astype(np.float64)
    training = vp.zeros(np.float64)
    for direction, sign in (("up", -1), ("down", 1)):
        sums = pvar.scan(wide, "add", axis=1, direction=direction)
        near = pvar.shift(sums, sign * (GUARD + 1), axis=1, boundary=0)
        training += near - pvar.shift(sums, sign * (GUARD + TRAINING + 1), axis=1, boundary=0)
    sides = (distance - GUARD, size - 1 - GUARD - distance)
    before, after = (pvar.minimum(pvar.maximum(one, 0), TRAINING) for one in sides)
    number = before + after
    cells = pvar.maximum(number, 1).astype(np.float64)
    mean = training / cells
    is_echo = wide > mean * cells * pvar.expm1(-math.log(FALSE_ALARMS) / cells)
    for step in (-1, 1):
        is_echo &= cell >= pvar.shift(cell, step, axis=1, boundary=0)
        is_echo &= cell >= pvar.shift(cell, step, axis=0)
    is_echo &= number > 0
    echoes = int(pvar.reduce(is_echo, "sum"))
    of_velocities = pvar.reduce(is_echo.astype(np.int32), "sum", axis=1)
    packed = pvar.VPSet(max(echoes, 1), machine=machine)
    with vp.where(is_echo):
        index = vp.enumerate()
        addresses = pvar.send(vp.address(), index, vp=packed)
        excess = pvar.send(pvar.log(cell / mean.astype(np.float32)), index, vp=packed)
    return np.asarray(addresses)[:echoes], np.asarray(excess)[:echoes], np.asarray(of_velocities)[:, 0]


def expected(power: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same, cell by cell."""
    addresses, excess, of_velocities = [], [], [0] * VELOCITIES
    size = power.shape[1]
    rows = power.astype(float).tolist()
    for row, line in enumerate(rows):
        for index, here in enumerate(line):
            before = line[max(index - GUARD - TRAINING, 0) : max(index - GUARD, 0)]
            around = before + line[index + GUARD + 1 : index + GUARD + TRAINING + 1]
            if not around:
                continue
            mean = sum(around) / len(around)
            if here <= mean * len(around) * (FALSE_ALARMS ** (-1 / len(around)) - 1):
                continue
            beside = [*line[max(index - 1, 0) : index + 2], rows[row - 1][index], rows[(row + 1) % VELOCITIES][index]]
            if here >= max(beside):
                addresses.append(row * size + index)
                excess.append(math.log(here) - math.log(mean))
                of_velocities[row] += 1
    return np.array(addresses), np.array(excess), np.array(of_velocities)


def main() -> int:
    parser = arguments.parser(__doc__, 200, "ranges", "noise and echoes")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one range")
    power = problem(chosen.size, chosen.seed)
    addresses, excess, of_velocities = solve(power, chosen.machine)
    print(f"{len(addresses)} echoes among {power.size} cells")
    wanted = expected(power)
    right = np.array_equal(addresses, wanted[0]) and np.array_equal(of_velocities, wanted[2])
    right = right and np.allclose(excess, wanted[1], rtol=1e-4, atol=1e-5)
    return arguments.verdict(right, "echoes must be those of each cell's own neighbours")


if __name__ == "__main__":
    sys.exit(main())

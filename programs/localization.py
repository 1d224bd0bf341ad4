"""Where a robot is, by a particle filter: guesses that move as it does and are drawn again by what it measures.

    python programs/localization.py [--size 2000] [--machine here] [--seed 1]

A processor has a guess of position and heading. What fits distances and the bearing of beacons gets many successors,
what does not gets none (Gordon, Salmond and Smith, IEE Proceedings F 140, 1993; drawn systematically): a scan of the
weights says which, sends and a scan tell them, and they fetch. Checked against numpy, with the same noise. Ends with
code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

STEPS, STRIDE, TURN = 12, 0.8, 0.25
BEACONS = ((0.0, 0.0), (10.0, 1.0), (4.0, 9.0))
DISTANCE_ERROR, BEARING_ERROR = 0.4, 0.1


class Journey(NamedTuple):
    """What is measured on the way, and the noise of the guesses."""

    distances: np.ndarray
    bearings: np.ndarray
    begin: np.ndarray
    noise: np.ndarray
    draws: np.ndarray


def problem(size: int, seed: int = 1) -> Journey:
    """A journey on an arc from a position near the middle."""
    generator = np.random.default_rng(seed)
    x, y, heading = 5 + generator.normal(), 4 + generator.normal(), generator.uniform(-np.pi, np.pi)
    begin = np.array([[x], [y], [heading]]) + generator.normal(0, [[1.0], [1.0], [0.3]], (3, size))
    distances, bearings = [], []
    for _ in range(STEPS):
        heading += TURN
        x, y = x + STRIDE * np.cos(heading), y + STRIDE * np.sin(heading)
        far = [np.hypot(x - east, y - north) for east, north in BEACONS]
        distances.append(far + generator.normal(0, DISTANCE_ERROR, len(BEACONS)))
        bearing = np.arctan2(BEACONS[0][1] - y, BEACONS[0][0] - x) - heading
        bearings.append(bearing + generator.normal(0, BEARING_ERROR))
    noise = generator.normal(0, [[0.1], [0.05]], (STEPS, 2, size))
    return Journey(np.array(distances), np.array(bearings), begin, noise, generator.uniform(0.1, 0.9, STEPS))


def solve(journey: Journey, machine: str = "here") -> np.ndarray:
    """The mean guess of the position after each step, and the number of different guesses that go on."""
    vp = pvar.VPSet(journey.begin.shape[1], machine=machine)
    x, y, heading = (vp.array(one) for one in journey.begin)
    answer = []
    for distances, bearing, noise, draw in zip(*journey[:2], *journey[3:], strict=True):
        heading = heading + vp.array(noise[1]) + TURN
        stride = vp.array(noise[0]) + STRIDE
        x, y = x + stride * pvar.cos(heading), y + stride * pvar.sin(heading)
        off = pvar.remainder(
            pvar.atan2(BEACONS[0][1] - y, BEACONS[0][0] - x) - heading - float(bearing) + np.pi, 2 * np.pi
        )
        unlikely = pvar.square((off - np.pi) / BEARING_ERROR)
        for (east, north), distance in zip(BEACONS, distances.tolist(), strict=True):
            unlikely = unlikely + pvar.square((pvar.hypot(x - east, y - north) - distance) / DISTANCE_ERROR)
        weight = pvar.exp((pvar.reduce(unlikely, "min") - unlikely) * 0.5)
        total = pvar.reduce(weight, "sum")
        answer.append([pvar.reduce(weight * x, "sum") / total, pvar.reduce(weight * y, "sum") / total])
        after = pvar.ceil(pvar.scan(weight, "add") * (vp.size / total) - float(draw)).astype(np.int32)
        first = pvar.shift(after, -1, boundary=0)
        parent = vp.zeros(np.int32)
        with vp.where(after > first):
            pvar.send(vp.address(), first, into=parent)
            answer[-1].append(pvar.reduce(vp.full(True), "count"))
        parent = pvar.scan(parent, "max")
        x, y, heading = (pvar.get(one, parent) for one in (x, y, heading))
    return np.array(answer)


def expected(journey: Journey) -> np.ndarray:
    """The same by numpy: the parent of each guess is looked for among the sums of weights."""
    state, answer = journey.begin, []
    size = state.shape[1]
    beacons = np.array(BEACONS)
    for step in range(STEPS):
        stride, turn = journey.noise[step]
        heading = state[2] + TURN + turn
        position = state[:2] + (STRIDE + stride) * np.stack([np.cos(heading), np.sin(heading)])
        apart = beacons[:, :, None] - position
        far = np.sqrt((apart**2).sum(axis=1)) - journey.distances[step][:, None]
        turned = np.exp(1j * (np.arctan2(apart[0, 1], apart[0, 0]) - heading - journey.bearings[step]))
        logarithm = -0.5 * ((far / DISTANCE_ERROR) ** 2).sum(axis=0) - 0.5 * (np.angle(turned) / BEARING_ERROR) ** 2
        weight = np.exp(logarithm - logarithm.max())
        weight /= weight.sum()
        parent = np.searchsorted(np.cumsum(weight), (np.arange(size) + journey.draws[step]) / size)
        answer.append([*(position @ weight), len(np.unique(parent))])
        state = np.stack([*position, heading])[:, np.minimum(parent, size - 1)]
    return np.array(answer)


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "guesses", "the journey and the noise")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one guess")
    journey = problem(chosen.size, chosen.seed)
    answer = solve(journey, chosen.machine)
    print(f"at the end near ({answer[-1, 0]:.2f}, {answer[-1, 1]:.2f}); {answer[-1, 2]:.0f} guesses have successors")
    return arguments.verdict(np.allclose(answer, expected(journey), rtol=1e-6), "guesses must be those of numpy")


if __name__ == "__main__":
    sys.exit(main())

"""When a wave gets everywhere underground, from a source within rock of changing speed.

    python programs/first_arrivals.py [--size 10] [--machine here] [--seed 1]

A processor is a point of a grid in three dimensions, and solves the eikonal equation with the earlier neighbour along
each axis (Rouy and Tourin, SIAM Journal on Numerical Analysis 29, 1992) until nothing becomes earlier. Checked with
Sethian's fast marching. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import heapq
import math
import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

NEVER = 1e6
EARLIER = 1e-5


class Rock(NamedTuple):
    """How long the wave takes from a point to the next, and where it begins."""

    slowness: np.ndarray
    source: tuple[int, int, int]


def problem(size: int, seed: int = 1) -> Rock:
    """Layers that are faster further down, and noise."""
    generator = np.random.default_rng(seed)
    layers = np.linspace(1.5, 0.7, size)[:, None, None]
    slowness = layers * generator.uniform(0.8, 1.2, (size, size, size))
    down, right, back = generator.integers(0, size, 3).tolist()
    return Rock(slowness.astype(np.float32), (down, right, back))


def solve(rock: Rock, machine: str = "here") -> tuple[np.ndarray, float, np.ndarray]:
    """When the wave is where, when it is everywhere, and when it gets to each level first."""
    vp = pvar.VPSet(rock.slowness.shape, machine=machine)
    slow = vp.array(rock.slowness)
    time = vp.full(NEVER, np.float32)
    time[rock.source] = 0
    while True:
        near = []
        for axis in range(3):
            sides = [pvar.shift(time, by, axis=axis, boundary=NEVER) for by in (-1, 1)]
            near.append(pvar.minimum(*sides))
        low, middle = pvar.minimum(near[0], near[1]), pvar.maximum(near[0], near[1])
        high = pvar.maximum(middle, near[2])
        middle = pvar.maximum(low, pvar.minimum(middle, near[2]))
        low = pvar.minimum(low, near[2])
        arrival = low + slow
        with vp.where(arrival > middle):
            gap = middle - low
            arrival[...] = 0.5 * (low + middle + pvar.sqrt(pvar.maximum(2 * slow * slow - gap * gap, 0)))
        with vp.where(arrival > high):
            first, second = middle - low, high - low
            total = first + second
            root = total * total - 3 * (first * first + second * second - slow * slow)
            arrival[...] = low + (total + pvar.sqrt(pvar.maximum(root, 0))) / 3
        earlier = arrival < time * (1 - EARLIER)
        if not pvar.reduce(earlier, "or"):
            break
        with vp.where(earlier):
            time[...] = arrival
    levels = pvar.reduce(pvar.reduce(time, "min", axis=2), "min", axis=1)
    return np.asarray(time), float(pvar.reduce(time, "max")), levels.numpy()[:, 0, 0]


def expected(rock: Rock) -> tuple[np.ndarray, float, np.ndarray]:
    """The same point by point, always the earliest of those beside points that are done."""
    time = np.full(rock.slowness.shape, np.inf)
    time[rock.source] = 0
    done, heap = set(), [(0.0, rock.source)]
    while heap:
        _, point = heapq.heappop(heap)
        if point in done:
            continue
        done.add(point)
        for other in beside(point, len(time)):
            if other not in done:
                arrival = update(time, other, float(rock.slowness[other]))
                if arrival < time[other]:
                    time[other] = arrival
                    heapq.heappush(heap, (arrival, other))
    return time, time.max(), time.min(axis=(1, 2))


def beside(point: tuple[int, ...], size: int) -> list[tuple[int, ...]]:
    """The neighbours of a point, axis by axis."""
    near = [tuple(one + by * (k == axis) for k, one in enumerate(point)) for axis in range(3) for by in (-1, 1)]
    return [other for other in near if min(other) >= 0 and max(other) < size]


def update(time: np.ndarray, point: tuple[int, ...], slow: float) -> float:
    """The root of the quadratic equation of as many neighbours as are earlier than it."""
    least = [math.inf] * 3
    for other in beside(point, len(time)):
        axis = next(k for k in range(3) if other[k] != point[k])
        least[axis] = min(least[axis], time[other])
    best = math.inf
    for number, one in enumerate(sorted(least), 1):
        if one >= best:
            break
        some = sorted(least)[:number]
        total = sum(some)
        root = max(total**2 - number * (sum(value**2 for value in some) - slow**2), 0)
        best = (total + math.sqrt(root)) / number
    return best


def main() -> int:
    parser = arguments.parser(__doc__, 10, "points along each side", "the rock")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one point")
    rock = problem(chosen.size, chosen.seed)
    answer = solve(rock, chosen.machine)
    print(f"the wave is everywhere after {answer[1]:.3f}")
    pairs = zip(answer, expected(rock), strict=True)
    right = all(np.allclose(one, other, rtol=2e-3, atol=1e-4) for one, other in pairs)
    return arguments.verdict(right, "arrivals must be those of fast marching")


if __name__ == "__main__":
    sys.exit(main())

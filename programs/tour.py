"""A short tour through many cities, made shorter by turning a part of it around, as long as that helps.

    python programs/tour.py [--size 30] [--machine here] [--seed 1]

A processor has a pair of roads of the tour, and knows by how much the tour is shorter when what lies between both is
travelled backwards (Croes, Oper. Res. 6, 1958). The best of all pairs is done, in each round. Distances are whole
numbers. Checked with Python's lists. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import math
import sys

import arguments
import numpy as np

from weft import pvar

WIDTH = 10_000


def problem(size: int, seed: int = 1) -> np.ndarray:
    """Where cities are, west to east and south to north."""
    return np.random.default_rng(seed).integers(0, WIDTH, (2, size)).astype(np.int32)


def solve(cities: np.ndarray, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The tour, and its length at first and after each round."""
    size = cities.shape[1]
    vp, line = pvar.VPSet((size, size), machine=machine), pvar.VPSet(size, machine=machine)
    east, north = (line.array(axis, copy=True) for axis in cities)
    # At first along strips, one to the north and the next to the south.
    strip = east * max(1, math.isqrt(size // 2)) // WIDTH
    along = pvar.where(strip % 2 == 0, north, -north)
    order = pvar.rank((along, strip))
    tour, east, north = (pvar.send(one, order) for one in (line.address(), east, north))
    first, second = vp.coordinate(0), vp.coordinate(1)
    address = line.address()
    road = distance(east - pvar.shift(east, 1), north - pvar.shift(north, 1))
    lengths = [road.sum()]
    while True:
        here, there = ((pvar.get(east, number), pvar.get(north, number)) for number in (first, second))
        straight = distance(here[0] - there[0], here[1] - there[1])
        following = pvar.shift(straight, (1, 1), axis=(0, 1))
        gain = pvar.get(road, first) + pvar.get(road, second) - straight - following
        with vp.where(first < second):
            if pvar.reduce(gain, "max", initial=0) <= 0:
                return np.asarray(tour), np.array(lengths)
            begin, end = gain.argmax()
        with line.where((address > begin) & (address <= end)):
            source = begin + 1 + end - address
            for one in (tour, east, north):
                one[...] = pvar.get(one, source)
        road = distance(east - pvar.shift(east, 1), north - pvar.shift(north, 1))
        lengths.append(road.sum())


def distance(east: pvar.ParallelVariable, north: pvar.ParallelVariable) -> pvar.ParallelVariable:
    """The nearest whole number."""
    right, up = east.astype(np.float64), north.astype(np.float64)
    return pvar.floor(pvar.sqrt(right * right + up * up) + 0.5).astype(np.int32)


def expected(cities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same with a list that is turned around in part, and a table of distances."""
    size = cities.shape[1]
    positions = cities.T.tolist()
    strips = max(1, math.isqrt(size // 2))

    def key(city: int) -> tuple[int, int]:
        strip = positions[city][0] * strips // WIDTH
        return strip, positions[city][1] * (1 if strip % 2 == 0 else -1)

    tour = sorted(range(size), key=key)
    table = np.rint(np.hypot(*(axis[:, None] - axis for axis in cities.astype(float)))).astype(int)
    lengths = []
    while True:
        of_tour = table[np.ix_(tour, tour)]
        road = np.array([of_tour[one, (one + 1) % size] for one in range(size)])
        lengths.append(road.sum())
        saved = np.add.outer(road, road) - of_tour - np.roll(of_tour, (-1, -1), axis=(0, 1))
        saved[np.tril_indices(size)] = 0
        begin, end = divmod(int(saved.argmax()), size)
        if saved[begin, end] <= 0:
            return np.array(tour), np.array(lengths)
        tour[begin + 1 : end + 1] = tour[begin + 1 : end + 1][::-1]


def main() -> int:
    parser = arguments.parser(__doc__, 30, "cities", "cities")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one city")
    cities = problem(chosen.size, chosen.seed)
    tour, lengths = solve(cities, chosen.machine)
    print(f"a tour of {lengths[-1]} instead of {lengths[0]} after {len(lengths) - 1} rounds")
    right = all(np.array_equal(one, other) for one, other in zip((tour, lengths), expected(cities), strict=True))
    return arguments.verdict(right, "the tour must be that of a list")


if __name__ == "__main__":
    sys.exit(main())

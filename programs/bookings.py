"""How full hotels get, by their bookings, and with how many others each of these overlaps.

    python programs/bookings.py [--size 2000] [--machine here] [--seed 1]

Arrivals and departures are put in order together, by hotel, day, and departures first; scans count who is there.
Whatever came before a booking's end and had not left at its begin overlaps with it. Checked hotel by hotel with
Python's bisect. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import bisect
import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

SEASON = 180


class Bookings(NamedTuple):
    """Hotel of each booking, day of arrival and of departure, and how many hotels there are."""

    hotel: np.ndarray
    arrival: np.ndarray
    departure: np.ndarray
    hotels: int


def problem(size: int, seed: int = 1) -> Bookings:
    """Bookings of large and small hotels, of a night or more."""
    generator = np.random.default_rng(seed)
    hotels = max(size // 40, 1)
    hotel = (hotels * generator.random(size) ** 1.5).astype(np.int16)
    arrival = generator.integers(0, SEASON, size).astype(np.int32)
    return Bookings(hotel, arrival, arrival + generator.geometric(0.25, size).astype(np.int32), hotels)


def solve(bookings: Bookings, machine: str = "here") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """With how many others each booking overlaps; of each hotel the most guests of a night, and nights with any."""
    size = len(bookings.hotel)
    vp, events = (pvar.VPSet(count, machine=machine) for count in (size, 2 * size))
    hotels = pvar.VPSet(bookings.hotels, machine=machine)
    number = events.address()
    arrives = number < size
    booking = pvar.where(arrives, number, number - size)
    hotel, arrival, departure = (pvar.get(vp.array(one), booking) for one in bookings[:3])
    day = pvar.where(arrives, arrival, departure)
    order = pvar.rank((arrives, day, hotel))
    hotel, day, comes = (pvar.send(one, order) for one in (hotel, day, arrives))
    begins = hotel != pvar.shift(hotel, -1, boundary=-1)
    guests = pvar.scan(pvar.where(comes, 1, -1), "add", segments=begins)
    until = pvar.shift(day, 1, boundary=0)
    full, nights = hotels.zeros(np.int32), hotels.zeros(np.int32)
    with events.where(guests > 0):
        pvar.send(guests.astype(np.int32), hotel, combine="max", into=full)
        pvar.send(until - day, hotel, combine="add", into=nights)
    arrived = pvar.scan(comes.astype(np.int32), "add")
    left = pvar.scan((~comes).astype(np.int32), "add")
    first = pvar.get(order, vp.address())
    last = pvar.get(order, vp.address() + size)
    overlaps = pvar.get(arrived, last) - pvar.get(left, first) - 1
    return np.asarray(overlaps), np.asarray(full), np.asarray(nights)


def expected(bookings: Bookings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same, hotel by hotel."""
    overlaps = np.zeros(len(bookings.hotel), int)
    full, nights = [0] * bookings.hotels, [0] * bookings.hotels
    for hotel in range(bookings.hotels):
        own = np.flatnonzero(bookings.hotel == hotel)
        stays = list(zip(bookings.arrival[own].tolist(), bookings.departure[own].tolist(), strict=True))
        starts, ends = sorted(one for one, _ in stays), sorted(one for _, one in stays)
        for number, (arrival, departure) in zip(own.tolist(), stays, strict=True):
            overlaps[number] = bisect.bisect_left(starts, departure) - bisect.bisect_right(ends, arrival) - 1
        taken = np.zeros(max(ends, default=0) + 1, int)
        for arrival, departure in stays:
            taken[arrival:departure] += 1
        full[hotel], nights[hotel] = int(taken.max()), int(np.count_nonzero(taken))
    return overlaps, np.array(full), np.array(nights)


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "bookings", "the bookings")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one booking")
    bookings = problem(chosen.size, chosen.seed)
    answer = solve(bookings, chosen.machine)
    print(f"a booking overlaps with {answer[0].mean():.2f} others; the fullest hotel has {answer[1].max()} guests")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(bookings), strict=True))
    return arguments.verdict(right, "guests must be those that are counted hotel by hotel")


if __name__ == "__main__":
    sys.exit(main())

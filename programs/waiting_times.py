"""How long customers wait at many desks, and how many are before them when they come.

    python programs/waiting_times.py [--size 50] [--machine here] [--seed 1]

A processor has a customer of a desk; when they come is random, how long they take is given. Who waits how long follows
from sums of the differences and from the least of the sums so far (Lindley 1952), both of them scans; who is still there
is looked for by halving among the departures. Checked customer by customer. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

CUSTOMERS = 100
MEAN = 1.0


class Answer(NamedTuple):
    """Times between arrivals, waits and numbers of people before each customer; the mean wait at each desk."""

    between: np.ndarray
    wait: np.ndarray
    before: np.ndarray
    mean: np.ndarray


def problem(size: int, seed: int = 1) -> np.ndarray:
    """How long customers take, by desk."""
    return np.random.default_rng(seed).gamma(2, 0.45 * MEAN, (size, CUSTOMERS))


def solve(times: np.ndarray, machine: str = "here") -> Answer:
    """Draws arrivals and follows all customers."""
    vp = pvar.VPSet(times.shape, machine=machine)
    service, customer = vp.array(times), vp.coordinate(1)
    between = -MEAN * pvar.log1p(-vp.rng(7).random())
    gain = pvar.where(customer == 0, 0.0, pvar.shift(service, -1, axis=1, boundary=0) - between)
    total = pvar.scan(gain, "add", axis=1)
    wait = total - pvar.minimum(pvar.scan(total, "min", axis=1), 0.0)
    arrival = pvar.scan(between, "add", axis=1)
    departure = arrival + wait + service
    # Departures up to `low` are before the arrival, those from `high` on are not.
    low, high = vp.zeros(np.int32), customer.copy()
    for _ in range(CUSTOMERS.bit_length()):
        middle = (low + high) >> 1
        gone = pvar.get(departure, (vp.coordinate(0), middle)) <= arrival
        searching = low < high
        low = pvar.where(searching & gone, middle + 1, low)
        high = pvar.where(searching & ~gone, middle, high)
    mean = pvar.reduce(wait, "mean", axis=1)
    return Answer(*(np.asarray(one) for one in (between, wait, customer - low, mean)))


def is_right(times: np.ndarray, answer: Answer) -> bool:
    """Whether customers who are served one after the other wait as long, and arrivals are as frequent as they should."""
    wait, waits = np.zeros(len(times)), []
    for number in range(CUSTOMERS):
        if number:
            wait = np.maximum(wait + times[:, number - 1] - answer.between[:, number], 0)
        waits.append(wait)
    arrivals = np.cumsum(answer.between, axis=1)
    departures = arrivals + np.transpose(waits) + times
    before = [
        np.arange(CUSTOMERS) - np.searchsorted(departure, arrival, side="right")
        for departure, arrival in zip(departures, arrivals, strict=True)
    ]
    drawn = abs(answer.between.mean() - MEAN) < 6 * MEAN / np.sqrt(times.size)
    return bool(
        drawn
        and np.allclose(answer.wait, np.transpose(waits))
        and np.array_equal(answer.before, before)
        and np.allclose(answer.mean[:, 0], np.mean(waits, axis=0))
    )


def main() -> int:
    parser = arguments.parser(__doc__, 50, "desks", "how long customers take")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one desk")
    times = problem(chosen.size, chosen.seed)
    answer = solve(times, chosen.machine)
    print(f"customers wait {answer.wait.mean():.2f} on average, behind {answer.before.max()} others at most")
    return arguments.verdict(is_right(times, answer), "customers must wait as long as one after the other")


if __name__ == "__main__":
    sys.exit(main())

"""An epidemic among people who meet at home and at work, from day to day.

    python programs/epidemic.py [--size 2000] [--machine here] [--seed 1]

People, homes and workplaces are three VP sets: the sick send to both, all fetch how many are sick there, and a hash of
person and day decides who is infected. Checked against numpy, with sets of the sick. Ends with code 1 if the check
fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

DAYS = 30
AT_HOME, AT_WORK = 0.15, 0.03
WORD = 2**32 - 1
HEALTHY, SICK, IMMUNE = 0, 1, 2


class People(NamedTuple):
    """Home and workplace of each, for how many days a sickness lasts, and the state at first."""

    home: np.ndarray
    work: np.ndarray
    lasts: np.ndarray
    state: np.ndarray


def problem(size: int, seed: int = 1) -> People:
    """People of whom one in a hundred is sick, and some are immune."""
    generator = np.random.default_rng(seed)
    home, work = (generator.integers(0, size // one + 1, size, dtype=np.int32) for one in (3, 15))
    state = generator.choice([HEALTHY, SICK, IMMUNE], size, p=[0.89, 0.01, 0.1])
    state[0] = SICK
    return People(home, work, generator.integers(3, 9, size, dtype=np.int8), state.astype(np.int8))


def solve(people: People, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """The state of all after the last day, and how many are sick on each day."""
    vp = pvar.VPSet(people.home.shape, machine=machine)
    homes, works = (pvar.VPSet(len(people.home) // one + 1, machine=machine) for one in (3, 15))
    home, work, lasts = (vp.array(one) for one in people[:3])
    state, left = vp.array(people.state, copy=True), lasts.copy()
    person, numbers = vp.address(np.int64) * 2_654_435_761, []
    for day in range(DAYS):
        at_home, at_work = homes.zeros(np.int32), works.zeros(np.int32)
        with vp.where(state == SICK):
            numbers.append(pvar.reduce(state == SICK, "sum"))
            pvar.send(1, home, combine="add", into=at_home)
            pvar.send(1, work, combine="add", into=at_work)
            left -= 1
        with vp.where(state == HEALTHY):
            force = AT_HOME * pvar.get(at_home, home).astype(np.float64)
            force += AT_WORK * pvar.get(at_work, work).astype(np.float64)
            hashed = (person + day * 40_503) & WORD
            for _ in range(2):
                hashed = ((hashed ^ hashed >> 16) * 73_244_475) & WORD
            infected = hashed.astype(np.float64) / WORD < -pvar.expm1(-force)
        with vp.where((state == SICK) & (left == 0)):
            state[...] = IMMUNE
        with vp.where((state == HEALTHY) & infected):
            state[...] = SICK
    return np.asarray(state), np.array(numbers)


def expected(people: People) -> tuple[np.ndarray, np.ndarray]:
    """The same by lists of the sick and their last days."""
    size = len(people.home)
    state, numbers = people.state.copy(), []
    sick = np.flatnonzero(state == SICK)
    last = np.where(state == SICK, people.lasts - 1, -1).astype(int)
    for day in range(DAYS):
        numbers.append(len(sick))
        at_home, at_work = (
            np.bincount(people.home[sick], minlength=size),
            np.bincount(people.work[sick], minlength=size),
        )
        healthy = np.flatnonzero(state == HEALTHY)
        luck = (healthy.astype(np.uint64) * np.uint64(2_654_435_761) + np.uint64(day * 40_503)).astype(np.uint32)
        for _ in range(2):
            luck = (luck ^ luck >> np.uint32(16)) * np.uint32(73_244_475)
        spared = np.exp(-AT_HOME * at_home[people.home[healthy]] - AT_WORK * at_work[people.work[healthy]])
        newly = healthy[luck / WORD < 1 - spared]
        state[sick[last[sick] == day]] = IMMUNE
        last[newly] = day + people.lasts[newly]
        state[newly] = SICK
        sick = np.flatnonzero(state == SICK)
    return state, np.array(numbers)


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "people", "the people")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one of the people")
    people = problem(chosen.size, chosen.seed)
    state, numbers = solve(people, chosen.machine)
    print(f"{numbers.max()} are sick on one day, {np.count_nonzero(state == HEALTHY)} never are")
    right = all(np.array_equal(one, other) for one, other in zip((state, numbers), expected(people), strict=True))
    return arguments.verdict(right, "the sick must be those of numpy")


if __name__ == "__main__":
    sys.exit(main())

"""A crowd that leaves a hall: each goes to a free neighbouring square that is nearer to a door.

    python programs/evacuation.py [--size 30] [--steps 20] [--machine here] [--seed 1]

A processor is a square (a floor-field automaton as of Burstedde et al., Physica A 295, 2001, without chance). Of
several who want the same square the one of the highest number gets it: wishes are sent with a maximum, and each fetches
whose came true. Checked person by person. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import arguments
import numpy as np

from weft import pvar

BLOCKED = 32_000
SIDES = ((0, -1), (0, 1), (1, -1), (1, 1))
"""Axis and distance of the neighbours, in the order in which the first of several as near is taken."""


class Hall(NamedTuple):
    """Who is on each square, 0 for nobody; steps to the nearest door; and how many steps to follow them for."""

    people: np.ndarray
    distance: np.ndarray
    steps: int


def problem(size: int, steps: int = 20, seed: int = 1) -> Hall:
    """A third of the squares are taken; there are doors in three walls."""
    generator = np.random.default_rng(seed)
    people = np.where(generator.random(size * size) < 0.35, generator.permutation(size * size) + 1, 0)
    doors = [(0, size // 3), (size - 1, size // 2), (size // 4, size - 1)]
    down, right = np.indices((size, size))
    distance = np.min([abs(down - row) + abs(right - column) for row, column in doors], axis=0)
    return Hall(people.reshape(size, size).astype(np.int32), distance.astype(np.int16), steps)


def solve(hall: Hall, machine: str = "here") -> tuple[np.ndarray, np.ndarray]:
    """Who is where in the end, and how many are inside and how many move, at each step."""
    size = len(hall.people)
    vp = pvar.VPSet(hall.people.shape, machine=machine)
    people, distance, own = vp.array(hall.people, copy=True), vp.array(hall.distance), vp.address()
    near = [pvar.shift(distance, by, axis=axis, boundary=BLOCKED) for axis, by in SIDES]
    numbers = []
    for _ in range(hall.steps):
        with vp.where(distance == 0):
            people[...] = 0
        best, target = distance.copy(), own.copy()
        for (axis, by), nearer in zip(SIDES, near, strict=True):
            taken = pvar.shift(people, by, axis=axis, boundary=1)
            with vp.where((taken == 0) & (nearer < best)):
                best[...] = nearer
                target[...] = own + by * (1 if axis else size)
        arriving, leaves = vp.zeros(np.int32), vp.zeros(np.bool_)
        with vp.where((people > 0) & (target != own)):
            pvar.send(people, target, combine="max", into=arriving)
            leaves[...] = pvar.get(arriving, target) == people
        numbers.append((pvar.reduce(people > 0, "sum"), pvar.reduce(leaves, "sum")))
        with vp.where(leaves):
            people[...] = 0
        people |= arriving
    return np.asarray(people), np.array(numbers)


def expected(hall: Hall) -> tuple[np.ndarray, np.ndarray]:
    """The same with a table of who is where, person by person."""
    size, distance = len(hall.people), hall.distance.tolist()
    where = {(row, column): int(hall.people[row, column]) for row, column in np.argwhere(hall.people > 0).tolist()}
    numbers = []
    for _ in range(hall.steps):
        where = {square: person for square, person in where.items() if distance[square[0]][square[1]]}
        wishes = {}
        for (row, column), person in where.items():
            around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
            free = [one for one in around if min(one) >= 0 and max(one) < size and one not in where]
            free = [one for one in free if distance[one[0]][one[1]] < distance[row][column]]
            if free:
                goal = min(free, key=lambda one: distance[one[0]][one[1]])
                wishes[goal] = max(wishes.get(goal, (0, None)), (person, (row, column)))
        numbers.append((len(where), len(wishes)))
        for goal, (person, square) in wishes.items():
            del where[square]
            where[goal] = person
    people = np.zeros((size, size), int)
    for square, person in where.items():
        people[square] = person
    return people, np.array(numbers)


def main() -> int:
    parser = arguments.parser(__doc__, 30, "squares along each side", "who is where")
    parser.add_argument("--steps", type=int, default=20, help="steps to follow them for (default 20)")
    chosen = parser.parse_args()
    if min(chosen.size, chosen.steps) < 1:
        parser.error("expected at least one square and one step")
    hall = problem(chosen.size, chosen.steps, chosen.seed)
    people, numbers = solve(hall, chosen.machine)
    print(f"{np.count_nonzero(hall.people)} people, {np.count_nonzero(people)} of them are inside in the end")
    right = all(np.array_equal(one, other) for one, other in zip((people, numbers), expected(hall), strict=True))
    return arguments.verdict(right, "people must be where each one's steps lead")


if __name__ == "__main__":
    sys.exit(main())

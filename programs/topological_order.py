"""In which round each task can be done, where some have to wait for others (Kahn 1962, all that can at once).

    python programs/topological_order.py [--size 2000] [--machine here] [--seed 1]

Each task counts what it waits for. In each round those that wait for nothing are done, and every edge from one of them
takes one from the count of the task at its other end. Checked against a walk in an order that is known. Ends with code
1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

EDGES = 3


def problem(size: int, seed: int = 1) -> tuple[int, np.ndarray, np.ndarray]:
    """How many tasks; from and to whom edges go: in a hidden order, from earlier to later ones not far away."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(size)
    earlier = rng.integers(0, size - 1, EDGES * size)
    later = np.minimum(earlier + rng.integers(1, max(2, size // 8), len(earlier)), size - 1)
    return size, order[earlier].astype(np.int32), order[later].astype(np.int32)


def solve(given: tuple[int, np.ndarray, np.ndarray], machine: str = "here") -> np.ndarray:
    """The round of each task."""
    size, source, target = given
    tasks, edges = pvar.VPSet(size, machine=machine), pvar.VPSet(len(source), machine=machine)
    begins, ends = edges.array(source), edges.array(target)
    waits = pvar.send(1, ends, combine="add", vp=tasks)
    done_in = tasks.full(-1, np.int32)
    number = 0
    while True:
        free = (waits == 0) & (done_in < 0)
        if not pvar.reduce(free, "or"):
            return np.asarray(done_in)
        with tasks.where(free):
            done_in[...] = number
        with edges.where(pvar.get(free, begins)):
            waits = waits - pvar.send(1, ends, combine="add", vp=tasks)
        number += 1


def expected(given: tuple[int, np.ndarray, np.ndarray]) -> np.ndarray:
    """By following edges until nothing changes: a task is one round after the last that it waits for."""
    size, source, target = given
    rounds = np.zeros(size, np.int64)
    while True:
        after = rounds.copy()
        np.maximum.at(after, target, rounds[source] + 1)
        if (after == rounds).all():
            return rounds
        rounds = after


def main() -> int:
    parser = arguments.parser(__doc__, 2000, "tasks", "the edges")
    chosen = parser.parse_args()
    if chosen.size < 2:
        parser.error("expected at least two tasks")
    given = problem(chosen.size, chosen.seed)
    found = solve(given, chosen.machine)
    print(f"{chosen.size} tasks in {found.max() + 1} rounds")
    return arguments.verdict(bool((found == expected(given)).all()), "rounds must be one after the last waited for")


if __name__ == "__main__":
    sys.exit(main())

"""Orders of jobs on machines in a row: many random orders, improved by exchanges of two jobs.

    python programs/flow_shop.py [--size 100] [--machine here] [--seed 1]

A processor has an order of all jobs, which pass all machines one after the other (Johnson, Naval Research Logistics
Quarterly 1, 1954). When the last machine is done follows from two running maxima; an exchange stays where that is not
later. Checked order by order. Ends with code 1 if the check fails.
"""

from __future__ import annotations

import sys

import arguments
import numpy as np

from weft import pvar

JOBS, MACHINES, ROUNDS = 9, 4, 12


def problem(size: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Minutes of each job on each machine, orders, and two places to exchange in each round."""
    generator = np.random.default_rng(seed)
    orders = generator.permuted(np.tile(np.arange(JOBS), (size, 1)), axis=1)
    places = generator.integers(0, JOBS, (ROUNDS, 2, size))
    return generator.integers(1, 60, (JOBS, MACHINES)), orders, places


def makespan(vp: pvar.VPSet, order: pvar.ProcessorArrays, minutes: pvar.ParallelVariable) -> pvar.ParallelVariable:
    """When the last machine is done with the last job."""
    free = [vp.zeros(np.int32) for _ in range(MACHINES)]
    for at in range(JOBS):
        job = order[at]
        for machine in range(MACHINES):
            ready = free[0] if not machine else pvar.maximum(free[machine], free[machine - 1])
            free[machine] = ready + pvar.get(minutes, (job, machine))
    return free[-1]


def solve(shop: tuple[np.ndarray, np.ndarray, np.ndarray], machine: str = "here") -> tuple[np.ndarray, ...]:
    """The orders in the end, when each is done, the best of all and how many are as good."""
    minutes, orders, places = shop
    vp = pvar.VPSet(len(orders), machine=machine)
    table = pvar.VPSet(minutes.shape, machine=machine).array(minutes.astype(np.int32))
    order = vp.arrays(JOBS, np.int32)
    for at in range(JOBS):
        order[at] = vp.array(orders[:, at].astype(np.int32))
    done = makespan(vp, order, table)
    for one, other in places:
        first, second = vp.array(one.astype(np.int32)), vp.array(other.astype(np.int32))
        job, next_job = order[first], order[second]
        order[first] = next_job
        order[second] = job
        then = makespan(vp, order, table)
        with vp.where(then > done):
            order[first] = job
            order[second] = next_job
        done = pvar.minimum(done, then)
    best = pvar.reduce(done, "min")
    return order.numpy(), np.asarray(done), np.array([best, pvar.reduce(done == best, "sum")])


def minutes_of(order: list[int], minutes: list[list[int]]) -> int:
    """When all is done, job by job."""
    free = [0] * MACHINES
    for job in order:
        at = 0
        for machine, taken in enumerate(minutes[job]):
            at = free[machine] = max(free[machine], at) + taken
    return free[-1]


def expected(shop: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[np.ndarray, ...]:
    """The same, order by order."""
    minutes, orders, places = shop[0].tolist(), shop[1].tolist(), shop[2]
    done = [minutes_of(order, minutes) for order in orders]
    for number, order in enumerate(orders):
        for first, second in places[:, :, number].tolist():
            changed = list(order)
            changed[first], changed[second] = order[second], order[first]
            if (then := minutes_of(changed, minutes)) <= done[number]:
                order[:], done[number] = changed, then
    return np.array(orders), np.array(done), np.array([min(done), done.count(min(done))])


def main() -> int:
    parser = arguments.parser(__doc__, 100, "orders", "jobs and orders")
    chosen = parser.parse_args()
    if chosen.size < 1:
        parser.error("expected at least one order")
    shop = problem(chosen.size, chosen.seed)
    answer = solve(shop, chosen.machine)
    print(f"all jobs are done after {answer[2][0]} minutes, by the median order after {np.median(answer[1]):.0f}")
    right = all(np.array_equal(one, other) for one, other in zip(answer, expected(shop), strict=True))
    return arguments.verdict(right, "orders must be those that are improved one by one")


if __name__ == "__main__":
    sys.exit(main())

"""Gets and sends of parallel variables on one rank and on two: what dividing the elements costs.

Each launch has one rank or two, in turn, and times every operation on variables of --elements float64 at random
addresses, on the slower rank. A ratio is of two launches that follow one another: two ranks over one. weft is imported
from this working tree (`make setup` first); --python names a Python with mpi4py and mpich.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

from benches import harness, ranks
from benches.benchmark import Benchmark, positive
from benches.harness import Call
from benches.recording import Report

OPERATIONS = ("get", "send overwriting", "send refusing", "send add")
LIMIT = 1.3
"""The most that two ranks may take of one rank's time."""
LAUNCH_LIMIT = 120


def calls(comm: object, elements: int) -> dict[str, Call]:
    """The operations on new variables, whose results are compared with numpy's."""
    import weft

    vp = weft.pvar.VPSet((elements,), comm=comm)
    random = np.random.default_rng(1)
    values, to = random.integers(-9, 10, elements).astype(float), random.permutation(elements)
    x, address, target = vp.array(values), vp.array(to), vp.zeros()
    sent = np.zeros(elements)
    sent[to] = values
    operations: dict[str, Call] = {
        "get": lambda: weft.pvar.get(x, address),
        "send overwriting": lambda: weft.pvar.send(x, address, combine="overwrite", into=target),
        "send refusing": lambda: weft.pvar.send(x, address, into=target),
        "send add": lambda: weft.pvar.send(x, address, combine="add", into=target),
    }
    for name, call in operations.items():
        target[...] = 0.0
        result = call()
        result = target if name != "get" else result
        if not np.array_equal(result.numpy(), values[to] if name == "get" else sent):
            sys.exit(f"{name} computes something else")
    return operations


def main(job: dict[str, int]) -> None:
    """A rank: seconds of each operation by rounds, on the slower rank."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    operations = calls(comm, job["elements"])

    def seconds(call: Call) -> float:
        call()
        comm.Barrier()
        return float(comm.allreduce(harness.timed(call, job["calls"]), MPI.MAX))

    sides = {name: (lambda call=call: seconds(call)) for name, call in operations.items()}
    rounds = harness.interleaved(sides, job["rounds"])
    if comm.rank == 0:
        print("RESULT " + json.dumps(rounds), flush=True)


def run(chosen: argparse.Namespace, report: Report) -> None:
    ranks.require(chosen.python)
    report.protocol = {
        "elements": chosen.elements,
        "launches": chosen.launches,
        "rounds": chosen.rounds,
        "processors": os.cpu_count(),
    }
    job = {"elements": chosen.elements, "rounds": chosen.rounds, "calls": chosen.calls}
    outcomes: dict[int, list[dict[str, list[float]]]] = {1: [], 2: []}
    for number in range(chosen.launches):
        for count in (1, 2) if number % 2 == 0 else (2, 1):
            outcomes[count].append(ranks.launch(chosen.python, "benches.pvar.over_ranks", job, count, LAUNCH_LIMIT))
    for name in OPERATIONS:
        times = {count: [min(outcome[name]) for outcome in outcomes[count]] for count in outcomes}
        report.samples({f"{count} ranks": times[count] for count in times}, words=chosen.elements, operation=name)
        for count, each in times.items():
            report.figure(f"{name}: ranks {count}", harness.spread([one * 1e3 for one in each]), "ms")
        ratio = harness.spread(harness.ratios(times[2], times[1]))
        report.figure(f"{name}: two ranks over one", ratio, "ratio", LIMIT, "at most")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--python", type=Path, default=Path(sys.executable),
                        help="the Python with mpi4py and mpich (default: this one)")  # fmt: skip
    parser.add_argument("--elements", type=positive, default=2 << 20, help="elements of a variable (default 2 Mi)")
    parser.add_argument("--launches", type=positive, default=5, help="launches of one rank and of two (default 5)")
    parser.add_argument("--rounds", type=positive, default=5, help="rounds of each launch (default 5)")
    parser.add_argument("--calls", type=positive, default=4, help="calls in one timing (default 4)")


BENCHMARK = Benchmark(
    "pvar-ranks",
    "gets and sends of parallel variables on two ranks beside one",
    "a minute",
    run,
    options,
    needs=ranks.NEEDS,
)

if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

"""Exchanges with neighbours: weft's `neighbor_alltoallv` beside `MPI_Neighbor_alltoallv`, interleaved in one launch.

Every topology at every length: both sides in turn, each for a round's share of 20 ms, on the slowest rank; the ratio,
weft's seconds over MPI's, is that of a round.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benches import harness, ranks
from benches.benchmark import Benchmark, positive, rounds_option
from benches.recording import Report

SECONDS = 0.02
COUNTS = (1, 16, 128, 1024, 8192)
"""Elements for each neighbour."""
LAUNCH_LIMIT = 600


def topologies(mpi: Any, comm: Any) -> Iterator[tuple[str, Any]]:
    """Communicators by name: what MPI programs have."""
    size, rank = comm.Get_size(), comm.Get_rank()
    yield "one neighbour", comm.Create_dist_graph_adjacent([(rank + 1) % size], [(rank - 1) % size])
    yield "3-D torus", comm.Create_cart(mpi.Compute_dims(size, 3), periods=[True] * 3)
    yield "2-D mesh", comm.Create_cart(mpi.Compute_dims(size, 2), periods=[False] * 2)
    # As a mesh whose parts share several patches: eight edges between the same ranks.
    others = [other for other in range(size) if other != rank]
    yield "eight patches", comm.Create_dist_graph_adjacent(others * 8, others * 8)


def degree(mpi: Any, comm: Any) -> tuple[int, int]:
    """Edges in and out."""
    if comm.Get_topology() == mpi.CART:
        return 2 * comm.Get_dim(), 2 * comm.Get_dim()
    into, out, *_ = comm.Get_dist_neighbors_count()
    return into, out


def compare(mpi: Any, comm: Any, count: int, rounds: int) -> dict[str, Any]:
    """Seconds of both sides by rounds, and what is exchanged."""
    from weft.distributed.neighbor import neighbor_alltoallv, neighbor_choice

    into, out = degree(mpi, comm)
    send = [np.arange(out * count, dtype=np.float64), [count] * out]
    receive = [np.zeros(into * count), [count] * into]
    neighbor_alltoallv(comm, send, receive)

    def timed(call: harness.Call, calls: int) -> float:
        comm.Barrier()
        return float(comm.allreduce(harness.timed(call, calls), mpi.MAX))

    def by_mpi() -> None:
        comm.Neighbor_alltoallv(send, receive)

    calls = max(4, int(SECONDS / rounds / max(timed(by_mpi, 10), 1e-7)))
    calls = comm.allreduce(calls, mpi.MIN)
    choice = neighbor_choice(comm)
    sides: dict[str, Callable[[], float]] = {
        "MPI": lambda: timed(by_mpi, calls),
        "weft": lambda: timed(lambda: neighbor_alltoallv(comm, send, receive), calls),
    }
    seconds = harness.interleaved(sides, rounds)
    return {"bytes": 8 * count, "edges": out, "route": choice.strategy if choice else "", "seconds": seconds}


def rank_main(job: dict[str, Any]) -> None:
    from mpi4py import MPI

    rows = []
    for count in COUNTS:
        for name, comm in topologies(MPI, MPI.COMM_WORLD):
            rows.append({"topology": name, **compare(MPI, comm, count, job["rounds"])})
            comm.Free()
    if MPI.COMM_WORLD.Get_rank() == 0:
        library = MPI.Get_library_version().splitlines()[0]
        print("RESULT " + json.dumps({"library": library, "rows": rows}), flush=True)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--python", type=Path, default=Path(sys.executable),
                        help="the Python with mpi4py and mpich (default: this one)")  # fmt: skip
    parser.add_argument("--ranks", type=positive, default=2, help="ranks (default 2)")
    rounds_option(parser, 15)


def run(chosen: argparse.Namespace, report: Report) -> None:
    ranks.require(chosen.python)
    outcome = ranks.launch(chosen.python, __name__, {"rounds": chosen.rounds}, chosen.ranks, LAUNCH_LIMIT)
    report.protocol = {"ranks": chosen.ranks, "rounds": chosen.rounds, "library": outcome["library"]}
    for row in outcome["rows"]:
        where = f"{row['topology']}, {row['bytes']} bytes"
        seconds = row["seconds"]
        report.figure(f"{where}: weft/MPI", harness.spread(harness.ratios(seconds["weft"], seconds["MPI"])), "ratio")
        for side, times in seconds.items():
            report.figure(f"{where}: {side}", harness.spread(times), "s", quiet=True)
        report.notes[f"{where}: route"] = row["route"]
        report.samples(seconds, ranks=chosen.ranks, bytes=row["bytes"], pattern=row["topology"])


BENCHMARK = Benchmark(
    "neighbor", "exchanges with neighbours beside MPI_Neighbor_alltoallv", "a minute", run, options, needs=ranks.NEEDS
)

if __name__ == "__main__":
    rank_main(json.loads(sys.argv[1]))

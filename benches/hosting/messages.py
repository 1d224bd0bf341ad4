"""Messages of mpi4py ranks in virtual time, per second of processor time: a ring in which every rank passes on.

Every rank sends to the next and receives from the one before, by `Comm.Sendrecv` of one number, with link contention.
The processor time is that of the whole process from the first message to the last. All-reduces of one number among all
ranks are timed the same way.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from benches.benchmark import Benchmark, Need, positive
from benches.harness import spread
from benches.recording import Report

RANKS = {2: None, 64: None, 1024: 250_000.0}
"""Ranks of the runs, and how many messages a second they are to reach."""

ALLREDUCE_RANKS = 1024

ALLREDUCES = 300.0
"""All-reduces a second that so many ranks are to reach."""

MACHINE = "frontera"

PROGRAM = """
import sys, time
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size, rounds = comm.rank, comm.size, int(sys.argv[1])
out, into = np.zeros(1), np.zeros(1)
comm.Barrier()
start = time.process_time()
for _ in range(rounds):
    comm.Sendrecv(out, (rank + 1) % size, 0, into, (rank - 1) % size, 0)
comm.Barrier()
if rank == 0:
    print(rounds * size / (time.process_time() - start))
"""

ALLREDUCE = """
import sys, time
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rounds = int(sys.argv[1])
out, into = np.zeros(1), np.zeros(1)
comm.Barrier()
start = time.process_time()
for _ in range(rounds):
    comm.Allreduce(out, into)
if comm.rank == 0:
    print(rounds / (time.process_time() - start))
"""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--messages", type=positive, default=300_000, help="messages of each run (default 300000)")
    parser.add_argument("--allreduces", type=positive, default=200, help="all-reduces of each run (default 200)")
    parser.add_argument("--rounds", type=positive, default=5, help="runs of each number of ranks (default 5)")


def rate(source: str, ranks: int, count: int) -> float:
    """What one run of a program prints that is handed a count: how many of what it does it did in a second."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(source)
        weft = [sys.executable, "-m", "weft.cli.main", "run", "--on", MACHINE, "-n", str(ranks)]
        done = subprocess.run([*weft, str(program), str(count)], check=True, capture_output=True, text=True)
    return float(done.stdout)


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {
        "messages": chosen.messages,
        "allreduces": chosen.allreduces,
        "rounds": chosen.rounds,
        "machine": MACHINE,
    }
    for ranks, target in RANKS.items():
        rates = [rate(PROGRAM, ranks, chosen.messages // ranks) for _ in range(chosen.rounds)]
        report.figure(f"{ranks} ranks", spread(rates), "messages/s", target, "at least")
    rates = [rate(ALLREDUCE, ALLREDUCE_RANKS, chosen.allreduces) for _ in range(chosen.rounds)]
    report.figure(f"{ALLREDUCE_RANKS} ranks, all-reduce", spread(rates), "1/s", ALLREDUCES, "at least")


BENCHMARK = Benchmark(
    "hosted-messages",
    "messages of mpi4py ranks in virtual time",
    "a minute",
    run,
    options,
    needs=(Need("mpi4py", "package", required=True), Need("greenlet", "package", required=True)),
)

"""Messages of compiled ranks in virtual time, a process each, per second of processor time.

The ranks of a C program send to each other in pairs and wait for what comes back, by `MPI_Send` and `MPI_Recv` of 64
bytes.
The processor time is that of all processes of `weft run`, less that of a run with a hundredth of the messages.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from benches.benchmark import Benchmark, Need, SkippedError, positive
from benches.harness import spread
from benches.recording import Report

RANKS = {2: None, 64: 100_000.0, 1024: 20_000.0}
"""Ranks of the runs, and how many messages a second they are to reach."""

MACHINE = "frontera"

PROGRAM = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, rounds = atoi(argv[1]);
    char bytes[64] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < rounds; i++) {
        if (rank % 2) MPI_Recv(bytes, 64, MPI_CHAR, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(bytes, 64, MPI_CHAR, rank ^ 1, 0, MPI_COMM_WORLD);
        if (rank % 2 == 0) MPI_Recv(bytes, 64, MPI_CHAR, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
"""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--messages", type=positive, default=200_000, help="messages of each run (default 200000)")
    parser.add_argument("--rounds", type=positive, default=5, help="runs of each number of ranks (default 5)")


def compiled(folder: Path) -> Path:
    """The program, built against the headers of the MPICH wheel."""
    data = Path(sysconfig.get_path("data"))
    if not (data / "include" / "mpi.h").exists():
        raise SkippedError("the headers of the MPICH wheel are not installed")
    source, program = folder / "pairs.c", folder / "pairs"
    source.write_text(PROGRAM)
    subprocess.run(
        ["cc", "-O2", f"-I{data}/include", "-o", str(program), str(source), f"-L{data}/lib", "-lmpi"], check=True
    )
    return program


def seconds(program: Path, ranks: int, rounds: int) -> float:
    """Processor time of a run, of all its processes."""
    weft = [sys.executable, "-m", "weft.cli.main", "run", "--on", MACHINE, "-n", str(ranks)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*weft, str(program), str(rounds)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rate(program: Path, ranks: int, messages: int) -> float:
    """Messages a second."""
    rounds = max(messages // ranks, 1)
    few = max(rounds // 100, 1)
    start = seconds(program, ranks, few)
    return (rounds - few) * ranks / (seconds(program, ranks, rounds) - start)


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {"messages": chosen.messages, "rounds": chosen.rounds, "machine": MACHINE}
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        for ranks, target in RANKS.items():
            rates = [rate(program, ranks, chosen.messages) for _ in range(chosen.rounds)]
            report.figure(f"{ranks} ranks", spread(rates), "messages/s", target, "at least")


BENCHMARK = Benchmark(
    "compiled-messages",
    "messages of compiled ranks in virtual time",
    "three minutes",
    run,
    options,
    needs=(Need("cc", "program", required=True),),
)

"""Messages of compiled ranks in virtual time, a process each, per second of processor time.

The ranks of a C program send to each other in pairs and wait for what comes back, by `MPI_Send` and `MPI_Recv` of 64
bytes. The processor time is that of all processes of `weft run` between the first message and the last: the program
asks the system for that of its ranks and of the process that runs the simulator, so that starting processes is none of
it. The targets are of one processor, on which all of them run, and where a turn is a switch; on several a turn wakes
one that has gone idle, which takes processor time as well.

Beside it so many processes take turns with one that hands over nothing but the turn, as every message needs it at least
once: what of a message is the system's, and no library of this design could be without.

Also beside it the same program runs in SMPI, the MPI of SimGrid, where that is installed (Debian: `simgrid` and
`libsimgrid-dev`): compiled for it with `smpicc`, its ranks are in one process, on a cluster of as many hosts;
computation is not simulated on either side.
"""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benches.benchmark import Benchmark, Need, positive
from benches.harness import interleaved, ratios, spread
from benches.hosting.compiling import compiled
from benches.recording import Report

RANKS = {2: None, 64: 100_000.0, 1024: 20_000.0}
"""Ranks of the runs, and how many messages a second they are to reach on one processor."""

MACHINE = "frontera"

EACH = 400
"""Messages that each rank sends at least."""

PROGRAM = """
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
static double own(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}
#ifdef ONE_PROCESS
static double used(int rank) { return rank ? 0 : own(); }
#else
static double used(int rank) {
    clockid_t clock;
    struct timespec time = {0, 0};
    if (rank == 0 && clock_getcpuclockid(getppid(), &clock) == 0) clock_gettime(clock, &time);
    return own() + time.tv_sec + time.tv_nsec * 1e-9;
}
#endif
int main(int argc, char **argv) {
    int rank, size, rounds = atoi(argv[1]);
    double seconds, all;
    char bytes[64] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    seconds = used(rank);
    for (int i = 0; i < rounds; i++) {
        if (rank % 2) MPI_Recv(bytes, 64, MPI_CHAR, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(bytes, 64, MPI_CHAR, rank ^ 1, 0, MPI_COMM_WORLD);
        if (rank % 2 == 0) MPI_Recv(bytes, 64, MPI_CHAR, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    seconds = used(rank) - seconds;
    MPI_Reduce(&seconds, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%.9g\\n", (double)rounds * size / all);
    MPI_Finalize();
    return 0;
}
"""


SWITCHES = """
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void give(_Atomic int *side, int to) {
    atomic_store(side, to);
    syscall(SYS_futex, side, FUTEX_WAKE, 1, 0, 0, 0);
}
static void await(_Atomic int *side, int wanted) {
    int value;
    while ((value = atomic_load(side)) != wanted) syscall(SYS_futex, side, FUTEX_WAIT, value, 0, 0, 0);
}
static double seconds(int whose) {
    struct rusage usage;
    getrusage(whose, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}
int main(int argc, char **argv) {
    int ranks = atoi(argv[1]), rounds = atoi(argv[2]);
    _Atomic int *sides = mmap(0, 64 * ranks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int rank = 0; rank < ranks; rank++)
        if (fork() == 0) {
            for (int round = 0; round < rounds; round++) await(sides + 16 * rank, 1), give(sides + 16 * rank, 0);
            _exit(0);
        }
    double start = seconds(RUSAGE_SELF);
    for (int round = 0; round < rounds; round++)
        for (int rank = 0; rank < ranks; rank++) give(sides + 16 * rank, 1), await(sides + 16 * rank, 0);
    while (wait(0) > 0) ;
    printf("%.9g\\n", (double)rounds * ranks / (seconds(RUSAGE_SELF) - start + seconds(RUSAGE_CHILDREN)));
}
"""
"""Processes that take turns with one, by the call of the system by which ranks and the simulator hand over theirs."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--messages", type=positive, default=200_000, help="messages of each run (default 200000)")
    parser.add_argument("--rounds", type=positive, default=5, help="runs of each number of ranks (default 5)")


PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="node-" suffix="" radical="0-{last}" speed="1Gf" bw="12.5GBps" lat="500ns"/>
</platform>
"""
"""What SMPI's ranks run on: hosts on one switch."""


def smpi(source: Path, folder: Path) -> Path:
    """The program compiled for SMPI."""
    program = folder / f"{source.stem}-smpi"
    smpicc = ["smpicc", "-O2", "-DONE_PROCESS", "-o", str(program), str(source)]
    subprocess.run(smpicc, check=True, capture_output=True)
    return program


def weft_command(program: Path, ranks: int) -> list[str]:
    """What runs the program in weft's virtual time."""
    return [sys.executable, "-m", "weft.cli.main", "run", "--on", MACHINE, "-n", str(ranks), str(program)]


def smpi_command(program: Path, ranks: int) -> list[str]:
    """What runs the program in SMPI's."""
    platform, hosts = program.parent / f"platform-{ranks}.xml", program.parent / f"hosts-{ranks}"
    platform.write_text(PLATFORM.format(last=ranks - 1))
    hosts.write_text("".join(f"node-{number}\n" for number in range(ranks)))
    where = ["-np", str(ranks), "-platform", str(platform), "-hostfile", str(hosts)]
    return ["smpirun", *where, "--cfg=smpi/simulate-computation:no", str(program)]


def rate(command: Sequence[str], ranks: int, messages: int, processors: set[int]) -> float:
    """Messages a second of processor time, as the program prints them, where all of it runs on these processors."""
    rounds = max(messages // ranks, EACH)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        done = subprocess.run([*command, str(rounds)], check=True, capture_output=True, text=True)
    finally:
        os.sched_setaffinity(0, before)
    return float(done.stdout)


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {"messages": chosen.messages, "each": EACH, "rounds": chosen.rounds, "machine": MACHINE}
    every = os.sched_getaffinity(0)
    one = {max(every)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "pairs.c"
        source.write_text(PROGRAM)
        program = compiled(source, folder)
        (folder / "switches.c").write_text(SWITCHES)
        switches = folder / "switches"
        subprocess.run(["cc", "-O2", "-o", str(switches), str(folder / "switches.c")], check=True, capture_output=True)
        beside = smpi(source, folder) if shutil.which("smpicc") and shutil.which("smpirun") else None
        for ranks, target in RANKS.items():
            weft = weft_command(program, ranks)
            commands = {"weft": (weft, one)}
            if len(every) > 1:
                commands["all"] = (weft, every)
            if beside is not None:
                commands["SMPI"] = (smpi_command(beside, ranks), one)
            commands["switches"] = ([str(switches), str(ranks)], one)
            sides = {
                side: functools.partial(rate, command, ranks, chosen.messages, processors)
                for side, (command, processors) in commands.items()
            }
            rates = interleaved(sides, chosen.rounds)
            report.figure(f"{ranks} ranks", spread(rates["weft"]), "messages/s", target, "at least")
            report.figure(f"{ranks} ranks, turns alone", spread(rates["switches"]), "turns/s")
            if "all" in rates:
                report.figure(f"{ranks} ranks, on {len(every)} processors", spread(rates["all"]), "messages/s")
            if beside is not None:
                report.figure(f"{ranks} ranks, SMPI", spread(rates["SMPI"]), "messages/s")
                quotient = spread(ratios(rates["weft"], rates["SMPI"]))
                report.figure(f"{ranks} ranks, weft to SMPI", quotient, "ratio")


BENCHMARK = Benchmark(
    "compiled-messages",
    "messages of compiled ranks in virtual time",
    "five minutes",
    run,
    options,
    needs=(Need("cc", "program", required=True), Need("smpicc", "program", hint="Debian's libsimgrid-dev")),
)

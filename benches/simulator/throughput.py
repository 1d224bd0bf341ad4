"""Messages per second of weft's simulator, beside SimGrid on the same workloads.

SimGrid is taken from the system and left out, with a message, where it is missing. Each workload is run several
times, weft and SimGrid in turn, on one processor, by processor time. Workloads (messages of 1000 bytes, links
contended for): ping-pong of 2 ranks; stepped all-to-all of 1,024 ranks on a 32x32 torus; ring of 16,384 ranks on a
128x128 torus; and, for weft alone, a barrier and an allreduce of 100,000 ranks, and the memory of a rank.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benches import building, harness
from benches.benchmark import Benchmark, Need, positive
from benches.recording import Report

# Workload, ranks, weft's count, SimGrid's count (fewer, so that a run of each takes about a second), messages/s wanted.
WORKLOADS = [
    ("ping-pong", 2, 2_000_000, 200_000, 5e6),
    ("all-to-all", 1024, 1023, 50, 3e6),
    ("ring", 16384, 150, 3, 5e6),
]
RANKS_OF_COLLECTIVES = 100_000
SECONDS_OF_COLLECTIVES = 5.0
BYTES_PER_RANK = 1024


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=positive, default=7, help="runs of each side (default 7)")
    parser.add_argument("--weft", help="weft's side, where it is built already: the release example throughput")


def build_simgrid(folder: str) -> Path | None:
    """The SimGrid program, or nothing, with a message, where SimGrid or a C++ compiler is missing."""
    compiler, program = shutil.which("c++"), Path(folder) / "baseline_simgrid"
    source = Path(__file__).with_name("baseline_simgrid.cpp")
    command = [compiler or "c++", "-O3", "-o", str(program), str(source), "-lsimgrid"]
    if compiler is None or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        print(f"left out: SimGrid: {source.name} does not compile here (Debian: libsimgrid-dev)", file=sys.stderr)
        return None
    return program


def outcome(program: str | Path, *words: object) -> dict[str, Any]:
    """One run on one processor: what it printed last."""
    pin = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    command = [*pin, str(program), *map(str, words)]
    printed: dict[str, Any] = json.loads(building.run(command, Path(program).name).splitlines()[-1])
    return printed


def rate(printed: dict[str, Any]) -> float:
    return float(printed["messages"] / printed["cpu_seconds"])


def compare(chosen: argparse.Namespace, simgrid: Path | None, workload: tuple[Any, ...], report: Report) -> None:
    name, ranks, count, simgrid_count, target = workload
    sides = {"weft": lambda: rate(outcome(chosen.weft, name, ranks, count))}
    if simgrid is not None:
        sides["SimGrid"] = lambda: rate(outcome(simgrid, name, ranks, simgrid_count))
    rates = harness.interleaved(sides, chosen.runs, name)
    where = f"{name}, {ranks} ranks"
    report.figure(f"{where}: weft", harness.spread(rates["weft"]), "messages/s", target, "at least")
    if simgrid is not None:
        report.figure(f"{where}: SimGrid", harness.spread(rates["SimGrid"]), "messages/s")
        report.figure(
            f"{where}: weft/SimGrid", harness.spread(harness.ratios(rates["weft"], rates["SimGrid"])), "ratio"
        )


def collectives(chosen: argparse.Namespace, report: Report) -> None:
    seconds = [outcome(chosen.weft, "collectives", RANKS_OF_COLLECTIVES, 1)["cpu_seconds"] for _ in range(chosen.runs)]
    name = f"barrier and allreduce, {RANKS_OF_COLLECTIVES} ranks: processor time"
    report.figure(name, harness.spread(seconds), "s", SECONDS_OF_COLLECTIVES, "at most")
    report.samples({"barrier and allreduce": seconds}, ranks=RANKS_OF_COLLECTIVES)


def memory(chosen: argparse.Namespace, report: Report) -> None:
    """Resident bytes per rank beyond its program's own state, from the peaks of a ring of few and of many ranks."""
    few, many = 1024, 65536
    first, second = (outcome(chosen.weft, "ring", ranks, 2) for ranks in (few, many))
    resident = (second["peak_kib"] - first["peak_kib"]) * 1024 / (many - few)
    program = second["program_bytes"]
    where = f"memory of a rank, {many} ranks"
    report.figure(f"{where}: resident", resident, "B")
    report.figure(f"{where}: of its program", program, "B")
    report.figure(f"{where}: beyond its program", resident - program, "B", BYTES_PER_RANK, "at most")


def run(chosen: argparse.Namespace, report: Report) -> None:
    chosen.weft = chosen.weft or building.example("weft-sim", "throughput")
    report.protocol = {"runs": chosen.runs, "time": "processor time, on one processor"}
    with tempfile.TemporaryDirectory() as folder:
        simgrid = build_simgrid(folder)
        for workload in WORKLOADS:
            compare(chosen, simgrid, workload, report)
    collectives(chosen, report)
    memory(chosen, report)


BENCHMARK = Benchmark(
    "simulator",
    "messages a second of the simulator beside SimGrid, and memory of a rank",
    "five minutes",
    run,
    options,
    needs=(Need("cargo", "program", required=True), Need("c++", "program", hint="SimGrid: libsimgrid-dev of Debian")),
)

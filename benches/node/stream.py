"""weft's STREAM beside a plain C program. Target: within 5% for every kernel and thread count.

Each round starts both programs once, in alternating order; a program reports the median pass of each kernel, and the
ratio, C's seconds over weft's, is taken within the round. Only plain stores are compared. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from pathlib import Path

from benches import building, harness
from benches.benchmark import Benchmark, Need, numbers, positive, rounds_option
from benches.recording import Report

KERNELS = ("copy", "scale", "add", "triad")
TARGET = 0.95


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 12)
    parser.add_argument("--passes", type=positive, default=10, help="passes of a kernel in one C run (default 10)")
    parser.add_argument("--bytes", type=positive, default=512 << 20, help="bytes of one array (default 512 MiB)")
    everyone = str(os.cpu_count() or 1)
    default = "1" if everyone == "1" else f"1,{everyone}"
    parser.add_argument(
        "--threads", type=numbers, default=default, help=f"thread counts, with commas (default {default})"
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds for a row of weft (default 0.5)")


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    if chosen.bytes < 64 or chosen.seconds <= 0:
        parser.error("bytes must be at least 64, seconds positive")


def build_c(folder: Path, threads: int) -> Path:
    """The serial program for one thread, OpenMP for more: as each would be built by hand."""
    source = Path(__file__).with_name("stream.c")
    return building.c_program(source, folder / f"stream-{threads}", "-lm", *["-fopenmp"] * (threads > 1))


def round_of_weft(program: str, chosen: argparse.Namespace, threads: int) -> dict[str, float]:
    words = ["--threads", str(threads), "--bytes", str(chosen.bytes), "--seconds", str(chosen.seconds)]
    command = [program, "--json", *words, "--variant", ",".join(KERNELS), "stream"]
    return {row["variant"]: row["seconds"] for row in json.loads(building.run(command, "weft's STREAM"))}


def round_of_c(program: Path, chosen: argparse.Namespace, threads: int) -> dict[str, float]:
    environment = {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true"}
    output = building.run([program, str(chosen.bytes), str(chosen.passes)], "the C baseline", environment)
    # The first pass touches pages the processor has not translated yet; weft does one unreported pass too.
    return {kernel: statistics.median(seconds[1:] or seconds) for kernel, seconds in json.loads(output).items()}


def compare(chosen: argparse.Namespace, weft: str, c: Path, threads: int, report: Report) -> None:
    sides = {
        "weft": lambda: round_of_weft(weft, chosen, threads),
        "C": lambda: round_of_c(c, chosen, threads),
    }
    rounds = harness.interleaved(sides, chosen.rounds, f"{threads} threads")
    for kernel in KERNELS:
        seconds = {side: [one[kernel] for one in runs] for side, runs in rounds.items()}
        moved = chosen.bytes * (2 if kernel in ("copy", "scale") else 3)
        ratio = harness.spread(harness.ratios(seconds["C"], seconds["weft"]))
        report.figure(f"{kernel}, {threads} threads: C/weft", ratio, "ratio", TARGET, "at least")
        for side, times in seconds.items():
            rate = harness.spread([moved / one / 1e6 for one in times])
            report.figure(f"{kernel}, {threads} threads: {side}", rate, "MB/s")
            report.samples({f"{kernel}, {side}": times}, bytes=chosen.bytes, threads=threads)


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {"rounds": chosen.rounds, "passes": chosen.passes, "baseline": "cc -O3 -march=native, stream.c"}
    weft = building.example("weft-suite", "node")
    with tempfile.TemporaryDirectory() as folder:
        for threads in chosen.threads:
            compare(chosen, weft, build_c(Path(folder), threads), threads, report)


BENCHMARK = Benchmark(
    "stream",
    "STREAM's four kernels beside a plain C program",
    "two minutes",
    run,
    options,
    check,
    (Need("cc", "program", required=True), Need("cargo", "program", required=True)),
)

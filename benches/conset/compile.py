"""The communication compiler: phases, link loads, predicted times and how long it takes, against bounds and targets.

Every workload is compiled by weft several times on one processor and, where that takes seconds, once by the compiler
of Feldmann, Stricker and Warfel 1993 (APR and AS as weft implements them). Every schedule is verified. Times are
those of the compilation with its lower bounds, without the verification. Published compilers (TE-CCL, TACCL, PCCL)
need solvers with licences or hours; docs/connection-sets.md compares with what their papers print.

A target of clocks below the certified bound, which the verifier has computed again, is out of anybody's reach; it is
no target then, and the notes say so. With an effort of 0 weft is never worse than the compiler of 1993, because that is
one of its candidates. Where that takes longer than is wanted, what trying it takes is a figure of its own: no
compilation that keeps this promise takes less.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
from pathlib import Path
from typing import Any

from benches import building, harness
from benches.benchmark import Benchmark, Need
from benches.recording import Report


def most_clocks(words: int) -> float:
    """The clocks of an all-to-all that are wanted: within 5% of what 8x8 nodes need for so many words each."""
    return 1.05 * (14256 + 128 * words)


# Name, pattern, extents, channels, words, effort, runs, baseline too, targets (most of what).
WORKLOADS: list[tuple[Any, ...]] = [
    ("torus", "torus", "8x8", 12, 1, 0, 5, True, {"phases": 1, "seconds": 0.1}),
    ("hypercube", "hypercube", "8x8", 12, 1, 0, 5, True, {"phases": 2, "seconds": 0.1}),
    ("hypercube, 16 channels", "hypercube", "8x8", 16, 1, 0, 5, True, {"phases": 1, "seconds": 0.1}),
    ("all-to-all", "all-to-all", "8x8", 12, 1, 0.1, 5, True, {"phases": 27, "seconds": 0.1}),
    ("all-to-all, 16 channels", "all-to-all", "8x8", 16, 1, 0.1, 5, True, {"phases": 20, "seconds": 0.1}),
    ("all-to-all, 32 words", "all-to-all", "8x8", 12, 32, 10, 3, False, {"clocks": most_clocks(32), "seconds": 10}),
    ("all-to-all, 256 words", "all-to-all", "8x8", 12, 256, 10, 3, False, {"clocks": most_clocks(256), "seconds": 10}),
    ("all-to-all, 2K words", "all-to-all", "8x8", 12, 2048, 1, 3, True,
     {"clocks": most_clocks(2048), "phases": 33, "link_loads": 66, "seconds": 10}),
    ("all-to-all, 16K words", "all-to-all", "8x8", 12, 16384, 1, 3, False,
     {"clocks": most_clocks(16384), "phases": 33, "link_loads": 66, "seconds": 10}),
    ("all-to-all, 256 nodes", "all-to-all", "16x16", 12, 1, 0, 3, False, {"phases": 193, "seconds": 1}),
    ("all-to-all, 1,024 nodes", "all-to-all", "32x32", 12, 1, 0, 1, False, {"phases": int(1.01 * 1451), "seconds": 60}),
    ("random 6-regular, 64 nodes", "random:6", "8x8", 12, 1, 0, 5, True, {"over_bound": 1, "seconds": 0.01}),
    ("transpose, 64 nodes", "transpose", "8x8", 12, 1, 0, 5, True, {"over_bound": 1, "seconds": 0.01}),
    ("random 6-regular, 1,024 nodes", "random:6", "32x32", 12, 1, 0, 5, False, {"over_bound": 1, "seconds": 0.1}),
    ("hypercube, 4,096 nodes", "hypercube", "64x64", 12, 1, 0, 3, False, {"over_bound": 1, "seconds": 1}),
    ("all-to-all, 4,096 nodes, nothing limited", "all-to-all", "16x16x16", "-", 1, 0, 3, False,
     {"phases": 1, "seconds": 10, "peak_bytes": 2e9}),
]  # fmt: skip


UNITS = {"clocks": "clocks", "seconds": "s", "verifying_seconds": "s", "peak_bytes": "bytes"}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--weft", help="weft's side, where it is built already: the release example compile")
    parser.add_argument("--only", help="only workloads whose name has this in it")
    parser.add_argument("--part-of", type=Path, metavar="FILE", help="add to this record")


def compiled(chosen: argparse.Namespace, workload: tuple[Any, ...], compiler: str, effort: float) -> dict[str, Any]:
    """What one compilation came to; the same seed each time: the schedule is the same, what differs is the time."""
    _, pattern, extents, channels, words, *_ = workload
    pin = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    command = [*pin, chosen.weft, pattern, extents, channels, words, compiler, effort, 0]
    output = building.run(list(map(str, command)), f"compiling {pattern} on {extents}")
    outcome: dict[str, Any] = json.loads(output.splitlines()[-1])
    return outcome


def compare(chosen: argparse.Namespace, workload: tuple[Any, ...], report: Report) -> None:
    name, *_, effort, runs, has_baseline, targets = workload
    outcomes = [compiled(chosen, workload, "weft", effort) for _ in range(runs)]
    weft = outcomes[0]
    seconds = [outcome["seconds"] for outcome in outcomes]
    figures = {**weft, "seconds": harness.spread(seconds), "over_bound": weft["phases"] - weft["bound"]}
    keys = ["phases", "bound", "over_bound", "link_loads", "clocks", "bound_clocks", "seconds"]
    for key in keys + [key for key in ("verifying_seconds", "peak_bytes") if "peak_bytes" in targets]:
        target = targets.get(key)
        if key == "clocks" and target is not None and weft["bound_clocks"] > target:
            report.notes[f"{name}: beyond the bound"] = (
                f"{target:.0f} clocks are below the bound, {weft['bound_clocks']:.0f}"
            )
            target = None
        report.figure(f"{name}: {key}", figures[key], UNITS.get(key, ""), target, "at most")
    candidate = [outcome["candidate_seconds"] for outcome in outcomes]
    if statistics.median(seconds) > targets.get("seconds", math.inf):
        rest = [all_ - tried for all_, tried in zip(seconds, candidate, strict=True)]
        report.figure(f"{name}: seconds of the candidate of 1993", harness.spread(candidate), "s")
        report.figure(f"{name}: seconds without it", harness.spread(rest), "s", targets.get("seconds"), "at most")
    report.samples({"weft": seconds}, pattern=name, compiler="weft", phases=weft["phases"])
    if has_baseline:
        apr = compiled(chosen, workload, "apr", 0)
        for key in ("phases", "link_loads", "clocks", "seconds"):
            report.figure(f"{name}: APR: {key}", apr[key], UNITS.get(key, ""))
        report.figure(f"{name}: predicted, APR/weft", apr["clocks"] / weft["clocks"], "ratio")


def run(chosen: argparse.Namespace, report: Report) -> None:
    chosen.weft = chosen.weft or building.example("weft-conset", "compile")
    if chosen.part_of is not None:
        report.continue_from(chosen.part_of)
        chosen.record = chosen.part_of
    for workload in WORKLOADS:
        if chosen.only is None or chosen.only in workload[0]:
            report.protocol[workload[0]] = dict(
                zip(("pattern", "extents", "channels", "words", "effort", "runs"), workload[1:7], strict=True)
            )
            compare(chosen, workload, report)


BENCHMARK = Benchmark(
    "conset-compile",
    "schedules of the communication compiler beside bounds and the compiler of 1993",
    "five minutes",
    run,
    options,
    needs=(Need("cargo", "program", required=True),),
)

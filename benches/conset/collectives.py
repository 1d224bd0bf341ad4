"""Allreduce by compiled trees in virtual time, beside the algorithms of MPI libraries on the same described machines.

On rail-h100 (256 accelerators) and tori of TPU v4 chips. Each length is compiled with the method `auto`, verified, and
executed by the simulator, whose messages take the machine's own routes and contend for its links. The baselines are
weft's own collectives (ring, recursive doubling, Rabenseifner's) with rank r on node r, so the ring of a torus follows
rank numbers, not a snake. Swing and two-level algorithms are not among them. Virtual time is the same in every run, so
there are no intervals; the time of compiling is one measurement.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from benches import building
from benches.benchmark import Benchmark, Need
from benches.recording import Report

BASELINES = ("ring", "recursive-doubling", "rabenseifner")

LENGTHS = {"1K": 1 << 10, "16K": 1 << 14, "256K": 1 << 18, "4M": 1 << 22, "64M": 1 << 26, "1G": 1 << 30}

MACHINES = (("rail-h100", "-"), ("tpu-v4", "4x4x4"), ("tpu-v4", "8x8x4"))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--weft", help="weft's side, where it is built already: the release example allreduce")
    parser.add_argument("--only", help="only machines whose name has this in it")


def compare(chosen: argparse.Namespace, machine: tuple[str, str], length: str, report: Report) -> None:
    name, extents = machine
    where = f"{name}{'' if extents == '-' else f' {extents}'}, {length}"
    command = [chosen.weft, name, extents, str(LENGTHS[length])]
    outcome: dict[str, Any] = json.loads(building.run(command, where).splitlines()[-1])
    best = min(BASELINES, key=lambda algorithm: float(outcome[algorithm]))
    for side in ("weft", *BASELINES):
        report.figure(f"{where}: {side}", outcome[side], "s")
    report.figure(f"{where}: best baseline/weft", outcome[best] / outcome["weft"], "ratio", 1.0, "at least")
    report.figure(f"{where}: certified optimum of both stages/weft", outcome["bound"] / outcome["weft"], "ratio")
    report.figure(f"{where}: predicted/weft", outcome["predicted"] / outcome["weft"], "ratio")
    report.figure(f"{where}: compiling", outcome["compiling"], "s")
    form = "merged messages" if outcome["merged"] else f"trees in {outcome['chunks']} chunks"
    report.notes[where] = f"{outcome['ranks']} ranks; {form}; the best baseline is {best}"


def run(chosen: argparse.Namespace, report: Report) -> None:
    chosen.weft = chosen.weft or building.example("weft-collectives", "allreduce")
    report.protocol.update({"lengths": ", ".join(LENGTHS), "baselines": ", ".join(BASELINES), "data": "phantoms"})
    for machine in MACHINES:
        for length in LENGTHS:
            if chosen.only is None or chosen.only in machine[0]:
                compare(chosen, machine, length, report)


BENCHMARK = Benchmark(
    "collectives",
    "allreduce by compiled trees in virtual time, beside ring, recursive doubling and Rabenseifner's",
    "ten minutes",
    run,
    options,
    needs=(Need("cargo", "program", required=True),),
)

"""Allreduce compiled for described machines in virtual time, beside the algorithms that libraries have.

On rail-h100 (256 accelerators) and tori of 64, 256 and 4,096 TPU v4 chips. Each length is compiled with the method
`auto`, verified, and executed by the simulator, whose messages take the machine's own routes and contend for its
links. The baselines share nothing with the compiler: weft's own collectives (ring, recursive doubling,
Rabenseifner's, a binomial tree there and back) with rank r on node r, so the ring of a torus follows rank numbers,
not a snake; Swing on tori (whole buffers, one part, a part for each direction of each axis) and two levels (all at
once among neighbours, recursive doubling among the groups), which are not charged for adding. Virtual time is the
same in every run, so there are no intervals; the time of compiling is one measurement.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from benches import building
from benches.benchmark import Benchmark, Need
from benches.recording import Report

BASELINES = ("ring", "recursive-doubling", "rabenseifner")

LENGTHS = {
    "1K": 1 << 10, "4K": 1 << 12, "16K": 1 << 14, "64K": 1 << 16, "256K": 1 << 18, "1M": 1 << 20, "4M": 1 << 22,
    "16M": 1 << 24, "64M": 1 << 26, "256M": 1 << 28, "1G": 1 << 30,
}  # fmt: skip

MACHINES = (
    ("rail-h100", "-", tuple(LENGTHS)),
    ("tpu-v4", "4x4x4", tuple(LENGTHS)),
    ("tpu-v4", "8x8x4", tuple(LENGTHS)),
    ("tpu-v4", "16x16x16", ("1G",)),
)
"""Name, extents and lengths; a whole pod of 4,096 chips takes a minute for each length."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--weft", help="weft's side, where it is built already: the release example allreduce")
    parser.add_argument("--only", help="only machines whose name and extents have this in them")


def compare(chosen: argparse.Namespace, machine: tuple[str, str], length: str, report: Report) -> None:
    name, extents = machine
    where = f"{name}{'' if extents == '-' else f' {extents}'}, {length}"
    command = [chosen.weft, name, extents, str(LENGTHS[length])]
    outcome: dict[str, Any] = json.loads(building.run(command, where).splitlines()[-1])
    baselines = {name: float(outcome[name]) for name in BASELINES} | outcome["others"]
    best = min(baselines, key=baselines.__getitem__)
    for side, seconds in {"weft": outcome["weft"], **baselines}.items():
        report.figure(f"{where}: {side}", seconds, "s")
    report.figure(f"{where}: best baseline/weft", baselines[best] / outcome["weft"], "ratio", 1.0, "at least")
    report.figure(f"{where}: certified bound/weft", outcome["bound"] / outcome["weft"], "ratio")
    report.figure(f"{where}: predicted/weft", outcome["predicted"] / outcome["weft"], "ratio")
    report.figure(f"{where}: compiling", outcome["compiling"], "s")
    form = f"trees in {outcome['chunks']} chunks" if outcome["form"] == "trees" else outcome["form"]
    report.notes[where] = f"{outcome['ranks']} ranks; {form}; the best baseline is {best}"


def run(chosen: argparse.Namespace, report: Report) -> None:
    chosen.weft = chosen.weft or building.example("weft-launch", "allreduce")
    report.protocol.update(
        {
            "lengths": ", ".join(LENGTHS),
            "baselines": f"{', '.join(BASELINES)}, tree, Swing (on tori), two levels",
            "data": "phantoms",
        }
    )
    for name, extents, lengths in MACHINES:
        for length in lengths:
            if chosen.only is None or chosen.only in f"{name} {extents}":
                compare(chosen, (name, extents), length, report)


BENCHMARK = Benchmark(
    "collectives",
    "compiled allreduce in virtual time, beside the algorithms that libraries have",
    "ten minutes",
    run,
    options,
    needs=(Need("cargo", "program", required=True),),
)

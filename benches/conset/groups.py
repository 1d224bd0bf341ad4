"""Collectives compiled for groups of nodes in virtual time, beside what was predicted and the algorithms of libraries.

Whole machines and groups of 5, 12 and 31 nodes, which are drawn, of tori in two and three axes, a mesh, hypercubes, a
dragonfly and fat trees. Each collective and length is compiled with the method `auto`, verified, and executed by the
simulator, whose messages take the machine's own routes and contend for its links. The baselines are weft's own
collectives among the same nodes (broadcast: binomial tree, scatter and allgather, chain; reduce: binomial tree,
Rabenseifner; allgather: Bruck, recursive doubling, ring; reduce-scatter: pairwise, ring; allreduce: recursive doubling,
Rabenseifner, ring; all-to-all: Bruck, pairwise, everything at once), of as many elements as divide evenly among the
ranks, for both. The prediction follows the messages of the schedule that was taken, one by one.

Virtual time is the same in every run, so there are no intervals.
"""

from __future__ import annotations

import argparse
import json
import statistics
from typing import Any

from benches import building
from benches.benchmark import Benchmark, Need
from benches.recording import Report

LENGTHS = {"1K": 1 << 10, "64K": 1 << 16, "8M": 1 << 23}

MACHINES = (
    ("iwarp64", "-", ("all", "5", "12", "31")),
    ("tpu-v4", "torus:8x8", ("all", "5", "12", "31")),
    ("tpu-v4", "torus:4x4x4", ("all", "5", "12", "31")),
    ("tpu-v4", "mesh:6x8", ("all", "5", "12", "31")),
    ("tpu-v4", "hypercube:6", ("all", "5", "12", "31")),
    ("ipsc860", "hypercube:5", ("all", "5", "12")),
    ("rail-h100", "dragonfly:9x4x2x2", ("all", "5", "12", "31")),
    ("rail-h100", "fat-tree:8x8/1x4", ("all", "5", "12", "31")),
    ("rail-h100", "-", ("5", "12", "31")),
)
"""Name, topology (the machine's own, or another), and groups."""

NEAR = 1.25
"""How far predictions are to be from virtual time, either way, at most."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--weft", help="weft's side, where it is built already: the release example groups")
    parser.add_argument("--only", help="only machines whose name and topology have this in them")


def compare(chosen: argparse.Namespace, machine: tuple[str, str], group: str, report: Report) -> None:
    name, topology = machine
    where = f"{name}{'' if topology == '-' else f' {topology}'}, {'all' if group == 'all' else f'{group} nodes'}"
    command = [chosen.weft, name, topology, group, ",".join(map(str, LENGTHS.values()))]
    outcomes: list[dict[str, Any]] = [json.loads(line) for line in building.run(command, where).splitlines()]
    gains, ratios = {}, {}
    for outcome in outcomes:
        length = next(name for name, length in LENGTHS.items() if length == outcome["bytes"])
        case = f"{outcome['collective']} {length}"
        gains[case] = min(outcome["baselines"].values()) / outcome["weft"]
        ratios[case] = outcome["predicted"] / outcome["weft"]
    slowest, farthest = min(gains, key=gains.__getitem__), max(ratios, key=lambda case: _distance(ratios[case]))
    report.figure(f"{where}: best baseline/weft, geometric mean", statistics.geometric_mean(gains.values()), "ratio")
    report.figure(f"{where}: best baseline/weft, least", gains[slowest], "ratio", 1.0, "at least")
    report.figure(f"{where}: predicted and simulated apart", _distance(ratios[farthest]), "ratio", NEAR, "at most")
    report.figure(f"{where}: apart, median", statistics.median(map(_distance, ratios.values())), "ratio")
    report.notes[where] = f"least: {slowest}; farthest: {farthest}, predicted/simulated {ratios[farthest]:.2f}"


def _distance(ratio: float) -> float:
    return max(ratio, 1 / ratio)


def run(chosen: argparse.Namespace, report: Report) -> None:
    chosen.weft = chosen.weft or building.example("weft-launch", "groups")
    report.protocol.update({"lengths": ", ".join(LENGTHS), "data": "phantoms", "root": "rank 0"})
    for name, topology, groups in MACHINES:
        if chosen.only is None or chosen.only in f"{name} {topology}":
            for group in groups:
                compare(chosen, (name, topology), group, report)


BENCHMARK = Benchmark(
    "collective-groups",
    "collectives compiled for groups of nodes in virtual time, beside predictions and the algorithms of libraries",
    "five minutes",
    run,
    options,
    needs=(Need("cargo", "program", required=True),),
)

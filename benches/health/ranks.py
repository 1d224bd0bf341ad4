"""What `weft health` finds of faults that are planted within nodes, in virtual time.

The machine has four computers of two sockets with two NUMA nodes each (two-sockets.toml); the expectation is the same
machine without faults. Planted are processors, what joins a NUMA node with the rest of its computer, and what joins the
two sockets of a computer, one to three at once; recall is the share of planted things that are named, precision the
share of named things that were planted.
"""

from __future__ import annotations

import argparse
import functools
from pathlib import Path

import numpy as np
import polars as pl

from benches.benchmark import Benchmark, positive
from benches.health.planting import SEEDS, Planted, Score
from benches.recording import Report
from weft._core import Machine
from weft.health.running import Plan, simulate_ranks
from weft.health.within import Within, within

MACHINE = Path(__file__).with_name("two-sockets.toml")
CORES, NUMA_NODES, COMPUTERS = 4, 4, 4
"""Cores of a NUMA node, NUMA nodes of a computer, and computers."""

MAX_FAULTS = 3
TARGET = 0.95

CASES = ((0.8, 0.05), (0.9, 0.05), (0.8, 0.20), (0.5, 0.20))
"""Speeds of what is planted, each with the noise of a launch; the first is judged."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plantings", type=positive, default=200, help="random plantings in all (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="of all draws (default 1)")


@functools.cache
def machine() -> Machine:
    """The machine."""
    return Machine.find(str(MACHINE))


@functools.cache
def normal(seed: int, plan: Plan) -> pl.DataFrame:
    """The samples without faults."""
    return simulate_ranks(machine(), machine().nodes, plan, seed=seed)


def planted(speed: float, generator: np.random.Generator) -> Planted:
    """One to three faults of this speed, each in a computer of its own."""
    faults, names = [], []
    count = int(generator.integers(1, MAX_FAULTS + 1))
    for computer in (int(each) for each in generator.choice(COMPUTERS, count, replace=False)):
        kind = generator.integers(3)
        if kind == 0:
            rank = CORES * NUMA_NODES * computer + int(generator.integers(CORES * NUMA_NODES))
            faults.append(f"node:{rank}={speed}")
            names.append(f"rank {rank} on node {computer}")
        elif kind == 1:
            numa = int(generator.integers(NUMA_NODES))
            first = CORES * (NUMA_NODES * computer + numa)
            faults += _joint(range(first, first + CORES), 1, speed)
            names.append(f"what joins NUMA node {numa} of node {computer} with the rest")
        else:
            first = 2 * CORES * (2 * computer + int(generator.integers(2)))
            faults += _joint(range(first, first + 2 * CORES), 2, speed)
            names.append(f"what joins sockets 0 and 1 of node {computer}")
    return Planted(tuple(faults), frozenset(names))


def _joint(ranks: range, level: int, speed: float) -> list[str]:
    """The cables by which messages of some processors leave the part of this level that they are in."""
    outside = [rank for rank in range(machine().nodes) if rank not in ranks]
    links = {machine().route(start, end)[level] for start in ranks for end in outside}
    cables = {"-".join(machine().link_ends(link)) for link in links}
    return [f"link:{cable}={speed}" for cable in sorted(cables)]


def judged(plant: Planted, noise: float, seed: int, plan: Plan) -> Within:
    """What is found where this is planted."""
    faulty = machine().with_faults([*plant.faults, f"noise={noise}"])
    result = within(simulate_ranks(faulty, faulty.nodes, plan, seed=seed), expected=normal(seed, plan))
    assert result is not None, "the machine says where its ranks run"
    return result


def score(plant: Planted, result: Within) -> Score:
    """What was named of what was planted, by the name of a finding or of what cannot be told from it."""
    named: set[str] = set()
    false = 0
    for finding in result.findings:
        whole = {finding.suspect.name, *finding.suspect.others}
        whole |= {name.removesuffix(" as a sender").removesuffix(" as a receiver") for name in whole}
        hits = plant.names & whole
        named |= hits
        false += not hits
    return Score(len(plant.names), len(named), false)


def scored(speed: float, noise: float, plantings: int, seed: int, plan: Plan) -> Score:
    """The score of so many plantings together."""
    total = Score(0, 0, 0)
    for number in range(plantings):
        plant = planted(speed, np.random.default_rng([seed, number]))
        order = 1000 * seed + plan.launches * (number % SEEDS)
        total += score(plant, judged(plant, noise, order, plan))
    return total


def run(chosen: argparse.Namespace, report: Report) -> None:
    plan = Plan()
    report.protocol = {
        "plantings": chosen.plantings, "ranks": machine().nodes, "launches": plan.launches,
        "bytes": list(plan.lengths), "seed": chosen.seed, "threshold": 0.05,
    }  # fmt: skip
    for number, (speed, noise) in enumerate(CASES):
        plantings = max(1, chosen.plantings // len(CASES))
        total = scored(speed, noise, plantings, chosen.seed + number, plan)
        title = f"parts at {speed:.0%}, noise {noise:.0%}"
        target = (TARGET, "at least") if number == 0 else ()
        report.figure(f"{title}: recall", total.recall, "share", *target)
        report.figure(f"{title}: precision", total.precision, "share", *target)
        report.notes[title] = f"{plantings} plantings, {total}"


BENCHMARK = Benchmark(
    "health-ranks", "faults within nodes found by weft health, by simulation", "some minutes", run, options
)

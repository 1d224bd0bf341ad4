"""What `weft health` finds of faults that are planted in virtual time, and how long its rounds take on 1,000 nodes.

On a fat tree (Frontera) and a torus (TPU v4), with the machine without faults as the expectation. Recall is the share
of planted things that are named, precision the share of named things that were planted; both are judged where things
are 20% slow under noise of 5% a launch. Dead cables of a fat tree are not judged: their messages take another cable of
the same length, which no time of a pair shows unless others share it.
"""

from __future__ import annotations

import argparse
import time

from benches.benchmark import Benchmark, positive
from benches.health.planting import Plant, Score, Subject, scored, slow_cable, slow_nodes
from benches.recording import Report
from weft._core import Machine
from weft.health.running import Plan, simulate

MACHINES = ("frontera", "tpu-v4")
TARGET = 0.95
MAX_SECONDS = 600.0
"""What a health check of 1,000 nodes may take."""

CASES: tuple[tuple[str, Plant, float, float, int], ...] = (
    ("nodes at 80%", slow_nodes, 0.8, 0.05, 4),
    ("a cable at 80%", slow_cable, 0.8, 0.05, 4),
    ("nodes at 80%", slow_nodes, 0.8, 0.20, 2),
    ("a cable at 50%", slow_cable, 0.5, 0.05, 2),
    ("a cable at 90%", slow_cable, 0.9, 0.05, 2),
    ("a cable at 50%", slow_cable, 0.5, 0.20, 2),
    ("a cable at 90%", slow_cable, 0.9, 0.20, 2),
    ("a dead cable", slow_cable, 0.0, 0.05, 2),
)
"""What is planted, by whom, its speed, noise, and the share of the plantings in twentieths."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plantings", type=positive, default=200, help="random plantings in all (default 200)")
    parser.add_argument("--nodes", type=positive, default=64, help="nodes of each machine (default 64)")
    parser.add_argument("--large", type=positive, default=1000, help="nodes whose rounds are timed (default 1000)")
    parser.add_argument("--seed", type=int, default=1, help="of all draws (default 1)")


def round_plan(nodes: int, plan: Plan, report: Report) -> None:
    """How long all pairs of so many nodes of a fat tree take.

    A pair has its messages until its time is spent, so the time of the plan is that of its rounds plus what the
    simulation shows that three messages, the barrier and the gathering of results take.
    """
    few = Plan(plan.lengths, 1, 1)
    seconds = simulate(Machine.find("frontera"), nodes, few)[1]
    rounds = (nodes - 1 if nodes % 2 == 0 else nodes) * 2 * len(plan.lengths)
    whole = plan.launches * (seconds + rounds * plan.seconds)
    report.figure(f"{nodes} nodes of frontera: virtual time of one launch with single messages", seconds, "s")
    report.figure(f"{nodes} nodes: all launches at {plan.seconds} s a pair", whole, "s", MAX_SECONDS, "at most")


def run(chosen: argparse.Namespace, report: Report) -> None:
    plan = Plan()
    report.protocol = {
        "plantings": chosen.plantings, "nodes": chosen.nodes, "launches": plan.launches, "bytes": list(plan.lengths),
        "seed": chosen.seed, "threshold": 0.05,
    }  # fmt: skip
    subjects = {name: Subject(name, chosen.nodes, plan) for name in MACHINES}
    judged = Score(0, 0, 0)
    for number, (what, plant, speed, noise, share) in enumerate(CASES):
        for name, subject in subjects.items():
            start = time.process_time()
            plantings = max(1, chosen.plantings * share // 20 // len(MACHINES))
            total = scored(subject, plant, speed, noise, plantings, chosen.seed + number)
            title = f"{name}, {what}, noise {noise:.0%}"
            report.figure(f"{title}: recall", total.recall, "share")
            report.figure(f"{title}: precision", total.precision, "share")
            spent = round(time.process_time() - start)
            report.notes[title] = f"{plantings} plantings, {total}, {spent} s of processor time"
            if speed == 0.8 and noise == 0.05:
                judged += total
    report.figure("20% slow at 5% noise: recall", judged.recall, "share", TARGET, "at least")
    report.figure("20% slow at 5% noise: precision", judged.precision, "share", TARGET, "at least")
    round_plan(chosen.large, plan, report)


BENCHMARK = Benchmark("health", "faults found by weft health, by simulation", "some minutes", run, options)

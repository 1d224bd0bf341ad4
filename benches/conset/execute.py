"""Phased execution in virtual time: connections a second of processor time, on machines of thousands of nodes.

Every schedule is compiled once, without effort, and executed several times. The processor time is that of the whole
execution, with its ranks, without the compilation.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from benches import harness
from benches.benchmark import Benchmark, rounds_option
from benches.recording import Report

# Machine, pattern, words, compiler, the least connections a second that are wanted.
WORKLOADS: list[tuple[str, str, int, str, float | None]] = [
    ("tpu-v4", "random:4", 1, "weft", 1e6),
    ("tpu-v4", "random:16", 1, "weft", 1e6),
    ("tpu-v4", "random:16", 10_000, "weft", 1e6),
    # Nodes go from transfer to transfer on links that others share: rates change whenever one ends.
    ("tpu-v4", "random:4", 1, "apr", None),
]


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 5)
    parser.add_argument("--only", help="only workloads whose name has this in it")


def run(chosen: argparse.Namespace, report: Report) -> None:
    import weft
    from weft.conset import exchange

    report.protocol = {"rounds": chosen.rounds, "effort": 0, "seed": 0}
    for on, pattern, words, compiler, target in WORKLOADS:
        name = f"{pattern}, {words} words, {on}, {compiler}"
        if chosen.only is not None and chosen.only not in name:
            continue
        machine = weft.machine(on)
        connections = exchange.connection_set(pattern, machine, words, 0)
        schedule, _ = weft._core.compile_connections(connections, machine, compiler=compiler, effort=0.0)

        def executed(machine: Any = machine, connections: Any = connections, schedule: Any = schedule) -> float:
            begin = time.process_time()
            exchange.execute(machine, connections, schedule)
            return time.process_time() - begin

        seconds = [executed() for _ in range(chosen.rounds)]
        rates = [len(connections) / each for each in seconds]
        report.figure(f"{name}: connections", len(connections))
        report.figure(f"{name}: phases", schedule.phases)
        report.figure(f"{name}: connections a second", harness.spread(rates), "1/s", target, "at least")
        report.samples({"weft": seconds}, pattern=pattern, words=words, compiler=compiler, phases=schedule.phases)


BENCHMARK = Benchmark(
    "conset-execute", "phased execution in virtual time on thousands of nodes", "a minute", run, options
)

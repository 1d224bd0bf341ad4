"""What it costs to share a call among threads, and from which length on it pays.

An empty call, and one of parts that work for some microseconds, on threads that are started for it and on those that
stay (crates/simd). Then primitives on one thread and on two, over their lengths: a ratio below 1 is a gain. The
thresholds of crates/kernels (`WORTH_THREADS`) follow from these.
"""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Callable

import numpy as np

from benches import building, harness
from benches.benchmark import Benchmark, Need, rounds_option
from benches.harness import Call
from benches.recording import Report

LENGTHS = [1 << power for power in range(14, 23)]
THREADS = (1, 2)
SECONDS = 0.01
"""Of calls in one timing, about."""


def calls(length: int) -> dict[str, tuple[int, dict[str, Call]]]:
    """Primitives over so many float64: bytes that pass, and the call on each number of threads."""
    from weft import _core as core

    chance = np.random.default_rng(1)
    x, y, out = chance.random(length), chance.random(length), np.zeros(length)
    mask, index = chance.random(length) < 0.5, chance.permutation(length)
    bind = functools.partial
    operations: dict[str, tuple[int, Callable[[int], Call]]] = {
        "sum": (8, lambda threads: bind(core.array_reduce, x, "add", None, threads)),
        "add": (24, lambda threads: bind(core.array_elementwise, "add", (x, y), out, None, threads)),
        "add selected": (25, lambda threads: bind(core.array_elementwise, "add", (x, y), out, mask, threads)),
        "scan": (16, lambda threads: bind(core.array_scan, x, out, "add", 0, None, None, False, False, threads)),
        "gather": (24, lambda threads: bind(core.array_gather, x, index, out, None, threads)),
        "send": (24, lambda threads: bind(core.array_send, x, index, out, "add", None, threads, None)),
    }
    return {
        name: (bytes_ * length, {f"{threads} threads": call(threads) for threads in THREADS})
        for name, (bytes_, call) in operations.items()
    }


def timed(call: Call) -> float:
    """Seconds of one, the least of three loops."""
    once = harness.timed(call, 1)
    return min(harness.timed(call, max(1, int(SECONDS / max(once, 1e-9)))) for _ in range(3))


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {"rounds": chosen.rounds, "statistic": "median of ratios in a round"}
    for row in json.loads(building.run([building.example("weft-simd", "sharing")], "sharing")):
        what = f"a call of {row['threads']} parts of {row['busy_us']} us"
        report.figure(f"{what}: threads started", row["started_ns"] / 1000, "us")
        report.figure(f"{what}: threads that stay", row["kept_ns"] / 1000, "us")
    for length in LENGTHS:
        for name, (bytes_, both) in calls(length).items():
            sides = {side: functools.partial(timed, call) for side, call in both.items()}
            seconds = harness.interleaved(sides, chosen.rounds)
            one, two = (seconds[side] for side in both)
            figure = f"{name}, {bytes_ / 2**20:g} MiB: two threads/one"
            report.figure(figure, harness.spread(harness.ratios(two, one)), "ratio")
            report.samples(seconds, operation=name, bytes=bytes_)


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 9)


BENCHMARK = Benchmark(
    "sharing",
    "calls shared among threads: what that costs, and from where on it pays",
    "minutes",
    run,
    options,
    needs=(Need("cargo", "program", required=True),),
)

"""Two builds of the Rust core beside each other: what a change costs, in ratios of interleaved calls.

Each build is loaded by a process of its own, as `weft._core`, and both keep to one processor, since processors may
be threads of a core and differ. In every round each row is timed in both, one right after the other, the first of
them in turn; a time is the least of several loops. Where arrays lie in memory decides up to half of a short call's
time and lasts as long as its process, so that processes are launched several times, on each processor in turn: a
row's figure is the median over the launches of the ratio new to old of the least times of all rounds; over 1, the
new one is slower. What such a ratio is worth is told by the same figures of one build beside itself.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benches import harness
from benches.benchmark import Benchmark, positive, rounds_option
from benches.harness import Call
from benches.recording import ROOT, Report

LARGE, MIDDLE, SMALL = 1 << 23, 1 << 16, 1 << 10
Times = dict[str, dict[str, list[float]]]

SHORTEST = 0.02
"""Seconds of calls in one timing, at least."""


def _either(core: Any, name: str, former: str) -> Any:
    """What a core has by a name, or by the one that cores of earlier commits know."""
    return getattr(core, name, None) or getattr(core, former)


def rows(core: Any) -> dict[str, Call]:
    """What is timed: names and calls."""
    chance = np.random.default_rng(1)
    bind = functools.partial
    calls: dict[str, Call] = {}
    for name, length in (("large", LARGE), ("middle", MIDDLE), ("small", SMALL)):
        x, y, out = chance.random(length), chance.random(length), np.zeros(length)
        mask, index = chance.random(length) < 0.5, chance.permutation(length)
        near = np.arange(length)
        needed = _either(core, "array_send_workspace_bytes", "array_send_room")(x, out)
        make = _either(core, "SendWorkspace", "SendRoom")
        buffer = make(needed) if needed else None
        one = {
            "gather scattered": bind(core.array_gather, x, index, out, None, 1),
            "gather in order": bind(core.array_gather, x, near, out, None, 1),
            "gather selected": bind(core.array_gather, x, index, out, mask, 1),
            "send scattered": bind(core.array_send, x, index, out, "add", None, 1, buffer),
            "send in order": bind(core.array_send, x, near, out, "add", None, 1, buffer),
            "send selected": bind(core.array_send, x, index, out, "add", mask, 1, buffer),
            "send refusing": bind(core.array_send, x, index, out, None, None, 1, buffer),
            "scan": bind(core.array_scan, x, out, "add", 0, None, None, False, False, 1),
            "scan segmented": bind(core.array_scan, x, out, "add", 0, mask, None, False, False, 1),
            "sum": bind(core.array_reduce, x, "add", None, 1),
            "add": bind(core.array_elementwise, "add", (x, y), out, None, 1),
            "add selected": bind(core.array_elementwise, "add", (x, y), out, mask, 1),
        }
        calls |= {f"{row} {name}": call for row, call in one.items()}
    for name, shape in (("large", (2048, 2048)), ("small", (16, 16))):
        x, out = chance.random(shape), np.zeros(shape)
        calls[f"spread {name}"] = bind(core.array_spread, x, out, 0, 1, None, 1)
        points = [([0, 0], 0.5), ([0, 1], 0.1), ([0, -1], 0.1), ([1, 0], 0.1), ([-1, 0], 0.1)]
        calls[f"stencil bound {name}"] = core.StencilPlan(list(shape), False, points, [None, None]).bind(x, out)
        shifts = [(0, 1, None, 0), (1, -1, None, 0)]
        plan = core.ShiftPlan(list(shape), x.dtype, shifts, 1)
        calls[f"shifts bound {name}"] = plan.bind(x)
        calls[f"shifts call {name}"] = bind(plan, x)
    return calls


def processors() -> list[int]:
    """Those that a process can keep to; none where the system has no such call."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def serve(path: str, processor: str = "") -> None:
    """One of the two: answers names with times, a line each."""
    if processor:
        os.sched_setaffinity(0, {int(processor)})
    spec = importlib.util.spec_from_file_location("weft._core", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} cannot be loaded")
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    calls = rows(core)
    print(json.dumps(list(calls)), flush=True)
    counts: dict[str, int] = {}
    for line in sys.stdin:
        name = line.strip()
        call = calls[name]
        if name not in counts:
            call()
            counts[name] = max(1, int(SHORTEST / 5 / max(harness.timed(call, 1), 1e-9)))
        print(min(harness.timed(call, counts[name]) for _ in range(5)), flush=True)


class Core:
    """A process with one of the builds."""

    def __init__(self, path: Path, processor: int | None) -> None:
        words = [sys.executable, "-m", __name__, str(path.resolve())]
        words += [] if processor is None else [str(processor)]
        self._process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.names: list[str] = json.loads(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("one of the builds has ended")
        return line

    def time(self, name: str) -> float:
        """Seconds of a call."""
        assert self._process.stdin is not None
        print(name, file=self._process.stdin, flush=True)
        return float(self._answer())

    def close(self) -> None:
        """Ends it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=Path, help="the extension module of the one build")
    parser.add_argument("new", type=Path, help="and of the other")
    parser.add_argument("--launches", type=positive, default=8, help="launches of both processes (default 8)")
    rounds_option(parser, 3)
    parser.add_argument("--rows", default="", help="only rows with one of these in their names, comma-separated")


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    for path in (chosen.old, chosen.new):
        if not path.is_file():
            parser.error(f"{path} is no file")


def launch(builds: Mapping[str, Path], number: int, rounds: int, chosen: Sequence[str]) -> Times:
    """Times of every row in processes of their own: by row, by side, a round each."""
    at = processors()
    processor = at[number % len(at)] if at else None
    cores = {side: Core(path, processor) for side, path in builds.items()}
    try:
        names = [name for name in cores["old"].names if not chosen or any(part in name for part in chosen)]
        return {
            name: harness.interleaved(
                {side: functools.partial(core.time, name) for side, core in cores.items()}, rounds
            )
            for name in names
        }
    finally:
        for core in cores.values():
            core.close()


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {
        "launches": chosen.launches,
        "rounds": chosen.rounds,
        "statistic": "ratio of a launch's least times, new to old",
    }
    builds = {"old": chosen.old, "new": chosen.new}
    rows = [part for part in chosen.rows.split(",") if part]
    launches: list[Times] = []
    for number in range(chosen.launches):
        launches.append(launch(builds, number, chosen.rounds, rows))
        print(f"\rlaunch {number + 1} of {chosen.launches}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for name in launches[0]:
        ratios = [min(times[name]["new"]) / min(times[name]["old"]) for times in launches]
        report.figure(f"{name}: new/old", harness.spread(ratios), "ratio")
        for times in launches:
            report.samples(times[name], operation=name)


BENCHMARK = Benchmark(
    "two-cores", "two builds of the extension module beside each other", "minutes", run, options, check
)

if __name__ == "__main__":
    serve(*sys.argv[1:])

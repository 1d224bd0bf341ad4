"""Two builds of the engine of FGHC beside each other, native and interpreted: what a change costs, in ratios.

Each build is its release example `fghc`. How fast a loop runs depends on where in a cache line it lies, so that native
code is measured at many random placements, in each by both builds one right after the other, all on one processor. A
figure is the median over the placements of the ratio new to old: over 1, the new one is slower.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benches import harness
from benches.benchmark import Benchmark, positive
from benches.fghc.engines import COST_RUNS, COST_SHARE, PROGRAMS, SLOWER, Weft
from benches.recording import Report

MAX_RATIO = 1.03
WORDS = {"native": ("--native",), "interpreted": ()}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=Path, help="the release example fghc of the one build")
    parser.add_argument("new", type=Path, help="and of the other")
    parser.add_argument("--placements", type=positive, default=24, help="placements of the code (default 24)")


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    for path in (chosen.old, chosen.new):
        if not path.is_file():
            parser.error(f"{path} is no file")


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {
        "placements": chosen.placements,
        "statistic": "ratio of the fastest runs at a placement, new to old",
    }
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    builds = {"old": chosen.old.resolve(), "new": chosen.new.resolve()}
    ratios: dict[str, list[float]] = {}
    for placement in range(1, chosen.placements + 1):
        order = list(builds) if placement % 2 else list(reversed(builds))
        for program, ((times, size), _) in PROGRAMS.items():
            for how, words in WORDS.items():
                n = max(1, times // COST_SHARE // SLOWER[f"weft, {how}"])
                more = ("--repeat", str(COST_RUNS), *(("--placement", str(placement)) if how == "native" else ()))
                seconds = {side: Weft(str(builds[side]), *words).run(program, n, size, *more)[0] for side in order}
                ratios.setdefault(f"{program}, {how}", []).append(seconds["new"] / seconds["old"])
        print(f"\rplacement {placement} of {chosen.placements}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for name, values in ratios.items():
        target = MAX_RATIO if name.endswith("native") else None
        report.figure(f"{name}: new/old", harness.spread(values), "ratio", target, "at most")


BENCHMARK = Benchmark(
    "fghc-two-engines", "two builds of the engine of FGHC beside each other", "minutes", run, options, check
)

"""Shifts of the smallest arrays, both directions along every axis, called from Python: seconds a call for all of them.

All contenders run in every round, in an order that rotates; in a round each is called for about two milliseconds,
and a figure is the median over rounds of seconds a call. What calling an empty function takes is among the rows and
in every figure.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benches import harness
from benches.benchmark import Benchmark, awkward_option, rounds_option
from benches.polyshift import shifts_baselines as baselines
from benches.recording import Report

SHAPES = [(4,), (8, 8), (2,) * 4, (4,) * 4]

# Most seconds a call.
TARGETS = {((8, 8), "weft, bound"): 100e-9, ((4,) * 4, "weft, bound"): 500e-9, ((8, 8), "weft, checked"): 1e-6,
           ((8, 8), "weft, new arrays"): 1e-6}  # fmt: skip
ROUND_SECONDS = 2e-3


def nothing() -> None:
    pass


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 15)
    awkward_option(parser)


def compare(shape: tuple[int, ...], folder: Path, rounds: int, report: Report) -> None:
    x, out = baselines.arrays(shape)
    contenders: dict[str, harness.Call] = {
        "weft, bound": baselines.weft_bound(None)(x, out),
        "weft, checked": baselines.weft_checked(x, out),
        "weft, new arrays": baselines.weft_new(x, out),
    }
    contenders |= {name: baseline(x, out) for name, baseline in baselines.installed(folder).items()}
    for name, call in contenders.items():
        baselines.check(name, call, x, out)
    contenders["an empty function"] = nothing
    sides = harness.with_control(harness.loops(contenders, ROUND_SECONDS), "weft, bound")
    seconds = harness.interleaved(sides, rounds)
    where = "x".join(map(str, shape))
    for name, times in seconds.items():
        report.figure(f"{where}: {name}", harness.spread(times), "s", TARGETS.get((shape, name)), "at most")
    report.samples(seconds, shape=where, bytes=x.nbytes)


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {
        "rounds": chosen.rounds,
        "statistic": "median over rounds of the mean seconds of a call in a loop of about 2 ms",
    }
    awkward = {shape for regular in SHAPES for shape in harness.awkward_shapes(regular)} if chosen.awkward else set()
    with tempfile.TemporaryDirectory() as folder:
        for shape in [*SHAPES, *sorted(awkward - set(SHAPES))]:
            compare(shape, Path(folder), chosen.rounds, report)


BENCHMARK = Benchmark(
    "shifts-small",
    "shifts of the smallest arrays, called from Python",
    "seconds; with numba and JAX a minute",
    run,
    options,
    needs=baselines.NEEDS[:3],
)

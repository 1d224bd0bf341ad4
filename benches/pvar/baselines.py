"""Parallel variables' primitives beside numpy, numba and JAX, for four types at three sizes.

A row is a primitive, a type and a size; its figure is the time of the fastest baseline over that of weft in the same
round, so that over 1 weft is ahead. The baselines that are not installed are left out, and the record's protocol says
which took part. Values are -1, 0 and 1, whose sums every type holds exactly, so that weft's results are compared with
numpy's to the bit. Sends are of a permutation, but for the histogram's, of 1024 bins. Ranked are numbers of all sizes
that a type has, by numpy and JAX with a stable sort. The collision check is the time of a send that refuses collisions
over that of one that overwrites. weft runs twice in a round: how far the ratio of its two times is from 1 is what a
ratio beside a baseline may be worth. A histogram takes two calls of weft's side, of which the first empties the bins as
the baselines do within one: the record has its share. numba's gathers, sends and histograms check no index, which
weft's do: its loops with a check run beside them, and are no baseline that a row is judged by.

With 64 Mi elements of eight bytes it takes 3 GB of memory. Run it on a quiet machine; --types, --sizes and --rows with
--part-of FILE measure it in pieces.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import weft
from benches import harness
from benches.benchmark import Benchmark, Need, numbers, positive, rounds_option
from benches.harness import Call
from benches.pvar.primitives_baselines import baselines, checking, none, plane
from benches.recording import Report
from weft import _core

TYPES = ("float32", "float64", "int32", "int64")
SIZES = "4096,1048576,67108864"
BINS = 1024
COLLISIONS = 1.3
"""The most that a refusing send may take of an overwriting one."""
SECONDS = 0.01
"""Of calls in one timing, about, where a call is shorter."""
PAUSE = 0.02
"""Seconds before a timing: threads of numba look for the next call for some 7 ms after their last one, on a processor
that the side after it would have."""
CONTROL = f"weft, {harness.CONTROL}"
EMPTYING = "emptying the bins"
CHECKING = "numba, checking each index"
ROWS = (
    "add", "sum", "max", "scan", "segmented scan", "spread", "shift", "gather", "send", "send max",
    "send overwriting", "send refusing", "histogram", "rank",
)  # fmt: skip


class Work:
    """The arrays of one type and size, and weft's calls on them."""

    def __init__(self, dtype: str, n: int, threads: int | None) -> None:
        chance = np.random.default_rng(1)
        self.a = chance.integers(-1, 2, n, dtype=np.int8).astype(dtype)
        self.b = self.a[::-1].copy()
        self.out = np.zeros(n, dtype)
        self.bins, self.empty_bins = np.zeros(BINS, dtype), np.zeros(BINS, dtype)
        self.ones = np.ones(n, dtype)
        self.one = np.ones(1, dtype)
        self.flags = chance.random(n) < 0.01
        self.flags[0] = True
        self.index = chance.permutation(n)
        self.binned = self.index % BINS
        whole = np.dtype(dtype).kind == "i"
        self.keys = chance.integers(0, np.iinfo(dtype).max, n, dtype) if whole else chance.random(n).astype(dtype)
        self.positions, self.ranks = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
        self.side = 1 << (n.bit_length() // 2)
        needed = _core.array_send_workspace_bytes(self.a, self.out, threads)
        workspace = _core.SendWorkspace(needed) if needed else None
        # Calls have their arguments one by one, as a user writes them: to unpack a tuple takes 40 to 90 ns.
        a, index, out, bins, one, binned = self.a, self.index, self.out, self.bins, self.one, self.binned
        empty_bins = self.empty_bins
        shifted: Call = weft.arrays.polyshift(a.shape, a.dtype, [(1, 0)], threads=threads).bind(a, out=[out])
        rows, spread = plane(a, self.side), plane(out, self.side)

        def histogram() -> None:
            bins[...] = empty_bins
            _core.array_send(one, binned, bins, "add", None, threads, workspace, True)

        self.weft: dict[str, Call] = {
            "add": lambda: _core.array_elementwise("add", (a, self.b), out, threads=threads),
            "sum": lambda: _core.array_reduce(a, "add", threads=threads),
            "max": lambda: _core.array_reduce(a, "max", threads=threads),
            "scan": lambda: _core.array_scan(a, out, "add", threads=threads),
            "segmented scan": lambda: _core.array_scan(a, out, "add", segments=self.flags, threads=threads),
            "spread": lambda: _core.array_spread(rows, spread, 0, 1, threads=threads),
            "shift": shifted,
            "gather": lambda: _core.array_gather(a, index, out, threads=threads, clobber=True),
            "send": lambda: _core.array_send(a, index, out, "add", None, threads, workspace, True),
            "send max": lambda: _core.array_send(a, index, out, "max", None, threads, workspace, True),
            "send overwriting": lambda: _core.array_send(a, index, out, "overwrite", None, threads, workspace, True),
            "send refusing": lambda: _core.array_send(a, index, out, None, None, threads, workspace, True),
            "histogram": histogram,
            "rank": lambda: none(_core.array_rank(self.keys, self.ranks)),
        }

    def empty(self) -> None:
        """Empty the bins: a copy, which numpy begins sooner than a fill with a number of Python's."""
        self.bins[...] = self.empty_bins

    def baselines(self, row: str) -> dict[str, Call]:
        """Those that do the row; a send that refuses collisions has those that overwrite."""
        if row == "histogram":
            return baselines(row, self.ones, self.binned, self.bins)
        if row == "rank":
            return baselines(row, self.keys, self.positions, self.ranks)
        if row == "gather" or row.startswith("send"):
            other = "send overwriting" if row == "send refusing" else row
            return baselines(other, self.a, self.index, self.out)
        return baselines(row, self.a, self.b, self.out, self.flags, self.side)

    def checking(self, row: str) -> Call | None:
        """The loop of the fastest that checks no index, with a check."""
        if row == "histogram":
            return checking(row, self.ones, self.binned, self.bins)
        return checking(row, self.a, self.index, self.out) if row in ("gather", "send") else None

    def result(self, row: str, call: Call) -> np.ndarray:
        """What a call comes to from an output of zeros."""
        out = {"histogram": self.bins, "rank": self.ranks}.get(row, self.out)
        out[:] = 0
        value = call()
        return np.array(value if row in ("sum", "max") else out)


def sides(work: Work, row: str) -> dict[str, Call]:
    """weft and its baselines, where weft and numpy come to the same."""
    baselines = work.baselines(row)
    if not np.array_equal(work.result(row, work.weft[row]), work.result(row, baselines["numpy"])):
        sys.exit(f"weft's {row} of {work.a.dtype} computes something else")
    return {"weft": work.weft[row]} | baselines


def timed(call: Call) -> Callable[[], float]:
    """A side that calls it for about SECONDS, or once, after a pause and, if it is short, a call that is not timed."""
    call()
    calls = max(1, int(SECONDS / max(harness.timed(call), 1e-9)))

    def side() -> float:
        time.sleep(PAUSE)
        if calls > 1:
            call()
        return harness.timed(call, calls)

    return side


def measured(work: Work, row: str, n: int, rounds: int, report: Report) -> list[float]:
    """weft's seconds, a round each, after the row's figures."""
    contenders = harness.with_control({who: timed(call) for who, call in sides(work, row).items()}, "weft")
    if (checked := work.checking(row)) is not None:
        contenders[CHECKING] = timed(checked)
    if row == "histogram":
        contenders[EMPTYING] = timed(work.empty)
    seconds = harness.interleaved(contenders, rounds)
    where = f"{row}, {work.a.dtype}, {n} elements"
    # With its type, so that a piece of a record replaces what is of the same type alone.
    report.samples(seconds, words=n, operation=f"{row}, {work.a.dtype}")
    noise = harness.spread(harness.ratios(seconds[CONTROL], seconds["weft"]))
    report.figure(f"{where}: {CONTROL}/weft", noise, "ratio", quiet=True)
    if EMPTYING in seconds:
        share = harness.spread(harness.ratios(seconds[EMPTYING], seconds["weft"]))
        report.figure(f"{where}: {EMPTYING}/weft", share, "ratio", quiet=True)
    if CHECKING in seconds:
        bound = harness.spread(harness.ratios(seconds[CHECKING], seconds["weft"]))
        report.figure(f"{where}: {CHECKING}/weft", bound, "ratio", quiet=True)
    others = seconds.keys() - {"weft", CONTROL, EMPTYING, CHECKING}
    baselines = {who: statistics.median(times) for who, times in seconds.items() if who in others}
    for who in baselines:
        ratio = harness.spread(harness.ratios(seconds[who], seconds["weft"]))
        best = who == min(baselines, key=lambda baseline: baselines[baseline])
        judged = best and row != "send refusing"
        report.figure(f"{where}: {who}/weft", ratio, "ratio", 1.0 if judged else None, "at least", quiet=not best)
    return seconds["weft"]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--types", default=",".join(TYPES), help="types, comma-separated (default: all)")
    parser.add_argument("--sizes", type=numbers, default=SIZES, help=f"elements (default {SIZES})")
    parser.add_argument("--rows", default=",".join(ROWS), help="primitives, comma-separated (default: all)")
    parser.add_argument("--threads", type=positive, help="threads of weft (default: what it chooses for each call)")
    parser.add_argument("--part-of", type=Path, metavar="FILE", help="add to this record")
    rounds_option(parser, 5)


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    chosen.types, chosen.rows = chosen.types.split(","), chosen.rows.split(",")
    if not set(chosen.types) <= set(TYPES) or not set(chosen.rows) <= set(ROWS):
        parser.error(f"types are {', '.join(TYPES)}; rows are {', '.join(ROWS)}")
    if min(chosen.sizes) < BINS:
        parser.error(f"at least {BINS} elements, as many as the histogram has bins")


def run(chosen: argparse.Namespace, report: Report) -> None:
    if chosen.part_of is not None:
        report.continue_from(chosen.part_of)
        chosen.record = chosen.part_of
    there = ["numpy", *(need.name for need in BENCHMARK.needs if need.is_there)]
    report.protocol = {
        "rounds": chosen.rounds,
        "pause_s": PAUSE,
        "threads": chosen.threads or "weft's choice",
        "baselines": there,
    }
    for n in chosen.sizes:
        for dtype in chosen.types:
            work = Work(dtype, n, chosen.threads)
            ours = {row: measured(work, row, n, chosen.rounds, report) for row in chosen.rows}
            if {"send refusing", "send overwriting"} <= set(ours):
                ratio = harness.spread(harness.ratios(ours["send refusing"], ours["send overwriting"]))
                name = f"collision check, {dtype}, {n} elements: refusing/overwriting"
                report.figure(name, ratio, "ratio", COLLISIONS, "at most")


BENCHMARK = Benchmark(
    "pvar-baselines",
    "parallel variables' primitives beside numpy, numba and JAX, four types at three sizes",
    "ten minutes, with 3 GB of memory",
    run,
    options,
    check,
    needs=(Need("numba", "package"), Need("jax", "package")),
)

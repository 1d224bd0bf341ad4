"""The kernels of parallel variables beside their baselines.

Groups: `streams` (add, sum, max, scans, spread, shift of float64) as shares of STREAM's copy of the same round:
bytes of each array read once and written once a second, over those of a copy. Shares are of a copy by memcpy and of
one by a loop of streaming stores, each with one thread and with as many as weft uses; the target is compared with
memcpy with as many. `gather` and `send` (with add; destinations next to each other, `clustered`, or as far apart as
they can be, `scattered`) in million elements a second. `small`: 4096 elements, calls from Python, with and without a
selection, beside numpy's own form of the same.

The whole takes some minutes. On a machine that is not quiet for so long, do it in pieces: --part-of FILE adds what is
measured to a record that there is, and makes it if there is none; figures of the same names are replaced.

All contenders of a row run in every round, in an order that rotates. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import ctypes
import functools
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import weft
from benches import harness
from benches.benchmark import Benchmark, Need, awkward_option, numbers, positive, rounds_option
from benches.harness import Call
from benches.polyshift import shifts_baselines
from benches.pvar.primitives_baselines import NEEDS, baselines, plane
from benches.pvar.primitives_small import pairs
from benches.recording import Report
from weft import _core

GROUPS = ("streams", "gather", "send", "small")
SMALL = 4096
# Shares of a copy, million elements a second, and times of numpy's: the least, or for `small` the most.
STREAMS = {"add": 1.1, "sum": 0.9, "max": 0.9, "scan": 0.9, "segmented scan": 0.9, "spread": 0.95, "shift": 1.0}
MOVED = {"add": 24, "sum": 8, "max": 8, "scan": 16, "segmented scan": 17, "spread": 8, "shift": 16}
"""Bytes of an element that have to be moved."""
RATE = 150
EVEN = 0.1
MAX_SMALL = {"plain": 2.0, "selected": 1.0}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--groups", default=",".join(GROUPS), help="groups, comma-separated (default: all)")
    parser.add_argument("--elements", type=positive, default=64 << 20, help="elements (default 64 Mi)")
    rounds_option(parser, 5)
    default = os.cpu_count() or 1
    parser.add_argument("--threads", type=positive, default=default, help="threads of weft (default: all processors)")
    ratios = "1,3,10,30,100,300,1000"
    parser.add_argument("--ratios", type=numbers, default=ratios, help=f"senders of one destination (default {ratios})")
    parser.add_argument("--rows", default="", help="only these rows of `streams`, comma-separated (default: all)")
    parser.add_argument("--part-of", type=Path, metavar="FILE", help="add to this record")
    awkward_option(parser)


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    chosen.groups = chosen.groups.split(",")
    chosen.rows = chosen.rows.split(",") if chosen.rows else list(STREAMS)
    if not set(chosen.groups) <= set(GROUPS) or not set(chosen.rows) <= set(STREAMS):
        parser.error(f"groups are {', '.join(GROUPS)}; rows are {', '.join(STREAMS)}")
    if chosen.elements < 1 << 14:
        parser.error("at least 16384 elements")


def measure(contenders: dict[str, Call], rounds: int, label: str) -> dict[str, list[float]]:
    """Seconds of each contender in each round, after a call of each that is not timed."""
    for call in contenders.values():
        call()
    sides = {name: functools.partial(harness.timed, call) for name, call in contenders.items()}
    return harness.interleaved(sides, rounds, label)


def require(name: str, call: Call, out: np.ndarray, expected: np.ndarray | float) -> None:
    """Ends the program where a contender comes to something else."""
    result = call()
    result = out if result is None else np.asarray(result)
    if not np.allclose(result, expected, rtol=1e-9):
        sys.exit(f"{name} computes something else")


class Streams:
    """The arrays of `streams` of one size, and the calls on them."""

    def __init__(self, n: int, threads: int, folder: Path) -> None:
        side = 1 << (n.bit_length() // 2)
        a = np.arange(n, dtype=float) % 1024
        b = a[::-1].copy()
        out = np.zeros(n)
        flags = np.zeros(n, dtype=bool)
        flags[np.random.default_rng(1).integers(0, n, n // 100)] = True
        flags[0] = True
        self.arrays = (a, b, out, flags, side)
        self.weft: dict[str, Call] = {
            "add": lambda: _core.array_elementwise("add", (a, b), out, threads=threads),
            "sum": lambda: _core.array_reduce(a, "add", threads=threads),
            "max": lambda: _core.array_reduce(a, "max", threads=threads),
            "scan": lambda: _core.array_scan(a, out, "add", threads=threads),
            "segmented scan": lambda: _core.array_scan(a, out, "add", segments=flags, threads=threads),
            "spread": lambda: _core.array_spread(plane(a, side), plane(out, side), 0, 1, threads=threads),
            "shift": shifted(a, out, threads),
        }
        copies = shifts_baselines.copies(folder)
        self.copies: dict[str, Call] = {}
        for count in sorted({1, threads}):
            calls = {name: call for name, call in copies(out, a, count).items() if name.startswith("copy")}
            if count > 1:
                calls["copy, memcpy"] = memcpy_by_threads(out, a, count)
            self.copies |= {f"{name}, {count} threads": call for name, call in calls.items()}

    def contenders(self, row: str) -> dict[str, Call]:
        """weft, the baselines and the copies; that weft does what the first baseline does is checked."""
        contenders = {"weft": self.weft[row]}
        for name, call in baselines(row, *self.arrays).items():
            if name == "numpy":
                expected = call()
                out = self.arrays[2]
                expected = np.array(out if expected is None else expected)
                require(f"weft's {row}", self.weft[row], out, expected)
            contenders[name] = call
        return contenders | self.copies


def streams(chosen: argparse.Namespace, n: int, folder: Path, report: Report) -> None:
    work = Streams(n, chosen.threads, folder)
    judged = f"copy, memcpy, {chosen.threads} threads"
    for row in chosen.rows:
        seconds = measure(work.contenders(row), chosen.rounds, row)
        where = row if n == chosen.elements else f"{row}, {n} elements"
        report.samples(seconds, words=n, threads=chosen.threads, operation=row)
        for name, times in seconds.items():
            moved = 16 * n if name.startswith("copy") else MOVED[row] * n
            rates = harness.spread([moved / one / 1e9 for one in times])
            report.figure(f"{where}: {name}", rates, "GB/s", quiet=True)
            for copy in work.copies if not name.startswith("copy") else ():
                share = harness.spread([moved / (16 * n) * one for one in harness.ratios(seconds[copy], times)])
                target = STREAMS[row] if (name, copy, n) == ("weft", judged, chosen.elements) else None
                report.figure(f"{where}: {name}: share of {copy}", share, "ratio", target, "at least")


def memcpy_by_threads(to: np.ndarray, x: np.ndarray, threads: int) -> Call:
    """A share of the array for each thread; memmove lets the others go on."""
    pool = concurrent.futures.ThreadPoolExecutor(threads)
    bounds = [x.nbytes * number // threads for number in range(threads + 1)]

    def part(number: int) -> None:
        begin, end = bounds[number], bounds[number + 1]
        ctypes.memmove(to.ctypes.data + begin, x.ctypes.data + begin, end - begin)

    return lambda: list(pool.map(part, range(threads)))


def shifted(a: np.ndarray, out: np.ndarray, threads: int) -> Call:
    bound: Call = weft.arrays.polyshift(a.shape, a.dtype, [(1, 0)], threads=threads).bind(a, out=[out])
    return bound


def permutation(n: int) -> np.ndarray:
    """0 to n-1 in an order that jumps about, by odd multiplications and folded bits of the next power of two."""
    bits = (n - 1).bit_length()
    index = np.arange(1 << bits, dtype=np.uint64)
    half = np.uint64((bits + 1) // 2)
    for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        index *= np.uint64(factor)
        index &= np.uint64((1 << bits) - 1)
        index ^= index >> half
    return index[index < n].view(np.int64)


def rates(
    where: str, contenders: dict[str, Call], chosen: argparse.Namespace, n: int, operation: str, report: Report
) -> float:
    """Million elements a second of every contender; that of weft."""
    name = where if n == chosen.elements else f"{where}, {n} elements"
    seconds = measure(contenders, chosen.rounds, name)
    report.samples({f"{where}, {who}": times for who, times in seconds.items()}, words=n, threads=chosen.threads,
                   operation=operation)  # fmt: skip
    for who, times in seconds.items():
        rate = harness.spread([n / one / 1e6 for one in times])
        target = RATE if who == "weft" and n == chosen.elements else None
        report.figure(f"{name}: {who}", rate, "million elements/s", target, "at least")
    return harness.spread([n / one / 1e6 for one in seconds["weft"]]).value


def gather(chosen: argparse.Namespace, n: int, report: Report) -> None:
    a, index, out = np.arange(n, dtype=float), permutation(n), np.zeros(n)
    call = functools.partial(_core.array_gather, a, index, out, threads=chosen.threads)
    require("weft's gather", call, out, index.astype(float))
    rates("random gather", {"weft": call} | baselines("gather", a, index, out), chosen, n, "gather", report)


def send(chosen: argparse.Namespace, n: int, report: Report) -> None:
    order = permutation(n)
    x, out = np.full(n, 0.5), np.zeros(n)
    # As parallel variables keep one.
    buffer = _core.SendWorkspace(_core.array_send_workspace_bytes(x, out, chosen.threads))
    from_three = []
    for ratio in chosen.ratios:
        for pattern, stride in {"clustered": 1, "scattered": ratio}.items():
            index = order // ratio * stride
            out[:] = 0
            call = functools.partial(_core.array_send, x, index, out, "add", threads=chosen.threads, workspace=buffer)
            call()
            if out.sum() != n / 2 or out[(n // ratio - 1) * stride] != ratio / 2:
                sys.exit("weft's send computes something else")
            contenders = {"weft": call} | baselines("send", x, index, out)
            rate = rates(f"send, {ratio} to one, {pattern}", contenders, chosen, n, "send", report)
            if ratio >= 3:
                from_three.append(rate)
    if from_three and n == chosen.elements:
        uneven = max(from_three) / min(from_three) - 1
        report.figure("send, from 3 to one on: the fastest above the slowest", uneven, "ratio", EVEN, "at most")


def small(chosen: argparse.Namespace, n: int, report: Report) -> None:
    for name, kind, ours, theirs in pairs(n):
        where = f"{name}, {kind}, {n} elements"
        sides: dict[str, Callable[[], float]] = {
            "weft": functools.partial(harness.timed, ours, 400),
            "numpy": functools.partial(harness.timed, theirs, 400),
        }
        seconds = harness.interleaved(sides, 4 * chosen.rounds)
        report.samples(seconds, words=n, operation=f"{name}, {kind}")
        for who, times in seconds.items():
            report.figure(f"{where}: {who}", harness.spread(times), "s", quiet=True)
        ratio = harness.spread(harness.ratios(seconds["weft"], seconds["numpy"]))
        target = MAX_SMALL[kind] if n == SMALL else None
        report.figure(f"{where}: weft/numpy", ratio, "ratio", target, "at most")


def run(chosen: argparse.Namespace, report: Report) -> None:
    if chosen.part_of is not None:
        report.continue_from(chosen.part_of)
        chosen.record = chosen.part_of
    report.protocol = {
        "elements": chosen.elements,
        "rounds": chosen.rounds,
        "threads": chosen.threads,
        "shares": "bytes of each array read once and written once a second over those of a copy in the same round",
    }
    large = [chosen.elements, *(harness.awkward(chosen.elements) if chosen.awkward else [])]
    with tempfile.TemporaryDirectory() as folder:
        for n in large:
            if "streams" in chosen.groups:
                streams(chosen, n, Path(folder), report)
            if "gather" in chosen.groups:
                gather(chosen, n, report)
            if "send" in chosen.groups:
                send(chosen, n, report)
    if "small" in chosen.groups:
        for n in [SMALL, *(harness.awkward(SMALL) if chosen.awkward else [])]:
            small(chosen, n, report)


BENCHMARK = Benchmark(
    "primitives",
    "kernels of parallel variables beside numpy, numba, numexpr and JAX, as shares of a copy",
    "ten minutes",
    run,
    options,
    check,
    (*NEEDS, Need("cc", "program", hint="copies by streaming stores need it")),
)

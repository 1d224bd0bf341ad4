"""Stencils and shifts at every size: does a point cost the same where extents are no round numbers?

For each kind of stencil and for shifts both ways along every axis, arrays of the sizes from one below a power of two to
two above it, or about another round number, in the last extent only or in all of them. All sizes of a family run in
turn; a size is judged by its time for a point over that of the cheaper of the sizes beside it, round by round. Nothing
else runs, so that the whole takes two minutes.

Rows that are no whole number of cache lines lie at different offsets beside them, and loads that cross a line cost two.
What that alone makes of a size is measured beside stars of radius 1 in double precision: a loop in C (`reads.c`) that
loads the same rows where they lie and stores one result, without ends, is judged in the same way. A star that costs
more than its neighbours by no more than this loop has what is left to the loads.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import weft
from benches import building, harness
from benches.benchmark import Benchmark, Need, rounds_option
from benches.harness import Call
from benches.polyshift.stencil_cases import MAX_NEIGHBOUR, Case, coefficient, loops
from benches.recording import Report

AROUND = (-1, 0, 1, 2)
"""Sizes of a family, beside its round one."""

LINE = 8
"""Doubles of a cache line."""


@dataclass(frozen=True)
class Family:
    """Arrays whose last extent, or all, are about a round number.

    Attributes
    ----------
    kind
        `star`, `box`, or `shifts` both ways along every axis.
    every
        Whether all extents change.
    """

    kind: str
    radius: int
    shape: tuple[int, ...]
    dtype: str = "float64"
    every: bool = False

    @property
    def has_bound(self) -> bool:
        """Whether a loop of loads is measured beside it."""
        return (self.kind, self.radius, self.dtype) == ("star", 1, "float64")

    def shape_of(self, by: int) -> tuple[int, ...]:
        if self.every:
            return tuple(extent + by for extent in self.shape)
        return (*self.shape[:-1], self.shape[-1] + by)

    def name_of(self, by: int) -> str:
        reach = "" if self.kind == "shifts" else f" {self.radius}"
        changes = "all extents" if self.every else "rows"
        return f"{self.kind}{reach}, {changes}, {'x'.join(map(str, self.shape_of(by)))}, {self.dtype}"


FAMILIES = [
    *(Family("star", 1, (2048, last)) for last in (32, 128, 512, 2048)),
    *(Family("box", 1, (2048, last)) for last in (32, 128, 2048)),
    Family("star", 2, (2048, 2048)),
    *(Family("star", 1, (96, 96, last)) for last in (16, 32, 64, 128, 256)),
    *(Family("star", 1, (n, n, n), every=True) for n in (32, 64, 128, 256)),
    Family("star", 1, (256, 256, 256), "float32"),
    Family("star", 2, (200, 200, 200)),
    Family("star", 4, (128, 128, 128), "float32"),
    *(Family("box", 1, (n, n, n), every=True) for n in (48, 128, 256)),
    *(Family("star", 1, (32, 32, 32, last)) for last in (16, 32, 64)),
    *(Family("star", 1, (n,) * 4, every=True) for n in (16, 32, 64)),
    *(Family("shifts", 1, (n, n), every=True) for n in (128, 2048)),
    *(Family("shifts", 1, (n, n, n), every=True) for n in (64, 160)),
    *(Family("shifts", 1, (n,) * 4, every=True) for n in (16, 48)),
]


def reads_of(shape: tuple[int, ...], streams: bool, library: ctypes.CDLL) -> Call:
    """The loads and the store of a star of radius 1 in double precision on arrays of a shape, and nothing else."""
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape) - 1)]
    offsets = np.array(sorted(sign * stride for stride in strides for sign in (-1, 1)), dtype=np.int_)
    # Vectors of 64 bytes, as many as have all elements; memory around them for the largest offset and a vector more.
    sites = int(np.prod(shape)) // LINE * LINE
    beside = -(-strides[0] // LINE) * LINE + LINE
    source, target = _on_line(sites + 2 * beside + LINE), _on_line(sites)
    source += 1.0
    function = library.reads
    function.restype = None
    function.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    centre = source[beside:]

    def call() -> None:
        function(centre.ctypes.data, target.ctypes.data, sites, len(offsets), offsets.ctypes.data, streams)

    call()
    return call


def _on_line(count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Zeros, the first of which begins a cache line."""
    zeros = np.zeros(count + LINE)
    return zeros[-zeros.ctypes.data % 64 // 8 :][:count]


def plan_of(family: Family, by: int) -> Any:
    """weft's plan for a size: of a stencil, or of all shifts."""
    shape = family.shape_of(by)
    if family.kind == "shifts":
        moves = [(distance, axis) for axis in range(len(shape)) for distance in (1, -1)]
        return weft.arrays.polyshift(shape, family.dtype, moves, threads=1)
    offsets = Case(family.kind, family.radius, shape).offsets
    points: dict[Any, Any] = {offset: coefficient(number) for number, offset in enumerate(offsets)}
    return weft.arrays.stencil(points).plan(shape, dtype=family.dtype, threads=1)


def call_of(family: Family, by: int, plan: Any) -> Call:
    """weft's call on new arrays of a size."""
    shape = family.shape_of(by)
    x = np.random.default_rng(1).random(shape).astype(family.dtype)
    target: Any = np.zeros_like(x)
    if family.kind == "shifts":
        target = [np.zeros_like(x) for _ in range(2 * len(shape))]
    bound: Call = plan.bind(x, out=target)
    bound()
    return bound


def sides_of(family: Family, library: ctypes.CDLL) -> dict[str, dict[int, Call]]:
    """Calls for every size: weft's, and where there is one that of the loop beside it."""
    plans = {by: plan_of(family, by) for by in AROUND}
    sides = {"": {by: call_of(family, by, plan) for by, plan in plans.items()}}
    if family.has_bound:
        streams = {by: "non-temporal" in plan.explain() for by, plan in plans.items()}
        sides[", loads alone"] = {by: reads_of(family.shape_of(by), streams[by], library) for by in AROUND}
    return sides


def run(chosen: argparse.Namespace, report: Report) -> None:
    families = [family for family in FAMILIES if all(word in family.name_of(0) for word in chosen.words)]
    if not families:
        sys.exit(f"no family has all of: {' '.join(chosen.words)}")
    report.protocol = {"rounds": chosen.rounds, "seconds of a side": chosen.seconds}
    with tempfile.TemporaryDirectory() as folder:
        library = building.c_library(Path(__file__).with_name("reads.c"), Path(folder), "-ffast-math")
        for family in families:
            sides = sides_of(family, library)
            calls = {f"{family.name_of(by)}{side}": call for side, of in sides.items() for by, call in of.items()}
            seconds = harness.interleaved(loops(calls, chosen.seconds), chosen.rounds, family.name_of(0))
            report.samples(seconds, unit=family.kind)
            for side in sides:
                judge(family, {by: seconds[f"{family.name_of(by)}{side}"] for by in AROUND}, side, report)


def judge(family: Family, seconds: dict[int, list[float]], side: str, report: Report) -> None:
    """Figures of each size of a family: the time of a point, and of its neighbours' what it takes."""
    points = {by: [one / float(np.prod(family.shape_of(by))) * 1e9 for one in times] for by, times in seconds.items()}
    for by in AROUND:
        beside = [points[other] for other in (by - 1, by + 1) if other in points]
        cheaper = [min(round_) for round_ in zip(*beside, strict=True)]
        report.figure(f"{family.name_of(by)}: a point{side}", harness.spread(points[by]), "ns")
        cost = harness.spread(harness.ratios(points[by], cheaper))
        target = None if side else MAX_NEIGHBOUR
        report.figure(f"{family.name_of(by)}: of the sizes beside it{side}", cost, "ratio", target, "at most")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="only families with these (star, shifts, float32)")
    rounds_option(parser, 7)
    parser.add_argument("--seconds", type=float, default=0.03, help="time of a side in a round (default 0.03)")


BENCHMARK = Benchmark(
    "awkward-sizes",
    "stencils and shifts at sizes beside round ones: time of a point beside its neighbours'",
    "three minutes",
    run,
    options,
    None,
    (Need("cc", "program", required=True),),
)

"""Stencils and shifts at every size: does a point cost the same where extents are no round numbers?

For each kind of stencil and for shifts both ways along every axis, arrays of the sizes from one below a power of two to
two above it, or about another round number, in the last extent only or in all of them. All sizes of a family run in
turn; a size is judged by its time for a point over that of the cheaper of the sizes beside it, round by round. Nothing
else runs, so that the whole takes two minutes.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

import weft
from benches import harness
from benches.benchmark import Benchmark, rounds_option
from benches.harness import Call
from benches.polyshift.stencil_cases import MAX_NEIGHBOUR, Case, coefficient, loops
from benches.recording import Report

AROUND = (-1, 0, 1, 2)
"""Sizes of a family, beside its round one."""


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


def call_of(family: Family, by: int) -> Call:
    """weft's call on new arrays of a size, with all plans made."""
    shape = family.shape_of(by)
    x = np.random.default_rng(1).random(shape).astype(family.dtype)
    bound: Call
    if family.kind == "shifts":
        moves = [(distance, axis) for axis in range(len(shape)) for distance in (1, -1)]
        bound = weft.arrays.polyshift(shape, x.dtype, moves, threads=1).bind(x, out=[np.zeros_like(x) for _ in moves])
    else:
        offsets = Case(family.kind, family.radius, shape).offsets
        points: dict[Any, Any] = {offset: coefficient(number) for number, offset in enumerate(offsets)}
        bound = weft.arrays.stencil(points).plan(shape, dtype=x.dtype, threads=1).bind(x, np.zeros_like(x))
    bound()
    return bound


def run(chosen: argparse.Namespace, report: Report) -> None:
    families = [family for family in FAMILIES if all(word in family.name_of(0) for word in chosen.words)]
    if not families:
        sys.exit(f"no family has all of: {' '.join(chosen.words)}")
    report.protocol = {"rounds": chosen.rounds, "seconds of a side": chosen.seconds}
    for family in families:
        calls = {family.name_of(by): call_of(family, by) for by in AROUND}
        seconds = harness.interleaved(loops(calls, chosen.seconds), chosen.rounds, family.name_of(0))
        report.samples(seconds, unit=family.kind)
        points = [
            [one / float(np.prod(family.shape_of(by))) * 1e9 for one in seconds[family.name_of(by)]] for by in AROUND
        ]
        for number, by in enumerate(AROUND):
            beside = [points[other] for other in (number - 1, number + 1) if 0 <= other < len(AROUND)]
            cheaper = [min(round_) for round_ in zip(*beside, strict=True)]
            report.figure(f"{family.name_of(by)}: a point", harness.spread(points[number]), "ns")
            cost = harness.spread(harness.ratios(points[number], cheaper))
            report.figure(f"{family.name_of(by)}: of the sizes beside it", cost, "ratio", MAX_NEIGHBOUR, "at most")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="only families with these (star, shifts, float32)")
    rounds_option(parser, 7)
    parser.add_argument("--seconds", type=float, default=0.03, help="time of a side in a round (default 0.03)")


BENCHMARK = Benchmark(
    "awkward-sizes",
    "stencils and shifts at sizes beside round ones: time of a point beside its neighbours'",
    "two minutes",
    run,
    options,
)

"""Stencils and shifts at every size: does a point cost the same where extents are no round numbers?

For each kind of stencil and for shifts both ways along every axis, arrays of the sizes from one below a power of two to
two above it, or about another round number, in the last extent only or in all of them. All sizes of a family run in
turn; a size is judged by its time for a point over that of the cheaper of the sizes beside it, round by round. Nothing
else runs, so that the whole takes four minutes.

All arrays lie on huge pages (`pages.py`), at the same offset, and each size is measured on two sets of them: which
memory of the machine these get is up to the system. A size's time in a round is that of the faster set; how far the
judgements by each set alone are apart is what one is worth.

Rows that are no whole number of cache lines lie at different offsets beside them, and loads that cross a line cost two.
What that alone makes of a size is measured beside stars: a loop in C (`reads.c`) that loads the same rows where they
lie and stores one result, without ends, is judged in the same way. A star that costs more than its neighbours by no
more than this loop has what is left to the loads.
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
from benches.polyshift.pages import on_huge_pages
from benches.polyshift.stencil_cases import MAX_NEIGHBOUR, Case, coefficient, loops
from benches.recording import Report

AROUND = (-1, 0, 1, 2)
"""Sizes of a family, beside its round one."""

LINE = 64
"""Bytes of a cache line."""

SETS = ("", f", {harness.CONTROL}")
"""What the names of the sets of arrays end in."""

ALONE = ", loads alone"
"""What the names of sizes end in where the loop of loads stands for weft."""


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
    def rows(self) -> int:
        """Rows of a star but an element's own."""
        return 2 * self.radius * (len(self.shape) - 1)

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


def reads_of(family: Family, by: int, streams: bool, library: ctypes.CDLL) -> Call:
    """The loads and the store of a star on new arrays of a size, and nothing else."""
    shape, lanes = family.shape_of(by), LINE // np.dtype(family.dtype).itemsize
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape) - 1)]
    reach = [sign * distance for distance in range(1, family.radius + 1) for sign in (-1, 1)]
    offsets = np.array(sorted(steps * stride for stride in strides for steps in reach), dtype=np.int_)
    # Vectors of a line, as many as have all elements; memory around them for the largest offset and a vector more.
    sites = int(np.prod(shape)) // lanes * lanes
    beside = -(-int(offsets[-1]) // lanes) * lanes + lanes
    source = on_huge_pages(np.ones(sites + 2 * beside, family.dtype), 0)
    target = on_huge_pages(np.zeros(sites, family.dtype), 0)
    function = library.reads
    function.restype = None
    function.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_long, ctypes.c_void_p, ctypes.c_int]
    centre = source[beside:]

    def call() -> None:
        function(centre.ctypes.data, target.ctypes.data, sites, offsets.ctypes.data, streams)

    call()
    return call


def library_of(family: Family, folder: Path) -> ctypes.CDLL:
    """The loop of loads for a star's type, radius and number of rows."""
    of_its_own = folder / family.name_of(0).replace(", ", "-")
    of_its_own.mkdir()
    real = {"float32": "float", "float64": "double"}[family.dtype]
    flags = ("-ffast-math", f"-DREAL={real}", f"-DRADIUS={family.radius}", f"-DROWS={family.rows}")
    return building.c_library(Path(__file__).with_name("reads.c"), of_its_own, *flags)


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
    x = on_huge_pages(np.random.default_rng(1).random(shape).astype(family.dtype))
    targets = [on_huge_pages(np.zeros_like(x)) for _ in range(2 * len(shape) if family.kind == "shifts" else 1)]
    target: Any = targets if family.kind == "shifts" else targets[0]
    bound: Call = plan.bind(x, out=target)
    bound()
    return bound


def sides_of(family: Family, folder: Path) -> dict[str, dict[int, Call]]:
    """Calls for every size on two sets of arrays: weft's, and beside stars those of the loop of loads."""
    plans = {by: plan_of(family, by) for by in AROUND}
    sides = {beside: {by: call_of(family, by, plan) for by, plan in plans.items()} for beside in SETS}
    if family.kind == "star":
        library = library_of(family, folder)
        streams = {by: "non-temporal" in plan.explain() for by, plan in plans.items()}
        for beside in SETS:
            sides[f"{ALONE}{beside}"] = {by: reads_of(family, by, streams[by], library) for by in AROUND}
    return sides


def run(chosen: argparse.Namespace, report: Report) -> None:
    families = [family for family in FAMILIES if all(word in family.name_of(0) for word in chosen.words)]
    if not families:
        sys.exit(f"no family has all of: {' '.join(chosen.words)}")
    report.protocol = {"rounds": chosen.rounds, "seconds of a side": chosen.seconds}
    with tempfile.TemporaryDirectory() as folder:
        for family in families:
            sides = sides_of(family, Path(folder))
            calls = {f"{family.name_of(by)}{side}": call for side, of in sides.items() for by, call in of.items()}
            seconds = harness.interleaved(loops(calls, chosen.seconds), chosen.rounds, family.name_of(0))
            report.samples(seconds, unit=family.kind)
            for what in ("", ALONE) if family.kind == "star" else ("",):
                judge(family, seconds, what, report)


def judge(family: Family, seconds: dict[str, list[float]], what: str, report: Report) -> None:
    """Figures of each size of a family: the time of a point, and of its neighbours' what it takes."""
    sets = {
        beside: {by: np.array(seconds[f"{family.name_of(by)}{what}{beside}"]) / sites_of(family, by) for by in AROUND}
        for beside in SETS
    }
    faster = {by: np.minimum(*(points[by] for points in sets.values())) for by in AROUND}
    for by in AROUND:
        size = family.name_of(by)
        report.figure(f"{size}: a point{what}", harness.spread((faster[by] * 1e9).tolist()), "ns")
        target = None if what else MAX_NEIGHBOUR
        report.figure(f"{size}: of the sizes beside it{what}", cost_of(faster, by), "ratio", target, "at most")
        for number, points in enumerate(sets.values(), 1):
            name = f"{size}: of the sizes beside it{what}, set {number} alone"
            report.figure(name, cost_of(points, by), "ratio", quiet=True)


def sites_of(family: Family, by: int) -> int:
    return int(np.prod(family.shape_of(by)))


def cost_of(points: dict[int, Any], by: int) -> harness.Spread:
    """A size's time for a point over that of the cheaper of the sizes beside it, round by round."""
    cheaper = np.minimum.reduce([points[other] for other in (by - 1, by + 1) if other in points])
    return harness.spread((points[by] / cheaper).tolist())


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="only families with these (star, shifts, float32)")
    rounds_option(parser, 7)
    parser.add_argument("--seconds", type=float, default=0.03, help="time of a side in a round (default 0.03)")


BENCHMARK = Benchmark(
    "awkward-sizes",
    "stencils and shifts at sizes beside round ones: time of a point beside its neighbours'",
    "four minutes",
    run,
    options,
    None,
    (Need("cc", "program", required=True),),
)

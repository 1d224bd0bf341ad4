"""Stencils of many kinds and sizes beside C: is weft ahead in each, and does a point cost the same at awkward sizes?

Stars and boxes of radius 1 to 4 in two to four axes, in single and double precision, with constants and with an array
of coefficients for each point, in cache and out of it, at round sizes and beside them, on one thread and on two. The
baseline is C as it is written by hand for one shape, generated with extents and constants as literals and built with
-O3 -march=native -ffast-math -fopenmp; it reads an array with ghost cells that somebody else has filled, where weft
finds the other end of a circular axis by itself. Both sides run in turn, as often as fills the time of a side; each
result is compared with the baseline's. All arrays lie on huge pages (`pages.py`). A size is judged beside its
neighbours by time for a point. Where each point has an array of coefficients, these are most of what is read from
memory. Two loops over them alone run beside both: numpy's sum of all, which is one stream, and the sums of those of
each point in C, which reads as many streams as a stencil and stores as many results. weft runs twice in a round: how
far the ratio of its two times is from 1 is what a ratio beside C may be worth.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import itertools
import os
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
from benches.recording import Report

Offset = tuple[int, ...]

CONTROL = f"weft, {harness.CONTROL}"
STREAMS = "sums of the coefficients of each point"
MAX_NEIGHBOUR = 1.15
"""The most that a point may cost, of what it costs in an array whose rows are one element longer or shorter."""


@dataclass(frozen=True)
class Case:
    """A stencil on arrays of one shape.

    Attributes
    ----------
    kind
        `star` or `box`.
    varying
        Whether each point has an array of coefficients.
    beside
        The last extent of the case that this one is judged beside; 0 for none.
    """

    kind: str
    radius: int
    shape: tuple[int, ...]
    dtype: str = "float64"
    varying: bool = False
    threads: int = 1
    beside: int = 0

    @property
    def offsets(self) -> list[Offset]:
        axes = len(self.shape)
        reach = range(-self.radius, self.radius + 1)
        offsets = itertools.product(reach, repeat=axes)
        if self.kind == "box":
            return list(offsets)
        return [offset for offset in offsets if sum(map(bool, offset)) <= 1]

    @property
    def name(self) -> str:
        words = [f"{len(self.offsets)}-point {self.kind}", "x".join(map(str, self.shape)), self.dtype]
        words += ["varying"] * self.varying + [f"{self.threads} threads"] * (self.threads > 1)
        return " ".join(words)

    @property
    def sites(self) -> int:
        return int(np.prod(self.shape))


def _beside(
    kind: str, radius: int, shape: tuple[int, ...], dtype: str = "float64", varying: bool = False
) -> list[Case]:
    """A round shape, and those whose rows are one element shorter and longer."""
    last = shape[-1]
    shapes = [(*shape[:-1], last + by) for by in (-1, 0, 1)]
    return [Case(kind, radius, s, dtype, varying, beside=0 if s[-1] == last else last) for s in shapes]


CASES = [
    *_beside("star", 1, (2048, 2048)),
    *_beside("star", 1, (300, 300)),
    *_beside("star", 2, (2048, 2048)),
    Case("star", 4, (2048, 2048), "float32"),
    *_beside("box", 1, (2048, 2048)),
    *_beside("star", 1, (256, 256, 256)),
    *_beside("star", 1, (96, 96, 128)),
    *_beside("star", 1, (40, 40, 40)),
    *_beside("star", 1, (256, 256, 256), "float32"),
    *_beside("star", 1, (192, 192, 192), varying=True),
    *_beside("star", 2, (200, 200, 200)),
    *_beside("star", 4, (256, 256, 256), "float32"),
    Case("star", 4, (200, 200, 200), "float32"),
    Case("star", 4, (160, 160, 160)),
    *_beside("box", 1, (256, 256, 256)),
    *_beside("box", 1, (48, 48, 48)),
    Case("box", 1, (128, 128, 128), varying=True),
    *_beside("star", 1, (64, 64, 64, 64)),
    *_beside("star", 1, (32, 32, 32, 32)),
    *(Case("star", 1, (32, 32, 32, last)) for last in (8, 16, 24)),
    Case("star", 1, (16, 16, 16, 16)),
    *(
        Case(kind, radius, shape, dtype, threads=2)
        for kind, radius, shape, dtype in (
            ("star", 1, (2048, 2048), "float64"),
            ("star", 1, (256, 256, 257), "float64"),
            ("star", 4, (256, 256, 256), "float32"),
            ("box", 1, (256, 256, 256), "float64"),
            ("star", 1, (64, 64, 64, 64), "float64"),
        )
    ),
]


def coefficient(number: int) -> float:
    return 0.01 + 0.001 * number


def c_source(number: int, case: Case) -> str:
    """The baseline's function `case_NUMBER(x, y, c, threads)`: x with ghost cells, c an array for each point."""
    axes, radius = len(case.shape), case.radius
    real = {"float32": "float", "float64": "double"}[case.dtype]
    suffix = "f" if case.dtype == "float32" else ""
    padded = [extent + 2 * radius for extent in case.shape]
    names = "hijk"[:axes]

    def index(extents: list[int] | tuple[int, ...], offset: Offset) -> str:
        text = "0L"
        for name, extent, by in zip(names, extents, offset, strict=True):
            text = f"({text} * {extent} + {name} + {by})"
        return text

    terms = []
    for point, offset in enumerate(case.offsets):
        from_padded = index(padded, tuple(by + radius for by in offset))
        factor = f"{coefficient(point)!r}{suffix}"
        if case.varying:
            factor = f"c[{point}L * {case.sites} + {index(case.shape, (0,) * axes)}]"
        terms.append(f"{factor} * x[{from_padded}]")
    arrays = f"const {real} *restrict x, {real} *restrict y, const {real} *restrict c"
    lines = [f"void case_{number}({arrays}, int threads)", "{"]
    collapsed = f" collapse({axes - 1})" if axes > 2 else ""
    lines.append(f"#pragma omp parallel for num_threads(threads) if(threads > 1){collapsed}")
    for depth, (name, extent) in enumerate(zip(names, case.shape, strict=True)):
        lines.append("    " * (depth + 1) + f"for (long {name} = 0; {name} < {extent}; {name}++)")
    lines.append("    " * (axes + 1) + f"y[{index(case.shape, (0,) * axes)}] =")
    lines += ["        " + text for text in " +\n".join(terms).splitlines()]
    return "\n".join(lines) + ";\n}\n"


def streams_source(number: int, case: Case) -> str:
    """`streams_NUMBER(y, c)`: what a case's stencil reads of coefficients and stores, and nothing else."""
    real = {"float32": "float", "float64": "double"}[case.dtype]
    terms = " + ".join(f"c[{point}L * {case.sites} + i]" for point in range(len(case.offsets)))
    return (
        f"void streams_{number}({real} *restrict y, const {real} *restrict c)\n{{\n"
        f"    for (long i = 0; i < {case.sites}; i++)\n        y[i] = {terms};\n}}\n"
    )


def library_of(cases: list[Case], folder: Path) -> ctypes.CDLL:
    source = folder / "cases.c"
    functions = [c_source(number, case) for number, case in enumerate(cases)]
    functions += [streams_source(number, case) for number, case in enumerate(cases) if case.varying]
    source.write_text("\n".join(functions))
    return building.c_library(source, folder, "-ffast-math", "-fopenmp")


def sides_of(number: int, case: Case, library: ctypes.CDLL) -> dict[str, Call]:
    """A call of weft and one of the baseline, whose results agree; where coefficients vary, one that reads these."""
    random = np.random.default_rng(number)
    x = on_huge_pages(random.random(case.shape).astype(case.dtype))
    y = on_huge_pages(np.zeros_like(x))
    arrays = None
    points: dict[Any, Any] = {offset: coefficient(point) for point, offset in enumerate(case.offsets)}
    if case.varying:
        arrays = on_huge_pages(random.random((len(points), *case.shape)).astype(case.dtype))
        points = dict(zip(points, arrays, strict=True))
    ours = weft.arrays.stencil(points).plan(case.shape, dtype=case.dtype, threads=case.threads).bind(x, y)
    padded, theirs = on_huge_pages(np.pad(x, case.radius, mode="wrap")), on_huge_pages(np.zeros_like(x))
    function = library[f"case_{number}"]
    function.restype, function.argtypes = None, [ctypes.c_void_p] * 3 + [ctypes.c_int]
    held = (padded, theirs, arrays)

    def baseline() -> None:
        function(*(None if array is None else array.ctypes.data for array in held), case.threads)

    ours()
    baseline()
    if not np.allclose(y, theirs, rtol=1e-4 if case.dtype == "float32" else 1e-10):
        sys.exit(f"{case.name}: weft and C compute different things")
    sides: dict[str, Call] = {"weft": ours, "c": baseline}
    if arrays is None:
        return sides
    streams, sums = library[f"streams_{number}"], on_huge_pages(np.zeros_like(x))
    streams.restype, streams.argtypes = None, [ctypes.c_void_p] * 2
    side_by_side = arrays

    def in_streams() -> None:
        streams(sums.ctypes.data, side_by_side.ctypes.data)

    return sides | {"coefficients": arrays.sum, STREAMS: in_streams}


def run(chosen: argparse.Namespace, report: Report) -> None:
    cases = [case for case in CASES if all(word in case.name.split() for word in chosen.words)]
    if not cases:
        sys.exit(f"no case has all of: {' '.join(chosen.words)}")
    report.protocol = {"rounds": chosen.rounds, "seconds of a side": chosen.seconds, "processors": os.cpu_count()}
    points: dict[tuple[object, ...], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        library = library_of(cases, Path(folder))
        for number, case in enumerate(cases):
            calls = harness.with_control(loops(sides_of(number, case, library), chosen.seconds), "weft")
            seconds = harness.interleaved(calls, chosen.rounds, case.name)
            report.samples(seconds, shape="x".join(map(str, case.shape)), unit=case.name)
            points[_family(case, case.shape[-1])] = [one / case.sites for one in seconds["weft"]]
            per_point = harness.spread([one / case.sites * 1e9 for one in seconds["weft"]])
            report.figure(f"{case.name}: weft, a point", per_point, "ns")
            gain = harness.spread(harness.ratios(seconds["c"], seconds["weft"]))
            report.figure(f"{case.name}: C / weft", gain, "ratio", 1.0, "at least")
            noise = harness.spread(harness.ratios(seconds[CONTROL], seconds["weft"]))
            report.figure(f"{case.name}: {CONTROL} / weft", noise, "ratio", quiet=True)
            if case.varying:
                of_bound = harness.spread(harness.ratios(seconds["weft"], seconds["coefficients"]))
                report.figure(f"{case.name}: weft, of one read of the coefficients", of_bound, "ratio")
                for side in ("weft", "c"):
                    of_streams = harness.spread(harness.ratios(seconds[side], seconds[STREAMS]))
                    report.figure(f"{case.name}: {side}, of {STREAMS}", of_streams, "ratio")
    for case in cases:
        if case.beside and (other := points.get(_family(case, case.beside))):
            cost = harness.spread(harness.ratios(points[_family(case, case.shape[-1])], other))
            report.figure(f"{case.name}: a point, of {case.beside}", cost, "ratio", MAX_NEIGHBOUR, "at most")


def _family(case: Case, last: int) -> tuple[object, ...]:
    return (case.kind, case.radius, case.dtype, case.varying, case.threads, *case.shape[:-1], last)


def loops(calls: dict[str, Call], seconds: float) -> dict[str, Call]:
    """Sides that repeat their call for about so many seconds, and return the time of one."""
    return {
        name: functools.partial(harness.timed, call, max(1, round(seconds / harness.timed(call))))
        for name, call in calls.items()
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="only cases with these words (7-point, float32, star)")
    rounds_option(parser, 7)
    parser.add_argument("--seconds", type=float, default=0.1, help="time of a side in a round (default 0.1)")


BENCHMARK = Benchmark(
    "stencil-cases",
    "stencils of many kinds at round and awkward sizes beside generated C",
    "four minutes",
    run,
    options,
    None,
    (Need("cc", "program", required=True),),
)

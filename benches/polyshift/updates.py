"""Compiled updates of coupled fields, beside numpy's evaluation in tiles and what is written by hand in numba and C.

Gray and Scott's step (programs/gray_scott.py): two nine-point sums and a nonlinear function of two fields on a periodic
square, on one thread, in cache and out of it, in double and single precision. The baselines are one loop each, with
the ends of rows written out; C is built with -O3 -march=native -ffast-math. Each result is compared with numpy's.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import weft
from benches import building, harness
from benches.benchmark import Benchmark, Need, rounds_option
from benches.harness import Call
from benches.recording import Report

SIZES = (128, 512, 2048)
ROUND_SECONDS = 0.05
FEED, KILL = 0.037, 0.06
NINE = {(i, j): -1.0 if (i, j) == (0, 0) else 0.2 if 0 in (i, j) else 0.05 for i in (-1, 0, 1) for j in (-1, 0, 1)}
OURS = "weft, compiled"


def react(u: Any, v: Any, du: Any, dv: Any, feed: Any, kill: Any) -> tuple[Any, Any]:
    """The next values of both."""
    uvv = u * v * v
    return u + du - uvv + feed * (1 - u), v + 0.5 * dv + uvv - (feed + kill) * v


def with_weft(fields: list[np.ndarray], compiled: bool) -> Call:
    """The update."""
    points: dict[Any, Any] = {**NINE}
    laplace = weft.arrays.stencil(points)
    step = weft.arrays.Update(react, {"du": (laplace, "u"), "dv": (laplace, "v")}, ("p", "q"), compiled=compiled)
    u, v, p, q = fields
    return lambda: step(u=u, v=v, p=p, q=q, feed=FEED, kill=KILL)


def with_numba(fields: list[np.ndarray]) -> Call:
    """One loop, and one for the ends of rows."""
    import numba

    @numba.njit(inline="always")
    def site(u: Any, v: Any, p: Any, q: Any, a: Any, i: Any, b: Any, left: Any, j: Any, right: Any, c: Any) -> None:
        du = c[0] * (u[a, j] + u[b, j] + u[i, left] + u[i, right]) - u[i, j]
        du += c[1] * (u[a, left] + u[a, right] + u[b, left] + u[b, right])
        dv = c[0] * (v[a, j] + v[b, j] + v[i, left] + v[i, right]) - v[i, j]
        dv += c[1] * (v[a, left] + v[a, right] + v[b, left] + v[b, right])
        uvv = u[i, j] * v[i, j] * v[i, j]
        p[i, j] = u[i, j] + du - uvv + c[3] * (c[5] - u[i, j])
        q[i, j] = v[i, j] + c[2] * dv + uvv - (c[3] + c[4]) * v[i, j]

    def loop(u: Any, v: Any, p: Any, q: Any, c: Any) -> None:
        n, k = u.shape
        for i in range(n):
            a, b = (i - 1 if i else n - 1), (i + 1 if i < n - 1 else 0)
            for j in range(1, k - 1):
                site(u, v, p, q, a, i, b, j - 1, j, j + 1, c)
            site(u, v, p, q, a, i, b, k - 1, 0, 1, c)
            site(u, v, p, q, a, i, b, k - 2, k - 1, 0, c)

    step: Any = numba.njit(fastmath=True)(loop)
    number = fields[0].dtype.type
    constants = tuple(map(number, (0.2, 0.05, 0.5, FEED, KILL, 1.0)))
    return lambda: step(*fields, constants)


def with_c(library: ctypes.CDLL, fields: list[np.ndarray]) -> Call:
    """The function of updates.c."""
    dtype = fields[0].dtype
    real = ctypes.c_double if dtype == np.float64 else ctypes.c_float
    function = getattr(library, f"gray_scott_{dtype.name}")
    extents = [ctypes.c_ssize_t(extent) for extent in fields[0].shape]
    pointers = [ctypes.c_void_p(one.ctypes.data) for one in fields]
    return lambda: function(*extents, *pointers, real(FEED), real(KILL))


def contenders(fields: list[np.ndarray], library: ctypes.CDLL) -> dict[str, Call]:
    """Everything that is timed, each result checked."""
    calls: dict[str, Call] = {
        "weft, numpy in tiles": with_weft(fields, compiled=False),
        OURS: with_weft(fields, compiled=True),
        "numba by hand": with_numba(fields),
        "C": with_c(library, fields),
    }
    expected: list[np.ndarray] = []
    for name, call in calls.items():
        for one in fields[2:]:
            one.fill(0)
        call()
        if not expected:
            expected = [one.copy() for one in fields[2:]]
        tolerance = 64 * np.finfo(fields[0].dtype).eps
        if not all(
            np.allclose(a, b, rtol=tolerance, atol=tolerance) for a, b in zip(fields[2:], expected, strict=True)
        ):
            sys.exit(f"{name} computes something else")
    return calls


def measure(size: int, dtype: str, rounds: int, library: ctypes.CDLL, report: Report) -> None:
    """One size and type."""
    random = np.random.default_rng(1)
    fields = [random.random((size, size)).astype(dtype) for _ in range(4)]
    sides = harness.with_control(harness.loops(contenders(fields, library), ROUND_SECONDS), OURS)
    seconds = harness.interleaved(sides, rounds)
    where = f"{size}x{size} {dtype}"
    ours = harness.spread([1e9 * one / size**2 for one in seconds[OURS]])
    report.figure(f"{where}: {OURS}: ns a site", ours, "ns")
    for name, times in seconds.items():
        if name != OURS:
            ratio = harness.spread(harness.ratios(times, seconds[OURS]))
            report.figure(f"{where}: {name} / {OURS}", ratio, "ratio")
    report.samples(seconds, shape=f"{size}x{size}", bytes=fields[0].nbytes, unit=dtype)


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 15)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="sides of the squares")


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {
        "rounds": chosen.rounds,
        "threads": 1,
        "statistic": "median over rounds of the mean seconds of a call in a loop of about 50 ms; ratios round by round",
    }
    with tempfile.TemporaryDirectory() as folder:
        source = Path(__file__).parent / "updates.c"
        library = building.c_library(source, Path(folder), "-ffast-math")
        for size in chosen.sizes:
            for dtype in ("float64", "float32"):
                measure(size, dtype, chosen.rounds, library, report)


BENCHMARK = Benchmark(
    "updates",
    "compiled updates of coupled fields beside numba and C by hand",
    "a minute",
    run,
    options,
    needs=(Need("numba", "package", required=True), Need("cc", "program", required=True)),
)

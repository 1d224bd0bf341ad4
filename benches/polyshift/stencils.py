"""weft's stencils beside numpy, numba, JAX and C, as shares of a copy of the array.

Each round times a copy by memmove of the same array on one thread, and one shared by --threads (default: all), with
which weft's gain from threads is compared; weft on one thread and on --threads; weft with --steps time steps in one
call (per step; several in one sweep, so beyond 1.0 is possible); and every baseline that is there; baselines that
are not are named and left out. Where all coefficients differ, as many products in registers, which read and write
nothing: what the processor allows one thread in that minute. A share is bytes over seconds over the copy's rate of
the same round: 16 bytes a point (source read, result written), 232 where each of 27 points has an array of
coefficients. Every result is checked against weft's first. stencils.md says what to know when reading the numbers.
Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import weft
from benches import building, harness
from benches.benchmark import Benchmark, Need, awkward_option, has_package, positive, rounds_option
from benches.harness import Call
from benches.recording import Report

PRODUCTS = "products alone"
"""As many products and sums as the points need, in registers: a share that one thread cannot exceed."""

Points = dict[tuple[int, ...], Any]


def around(axes: int) -> Points:
    """Both neighbours along every axis, each with its own coefficient."""
    steps = [(axis, by) for axis in range(axes) for by in (-1, 1)]
    return {tuple(by if a == axis else 0 for a in range(axes)): 0.1 + 0.01 * axis + 0.001 * by for axis, by in steps}


def star(axes: int) -> Points:
    return {(0,) * axes: 0.5, **around(axes)}


def cube() -> Points:
    return {offset: 0.01 + 0.001 * n for n, offset in enumerate(itertools.product((-1, 0, 1), repeat=3))}


def symmetric() -> Points:
    weights = (0.5, 0.05, 0.01, 0.002)
    return {offset: weights[sum(map(abs, offset))] for offset in cube()}


CASES: dict[str, tuple[tuple[int, ...], Callable[[], Points], bool, float]] = {
    "5-point": ((4096, 4096), lambda: star(2), False, 0.85),
    "7-point": ((256,) * 3, lambda: star(3), False, 0.85),
    "27-point": ((256,) * 3, cube, False, 0.55),
    "27-point-symmetric": ((256,) * 3, symmetric, False, 0.55),
    "8-point": ((64,) * 4, lambda: around(4), False, 0.65),
    "27-point-arrays": ((192,) * 3, cube, True, 0.75),
}
"""Shape, points, whether each has an array of coefficients, and the share of a copy to reach on one thread."""


def with_c(library: ctypes.CDLL, name: str, x: np.ndarray, y: np.ndarray, points: Points) -> Call:
    """The function of stencils.c for a case."""
    pointer = ctypes.POINTER(ctypes.c_double)
    source, target = x.ctypes.data_as(pointer), y.ctypes.data_as(pointer)
    extents = [ctypes.c_ssize_t(extent) for extent in (x.shape if x.ndim == 2 else x.shape[:1])]
    if name == "27-point-arrays":
        factors: Any = (pointer * 27)(*(array.ctypes.data_as(pointer) for array in points.values()))
    else:
        factors = (ctypes.c_double * len(points))(*points.values())
    functions = {"5-point": "star2", "7-point": "star3", "8-point": "around4", "27-point-arrays": "cube3_arrays"}
    function = getattr(library, functions.get(name, "cube3"))
    return lambda: function(source, target, *extents, factors)


def with_numpy(x: np.ndarray, y: np.ndarray, points: Points) -> Call:
    """Sums of rolled copies."""

    def call() -> None:
        y[...] = 0
        for offset, coefficient in points.items():
            axes = [axis for axis, by in enumerate(offset) if by]
            moved = np.roll(x, [-offset[axis] for axis in axes], axes) if axes else x
            np.add(y, coefficient * moved, out=y)

    return call


def with_numba(x: np.ndarray, y: np.ndarray, points: Points) -> Call:
    """Loops over the inner points, written out for the case; its ends are left out, in its favour."""
    import numba

    names = "hijk"[: x.ndim]
    arrays = not isinstance(next(iter(points.values())), float)
    terms = []
    for number, offset in enumerate(points):
        index = ",".join(f"{name}{by:+d}" if by else name for name, by in zip(names, offset, strict=True))
        factor = f"c{number}[{','.join(names)}]" if arrays else f"c[{number}]"
        terms.append(f"{factor}*x[{index}]")
    parameters = [f"c{number}" for number in range(len(points))] if arrays else ["c"]
    lines = [f"def kernel(x, y, {', '.join(parameters)}):"]
    for depth, name in enumerate(names):
        lines.append("    " * (depth + 1) + f"for {name} in range(1, x.shape[{depth}] - 1):")
    lines.append("    " * (x.ndim + 1) + f"y[{','.join(names)}] = {' + '.join(terms)}")
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)
    kernel = numba.njit(fastmath=True)(space["kernel"])
    arguments = list(points.values()) if arrays else [np.array(list(points.values()))]
    return lambda: kernel(x, y, *arguments)


def with_jax(x: np.ndarray, y: np.ndarray, points: Points) -> Call:
    """Sums of rolled arrays under jit, on one processor."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def total(x: Any, factors: list[Any]) -> Any:
        return sum(
            factor * jnp.roll(x, [-by for by in offset], range(x.ndim))
            for offset, factor in zip(points, factors, strict=True)
        )

    compiled = jax.jit(total)
    there, factors = jnp.asarray(x), [jnp.asarray(factor) for factor in points.values()]
    return lambda: compiled(there, factors).block_until_ready()


def inner(y: np.ndarray) -> np.ndarray:
    return y[(slice(1, -1),) * y.ndim]


@dataclass
class Work:
    """What is timed of a case.

    Attributes
    ----------
    calls
        By name; `steps` says how many time steps each of them does.
    bytes
        That one step has to move.
    """

    x: np.ndarray
    y: np.ndarray
    calls: dict[str, Call]
    steps: dict[str, int]
    bytes: int


def work_of(name: str, shape: tuple[int, ...], chosen: argparse.Namespace, library: ctypes.CDLL | None) -> Work:
    """Arrays and everything that is timed, for a case; each baseline's result is checked."""
    _, make, arrays, _ = CASES[name]
    points = make()
    if arrays:
        points = {offset: np.full(shape, value) for offset, value in points.items()}
    x = np.random.default_rng(1).random(shape)
    y = weft.arrays.stencil({(0,) * len(shape): 1.0})(x)
    s = weft.arrays.stencil(dict(points.items()))
    plan = s.plan(shape, threads=1)
    calls: dict[str, Call] = {"weft": plan.bind(x, y)}
    calls["weft"]()
    expected = y.copy()
    if chosen.threads > 1:
        calls[f"weft, {chosen.threads} threads"] = s.plan(shape, threads=chosen.threads).bind(x, y)
    steps = {}
    if not arrays and chosen.steps > 1:
        several = f"weft, {chosen.steps} steps"
        calls[several] = s.plan(shape, threads=1, steps=chosen.steps).bind(x, y)
        steps[several] = chosen.steps
    for baseline, call in baselines(name, x, y, points, chosen, library).items():
        y.fill(0)
        call()
        if baseline != "jax" and not np.allclose(inner(y), inner(expected), rtol=1e-12):
            sys.exit(f"{name}: {baseline} computes something else")
        calls[baseline] = call
    if library and not arrays and len(set(points.values())) == len(points):
        calls[PRODUCTS] = lambda: library.products(len(points) * x.size, 0.5)
    return Work(x, y, calls, steps, plan.bytes())


def baselines(
    name: str, x: np.ndarray, y: np.ndarray, points: Points, chosen: argparse.Namespace, library: ctypes.CDLL | None
) -> dict[str, Call]:
    """The baselines that are wanted and installed."""
    calls: dict[str, Call] = {}
    for baseline in chosen.baselines:
        if baseline == "c" and library is not None:
            calls["c"] = with_c(library, name, x, y, points)
        elif baseline == "numpy":
            calls["numpy"] = with_numpy(x, y, points)
        elif baseline == "numba" and has_package("numba"):
            calls["numba"] = with_numba(x, y, points)
        elif baseline == "jax" and has_package("jax"):
            calls["jax"] = with_jax(x, y, points)
    return calls


COPY = "copy"
SLOW = {"numpy": 2, "jax": 2}
"""Rounds of what is so slow that two tell enough."""


def measure(
    name: str, shape: tuple[int, ...], chosen: argparse.Namespace, library: ctypes.CDLL | None, report: Report
) -> None:
    """Shares of the copy's rate, round by round; a shape that is not the case's own has no target."""
    work = work_of(name, shape, chosen, library)
    x, y = work.x, work.y
    calls: dict[str, Call] = {COPY: lambda: ctypes.memmove(y.ctypes.data, x.ctypes.data, x.nbytes)}
    several = f"{COPY}, {chosen.threads} threads"
    if library and chosen.threads > 1:
        calls[several] = lambda: library.copy(y.ctypes.data, x.ctypes.data, x.size, chosen.threads)
    calls |= work.calls
    sides = {label: lambda call=call: harness.timed(call) for label, call in calls.items()}
    seconds = harness.interleaved(sides, chosen.rounds, name, SLOW)
    where = f"{name} {'x'.join(map(str, shape))}"
    target = CASES[name][3] if shape == CASES[name][0] else None
    report.samples(seconds, shape="x".join(map(str, shape)), bytes=x.nbytes, unit=name)
    report.figure(f"{where}: copy", harness.spread([2 * x.nbytes / one / 1e9 for one in seconds[COPY]]), "GB/s")
    for label in work.calls:
        moved = work.bytes * work.steps.get(label, 1) / (2 * x.nbytes)
        copies = seconds[COPY][: len(seconds[label])]
        share = harness.spread([moved * one for one in harness.ratios(copies, seconds[label])])
        judged = target if label == "weft" else None
        report.figure(f"{where}: {label}: share of a copy", share, "ratio", judged, "at least")
    if several in seconds:
        for label, other in ((COPY, several), ("weft", f"weft, {chosen.threads} threads")):
            gain = harness.spread(harness.ratios(seconds[label], seconds[other]))
            report.figure(f"{where}: {label}, by {chosen.threads} threads", gain, "ratio")
    if PRODUCTS in seconds:
        share = harness.spread(harness.ratios(seconds[PRODUCTS], seconds["weft"]))
        report.figure(f"{where}: weft: share of its products alone", share, "ratio")


def build_c(folder: Path) -> ctypes.CDLL:
    library = building.c_library(Path(__file__).with_name("stencils.c"), folder, "-ffast-math", "-fopenmp")
    library.copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]
    library.copy.restype = None
    library.products.argtypes = [ctypes.c_ssize_t, ctypes.c_double]
    library.products.restype = ctypes.c_double
    return library


BASELINES = ("c", "numpy", "numba", "jax")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)} (default: all)")
    rounds_option(parser, 7)
    everyone = ",".join(BASELINES)
    parser.add_argument("--baselines", default=everyone, help=f"comma-separated (default {everyone})")
    default = os.cpu_count() or 1
    parser.add_argument("--threads", type=positive, default=default, help="threads of the second row of weft")
    parser.add_argument("--steps", type=positive, default=8, help="time steps in one call (default 8)")
    awkward_option(parser)


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    chosen.baselines = [name for name in chosen.baselines.split(",") if name]
    unknown = [name for name in chosen.cases if name not in CASES]
    wrong = [name for name in chosen.baselines if name not in BASELINES]
    if unknown or wrong:
        parser.error(f"unknown: {', '.join(unknown + wrong)}")


def run(chosen: argparse.Namespace, report: Report) -> None:
    # One thread for a library that would take all.
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    report.protocol = {
        "rounds": chosen.rounds,
        "threads": chosen.threads,
        "steps": chosen.steps,
        "denominator": "memmove of the same array, one thread",
    }
    with tempfile.TemporaryDirectory() as folder:
        library = build_c(Path(folder)) if "c" in chosen.baselines and C_COMPILER.is_there else None
        for name in chosen.cases or CASES:
            regular = CASES[name][0]
            for shape in [regular, *(harness.awkward_shapes(regular) if chosen.awkward else [])]:
                measure(name, shape, chosen, library, report)


C_COMPILER = Need("cc", "program")

BENCHMARK = Benchmark(
    "stencils",
    "stencils beside C, numpy, numba and JAX, as shares of a copy",
    "two minutes",
    run,
    options,
    check,
    (C_COMPILER, Need("numba", "package"), Need("jax", "package")),
)

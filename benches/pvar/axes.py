"""Reductions along an axis, of parallel variables, beside numpy and JAX.

What a line comes to is wanted at all of its elements, as `weft.pvar.reduce(x, …, axis=…)` gives it: numpy reduces with
`keepdims` and broadcasts into an array, JAX does both in one compiled call. A row is an operator, a type, a shape, an
axis, and whether two thirds of the elements are selected, which numpy takes as `where=` and JAX as a choice before it.
Its figure is the time of the fastest baseline over that of weft in the same round, so that over 1 weft is ahead. All
sides make their result anew. Results are compared: of whole numbers exactly, of floats to rounding. Baselines that are
not installed are left out, and the record's protocol says which took part.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benches import harness
from benches.benchmark import Benchmark, Need, has_package, rounds_option
from benches.harness import Call
from benches.pvar.baselines import timed
from benches.recording import Report
from weft import pvar

SHAPES = ((30, 30), (8000, 9), (9, 8000), (850, 8, 8), (1000, 1000), (3001, 2999))
OPERATORS = {"sum": ("float64", "int32"), "max": ("float32", "int8"), "or": ("bool",)}
NUMPY: dict[str, Any] = {"sum": np.sum, "max": np.max, "or": np.any}

NEUTRAL = {"max": -np.inf, "sum": 0, "or": False}
"""What those who are not selected count."""


def rows() -> Iterator[tuple[str, str, tuple[int, ...], int, bool]]:
    """Operator, type, shape, axis, and whether some are selected."""
    for shape in SHAPES:
        for operator, dtypes in OPERATORS.items():
            for dtype in dtypes:
                for axis in range(len(shape)):
                    yield from ((operator, dtype, shape, axis, selected) for selected in (False, True))


def nothing(operator: str, dtype: np.dtype[Any]) -> Any:
    """An element that changes nothing."""
    return np.iinfo(dtype).min if operator == "max" and dtype.kind == "i" else NEUTRAL[operator]


def baselines(operator: str, data: np.ndarray, axis: int, mask: np.ndarray | None) -> dict[str, Call]:
    """Those that are installed, numpy first."""
    function, neutral = NUMPY[operator], nothing(operator, data.dtype)
    options: dict[str, Any] = {} if mask is None else {"where": mask}
    if mask is not None and operator == "max":
        options["initial"] = neutral
    calls: dict[str, Call] = {
        "numpy": lambda: np.broadcast_to(function(data, axis=axis, keepdims=True, **options), data.shape).copy()
    }
    if has_package("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        reduction = getattr(jax.numpy, function.__name__)
        there, chosen = jax.numpy.asarray(data), None if mask is None else jax.numpy.asarray(mask)

        def whole(x: Any) -> Any:
            x = x if chosen is None else jax.numpy.where(chosen, x, jax.numpy.asarray(neutral, x.dtype))
            return jax.numpy.broadcast_to(reduction(x, axis=axis, keepdims=True), x.shape)

        compiled = jax.jit(whole)
        calls["jax"] = lambda: compiled(there).block_until_ready()
    return calls


def sides(operator: str, dtype: str, shape: tuple[int, ...], axis: int, selected: bool) -> dict[str, Call]:
    """weft, and the baselines, which compute the same."""
    rng = np.random.default_rng(1)
    data = (rng.random(shape) * 4).astype(dtype)
    mask = rng.random(shape) < 2 / 3 if selected else None
    vp = pvar.VPSet(shape)
    x, initial = vp.array(data), nothing(operator, data.dtype)
    condition = vp.full(True) if mask is None else vp.array(mask)

    def reduced() -> Any:
        if mask is None:
            return pvar.reduce(x, operator, axis=axis)
        with vp.where(condition):
            return pvar.reduce(x, operator, axis=axis, initial=initial)

    calls = {"weft": reduced, **baselines(operator, data, axis, mask)}
    results = reduced().numpy()
    for who, call in list(calls.items())[1:]:
        if not np.allclose(results, np.asarray(call()), rtol=0 if data.dtype.kind != "f" else 1e-12):
            sys.exit(f"{who} computes another {operator} of {dtype} along axis {axis} of {shape}")
    return calls


def run(chosen: argparse.Namespace, report: Report) -> None:
    there = ["numpy", *(need.name for need in BENCHMARK.needs if need.is_there)]
    report.protocol = {"rounds": chosen.rounds, "threads": "weft's choice", "baselines": there}
    for operator, dtype, shape, axis, selected in rows():
        calls = sides(operator, dtype, shape, axis, selected)
        seconds = harness.interleaved({who: timed(call) for who, call in calls.items()}, chosen.rounds)
        extents = "x".join(map(str, shape))
        where = f"{operator}, {dtype}, {extents}, axis {axis}{', selected' * selected}"
        report.samples(seconds, operation=where)
        others = {who: statistics.median(times) for who, times in seconds.items() if who != "weft"}
        best = min(others, key=lambda other: others[other])
        for who in others:
            ratio = harness.spread(harness.ratios(seconds[who], seconds["weft"]))
            aim = 1.0 if who == best else None
            report.figure(f"{where}: {who}/weft", ratio, "ratio", aim, "at least", quiet=who != best)


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 5)


BENCHMARK = Benchmark(
    "pvar-axes",
    "reductions along an axis beside numpy and JAX",
    "two minutes",
    run,
    options,
    needs=(Need("jax", "package"),),
)

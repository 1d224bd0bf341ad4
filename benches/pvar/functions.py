"""Elementwise functions that weft has kernels of within a domain, beside numpy, numba and JAX.

A row is a function, a type and a size; its figure is the time of the fastest baseline over that of weft in the same
round, so that over 1 weft is ahead. Operands are such that a processor cannot foresee the branches of a loop that has
them: angles of some periods, and normal deviates. All sides write into an output that is there, but JAX, which makes
one. weft's remainders and quotients are compared with numpy's to the bit, its other results to two units in the last
place. So are those of the baselines: one that computes something else of a few awkward operands (numba's quotient of
1 and 0.1 is 10, the floor of a rounded one) is no baseline of that row. The baselines that are not installed are left
out, and the record's protocol says which took part.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

import numpy as np

from benches import harness
from benches.benchmark import Benchmark, Need, has_package, numbers, rounds_option
from benches.harness import Call
from benches.pvar.baselines import timed
from benches.recording import Report
from weft import _core
from weft.pvar import domains

SIZES = "4096,50001,1048576"
ANGLES = 20.0
"""Standard deviation of angles, in radians."""


def operands(name: str, dtype: str, n: int) -> tuple[np.ndarray, ...]:
    """One of angles, or two."""
    chance = np.random.default_rng(1)
    if name in ("sin", "cos"):
        return ((chance.standard_normal(n) * ANGLES).astype(dtype),)
    return tuple(chance.standard_normal((2, n)).astype(dtype))


def baselines(name: str, arrays: tuple[np.ndarray, ...], out: np.ndarray) -> dict[str, Call]:
    """Those that are installed, numpy first."""
    ufunc = getattr(np, name)
    calls: dict[str, Call] = {"numpy": lambda: ufunc(*arrays, out=out)}
    if has_package("numba"):
        import numba

        source = f"def loop({', '.join('xy'[: len(arrays)])}, out):\n for i in range(out.size):\n"
        source += f"  out[i] = np.{name}({', '.join(f'{one}[i]' for one in 'xy'[: len(arrays)])})"
        scope: dict[str, Any] = {"np": np}
        exec(source, scope)  # a loop as a user writes it, of one operand or two
        loop = numba.njit(scope["loop"])
        calls["numba"] = lambda: loop(*arrays, out)
    if has_package("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        compiled = jax.jit(getattr(jax.numpy, name))
        there = [jax.numpy.asarray(one) for one in arrays]
        calls["jax"] = lambda: compiled(*there).block_until_ready()
    return calls


AWKWARD = (1.0, -1.0, 0.3, 6.0, 1e5), (0.1, 0.1, 0.1, -3.0, 0.7)


def is_same(name: str, results: np.ndarray, exact: np.ndarray) -> bool:
    """Whether two sides compute the same function."""
    units = np.abs(results - exact) / np.spacing(np.abs(exact))
    return bool(units.max() <= (0 if name in ("remainder", "floor_divide") else 2))


def sides(name: str, arrays: tuple[np.ndarray, ...]) -> dict[str, Call]:
    """weft, and the baselines that compute the same."""
    awkward = tuple(np.array(one, arrays[0].dtype) for one in AWKWARD[: len(arrays)])
    out, few = np.empty_like(arrays[0]), np.empty_like(awkward[0])
    exact = getattr(np, name)(*awkward)
    calls = baselines(name, arrays, out)
    for who, call in baselines(name, awkward, few).items():
        few[:] = 0
        result = call()
        if not is_same(name, few if result is None or who == "numpy" else np.asarray(result), exact):
            del calls[who]
    calls["numpy"]()
    exact = out.copy()
    if not _core.array_elementwise(name, arrays, out):
        sys.exit(f"operands of {name} are beyond its domain")
    if not is_same(name, out, exact):
        sys.exit(f"weft's {name} of {out.dtype} computes something else")
    return {"weft": lambda: _core.array_elementwise(name, arrays, out)} | calls


def run(chosen: argparse.Namespace, report: Report) -> None:
    there = ["numpy", *(need.name for need in BENCHMARK.needs if need.is_there)]
    report.protocol = {"rounds": chosen.rounds, "threads": "weft's choice", "baselines": there}
    for n in chosen.sizes:
        for name in domains.DTYPES:
            for dtype in domains.dtypes_of(name):
                calls = sides(name, operands(name, dtype, n))
                seconds = harness.interleaved({who: timed(call) for who, call in calls.items()}, chosen.rounds)
                where = f"{name}, {dtype}, {n} elements"
                report.samples(seconds, words=n, operation=f"{name}, {dtype}")
                others = {who: statistics.median(times) for who, times in seconds.items() if who != "weft"}
                for who in others:
                    best = who == min(others, key=lambda other: others[other])
                    ratio = harness.spread(harness.ratios(seconds[who], seconds["weft"]))
                    aim = 1.0 if best else None
                    report.figure(f"{where}: {who}/weft", ratio, "ratio", aim, "at least", quiet=not best)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=numbers, default=SIZES, help=f"elements (default {SIZES})")
    rounds_option(parser, 5)


BENCHMARK = Benchmark(
    "pvar-functions",
    "sines, cosines, hypotenuses, remainders and quotients beside numpy, numba and JAX",
    "two minutes",
    run,
    options,
    needs=(Need("numba", "package"), Need("jax", "package")),
)

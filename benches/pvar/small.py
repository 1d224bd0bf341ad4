"""Parallel variables of 4096 elements beside numpy, called from Python: seconds an operation.

Every operation is done by weft and by numpy, without and with half of the elements selected; numpy's masked form is
its own (`where=` of functions and reductions, boolean indices where there is none). Both sides of all rows run in
every round, each for about a millisecond, and a ratio is the median over rounds of the ratio in a round. Targets:
weft takes at most twice numpy's time without a selection, at most numpy's with one.
"""

from __future__ import annotations

import argparse

import numpy as np

import weft
from benches import harness
from benches.benchmark import Benchmark, awkward_option, rounds_option
from benches.harness import Call
from benches.recording import Report

SHAPE = (64, 64)
ROUND_SECONDS = 1e-3
LIMITS = {"all": 2.0, "selected": 1.0}


def rows(shape: tuple[int, int]) -> dict[tuple[str, str], tuple[Call, Call]]:
    """Operation and who is selected; weft's call and numpy's."""
    random = np.random.default_rng(1)
    a, b = random.uniform(1, 2, shape), random.uniform(1, 2, shape)
    mask = random.random(shape) < 0.5
    to = random.integers(0, a.size, shape)
    out, flat = np.zeros(shape), np.zeros(a.size)
    vp, on = weft.pvar.VPSet(shape), weft.pvar.VPSet(shape)
    x, y, address = vp.array(a, copy=True), vp.array(b), vp.array(to)
    p, q, where = on.array(a, copy=True), on.array(b), on.array(to)
    target, masked_target = vp.zeros(), on.zeros()
    on.where(on.array(mask)).__enter__()  # for the whole run: a selection is made once and used many times

    def masked_get() -> object:
        result = np.zeros(shape)
        result[mask] = a.ravel()[to[mask]]
        return result

    return {
        ("x + y", "all"): (lambda: x + y, lambda: a + b),
        ("x + y", "selected"): (lambda: p + q, lambda: np.add(a, b, out=out, where=mask)),
        ("x * 2.0", "all"): (lambda: x * 2.0, lambda: a * 2.0),
        ("x > y", "all"): (lambda: x > y, lambda: a > b),
        ("x / y", "selected"): (lambda: p / q, lambda: np.divide(a, b, out=out, where=mask)),
        ("sqrt(x)", "all"): (lambda: weft.pvar.sqrt(x), lambda: np.sqrt(a)),
        ("x[...] = y", "all"): (lambda: target.assign(y), lambda: np.copyto(out, b)),
        ("x[...] = y", "selected"): (lambda: masked_target.assign(q), lambda: np.copyto(out, b, where=mask)),
        ("sum", "all"): (lambda: weft.pvar.reduce(x, "sum"), a.sum),
        ("sum", "selected"): (lambda: weft.pvar.reduce(p, "sum"), lambda: a.sum(where=mask)),
        ("max", "all"): (lambda: weft.pvar.reduce(x, "max"), a.max),
        ("max", "selected"): (lambda: weft.pvar.reduce(p, "max"), lambda: a.max(where=mask, initial=-np.inf)),
        ("spread", "all"): (
            lambda: weft.pvar.spread(x, 0, 5),
            lambda: np.ascontiguousarray(np.broadcast_to(a[5:6], shape)),
        ),
        ("shift", "all"): (lambda: weft.pvar.shift(x, 1, 0), lambda: np.roll(a, -1, 0)),
        ("scan add", "all"): (lambda: weft.pvar.scan(x, "add", 1), lambda: np.cumsum(a, 1)),
        ("scan add", "selected"): (
            lambda: weft.pvar.scan(p, "add", 1),
            lambda: np.where(mask, np.cumsum(np.where(mask, a, 0.0), 1), 0.0),
        ),
        ("get", "all"): (lambda: weft.pvar.get(x, address), lambda: a.ravel()[to]),
        ("get", "selected"): (lambda: weft.pvar.get(p, where), masked_get),
        ("send add", "all"): (
            lambda: weft.pvar.send(x, address, combine="add", into=target),
            lambda: np.add.at(flat, to.ravel(), a.ravel()),
        ),
        ("send add", "selected"): (
            lambda: weft.pvar.send(p, where, combine="add", into=masked_target),
            lambda: np.add.at(flat, to[mask], a[mask]),
        ),
        ("x[3, 5]", "all"): (lambda: x[3, 5], a[3, 5].item),
    }


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 11)
    awkward_option(parser)


def measure(shape: tuple[int, int], rounds: int, report: Report) -> None:
    """Both sides of every row in every round; shapes other than the usual one have no targets."""
    calls = {f"{operation}, {selection}: {side}": call
             for (operation, selection), pair in rows(shape).items()
             for side, call in zip(("weft", "numpy"), pair, strict=True)}  # fmt: skip
    sides = harness.loops(calls, ROUND_SECONDS)
    where = "x".join(map(str, shape))
    seconds = harness.interleaved(sides, rounds, where)
    report.samples(seconds, shape=where)
    for operation, selection in rows(shape):
        name = f"{operation}, {selection}"
        ours, theirs = seconds[f"{name}: weft"], seconds[f"{name}: numpy"]
        full = name if shape == SHAPE else f"{name}, {where}"
        target = LIMITS[selection] if shape == SHAPE else None
        report.figure(f"{full}: weft", harness.spread(ours), "s", quiet=True)
        report.figure(f"{full}: numpy", harness.spread(theirs), "s", quiet=True)
        ratio = harness.spread(harness.ratios(ours, theirs))
        report.figure(f"{full}: weft/numpy", ratio, "ratio", target, "at most")


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.machine |= {"numpy": np.__version__, "weft": weft.__version__}
    report.protocol = {"rounds": chosen.rounds, "statistic": "median over rounds"}
    measure(SHAPE, chosen.rounds, report)
    for shape in harness.awkward_shapes(SHAPE) if chosen.awkward else ():
        measure((shape[0], shape[1]), chosen.rounds, report)


BENCHMARK = Benchmark("pvar-small", "operations on small parallel variables beside numpy", "seconds", run, options)

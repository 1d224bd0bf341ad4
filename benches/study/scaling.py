"""How often intervals of empirical models hold the next measurement, by simulation with known times.

Times of a collective over ranks and lengths that change protocol once; launches depend on each other and have a share
of their noise in common. Predictions are of points of the samples, of ranks that have none, and of lengths that have
none, each against a new measurement of as many launches.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
import polars as pl

from benches.benchmark import Benchmark, positive
from benches.recording import Report
from benches.study.noise import autoregressive, normal
from weft.model import fit_benchmark

RANKS = (2, 4, 8, 16, 32, 64)
LENGTHS = tuple(8 << k for k in range(16))
OTHER_RANKS = (6, 12, 24, 48)
OTHER_LENGTHS = tuple(12 << k for k in range(15))
"""Ranks and lengths between those of the samples."""

LAUNCHES = 20
MIN_COVERAGE = 0.93
"""What a 95% interval is to cover; more is no fault where the model itself is chosen."""

Floats = np.ndarray
Times = Callable[[Floats, Floats], Floats]


def tree(p: Floats, n: Floats) -> Floats:
    """A binomial tree whose messages change protocol after 1 KiB."""
    rounds = np.ceil(np.log2(p))
    return np.asarray(np.where(n <= 1024, rounds * (2e-6 + 1e-9 * n), rounds * (4e-6 + 0.5e-9 * n)))


def ring(p: Floats, n: Floats) -> Floats:
    """A tree for short vectors, and a ring of reduce-scatter and allgather for long ones."""
    short = np.ceil(np.log2(p)) * (2e-6 + 1e-9 * n)
    return np.asarray(np.where(n <= 16384, short, 2e-6 * (p - 1) + 2e-9 * n * (p - 1) / p))


def unlike(p: Floats, n: Floats) -> Floats:
    """No sum of the terms: a power of the ranks, and caches that fill by and by."""
    return np.asarray((1e-6 * p**0.6 + 1e-9 * n * p**0.3) * (1.0 + 0.3 * np.log1p(n / 65536.0)))


SHAPES: dict[str, Times] = {"tree": tree, "ring": ring, "no such sum": unlike}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fits", type=positive, default=40, help="fits of each case (default 40)")
    parser.add_argument("--seed", type=int, default=1, help="of all draws (default 1)")


def measured(
    times: Times, ranks: tuple[int, ...], lengths: tuple[int, ...], correlation: float, common: float, seed: int
) -> pl.DataFrame:
    """Samples with noise of 5%, of which this share of the variance is a launch's own at all points."""
    generator = np.random.default_rng(seed)
    p, n = (axis.ravel() for axis in np.meshgrid(ranks, lengths, indexing="ij"))
    draw = autoregressive(correlation, normal)
    unit = math.sqrt(1.0 - correlation**2)
    shared, own = draw(generator, (1, LAUNCHES)) * unit, draw(generator, (len(p), LAUNCHES)) * unit
    noise = 0.05 * (math.sqrt(common) * shared + math.sqrt(1.0 - common) * own)
    seconds = times(p.astype(float), n.astype(float))[:, None] * np.exp(noise)
    table = pl.DataFrame(
        {
            "ranks": np.repeat(p, LAUNCHES),
            "bytes": np.repeat(n, LAUNCHES),
            "repetition": np.tile(np.arange(LAUNCHES), len(p)),
            "seconds": seconds.ravel(),
        }
    )
    head = {"source": "measured", "machine": "made", "benchmark": "allreduce"}
    return table.with_columns(**{name: pl.lit(value) for name, value in head.items()}, hops=pl.lit(None, pl.Int64))


def inside(predicted: pl.DataFrame, new: pl.DataFrame) -> list[bool]:
    """Whether each new median is within the interval that was predicted."""
    medians = new.group_by("ranks", "bytes").agg(pl.col("seconds").median().alias("median"))
    both = predicted.join(medians, on=["ranks", "bytes"])
    assert len(both) == len(medians)
    return both.select(pl.col("median").is_between("seconds_low", "seconds_high"))["median"].to_list()


def coverage(times: Times, correlation: float, common: float, fits: int, seed: int) -> dict[str, tuple[float, float]]:
    """By what was predicted: the share of new medians inside, and the median of high over low."""
    asked = {
        "points of the samples": (RANKS, LENGTHS),
        "other ranks": (OTHER_RANKS, LENGTHS),
        "other lengths": (RANKS, OTHER_LENGTHS),
    }
    hits: dict[str, list[bool]] = {kind: [] for kind in asked}
    widths: dict[str, list[float]] = {kind: [] for kind in asked}
    for index in range(fits):
        fitted = fit_benchmark(measured(times, RANKS, LENGTHS, correlation, common, seed + 10 * index), "allreduce")
        for offset, (kind, (ranks, lengths)) in enumerate(asked.items()):
            predicted = fitted.predict(ranks, lengths)
            new = measured(times, ranks, lengths, correlation, common, seed + 10 * index + 1 + offset)
            hits[kind] += inside(predicted, new)
            widths[kind] += (predicted["seconds_high"] / predicted["seconds_low"]).to_list()
    return {kind: (float(np.mean(hits[kind])), float(np.median(widths[kind]))) for kind in asked}


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {"fits": chosen.fits, "seed": chosen.seed, "launches": LAUNCHES, "noise": 0.05}
    least: dict[str, list[float]] = {}
    for name, times in SHAPES.items():
        for correlation, common in ((0.0, 0.0), (0.3, 0.5), (0.6, 0.5)):
            covered = coverage(times, correlation, common, chosen.fits, chosen.seed)
            for kind, (share, width) in covered.items():
                case = f"{kind}, {name}, AR(1) {correlation}, {common:.0%} common"
                report.figure(case, share, "ratio")
                report.figure(f"{case}: high over low", width, "times")
                least.setdefault(kind, []).append(share)
    for kind, shares in least.items():
        report.figure(f"{kind}: least coverage", min(shares), "ratio", MIN_COVERAGE, "at least")


BENCHMARK = Benchmark(
    "model-coverage", "coverage of empirical models of benchmarks by simulation", "some minutes", run, options
)

"""How often printed 95% intervals hold what they are for, by simulation with noise whose median is known.

Of medians with a fixed number of launches, and where the protocol itself decides when to stop; of the parameters of
fits, LogGP's among them, their predictions, ratios of comparisons, and held-out errors of estimates. Beside each
coverage is the median width relative to the ideal one, that of an interval by who knows the noise and its dependence.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from benches.benchmark import Benchmark, positive
from benches.recording import Report
from benches.study.noise import NOISES, Noise, autoregressive, normal
from weft import model
from weft.estimation.estimates import quantiles
from weft.launch.protocol import Protocol, is_settled
from weft.samples import median_interval

COUNTS = (6, 20, 30, 60)
SIGMAS = (0.03, 0.08, 0.2)
"""Standard deviations of launches, relative to their time: what converges at once, late and never."""

BOUNDS = 0.93, 0.97
"""Between what a 95% interval is to cover."""

STANDARD_ERRORS = 2.0
"""How many standard errors of the simulation a coverage may be outside."""

SERIES_FIXED = 5
"""How many times as many series are of a fixed number of launches, which are quick."""

LENGTHS = tuple(8 << k for k in range(14))
STARTUP, BYTE_TIME = 1e-6, 1e-10
SHORT = 8
"""Length of the messages that tell the parts of a message apart, bytes."""

PARTS = {"send-overhead": 0.3e-6, "receive-overhead": 0.5e-6, "bandwidth": 0.6e-6}
"""Seconds of one such message by benchmark; what the ends leave of the startup is the latency."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--series", type=positive, default=500, help="series of each noise (default 500)")
    parser.add_argument("--fits", type=positive, default=100, help="fits of each noise (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="of all draws (default 1)")


def times(noise: Noise, generator: np.random.Generator, shape: tuple[int, int], sigma: float) -> np.ndarray:
    """Seconds of launches whose true median is 1."""
    return np.asarray(np.exp(sigma * (noise.draw(generator, shape) - noise.median)))


def fixed(noise: Noise, count: int, series: int, seed: int) -> tuple[float, float, float]:
    """Coverage of medians of so many launches, what the interval says that it is, and width over the ideal."""
    intervals = [median_interval(row) for row in times(noise, np.random.default_rng(seed), (series, count), 0.03)]
    widths = np.median([one.high - one.low for one in intervals])
    ideal = noise.ideal(count, 0.03) / math.exp(0.03 * noise.median)
    return (
        float(np.mean([one.low <= 1.0 <= one.high for one in intervals])),
        intervals[0].coverage,
        float(widths / ideal),
    )


def stopped(row: Sequence[float], protocol: Protocol) -> int:
    """How many launches the protocol makes of these, by its own rule."""
    for count in range(protocol.launches, protocol.most):
        if is_settled(row[:count], protocol):
            return count
    return protocol.most


def sequential(noise: Noise, sigma: float, series: int, seed: int) -> tuple[float, float, float]:
    """Coverage where the protocol stops, of those that say 95%; their share, and their launches on average."""
    protocol = Protocol()
    inside, counts = [], []
    for row in times(noise, np.random.default_rng(seed), (series, protocol.most), sigma):
        count = stopped(row.tolist(), protocol)
        interval = median_interval(row[:count])
        if interval.coverage >= 0.95:
            inside.append(interval.low <= 1.0 <= interval.high)
            counts.append(count)
    return float(np.mean(inside)), len(inside) / series, float(np.mean(counts))


def launches(
    correlation: float, count: int, common: float, generator: np.random.Generator, parts: bool = False
) -> pl.DataFrame:
    """Samples of a straight line, and with `parts` of what tells the parts of a message apart; of the noise of 5% this
    share of the variance is a launch's own at all points."""
    draw = autoregressive(correlation, normal)
    unit = math.sqrt(1.0 - correlation**2)
    shared = draw(generator, (1, count))[0] * unit
    points = [("echo", length, STARTUP + BYTE_TIME * length) for length in LENGTHS]
    points += [(name, SHORT, seconds) for name, seconds in PARTS.items()] if parts else []
    rows = []
    for benchmark, length, seconds in points:
        own = draw(generator, (1, count))[0] * unit
        noise = 0.05 * (math.sqrt(common) * shared + math.sqrt(1.0 - common) * own)
        rows += [(benchmark, length, i, seconds * math.exp(one)) for i, one in enumerate(noise)]
    table = pl.DataFrame(rows, schema=["benchmark", "bytes", "repetition", "seconds"], orient="row")
    head = {"source": "measured", "machine": "simulated", "ranks": 2, "hops": 1}
    return table.with_columns(**{name: pl.lit(value) for name, value in head.items()})


def fits(correlation: float, common: float, count: int, number: int, seed: int) -> dict[str, float]:
    """Coverage of startup and byte time, of predictions of the next measurement, and of ratios of comparisons."""
    generator = np.random.default_rng(seed)
    hits: dict[str, list[bool]] = {"startup": [], "byte time": [], "prediction": [], "ratio": []}
    for _ in range(number):
        one, other = (launches(correlation, count, common, generator) for _ in range(2))
        fitted = model.fit(one, most_pieces=1)
        hits["startup"].append(fitted.startup.low <= STARTUP <= fitted.startup.high)
        hits["byte time"].append(fitted.byte_time.low <= BYTE_TIME <= fitted.byte_time.high)
        medians = other.group_by("bytes").agg(pl.col("seconds").median())
        for length, seconds in medians.iter_rows():
            _, low, high = fitted.echo.interval(length)
            hits["prediction"].append(low <= seconds <= high)
        ratios = model.compare(one, other, labels=["one", "other"])
        hits["ratio"] += ((ratios["ratio_low other"] <= 1.0) & (ratios["ratio_high other"] >= 1.0)).to_list()
    return {name: float(np.mean(inside)) for name, inside in hits.items()}


def parts_of_a_message(correlation: float, common: float, count: int, number: int, seed: int) -> dict[str, float]:
    """Coverage of LogGP's parameters."""
    generator = np.random.default_rng(seed)
    send, receive, gap = PARTS.values()
    # An echo of one byte has no byte time but of the first: (n - 1) G is the rest.
    latency = STARTUP + BYTE_TIME - send - receive
    known_values = {"o_s": send, "o_r": receive, "g": gap, "L": latency}
    hits: dict[str, list[bool]] = {name: [] for name in known_values}
    for _ in range(number):
        known = model.fit(launches(correlation, count, common, generator, parts=True), most_pieces=1).loggp
        assert known is not None
        assert known.gap is not None
        estimates = {"o_s": known.send_overhead, "o_r": known.receive_overhead, "g": known.gap, "L": known.latency}
        for name, estimate in estimates.items():
            hits[name].append(estimate.low <= known_values[name] <= estimate.high)
    return {name: float(np.mean(inside)) for name, inside in hits.items()}


def held_out(count: int, series: int, seed: int) -> float:
    """Coverage of the interval that so many held-out errors make around a further program."""
    errors = np.random.default_rng(seed).standard_normal((series, count + 1)) * 0.1
    inside = []
    for row in errors:
        high, low = quantiles(row[:-1].tolist())
        inside.append(low <= row[-1] <= high)
    return float(np.mean(inside))


class Judged:
    """Coverages of a kind of interval, of which the least and the largest have to be within `BOUNDS`, but for
    `STANDARD_ERRORS` of a simulation of so many series or fits."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._kinds: dict[str, list[float]] = {}
        self._draws: dict[str, int] = {}

    def add(self, kind: str, of: str, covered: float, draws: int, is_promised: bool = True) -> None:
        """A coverage; one that is not promised is recorded and not judged."""
        self._report.figure(f"{kind}, {of}", covered, "ratio")
        if is_promised:
            self._kinds.setdefault(kind, []).append(covered)
            self._draws[kind] = draws

    def conclude(self) -> None:
        """The least and the largest of every kind."""
        for kind, coverages in self._kinds.items():
            low, high = (
                bound + sign * STANDARD_ERRORS * math.sqrt(bound * (1.0 - bound) / self._draws[kind])
                for sign, bound in zip((-1.0, 1.0), BOUNDS, strict=True)
            )
            self._report.figure(f"{kind}: least coverage", min(coverages), "ratio", low, "at least")
            self._report.figure(f"{kind}: largest coverage", max(coverages), "ratio", high, "at most")


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {"series": chosen.series, "fits": chosen.fits, "seed": chosen.seed, "bounds": list(BOUNDS)}
    report.protocol |= {"standard_errors": STANDARD_ERRORS}
    judged = Judged(report)
    for noise in NOISES:
        for count in COUNTS:
            covered, said, width = fixed(noise, count, SERIES_FIXED * chosen.series, chosen.seed)
            is_promised = noise.promised and said >= 0.95
            judged.add(f"median of {count} launches", noise.name, covered, SERIES_FIXED * chosen.series, is_promised)
            report.figure(f"median of {count} launches, {noise.name}: said", said, "share")
            report.figure(f"median of {count} launches, {noise.name}: width over ideal", width, "times")
        for sigma in SIGMAS:
            covered, _, mean = sequential(noise, sigma, chosen.series, chosen.seed)
            name = "median where the protocol stops"
            judged.add(name, f"{sigma:.0%}, {noise.name}", covered, chosen.series, noise.promised)
            report.figure(f"{name}, {sigma:.0%}, {noise.name}: launches", mean)
    for correlation in (0.0, 0.3, 0.6):
        for common in (0.0, 0.5):
            for name, covered in fits(correlation, common, 20, chosen.fits, chosen.seed).items():
                judged.add(name, f"AR(1) {correlation}, {common:.0%} common", covered, chosen.fits)
            for name, covered in parts_of_a_message(correlation, common, 20, chosen.fits, chosen.seed).items():
                judged.add(f"LogGP's {name}", f"AR(1) {correlation}, {common:.0%} common", covered, chosen.fits)
    for count in (40, 88):
        judged.add("estimate", f"{count} held out", held_out(count, 4 * chosen.series, chosen.seed), 4 * chosen.series)
    judged.conclude()


BENCHMARK = Benchmark("interval-coverage", "coverage of printed intervals by simulation", "some minutes", run, options)

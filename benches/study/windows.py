"""Windows of messages between two ranks, as measured and as a machine fitted to other measurements simulates them.

Fitted are an echo, both overheads and streams with one window; predicted are streams with the other windows and
multi-pair bandwidth of one pair, at lengths that the fit has and at lengths that it has not. All are measured in the
same launches, so that a machine that drifts drifts for both.

    python -m benches loggp-windows --launches 10
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl

import weft
from benches.benchmark import Benchmark, positive
from benches.recording import Report
from weft.launch.measure import measure_requests
from weft.launch.protocol import Protocol
from weft.launch.request import Request
from weft.model.loggp import OWN_WINDOW, RECEIVE_ALONE, SEND_ALONE, STREAM

FITTED_LENGTHS = tuple(8 << k for k in range(14))
OTHER_LENGTHS = tuple(12 << k for k in range(13))
"""Lengths of the fit, 8 B to 64 KiB, and lengths between them."""

ECHO_LENGTHS = tuple(sorted({*FITTED_LENGTHS, *(part << k for k in range(13) for part in (10, 14))}))
"""Those of the echo, as many to an octave as a study has, for the lengths at which protocols change."""

WINDOWS = (1, 2, 4, 8, 16, 32)
"""Windows that are predicted; the fit has another."""

PREDICTED = (STREAM, "multi-pair")
WITHIN = 0.10
"""How far off a prediction may be, as a share of what was measured."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--launches", type=positive, default=10, help="launches (default 10)")
    parser.add_argument("--seconds", type=float, default=0.01, help="seconds for a point in a launch (default 0.01)")


def requests(seconds: float) -> list[Request]:
    """What is measured: what is fitted first, then what is predicted."""

    def one(benchmark: str, lengths: tuple[int, ...], **more: int) -> Request:
        return Request(benchmark, 2, {"bytes": lengths, "seconds_per_point": seconds, **more})

    fitted = [one("echo", ECHO_LENGTHS), *(one(name, FITTED_LENGTHS) for name in (SEND_ALONE, RECEIVE_ALONE, STREAM))]
    every = tuple(sorted(FITTED_LENGTHS + OTHER_LENGTHS))
    return fitted + [one(name, every, window=window) for name in PREDICTED for window in WINDOWS]


def errors(measured: pl.DataFrame, machine: weft.Machine) -> pl.DataFrame:
    """Of every predicted point the relative error of the simulation, against the median over launches."""
    parts = []
    for name in PREDICTED:
        for window in WINDOWS:
            rows = measured.filter((pl.col("benchmark") == name) & (pl.col("window") == window))
            seen = rows.group_by("bytes").agg(pl.col("seconds").median()).sort("bytes")
            simulated = weft.simulate(machine, name, ranks=2, bytes=seen["bytes"].to_list(), window=window)
            both = seen.join(simulated.select("bytes", pl.col("seconds").alias("simulated")), on="bytes")
            error = both["simulated"] / both["seconds"] - 1.0
            parts.append(both.with_columns(benchmark=pl.lit(name), window=pl.lit(window), error=error))
    return pl.concat(parts)


def apart(measured: pl.DataFrame) -> list[float]:
    """How far windows of one pair of `multi-pair` and the same of a stream are apart, of every window and length, as a
    share: the same messages, of which one benchmark takes the median over windows and the other over many in a row."""
    by = measured.group_by("benchmark", "window", "bytes").agg(pl.col("seconds").median())
    stream, pair = (by.filter(pl.col("benchmark") == name) for name in PREDICTED)
    both = stream.join(pair, on=["window", "bytes"], suffix="_pair")
    return [abs(ratio - 1.0) for ratio in both["seconds_pair"] / both["seconds"]]


def run(chosen: argparse.Namespace, report: Report) -> None:
    protocol = Protocol(launches=chosen.launches, budget=0.0, most=chosen.launches)
    report.protocol = {"launches": chosen.launches, "seconds": chosen.seconds, "fitted window": OWN_WINDOW}
    measured = measure_requests(requests(chosen.seconds), protocol).table
    of_fit = pl.col("benchmark").is_in(["echo", SEND_ALONE, RECEIVE_ALONE]) | (
        (pl.col("benchmark") == STREAM) & pl.col("window").is_null()
    )
    fitted = weft.fit(measured.filter(of_fit))
    machine = weft.Machine.parse(fitted.to_machine("here", "benches"), "here.toml")
    compared = errors(measured, machine)
    for note in fitted.notes:
        print(f"note: {note}")
    for name in PREDICTED:
        for window in WINDOWS:
            part = compared.filter((pl.col("benchmark") == name) & (pl.col("window") == window))
            where = f"{name}, window of {window}"
            sizes = np.abs(part["error"].to_numpy())
            report.figure(f"{where}: median error", float(np.median(sizes)), "ratio", WITHIN, "at most")
            report.figure(f"{where}: worst error", float(sizes.max()), "ratio", WITHIN, "at most")
    for kind, lengths in (("of the fit", FITTED_LENGTHS), ("between those of the fit", OTHER_LENGTHS)):
        sizes = np.abs(compared.filter(pl.col("bytes").is_in(list(lengths)))["error"].to_numpy())
        report.figure(f"lengths {kind}: share within 10%", float(np.mean(sizes <= WITHIN)), "share")
        report.figure(f"lengths {kind}: median error", float(np.median(sizes)), "ratio", WITHIN, "at most")
    shares = apart(measured)
    report.figure("one pair and a stream: median apart, as measured", float(np.median(shares)), "share")
    report.figure("one pair and a stream: worst apart, as measured", max(shares), "share")
    for name in (*PREDICTED, "echo", SEND_ALONE, RECEIVE_ALONE):
        report.samples({name: measured.filter(pl.col("benchmark") == name)["seconds"].to_list()}, ranks=2)


BENCHMARK = Benchmark(
    "loggp-windows",
    "windows of messages: measured, and simulated by a machine fitted to the parts of a message",
    "two minutes",
    run,
    options,
)

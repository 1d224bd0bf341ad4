"""Runs `weft study` several times and compares what the runs found: fitted figures, held-out lengths.

A study that says it was disturbed goes on as it says, with `--resume`, up to `--resumed` times. Two runs may not
differ in the number of pieces or by more than 5% in a figure, and each has to predict the lengths held out of its
fit. Nothing else may run on the machine meanwhile: a program on one of its cores slows all messages of a run by a
third.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl

from benches.benchmark import Benchmark, positive
from benches.recording import Report
from weft import samples
from weft.model import Fit
from weft.study import here

AGREEMENT, MEDIAN, WORST, PIECES = 0.05, 0.03, 0.10, 4
ABSENT = 1e9
"""How far apart two runs are in a figure that one of them does not have."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=positive, default=2, help="studies, each some three minutes (default 2)")
    parser.add_argument("--folder", type=Path, help="where studies go; those that are there are read")
    parser.add_argument("--resumed", type=int, default=3, help="times that a disturbed study goes on (default 3)")


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    if chosen.runs < 2:
        parser.error("at least 2 runs")


def study(folder: Path, *more: str) -> float:
    """The seconds that `weft study` took."""
    start = time.monotonic()
    command = [str(Path(sys.executable).parent / "weft"), "study", "-o", str(folder), *more]
    done = subprocess.run(command, check=False, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"weft study failed:\n{done.stderr.strip()}")
    return time.monotonic() - start


def fitted(folder: Path) -> tuple[Fit, int, int]:
    """The fit of a study, of how many launches it is, and how many there are."""
    table = samples.read(folder / "samples.csv").filter(pl.col("source") == "measured")
    fit = here.fit(table)
    return fit, *here.fitted_launches(table, fit)


def studied(folder: Path, resumed: int) -> dict[str, Any]:
    """One study: its figures, its errors at held-out lengths and how long each of its parts took, none if it was there
    already."""
    seconds = [] if (folder / "here.toml").exists() else [study(folder, "--resume")]
    fit, undisturbed, launches = fitted(folder)
    while 0 < len(seconds) <= resumed and undisturbed < here.KNOWN:
        seconds.append(study(folder, "--resume"))
        fit, undisturbed, launches = fitted(folder)
    errors = fit.held_out.filter(pl.col("benchmark") == "echo")["error"].abs()
    return {
        "seconds": seconds,
        "launches": launches,
        "undisturbed": undisturbed,
        "figures": figures(fit),
        "pieces": len(fit.echo.pieces),
        "held_out_median": errors.median(),
        "held_out_worst": errors.max(),
    }


def figures(fit: Fit) -> dict[str, float]:
    """Every figure of the fit that there is, in SI units: what `weft study` prints and `here.toml` is made of."""
    by_name = {} if fit.half_bandwidth is None else {"half_bandwidth": fit.half_bandwidth}
    for benchmark, curve in fit.curves.items():
        for i, piece in enumerate(curve.pieces, 1):
            by_name[f"{benchmark} {i} startup"] = piece.startup.value
            by_name[f"{benchmark} {i} byte_time"] = piece.byte_time.value
            if piece.up_to is not None:
                by_name[f"{benchmark} {i} up_to"] = piece.up_to
    return by_name


def differences(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    """By figure, how far the second run is from the first; a figure that one alone has is at ABSENT."""
    apart = {}
    for name in one.keys() | other.keys():
        a, b = one.get(name), other.get(name)
        apart[name] = 0.0 if a == b else abs(b / a - 1.0) if a and b is not None else ABSENT
    return apart


def report_run(name: str, outcome: dict[str, Any], report: Report) -> None:
    """What one run found."""
    report.figure(f"{name}: launches", outcome["launches"])
    report.figure(f"{name}: launches undisturbed", outcome["undisturbed"])
    report.figure(f"{name}: pieces", outcome["pieces"], "", PIECES, "at most")
    report.figure(f"{name}: held out, median error", outcome["held_out_median"], "ratio", MEDIAN, "at most")
    report.figure(f"{name}: held out, worst error", outcome["held_out_worst"], "ratio", WORST, "at most")
    for part, seconds in enumerate(outcome["seconds"], 1):
        report.figure(f"{name}: part {part}", seconds, "s")
    for figure, value in outcome["figures"].items():
        report.figure(f"{name}: {figure}", value, unit(figure))


def unit(figure: str) -> str:
    """The unit of a fitted figure."""
    return {"startup": "s", "byte_time": "s/B"}.get(figure.rpartition(" ")[2], "B")


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {"runs": chosen.runs, "resumed": chosen.resumed}
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.folder or Path(scratch)
        runs = [studied(folder / f"study-{i}", chosen.resumed) for i in range(1, chosen.runs + 1)]
    for number, outcome in enumerate(runs, 1):
        report_run(f"run {number}", outcome, report)
    pairs = [differences(one["figures"], other["figures"]) for one, other in itertools.combinations(runs, 2)]
    for name in sorted(set().union(*pairs)):
        worst = max(pair.get(name, 0.0) for pair in pairs)
        report.figure(f"apart: {name}", worst, "ratio", AGREEMENT, "at most")


BENCHMARK = Benchmark(
    "study-agreement", "studies of this machine compared with each other", "ten minutes", run, options, check
)

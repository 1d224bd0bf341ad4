"""Runs what checks memory and threads: what was run, how many tests, how many reports.

The checks are the scripts of scripts/: loom.sh (lanes, mailboxes and fences of crates/threads in every order),
asan.sh rust (tests of kernels, polyshift, fghc under AddressSanitizer), asan.sh python (the Python tests that call
them). Code 1 where one of them fails or reports anything.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time

from benches import building
from benches.benchmark import Benchmark, Need
from benches.recording import ROOT, Report

CHECKS = {
    "loom": ["scripts/loom.sh"],
    "asan-rust": ["scripts/asan.sh", "rust"],
    "asan-python": ["scripts/asan.sh", "python"],
}
REPORT = re.compile(r"^==\d+==\s*ERROR: (\w+Sanitizer): (.*)$", re.MULTILINE)


def counts(output: str) -> dict[str, int]:
    """Tests that passed, failed and were skipped, as cargo and pytest say."""
    totals = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for passed, failed, ignored in re.findall(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", output):
        totals["passed"] += int(passed)
        totals["failed"] += int(failed)
        totals["skipped"] += int(ignored)
    summary = re.findall(r"^=*\s*((?:\d+ \w+, )*\d+ \w+) in [\d.]+s", output, re.MULTILINE)
    for number, word in re.findall(r"(\d+) (\w+)", " ".join(summary)):
        key = "failed" if word in ("error", "errors") else word
        if key in totals:
            totals[key] += int(number)
    return totals


def one(name: str, report: Report) -> None:
    """One check: its exit code, time, tests and reports."""
    started = time.monotonic()
    done = subprocess.run(
        CHECKS[name],
        cwd=ROOT,
        env={"PYTHON": sys.executable, **os.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    reports = [f"{tool}: {what}" for tool, what in REPORT.findall(done.stdout)]
    report.figure(f"{name}: exit code", done.returncode, target=0, sense="at most")
    report.figure(f"{name}: reports", len(reports), target=0, sense="at most")
    report.figure(f"{name}: time", round(time.monotonic() - started, 1), "s")
    for what, number in counts(done.stdout).items():
        report.figure(f"{name}: tests {what}", number)
    if reports:
        report.notes[f"{name}: reports"] = reports
    if done.returncode != 0 or reports:
        print(done.stdout[-8000:], file=sys.stderr)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("check", nargs="*", help=f"which; all unless given: {', '.join(CHECKS)}")


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    if unknown := [name for name in chosen.check if name not in CHECKS]:
        parser.error(f"there is no check {unknown[0]!r}; there are {', '.join(CHECKS)}")


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.machine["rustc"] = building.run(["rustc", "--version"], "rustc").strip()
    report.protocol = {"commands": {name: " ".join(command) for name, command in CHECKS.items()}}
    for name in chosen.check or list(CHECKS):
        one(name, report)


BENCHMARK = Benchmark(
    "sanitizers",
    "tests under AddressSanitizer, and models of threads in every order",
    "half an hour",
    run,
    options,
    check,
    (Need("cargo", "program", required=True),),
)

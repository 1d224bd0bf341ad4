"""Random calls of everything that `weft._core` exports, for as long as wanted: the long form of the test of that name.

Each seed is a process of its own that makes so many calls of every name (`tests/python/house/awkward_calls.py`).
Counted are processes that ended by a signal or hung for ten minutes (with the call that did it), exceptions that
`except Exception` does not catch, and defects: panics that were caught. The first two are failures.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches.benchmark import Benchmark, positive
from benches.recording import ROOT, Report

SCRIPT = ROOT / "tests" / "python" / "house" / "awkward_calls.py"
COUNTS = re.compile(r"(\d+) calls of (\d+) names, (\d+) raised, (\d+) not an Exception")
LIMIT = 600


def process(seed: int, calls: int, log: Path) -> tuple[str, str]:
    """One process: its last lines, and what it ended in where it did not end by itself."""
    words = [sys.executable, str(SCRIPT), str(seed), str(calls), str(log)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return "", f"hung in {last_line(log)}"
    ended = "" if done.returncode in (0, 1) else f"exit code {done.returncode} in {last_line(log)}"
    return done.stdout, ended


def last_line(log: Path) -> str:
    """What was called last."""
    return log.read_text(errors="replace").splitlines()[-1] if log.exists() else "nothing"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=10, help="how long (default 10)")
    parser.add_argument("--calls", type=positive, default=200, help="calls of every name in a process (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="the first (default 1)")


def run(chosen: argparse.Namespace, report: Report) -> None:
    end = time.monotonic() + 60 * chosen.minutes
    calls = raised = uncaught = names = processes = 0
    ended: list[str] = []
    defects: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            seed = chosen.seed + processes
            out, why = process(seed, chosen.calls, Path(folder) / "log")
            processes += 1
            if why:
                ended.append(f"seed {seed}: {why}")
                print(ended[-1], flush=True)
            defects |= {line for line in out.splitlines() if line.startswith("defect: ")}
            if counted := COUNTS.search(out):
                called, names, errors, missed = map(int, counted.groups())
                calls, raised, uncaught = calls + called, raised + errors, uncaught + missed
    report.protocol = {"seed": chosen.seed, "minutes": chosen.minutes, "calls of a name": chosen.calls}
    for name, count in (("processes", processes), ("names", names), ("calls", calls), ("raised", raised)):
        report.figure(name, count)
    report.figure("not an Exception", uncaught, target=0, sense="at most")
    report.figure("processes that ended or hung", len(ended), target=0, sense="at most")
    report.figure("defects", len(defects))
    report.notes |= {"ended": ended, "defects": sorted(defects)}


BENCHMARK = Benchmark(
    "core-calls", "random calls of everything that the extension module exports", "ten minutes", run, options
)

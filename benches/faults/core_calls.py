"""Random calls of everything that `weft._core` exports, for as long as wanted: the long form of the test of that name.

    python benches/faults/core_calls.py [--minutes 10] [--calls 200] [--seed 1] [--no-record]

Each seed is a process of its own that makes so many calls of every name (`tests/python/house/awkward_calls.py`). Counted
are processes that ended by a signal or hung for ten minutes (with the call that did it), exceptions that
`except Exception` does not catch, and defects: panics that were caught. The first two are failures of this script.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))

import recording  # noqa: E402

SCRIPT = ROOT / "tests" / "python" / "house" / "awkward_calls.py"
COUNTS = re.compile(r"(\d+) calls of (\d+) names, (\d+) raised, (\d+) not an Exception")
LIMIT = 600


def run(seed: int, calls: int, log: Path) -> tuple[str, str]:
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


def main() -> int:
    """Runs seeds until the time is over; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-record", action="store_true")
    given = parser.parse_args()
    started, load = datetime.datetime.now(datetime.UTC), os.getloadavg()
    end = time.monotonic() + 60 * given.minutes
    calls = raised = uncaught = names = processes = 0
    ended: list[str] = []
    defects: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            out, why = run(given.seed + processes, given.calls, Path(folder) / "log")
            processes += 1
            if why:
                ended.append(f"seed {given.seed + processes - 1}: {why}")
                print(ended[-1], flush=True)
            defects |= {line for line in out.splitlines() if line.startswith("defect: ")}
            if counted := COUNTS.search(out):
                made, names, errors, missed = map(int, counted.groups())
                calls, raised, uncaught = calls + made, raised + errors, uncaught + missed
    result = {
        "processes": processes,
        "names": names,
        "calls": calls,
        "raised": raised,
        "not_an_exception": uncaught,
        "ended": ended,
        "defects": sorted(defects),
    }
    print(json.dumps(result, indent=1))
    if not given.no_record:
        path = ROOT / "benches" / "records" / f"{started:%Y-%m-%d}-core-calls.json"
        head = recording.head("core calls", started, load)
        path.write_text(json.dumps({**head, "seed": given.seed, **result}, indent=1) + "\n")
    return 1 if ended or uncaught else 0


if __name__ == "__main__":
    sys.exit(main())

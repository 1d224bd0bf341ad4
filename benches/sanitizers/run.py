"""Runs what checks memory and threads and writes a dated record: what was run, how many tests, how many reports.

    .venv/bin/python benches/sanitizers/run.py -o benches/records/DATE-sanitizers.json
    .venv/bin/python benches/sanitizers/run.py loom asan-rust -o FILE

The checks are the scripts of scripts/: loom.sh (lanes, mailboxes and fences of crates/threads in every order), asan.sh rust
(tests of kernels, polyshift, fghc under AddressSanitizer), asan.sh python (the Python tests that call them). Code 1 where one
of them fails or reports anything.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))

import recording  # noqa: E402

CHECKS = {
    "loom": ["scripts/loom.sh"],
    "asan-rust": ["scripts/asan.sh", "rust"],
    "asan-python": ["scripts/asan.sh", "python"],
}
REPORT = re.compile(r"^==\d+==\s*ERROR: (\w+Sanitizer): (.*)$", re.MULTILINE)


def counts(output: str) -> dict[str, int]:
    """Tests that passed, failed and were skipped, as cargo and pytest say."""
    found = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for passed, failed, ignored in re.findall(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", output):
        found["passed"] += int(passed)
        found["failed"] += int(failed)
        found["skipped"] += int(ignored)
    summary = re.findall(r"^=*\s*((?:\d+ \w+, )*\d+ \w+) in [\d.]+s", output, re.MULTILINE)
    for number, word in re.findall(r"(\d+) (\w+)", " ".join(summary)):
        key = "failed" if word in ("error", "errors") else word
        if key in found:
            found[key] += int(number)
    return found


def run(name: str, command: list[str]) -> dict[str, object]:
    """One check: its command, exit code, time, tests and reports."""
    environment = dict(os.environ)
    environment.setdefault("PYTHON", sys.executable)
    started = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    reports = [f"{tool}: {what}" for tool, what in REPORT.findall(done.stdout)]
    outcome = {
        "check": name,
        "command": " ".join(command),
        "commit": subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip(),
        "exit_code": done.returncode,
        "seconds": round(time.monotonic() - started, 1),
        "tests": counts(done.stdout),
        "reports": reports,
    }
    if done.returncode != 0 or reports:
        print(done.stdout[-8000:], file=sys.stderr)
    print(json.dumps(outcome), file=sys.stderr)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", nargs="*", help=f"which; all unless given: {', '.join(CHECKS)}")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path, help="the record")
    options = parser.parse_args()
    chosen = options.check or list(CHECKS)
    if unknown := [name for name in chosen if name not in CHECKS]:
        parser.error(f"there is no check {unknown[0]!r}; there are {', '.join(CHECKS)}")
    started, load = datetime.datetime.now(datetime.UTC), os.getloadavg()
    results = [run(name, CHECKS[name]) for name in chosen]
    version = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    record = {**recording.head("sanitizers", started, load), "rustc": version, "results": results}
    whole = options.output.with_suffix(".part")
    whole.write_text(json.dumps(record, indent=2) + "\n")
    whole.replace(options.output)
    return int(any(result["exit_code"] != 0 or result["reports"] for result in results))


if __name__ == "__main__":
    sys.exit(main())

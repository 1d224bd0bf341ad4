"""What the drivers of this folder share: building, running, summarising, recording. Standard library only."""

from __future__ import annotations

import datetime
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "benches" / "records"


def run(command: list[str], what: str, env: dict[str, str] | None = None) -> str:
    """Standard output of a command; ends the program with its message when it fails or is absent."""
    try:
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, **(env or {})}, text=True, capture_output=True)
    except FileNotFoundError:
        sys.exit(f"{what}: the program '{command[0]}' is not installed")
    if done.returncode != 0:
        sys.exit(f"{what} failed ({shlex.join(command)}):\n{done.stderr.strip()}")
    return done.stdout


def build_weft() -> list[str]:
    """Builds the example that prints node benchmarks and returns the command for it."""
    cargo = ["cargo", "build", "--release", "--package", "weft-suite", "--example", "node", "--message-format=json"]
    for line in run(cargo, "building weft's node benchmarks").splitlines():
        message = json.loads(line)
        if message.get("executable") and message.get("target", {}).get("name") == "node":
            return [message["executable"], "--json"]
    sys.exit("cargo built no example 'node'")


def ratio(weft: list[float], peer: list[float]) -> dict[str, float]:
    """Peer seconds over weft seconds, round by round: above 1, weft is faster. Median with the smallest and largest."""
    ratios = sorted(theirs / ours for ours, theirs in zip(weft, peer, strict=True))
    return {"median": statistics.median(ratios), "least": ratios[0], "largest": ratios[-1], "rounds": len(ratios)}


def machine() -> dict[str, object]:
    """What a reader of a record must know of the machine."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"processor": model, "processors": os.cpu_count(), "system": platform.system(), "load_before": load}


def record(name: str, content: dict[str, object], path: Path | None = None) -> Path:
    """Writes a dated record; a second one on the same day gets a number. At `path` it replaces what is there."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    day = today()
    if path is None:
        path = RECORDS / f"{day}-{name}.json"
        number = 2
        while path.exists():
            path = RECORDS / f"{day}-{name}-{number}.json"
            number += 1
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps({"benchmark": name, "date": day, **content}, indent=2) + "\n")
    partial.replace(path)
    return path


def today() -> str:
    """The date that records bear."""
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()

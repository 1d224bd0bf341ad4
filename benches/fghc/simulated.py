"""FGHC on many simulated processing elements: how long the simulator takes for program 1 at depth 4.

    python benches/fghc/simulated.py [--rounds 3] [--pes 1,64,1024,4096] [--no-record]

Runs on the simulated Multi-PSI/V2 (a lattice of as many nodes as needed), numbers of PEs interleaved. Nothing else simulates
this language, so there is no peer; the figure to reach is 5 s for 1,024 PEs. Reports seconds of the whole command's work (check,
translation and simulation), reductions and messages a second, and the memory of the process. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WANTED = {1024: 5.0}
DEPTH = 4


def one(pes: int) -> dict[str, float]:
    """One run in this process."""
    from weft import fghc

    begin = time.perf_counter()
    goal = f"t([1,2,3,4,5,6,7,8],{pes},{DEPTH})"
    done = fghc.run(ROOT / "programs/fghc/program1.fghc", goal=goal, pes=pes, on="multi-psi-v2", enlarge=True)
    seconds = time.perf_counter() - begin
    if done.status != "done" or done.reductions != 38_879:
        sys.exit(f"{pes} PEs: {done.status}, {done.reductions} reductions")
    return {
        "seconds": seconds,
        "virtual_seconds": done.seconds,
        "messages": done.messages,
        "memory_MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pes", default="1,64,256,1024,4096")
    parser.add_argument("--no-record", action="store_true", help="print only")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one is not None:
        print(json.dumps(one(chosen.one)))
        return
    numbers = [int(number) for number in chosen.pes.split(",")]
    found: dict[int, list[dict[str, float]]] = {number: [] for number in numbers}
    for _ in range(chosen.rounds):
        for number in numbers:
            words = [sys.executable, __file__, "--one", str(number)]
            ran = subprocess.run(words, capture_output=True, text=True, check=False)
            if ran.returncode != 0:
                sys.exit(f"{number} PEs: {ran.stderr}")
            found[number].append(json.loads(ran.stdout))
    results = []
    for number, runs in found.items():
        seconds = sorted(run["seconds"] for run in runs)
        median = statistics.median(seconds)
        results.append(
            {
                "pes": number, "target_seconds": WANTED.get(number), "runs": len(runs),
                "seconds": {"median": median, "least": seconds[0], "most": seconds[-1]},
                "virtual_seconds": runs[0]["virtual_seconds"], "messages": runs[0]["messages"],
                "memory_MiB": max(run["memory_MiB"] for run in runs),
            }
        )  # fmt: skip
        print(
            f"{number:5} PEs: {median:.3f} s ({seconds[0]:.3f} to {seconds[-1]:.3f}), {results[-1]['memory_MiB']:.0f} MiB"
        )
    if not chosen.no_record:
        environment = {
            "date": datetime.date.today().isoformat(), "processor": platform.machine(), "cores": os.cpu_count(),
            "load": os.getloadavg(), "system": platform.platform(),
        }  # fmt: skip
        path = ROOT / f"benches/records/{environment['date']}-fghc-simulated.json"
        record = {"benchmark": "fghc-simulated", "environment": environment, "results": results}
        path.write_text(json.dumps(record, indent=2) + "\n")
        print(f"record: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Messages per second of weft's simulator, beside SimGrid on the same workloads, in one interleaved run.

    cargo build --release -p weft-sim --example throughput
    python3 benches/simulator/run.py

SimGrid is taken from the system (Debian: libsimgrid-dev) and left out, with a message, where it is missing. Each workload
is run several times, weft and SimGrid in turn, on one processor, by processor time; the record has the median, the range
and the ratio.
Workloads (messages of 1000 bytes, links contended for): ping-pong of 2 ranks; stepped all-to-all of 1,024 ranks on a 32x32
torus; ring of 16,384 ranks on a 128x128 torus; and, for weft alone, a barrier and an allreduce of 100,000 ranks.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# Workload, ranks, weft's count, SimGrid's count (fewer, so that a run of each takes about a second), messages/s wanted.
WORKLOADS = [
    ("ping-pong", 2, 2_000_000, 200_000, 5e6),
    ("all-to-all", 1024, 1023, 50, 3e6),
    ("ring", 16384, 150, 3, 5e6),
]
RANKS_OF_COLLECTIVES = 100_000
SECONDS_OF_COLLECTIVES = 5.0
BYTES_PER_RANK = 1024


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="runs of each side (default 7)")
    parser.add_argument("--weft", type=pathlib.Path, default=ROOT / "target/release/examples/throughput")
    parser.add_argument("--record", type=pathlib.Path, help="where to write (default benches/records/DATE-simulator.json)")
    options = parser.parse_args()
    if not options.weft.is_file():
        parser.error(f"{options.weft} is missing: cargo build --release -p weft-sim --example throughput")
    return options


def build_peer(folder):
    """The SimGrid program, or None with a message where SimGrid or a C++ compiler is missing."""
    compiler = shutil.which("c++")
    program = pathlib.Path(folder) / "peer_simgrid"
    command = [compiler, "-O3", "-o", program, HERE / "peer_simgrid.cpp", "-lsimgrid"]
    if compiler is None or subprocess.run(command, capture_output=True).returncode != 0:
        print("SimGrid is left out: peer_simgrid.cpp does not compile here (Debian: libsimgrid-dev)", file=sys.stderr)
        return None
    return program


def run(program, *words):
    """One run on one processor: what it printed last, as JSON."""
    pin = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    command = [*pin, program, *words]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with code {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def rate(outcome):
    return outcome["messages"] / outcome["cpu_seconds"]


def spread(values):
    return {"median": statistics.median(values), "least": min(values), "most": max(values), "runs": len(values)}


def compare(options, peer, workload, ranks, count, peer_count, target):
    ours, theirs = [], []
    for _ in range(options.runs):
        ours.append(rate(run(options.weft, workload, ranks, count)))
        if peer:
            theirs.append(rate(run(peer, workload, ranks, peer_count)))
    entry = {"workload": workload, "ranks": ranks, "target": target, "weft_messages_per_second": spread(ours)}
    if theirs:
        entry["simgrid_messages_per_second"] = spread(theirs)
        entry["ratio"] = spread([mine / other for mine, other in zip(ours, theirs, strict=True)])
    entry["met"] = entry["weft_messages_per_second"]["median"] >= target
    return entry


def collectives(options):
    outcomes = [run(options.weft, "collectives", RANKS_OF_COLLECTIVES, 1) for _ in range(options.runs)]
    seconds = spread([outcome["cpu_seconds"] for outcome in outcomes])
    entry = {"workload": "barrier and allreduce", "ranks": RANKS_OF_COLLECTIVES, "cpu_seconds": seconds}
    entry["met"] = seconds["median"] < SECONDS_OF_COLLECTIVES
    return entry


def memory(options):
    """Resident bytes per rank beyond its program's own state, from the peaks of a ring of few and of many ranks."""
    few, many = 1024, 65536
    outcomes = [run(options.weft, "ring", ranks, 2) for ranks in (few, many)]
    resident = (outcomes[1]["peak_kib"] - outcomes[0]["peak_kib"]) * 1024 / (many - few)
    program = outcomes[1]["program_bytes"]
    beyond = resident - program
    entry = {"workload": "memory of a rank", "ranks": many, "resident_bytes": resident, "program_bytes": program}
    return {**entry, "bytes_beyond_program": beyond, "met": beyond <= BYTES_PER_RANK}


def show(entry):
    mark = "met" if entry["met"] else "MISSED"
    if "weft_messages_per_second" in entry:
        ours = entry["weft_messages_per_second"]["median"] / 1e6
        line = f"{entry['workload']:<12} {entry['ranks']:>6} ranks  weft {ours:6.2f} M/s (wanted {entry['target'] / 1e6:.0f}, {mark})"
        if "ratio" in entry:
            theirs = entry["simgrid_messages_per_second"]["median"] / 1e3
            line += f"  SimGrid {theirs:7.1f} k/s  ratio {entry['ratio']['median']:.0f}"
        print(line)
    else:
        print({key: value for key, value in entry.items()})


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        peer = build_peer(folder)
        entries = [compare(options, peer, *workload) for workload in WORKLOADS]
    entries += [collectives(options), memory(options)]
    for entry in entries:
        show(entry)
    today = datetime.date.today().isoformat()
    record = options.record or ROOT / f"benches/records/{today}-simulator.json"
    record.parent.mkdir(parents=True, exist_ok=True)
    environment = {"date": today, "processor": platform.processor() or platform.machine(), "cores": os.cpu_count(),
                   "load": os.getloadavg(), "system": platform.platform()}
    text = json.dumps({"benchmark": "simulator", "environment": environment, "results": entries}, indent=2)
    partial = record.with_suffix(".part")
    partial.write_text(text + "\n")
    partial.replace(record)
    print(f"written to {record}")
    return 0 if all(entry["met"] for entry in entries) else 1


if __name__ == "__main__":
    sys.exit(main())

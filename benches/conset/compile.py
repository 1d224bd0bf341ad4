#!/usr/bin/env python3
"""The communication compiler: phases, link loads, predicted times and how long it takes, against bounds and targets.

    cargo build --release -p weft-conset --example compile
    python3 benches/conset/compile.py

Every workload is compiled by weft several times on one processor and, where that takes seconds, once by the compiler of
Feldmann, Stricker and Warfel 1993 (APR and AS as weft implements them), in turn in the same run. Every schedule is
verified. Times are those of the compilation with its lower bounds, without the verification. Published compilers (TE-CCL,
TACCL, PCCL) need solvers with licences or hours; docs/connection-sets.md compares with what their papers print.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "node"))

import peers

# Name, pattern, extents, channels, words, effort, runs, baseline too, targets (most of what).
WORKLOADS = [
    ("torus", "torus", "8x8", 12, 1, 0, 5, True, {"phases": 1, "seconds": 0.1}),
    ("hypercube", "hypercube", "8x8", 12, 1, 0, 5, True, {"phases": 2, "seconds": 0.1}),
    ("hypercube, 16 channels", "hypercube", "8x8", 16, 1, 0, 5, True, {"phases": 1, "seconds": 0.1}),
    ("all-to-all", "all-to-all", "8x8", 12, 1, 0.1, 5, True, {"phases": 27, "seconds": 0.1}),
    ("all-to-all, 16 channels", "all-to-all", "8x8", 16, 1, 0.1, 5, True, {"phases": 20, "seconds": 0.1}),
    ("all-to-all, 32 words", "all-to-all", "8x8", 12, 32, 10, 3, False, {"clocks": 1.05 * (14256 + 128 * 32), "seconds": 10}),
    ("all-to-all, 256 words", "all-to-all", "8x8", 12, 256, 10, 3, False, {"clocks": 1.05 * (14256 + 128 * 256), "seconds": 10}),
    ("all-to-all, 2K words", "all-to-all", "8x8", 12, 2048, 1, 3, True,
     {"clocks": 1.05 * (14256 + 128 * 2048), "phases": 33, "link_loads": 66, "seconds": 10}),
    ("all-to-all, 16K words", "all-to-all", "8x8", 12, 16384, 1, 3, False,
     {"clocks": 1.05 * (14256 + 128 * 16384), "phases": 33, "link_loads": 66, "seconds": 10}),
    ("all-to-all, 256 nodes", "all-to-all", "16x16", 12, 1, 0, 3, False, {"phases": 193, "seconds": 1}),
    ("all-to-all, 1,024 nodes", "all-to-all", "32x32", 12, 1, 0, 1, False, {"phases": int(1.01 * 1451), "seconds": 60}),
    ("random 6-regular, 64 nodes", "random:6", "8x8", 12, 1, 0, 5, True, {"over_bound": 1, "seconds": 0.01}),
    ("transpose, 64 nodes", "transpose", "8x8", 12, 1, 0, 5, True, {"over_bound": 1, "seconds": 0.01}),
    ("random 6-regular, 1,024 nodes", "random:6", "32x32", 12, 1, 0, 5, False, {"over_bound": 1, "seconds": 0.1}),
    ("hypercube, 4,096 nodes", "hypercube", "64x64", 12, 1, 0, 3, False, {"over_bound": 1, "seconds": 1}),
]  # fmt: skip


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", type=pathlib.Path, default=peers.ROOT / "target/release/examples/compile")
    parser.add_argument("--only", help="only workloads whose name has this in it, added to a record of today")
    parser.add_argument(
        "--record", type=pathlib.Path, help="where to write (default benches/records/DATE-conset-compile.json)"
    )
    options = parser.parse_args()
    if not options.weft.is_file():
        parser.error(f"{options.weft} is missing: cargo build --release -p weft-conset --example compile")
    return options


def run(program, pattern, extents, channels, words, compiler, effort, seed):
    pin = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    command = [*pin, program, pattern, extents, channels, words, compiler, effort, seed]
    done = peers.run(list(map(str, command)), f"compiling {pattern} on {extents}")
    return json.loads(done.splitlines()[-1])


def compare(options, name, pattern, extents, channels, words, effort, runs, baseline, targets):
    # The same seed: the schedule is the same, what differs is the time it takes.
    ours = [run(options.weft, pattern, extents, channels, words, "weft", effort, 0) for _ in range(runs)]
    found = dict(ours[0])
    seconds = [outcome["seconds"] for outcome in ours]
    found["seconds"] = {"median": statistics.median(seconds), "least": min(seconds), "most": max(seconds), "runs": runs}
    figures = {**found, "seconds": statistics.median(seconds), "over_bound": found["phases"] - found["bound"]}
    # A target below the certified bound, which the verifier has computed again, is out of anybody's reach.
    beyond = [key for key, most in targets.items() if key == "clocks" and found["bound_clocks"] > most]
    missed = [key for key, most in targets.items() if figures[key] > most and key not in beyond]
    entry = {"workload": name, "pattern": pattern, "extents": extents, "channels": channels, "words": words,
             "effort": effort, "weft": found, "targets": targets, "missed": missed, "beyond_the_bound": beyond}  # fmt: skip
    if baseline:
        theirs = run(options.weft, pattern, extents, channels, words, "apr", 0, 0)
        entry["apr"] = theirs
        entry["predicted_ratio"] = theirs["clocks"] / found["clocks"]
    return entry


def show(entry):
    found = entry["weft"]
    line = f"{entry['workload']:<30} {found['phases']:>5} phases (bound {found['bound']}), loads {found['link_loads']:>5}, "
    line += f"{found['clocks']:>9.0f} clocks, {found['seconds']['median']:8.4f} s"
    if "apr" in entry:
        theirs = entry["apr"]
        line += f"; APR {theirs['phases']} phases, {theirs['clocks']:.0f} clocks, {theirs['seconds']:.3f} s"
    for key in entry["beyond_the_bound"]:
        line += f"; the target of {entry['targets'][key]:.0f} {key} is below the bound, {found['bound_clocks']:.0f}"
    print(line + (f"  MISSED: {', '.join(entry['missed'])}" if entry["missed"] else "  met"), flush=True)


def main():
    options = arguments()
    machine = peers.machine()
    entries = []
    for workload in WORKLOADS:
        if options.only is None or options.only in workload[0]:
            entries.append(compare(options, *workload))
            show(entries[-1])
    path = options.record or peers.RECORDS / f"{peers.today()}-conset-compile.json"
    # Parts of the benchmark that ran one after the other make one record.
    if options.only is not None and path.is_file():
        done = {entry["workload"] for entry in entries}
        known = json.loads(path.read_text())["results"]
        entries = [entry for entry in known if entry["workload"] not in done] + entries
    record = peers.record("conset-compile", {"machine": machine, "results": entries}, path)
    print(f"written to {record}")
    return 1 if any(entry["missed"] for entry in entries) else 0


if __name__ == "__main__":
    sys.exit(main())

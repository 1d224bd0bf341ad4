"""FGHC on many simulated processing elements: how long the simulator takes for program 1 at depth 4.

Runs on the simulated Multi-PSI/V2 (a lattice of as many nodes as needed), numbers of PEs interleaved, each run a
process of its own. Nothing else simulates this language, so there is no baseline; the figure to reach is 5 s for
1,024 PEs. Reports seconds of the whole command's work (check, translation and simulation), messages, and the memory
of the process. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import functools
import json
import resource
import sys
import time

from benches import building, harness
from benches.benchmark import Benchmark, numbers, rounds_option
from benches.recording import ROOT, Report

WANTED = {1024: 5.0}
DEPTH = 4
PROGRAM = ROOT / "programs" / "fghc" / "program1.fghc"


def goal(pes: int) -> str:
    """What the program is started with."""
    return f"t([1,2,3,4,5,6,7,8],{pes},{DEPTH})"


def once(pes: int) -> dict[str, float]:
    """One run in this process."""
    from weft import fghc

    begin = time.perf_counter()
    done = fghc.run(PROGRAM, goal=goal(pes), pes=pes, on="multi-psi-v2", enlarge=True)
    seconds = time.perf_counter() - begin
    if done.status != "done" or done.reductions != 38_879:
        sys.exit(f"{pes} PEs: {done.status}, {done.reductions} reductions")
    return {
        "seconds": seconds,
        "virtual_seconds": done.seconds,
        "messages": done.messages,
        "memory_MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_a_process(pes: int) -> dict[str, float]:
    """One run in a process of its own."""
    outcome: dict[str, float] = json.loads(building.run([sys.executable, "-m", __name__, str(pes)], f"{pes} PEs"))
    return outcome


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 3)
    default = "1,64,256,1024,4096"
    parser.add_argument("--pes", type=numbers, default=default, help=f"numbers of PEs, with commas (default {default})")


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {"rounds": chosen.rounds, "depth": DEPTH, "machine": "multi-psi-v2"}
    sides = {str(pes): functools.partial(in_a_process, pes) for pes in chosen.pes}
    for pes, runs in harness.interleaved(sides, chosen.rounds, "PEs").items():
        seconds = [outcome["seconds"] for outcome in runs]
        report.figure(f"{pes} PEs", harness.spread(seconds), "s", WANTED.get(int(pes)), "at most")
        report.figure(f"{pes} PEs: virtual time", runs[0]["virtual_seconds"], "s")
        report.figure(f"{pes} PEs: messages", runs[0]["messages"])
        report.figure(f"{pes} PEs: memory", max(outcome["memory_MiB"] for outcome in runs), "MiB")
        report.samples({"simulator": seconds}, ranks=int(pes), program=PROGRAM.name, goal=goal(int(pes)))


BENCHMARK = Benchmark(
    "fghc-simulated", "the simulator of FGHC on up to 4,096 processing elements", "a minute", run, options
)

if __name__ == "__main__":
    print(json.dumps(once(int(sys.argv[1]))))

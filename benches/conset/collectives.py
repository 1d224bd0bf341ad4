"""Allreduce by compiled trees in virtual time, beside the algorithms of MPI libraries on the same described machines.

On rail-h100 (256 accelerators) and on slices of tpu-v4, which are tori of their own. Each length is compiled with
`method="auto"` and executed by the simulator, whose messages take the machine's own routes and contend for its links.
The baselines are weft's own collectives (ring, recursive doubling, Rabenseifner's) with rank r on node r, so the ring of
a torus follows rank numbers, not a snake. Swing and two-level algorithms are not among them. Virtual time is the same
in every run, so there are no intervals.
"""

from __future__ import annotations

import argparse
import time

import weft
from benches.benchmark import Benchmark
from benches.recording import Report
from weft import Machine, units
from weft.conset import collectives

BASELINES = ("ring", "recursive-doubling", "rabenseifner")

LENGTHS = ("1K", "16K", "256K", "4M", "64M", "1G")

SLICES = ("4x4x4", "8x8x4")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", help="only machines whose name has this in it")


def tpu_slice(shape: str) -> Machine:
    """A slice of a TPU v4 pod, whose optical switches close the rings of every slice of whole cubes."""
    text = weft.machine("tpu-v4").to_toml()
    whole, name = "extents = [16, 16, 16]", 'name = "tpu-v4"'
    if whole not in text or name not in text:
        raise AssertionError("tpu-v4 is described in another way than this benchmark knows")
    extents = f"extents = [{', '.join(shape.split('x'))}]"
    text = text.replace(whole, extents).replace(name, f'name = "tpu-v4-{shape}"')
    return Machine.parse(text, f"tpu-v4-{shape}.toml")


def baseline(machine: Machine, algorithm: str, length: str) -> float:
    """Seconds of an allreduce by an algorithm of MPI libraries."""
    rows = weft.simulate(machine, "allreduce", ranks=machine.nodes, bytes=length, algorithm=algorithm)
    return float(rows["seconds"][0])


def compare(machine: Machine, length: str, report: Report) -> None:
    where = f"{machine.name}, {length}"
    start = time.process_time()
    compiled = collectives.compile("allreduce", machine, length)
    report.figure(f"{where}: compiling", time.process_time() - start, "s")
    others = {algorithm: baseline(machine, algorithm, length) for algorithm in BASELINES}
    seconds = compiled.simulate()
    report.figure(f"{where}: weft", seconds, "s")
    report.figure(f"{where}: weft, predicted/simulated", compiled.predict() / seconds, "ratio")
    report.figure(
        f"{where}: certified optimum of the two stages/weft", compiled.schedule.bound_seconds / seconds, "ratio"
    )
    for algorithm, other in others.items():
        report.figure(f"{where}: {algorithm}", other, "s")
    best = min(others, key=lambda algorithm: others[algorithm])
    report.figure(f"{where}: best baseline/weft", others[best] / seconds, "ratio", 1.0, "at least")
    merged = "merged messages" if compiled.schedule.merged else f"{compiled.schedule.trees} trees"
    report.notes[where] = f"{merged}; the best baseline is {best}, {units.seconds(others[best])}"


def run(chosen: argparse.Namespace, report: Report) -> None:
    machines = [weft.machine("rail-h100"), *map(tpu_slice, SLICES)]
    report.protocol.update({"lengths": ", ".join(LENGTHS), "baselines": ", ".join(BASELINES), "data": "phantoms"})
    for machine in machines:
        if chosen.only is None or chosen.only in machine.name:
            for length in LENGTHS:
                compare(machine, length, report)


BENCHMARK = Benchmark(
    "collectives",
    "allreduce by compiled trees in virtual time, beside ring, recursive doubling and Rabenseifner's",
    "ten minutes",
    run,
    options,
)

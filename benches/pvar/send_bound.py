"""How fast a send with combining can be at best: the time of its motions of memory alone, which send_bound.c does.

Two threads read values and indices, store packets by non-temporal stores in an order that jumps from bucket to bucket,
read them again, and read and write each line of destinations once; nothing is looked up, compared or combined. It is an
upper bound of the rates of `primitives --groups send`. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
from pathlib import Path

from benches import building
from benches.benchmark import Benchmark, Need, SkippedError
from benches.recording import Report


def options(parser: argparse.ArgumentParser) -> None:
    """There are none: sizes and rounds are of the program."""


def run(chosen: argparse.Namespace, report: Report) -> None:
    if platform.machine() not in ("x86_64", "AMD64"):
        raise SkippedError("it is written for x86-64")
    with tempfile.TemporaryDirectory() as folder:
        program = building.c_program(Path(__file__).with_suffix(".c"), Path(folder) / "send_bound", "-pthread")
        outcome = json.loads(building.run([program], "send_bound"))
    report.protocol = {key: outcome[key] for key in ("threads", "messages")}
    report.figure("sort", outcome["sort_s"], "s")
    for name, rate in outcome["million_elements_per_s_at_most"].items():
        report.figure(f"send, {name}: at most", rate, "million elements/s")


BENCHMARK = Benchmark(
    "send-bound",
    "the most that a send with combining could do, by its motions of memory",
    "a minute, with 3 GB of memory",
    run,
    options,
    needs=(Need("cc", "program", required=True),),
)

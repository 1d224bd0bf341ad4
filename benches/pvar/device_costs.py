"""What `weft calibrate --device` measures of a device, and how well it says what other operations take there.

The figures are those of the table `[parallel]` of a machine file, measured through JAX; the operations that are
compared are others, by type, by size and by what they do. Beside them stand the estimates of the catalogue's machine
that has such a device, by a data sheet.

    python -m benches device-costs --catalogue hgx-h100

needs JAX with a GPU or a TPU.
"""

from __future__ import annotations

import argparse
import statistics

import weft
from benches.benchmark import Benchmark, Need
from benches.recording import Report
from weft.estimation.device import DeviceCosts, measure_device
from weft.estimation.device_check import COVERED, Compared, compare_operations, error_of

MAX_ERROR = 0.5
"""What nine of ten operations are to be estimated within."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--catalogue", metavar="MACHINE", help="a machine of the catalogue with such a device")


def run(chosen: argparse.Namespace, report: Report) -> None:
    costs = measure_device(lambda done, of: print(f"measured {done} of {of} groups of figures", flush=True))
    compared = list(compare_operations(costs.machine("device")))
    beside = list(compare_operations(weft.machine(chosen.catalogue))) if chosen.catalogue else []
    tell(report, costs, compared)
    for one in beside:
        report.figure(f"{one.operation}, {one.size} elements: {chosen.catalogue}'s estimate", one.estimated_s, "s")


def tell(report: Report, costs: DeviceCosts, compared: list[Compared]) -> None:
    """The figures of a device, and what came of the comparison."""
    report.protocol = {"device": costs.device, **costs.sources}
    for key, value in costs.figures.items():
        report.figure(key, value, "B" if key.endswith("_bytes") else "s")
    for one in compared:
        name = f"{one.operation}, {one.size} elements"
        report.figure(f"{name}: measured", one.measured_s, "s")
        report.figure(f"{name}: estimated over measured", one.error + 1, "ratio")
    report.figure("error in the median", statistics.median(abs(one.error) for one in compared), "ratio")
    report.figure(f"error of {COVERED:.0%} of operations", error_of(compared), "ratio", MAX_ERROR, "at most")


BENCHMARK = Benchmark(
    "device-costs",
    "figures of a device as weft calibrate --device measures them, and other operations estimated by them",
    "two minutes, with a GPU or a TPU",
    run,
    options,
    needs=(Need("jax", "package", required=True),),
)

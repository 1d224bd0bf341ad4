"""weft's LINPACK n = 1000 beside numpy.linalg.solve. Target: the row through the BLAS within 10%.

The row through the BLAS is weft's second one of `weft measure linpack`; the other is weft's own blocked
factorisation, for which there is no target. Rounds start both sides in turn; the ratio is numpy's seconds over
weft's. One thread on both sides unless --threads says otherwise. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys

from benches import building, harness
from benches.benchmark import Benchmark, positive, rounds_option
from benches.recording import Report

TARGET = 0.90
ORDER = 1000
OPERATIONS = 2 / 3 * ORDER**3 + 2 * ORDER**2
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS")

BLAS_ROW = """
import json
from weft.launch import blas
print(json.dumps([blas.row(seconds_per_point=0.5, seed=1991)]))
"""

BASELINE = """
import json, sys, time
import numpy
order, repetitions = int(sys.argv[1]), int(sys.argv[2])
generator = numpy.random.default_rng(1991)
a = generator.random((order, order)) - 0.5
b = a.sum(axis=1)
seconds = []
for _ in range(repetitions + 1):
    start = time.perf_counter()
    x = numpy.linalg.solve(a, b)
    seconds.append(time.perf_counter() - start)
    if abs(x - 1).max() > 1e-6:
        sys.exit("numpy.linalg.solve gave a wrong solution")
print(json.dumps(seconds[1:]))
"""


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 12)
    parser.add_argument("--repetitions", type=positive, default=10, help="solutions of numpy in one start (default 10)")
    parser.add_argument("--threads", type=positive, default=1, help="threads of the BLAS (default 1)")
    parser.add_argument("--row", choices=("blas", "own"), default="blas", help="weft's row (default blas)")


def run(chosen: argparse.Namespace, report: Report) -> None:
    import numpy

    own = chosen.row == "own"
    if own:
        weft = [building.example("weft-suite", "node"), "--json", "--variant", "n1000", "linpack"]
    else:
        weft = [sys.executable, "-c", BLAS_ROW]
    baseline = [sys.executable, "-c", BASELINE, str(ORDER), str(chosen.repetitions)]
    environment = {variable: str(chosen.threads) for variable in THREAD_VARIABLES}

    def of_weft() -> float:
        [row] = json.loads(building.run(weft, "weft's LINPACK", environment))
        return float(row["seconds"])

    def of_numpy() -> float:
        return float(statistics.median(json.loads(building.run(baseline, "numpy", environment))))

    report.protocol = {
        "rounds": chosen.rounds,
        "repetitions": chosen.repetitions,
        "row": "own blocked" if own else "through the BLAS",
        "baseline": f"numpy {numpy.__version__} linalg.solve",
    }
    seconds = harness.interleaved({"weft": of_weft, "numpy": of_numpy}, chosen.rounds, f"n = {ORDER}")
    ratio = harness.spread(harness.ratios(seconds["numpy"], seconds["weft"]))
    report.figure("numpy/weft", ratio, "ratio", None if own else TARGET, "at least")
    for side, times in seconds.items():
        report.figure(side, harness.spread([OPERATIONS / one / 1e6 for one in times]), "Mflop/s")
    report.samples(seconds, extent=ORDER, threads=chosen.threads)


BENCHMARK = Benchmark("linpack", "LINPACK n = 1000 beside numpy.linalg.solve", "a minute", run, options)

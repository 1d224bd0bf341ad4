"""Programs that compute and communicate, in virtual time on a description of this machine and on its real MPI.

This machine is measured and fitted (`weft study --quick`, or a file that is there: `--machine`), and ten programs, six
with mpi4py and four in C, run on two ranks: by `weft run --on here.toml --compute 1`, which counts their processor time
as it is, and by `weft run --on here`. A program prints how long its last rank took from a barrier to the end, by
MPI_Wtime, and the error of a program is the median over rounds of the difference between both, relative to the real
time. Starting, importing and compiling are in neither.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benches.benchmark import Benchmark, Need, positive, rounds_option
from benches.harness import interleaved, ratios, spread
from benches.hosting.compiling import compiled
from benches.recording import ROOT, Report

PROGRAMS = ROOT / "tests" / "python" / "hosting" / "timed"

ITERATIONS = {
    "conjugate_gradients.py": 600,
    "fft_transpose.py": 40,
    "sample_sort.py": 80,
    "life.py": 1500,
    "k_means.py": 240,
    "master_worker.py": 600,
    "jacobi.c": 3000,
    "matrix_ring.c": 150,
    "integer_sort.c": 3000,
    "n_body.c": 600,
}
"""What each program is called with: a quarter of a second to one."""

RANKS = 2

MEDIAN, WORST = 0.10, 0.25
"""The relative errors that are accepted, in the median over programs and of the worst."""

WEFT = (sys.executable, "-m", "weft.cli.main")


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 5)
    parser.add_argument("--machine", type=Path, help="description of this machine (default: measured and fitted first)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the programs' iterations (default 1)")
    parser.add_argument("--iterations", type=positive, help="the same iterations of all programs, to try them out")


def environment() -> dict[str, str]:
    """One thread for each rank, so that neither side computes on more processors than the other."""
    return os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def fitted(folder: Path) -> Path:
    """A description of this machine."""
    subprocess.run([*WEFT, "study", "--quick", "--quiet", "-o", str(folder / "study")], check=True, capture_output=True)
    return folder / "study" / "here.toml"


def seconds(program: Path, iterations: int, *words: str) -> float:
    """What a program prints."""
    command = [*WEFT, "run", "-n", str(RANKS), *words, str(program), str(iterations)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment())
    return float(done.stdout)


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {"rounds": chosen.rounds, "ranks": RANKS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        machine = chosen.machine or fitted(folder)
        errors = []
        for source, count in ITERATIONS.items():
            path = PROGRAMS / source
            program = path if path.suffix == ".py" else compiled(path, folder)
            iterations = chosen.iterations or max(1, round(count * chosen.scale))
            sides = {
                "virtual": functools.partial(seconds, program, iterations, "--on", str(machine), "--compute", "1"),
                "real": functools.partial(seconds, program, iterations, "--on", "here"),
            }
            times = interleaved(sides, chosen.rounds, source)
            report.figure(f"{source}, real", spread(times["real"]), "s")
            report.figure(f"{source}, virtual to real", spread(ratios(times["virtual"], times["real"])), "ratio")
            errors.append(abs(statistics.median(ratios(times["virtual"], times["real"])) - 1.0))
    report.figure("error in the median over programs", statistics.median(errors), "", MEDIAN, "at most")
    report.figure("error of the worst program", max(errors), "", WORST, "at most")


BENCHMARK = Benchmark(
    "hosted-agreement",
    "programs in virtual time on a description of this machine, and on its real MPI",
    "five minutes",
    run,
    options,
    needs=(
        Need("cc", "program", required=True),
        Need("mpi4py", "package", required=True),
        Need("greenlet", "package", required=True),
    ),
)

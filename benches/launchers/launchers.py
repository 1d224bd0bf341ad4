"""A program with weft's ranks under the launchers of several MPIs, with nothing that says which library to use.

Starts two ranks under each launcher that is named, without WEFT_MPI_LIBRARY; they find the MPI library and each other,
add up their numbers, and rank 0 says which library it was. It has to lie in the installation of the launcher.

    python -m benches launchers --launcher mpich=PREFIX/bin/mpiexec --launcher debian=ROOT/usr/bin/orterun

A launcher that is not where it was built for, such as one of a distribution that was unpacked elsewhere, wants its
variables (OPAL_PREFIX, LD_LIBRARY_PATH): set them, and name launchers with different ones in different runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.benchmark import Benchmark, SkippedError
from benches.recording import Report

RANKS = 2
LIMIT = 60
"""A launch takes a second or two; longer than this is a hang."""

PROGRAM = """
import json
from weft import _core
from weft.distributed.ranks import of_run
from weft.launch import mpiexec
ranks = of_run()
library = json.loads(_core.mpi_version(mpiexec.library()))
if ranks.rank == 0:
    print(json.dumps({"ranks": ranks.size, "path": library["path"], "version": library["version"]}), flush=True)
"""


@dataclass(frozen=True)
class Launcher:
    """A launcher and what it is called here."""

    name: str
    program: Path

    @property
    def installation(self) -> Path:
        """The folder in which its MPI was installed."""
        return self.program.resolve().parent.parent


def launcher(text: str) -> Launcher:
    """A launcher of the command line, NAME=PROGRAM."""
    name, _, program = text.partition("=")
    if not name or not program:
        raise argparse.ArgumentTypeError(f"expected NAME=PROGRAM, found {text}")
    if not os.access(program, os.X_OK):
        raise argparse.ArgumentTypeError(f"{program} is no program")
    return Launcher(name, Path(program))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--launcher", action="append", type=launcher, metavar="NAME=PROGRAM", help="a launcher; may be repeated"
    )
    parser.add_argument("--part-of", type=Path, metavar="RECORD", help="keep what this record has of other launchers")


def said(one: Launcher) -> dict[str, Any] | str:
    """What rank 0 says, or what came instead."""
    variables = {name: value for name, value in os.environ.items() if name != "WEFT_MPI_LIBRARY"}
    # Open MPI refuses to run as root, as containers do, unless it is told twice.
    variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    words = [str(one.program), "-n", str(RANKS), sys.executable, "-c", PROGRAM]
    try:
        done = subprocess.run(words, capture_output=True, text=True, env=variables, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return f"nothing within {LIMIT} s"
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or len(lines) != 1:
        return (done.stdout + done.stderr).strip()[-400:] or f"exit code {done.returncode}"
    answer: dict[str, Any] = json.loads(lines[0])
    return answer


def judge(one: Launcher, answer: dict[str, Any] | str, report: Report) -> None:
    """Puts into the report whether the ranks found each other, in a library of this launcher's installation."""
    if isinstance(answer, str):
        report.fail(f"{one.name}: {answer}")
        return
    report.figure(f"{one.name}: ranks that find each other", answer["ranks"], "ranks", RANKS, "at least")
    version = answer["version"].splitlines()[0].partition(",")[0]
    report.notes[one.name] = f"{' '.join(version.split())}, {Path(answer['path']).name}"
    if not Path(answer["path"]).resolve().is_relative_to(one.installation):
        report.fail(f"{one.name}: the ranks use {answer['path']}, which is not of {one.installation}")


def run(chosen: argparse.Namespace, report: Report) -> None:
    if not chosen.launcher:
        raise SkippedError("no launcher is named; name one by --launcher NAME=PROGRAM")
    if chosen.part_of is not None:
        report.continue_from(chosen.part_of)
        chosen.record = chosen.part_of
    report.protocol = {"ranks": RANKS, "variables": "WEFT_MPI_LIBRARY is not set"}
    for one in chosen.launcher:
        judge(one, said(one), report)


BENCHMARK = Benchmark(
    "launchers",
    "which MPI library ranks find under the launchers of several MPIs",
    "seconds",
    run,
    options,
)

"""MPICH's own test programs in virtual time: each is compiled as it is and run by `weft run`.

`--suite` names the folder `test/mpi` of MPICH's sources, which need not be configured: what to compile is read from
each folder's `Makefile.am`, what to run from its `testlist`. A program has passed if it says `No Errors` and its exit
code is 0, as the suite's own script has it; that is counted for each folder, and what failed is listed with its reason.
Variants of a test that differ in variables of MPICH (`env=`) alone are one.

The programs are compiled with an `mpicc` of MPICH (`--compiler`; the package `mpich` of Python has one), those in
Fortran and C++ with its `mpifort` and `mpicxx` (`--fortran`, `--cxx`; Debian's package `libmpich-dev` has them). What
the suite makes of other sources is made by its own scripts before: Fortran 90 (`maint/f77tof90`) and tests of files in
Fortran (`maint/testmerge`).
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from benches.benchmark import Benchmark, positive
from benches.hosting.limited import run_limited
from benches.hosting.mpich_sources import Builder, Compilers, Test, compiler_path, tests
from benches.recording import Report

PASSED = 0.95
"""The part that is to pass of the programs that are not skipped."""

FOLDERS = (
    "attr coll comm datatype errhan group info init pt2pt part rma session topo io "
    "errors/attr errors/basic errors/coll errors/comm errors/datatype errors/group errors/io errors/pt2pt errors/rma "
    "errors/topo threads/coll threads/comm threads/init threads/part threads/pt2pt threads/rma"
)
"""Folders whose tests need one launch and no compiler but that of C."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--suite", type=Path, required=True, help="folder `test/mpi` of MPICH's sources")
    parser.add_argument("--folders", default=FOLDERS, type=str, help=f"folders of tests (default {FOLDERS})")
    parser.add_argument("--tests", default="", metavar="PATTERN", help="regular expression of programs (default all)")
    parser.add_argument("--machine", default="frontera", help="the machine (default frontera)")
    parser.add_argument("--compiler", default="mpicc", help="mpicc of MPICH (default mpicc)")
    parser.add_argument("--fortran", metavar="COMPILER", help="mpifort of MPICH (default none: such tests are skipped)")
    parser.add_argument("--cxx", metavar="COMPILER", help="mpicxx of MPICH with its bindings for C++ (default none)")
    parser.add_argument("--programs", type=Path, metavar="FOLDER", help="keep the compiled programs here")
    parser.add_argument("--part-of", type=Path, metavar="RECORD", help="keep what this record has of other folders")
    parser.add_argument(
        "--limit",
        type=positive,
        default=120,
        help="processor time for a run, in seconds, unless the test's list gives it longer (default 120)",
    )


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    if not (chosen.suite / "util" / "mtest.c").is_file():
        parser.error(f"{chosen.suite} is not the folder `test/mpi` of MPICH's sources: no util/mtest.c")
    for option in ("compiler", "fortran", "cxx"):
        compiler = getattr(chosen, option)
        if compiler is not None and compiler_path(compiler) is None:
            parser.error(f"there is no compiler {compiler}; --{option} names one of MPICH")
    chosen.folders = chosen.folders.replace(",", " ").split()
    for folder in chosen.folders:
        if not (chosen.suite / folder / "Makefile.am").is_file():
            parser.error(f"{chosen.suite} has no folder {folder} with a Makefile.am")


@dataclass
class Tally:
    """What the tests of a folder came to."""

    passed: int = 0
    skipped: collections.Counter[str] = field(default_factory=collections.Counter)
    failed: dict[str, str] = field(default_factory=dict)


def run_test(program: Path, test: Test, chosen: argparse.Namespace, folder: Path) -> str | None:
    """Run a test; why it has not passed."""
    command = [sys.executable, "-m", "weft.cli.main", "run", "--on", chosen.machine, "-n", str(test.ranks)]
    command += [str(program), *test.arguments]
    done = run_limited(command, max(chosen.limit, test.seconds), cwd=folder, env={**os.environ, **dict(test.variables)})
    if done.reason is not None:
        return done.reason
    if done.code == 0 and "no errors" in done.output.lower():
        return None
    lines = [line for line in (done.output + done.errors).splitlines() if line.strip() and "makespan" not in line]
    said = [line for line in lines if line.startswith("error")] or lines or ["it says nothing"]
    return f"exit code {done.code}: {said[0][:200]}"


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {"machine": chosen.machine, "folders": " ".join(chosen.folders), "limit": chosen.limit}
    if chosen.part_of is not None:
        report.continue_from(chosen.part_of)
        chosen.record = chosen.part_of
    with tempfile.TemporaryDirectory(prefix="mpich-suite-") as temporary:
        programs = Path(chosen.programs or Path(temporary) / "programs").resolve()
        named = (chosen.fortran, chosen.cxx)
        compilers = Compilers(compiler_path(chosen.compiler) or chosen.compiler, *map(compiler_path, named))
        builder = Builder(chosen.suite, compilers, programs)
        scratch = Path(temporary) / "scratch"
        scratch.mkdir()
        for folder in chosen.folders:
            tally = Tally()
            for test in tests(chosen.suite, folder):
                if re.search(chosen.tests, test.program):
                    _count(test, builder, chosen, scratch, tally)
            _report(folder, tally, report)


def _count(test: Test, builder: Builder, chosen: argparse.Namespace, scratch: Path, tally: Tally) -> None:
    if test.skipped:
        tally.skipped[test.skipped] += 1
        return
    program, problem = builder.build(test)
    if problem is not None:
        tally.skipped[f"not compiled: {problem}"] += 1
        return
    reason = run_test(program, test, chosen, scratch)
    if reason is None:
        tally.passed += 1
    else:
        tally.failed[test.name] = reason
        print(f"{test.folder}/{test.name}: {reason}", flush=True)


def _report(folder: str, tally: Tally, report: Report) -> None:
    ran = tally.passed + len(tally.failed)
    report.figure(f"{folder}: passed of those that ran", tally.passed / max(ran, 1), "", PASSED, "at least")
    report.figure(f"{folder}: passed", tally.passed)
    report.figure(f"{folder}: failed", len(tally.failed))
    report.figure(f"{folder}: skipped", tally.skipped.total())
    report.notes[folder] = {"skipped": dict(tally.skipped.most_common()), "failed": tally.failed}


BENCHMARK = Benchmark(
    "mpich-suite",
    "MPICH's own test programs in virtual time",
    "half an hour",
    run,
    options,
    check,
)

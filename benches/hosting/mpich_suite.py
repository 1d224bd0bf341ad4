"""MPICH's own test programs in virtual time: each is compiled as it is and run by `weft run`.

`--suite` names the folder `test/mpi` of MPICH's sources, which need not be configured: what to compile is read from
each folder's `Makefile.am`, what to run from its `testlist`. A program has passed if it says `No Errors` and its exit
code is 0, as the suite's own script has it; that is counted for each folder, and what failed is listed with its reason.
Variants of a test that differ in variables of MPICH (`env=`) alone are one.

The programs are compiled with an `mpicc` of MPICH (`--compiler`; the package `mpich` of Python has one).
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benches.benchmark import Benchmark, positive
from benches.hosting.limited import run_limited
from benches.recording import Report

PASSED = 0.95
"""The part that is to pass of the programs that are not skipped."""

FOLDERS = (
    "attr coll comm datatype errhan group info init pt2pt part rma session topo io "
    "errors/attr errors/basic errors/coll errors/comm errors/datatype errors/group errors/io errors/pt2pt errors/rma "
    "errors/topo"
)
"""Folders whose tests need one launch, one thread and no compiler but that of C."""

MAX_MEMORY = 1.0
"""Tests that ask for more memory than so many gigabytes are skipped."""

CONFIGURATION = """
#define HAVE_STDARG_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_STRDUP 1
#define HAVE_USLEEP 1
#define HAVE_GETRUSAGE 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_LONG_LONG 1
#define HAVE_LONG_LONG_INT 1
#define HAVE_MPI_WIN_CREATE 1
#define HAVE_MPI_IO 1
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_LIMITS_H 1
#define HAVE_STDINT_H 1
#define HAVE_UNISTD_H 1
#define HAVE_MEMSET 1
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_NONE
#define POINTERINT_t long
"""
"""What the suite's `configure` finds on Linux with 64 bits."""

COMMON = (
    "util/run_mpitests.c",
    "util/mtest.c",
    "util/mtest_common.c",
    "util/mtest_single.c",
    "util/dtypes.c",
    "dtpools/src/dtpools.c",
    "dtpools/src/dtpools_attr.c",
    "dtpools/src/dtpools_custom.c",
    "dtpools/src/dtpools_desc.c",
    "dtpools/src/dtpools_init_verify.c",
    "dtpools/src/dtpools_misc.c",
)
"""What tests take what they use of: many have no `main` of their own."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--suite", type=Path, required=True, help="folder `test/mpi` of MPICH's sources")
    parser.add_argument("--folders", default=FOLDERS, type=str, help=f"folders of tests (default {FOLDERS})")
    parser.add_argument("--tests", default="", metavar="PATTERN", help="regular expression of programs (default all)")
    parser.add_argument("--machine", default="frontera", help="the machine (default frontera)")
    parser.add_argument("--compiler", default="mpicc", help="mpicc of MPICH (default mpicc)")
    parser.add_argument("--programs", type=Path, metavar="FOLDER", help="keep the compiled programs here")
    parser.add_argument("--part-of", type=Path, metavar="RECORD", help="keep what this record has of other folders")
    parser.add_argument(
        "--limit", type=positive, default=120, help="processor time for a run, in seconds (default 120)"
    )


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    if not (chosen.suite / "util" / "mtest.c").is_file():
        parser.error(f"{chosen.suite} is not the folder `test/mpi` of MPICH's sources: no util/mtest.c")
    compiler = shutil.which(chosen.compiler)
    if compiler is None:
        parser.error(f"there is no compiler {chosen.compiler}; --compiler names an mpicc of MPICH")
    # Tests are compiled in their folders.
    chosen.compiler = os.path.abspath(compiler)
    chosen.folders = chosen.folders.replace(",", " ").split()
    for folder in chosen.folders:
        if not (chosen.suite / folder / "Makefile.am").is_file():
            parser.error(f"{chosen.suite} has no folder {folder} with a Makefile.am")


@dataclass(frozen=True)
class Test:
    """One line of a test list."""

    folder: str
    program: str
    ranks: int
    arguments: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    """Of the test's own, not of MPICH."""
    skipped: str = ""
    """Why it is not run."""

    @property
    def name(self) -> str:
        """The test as people say it."""
        return f"{' '.join((self.program, *self.arguments))} ({self.ranks})"


@dataclass
class Tally:
    """What the tests of a folder came to."""

    passed: int = 0
    skipped: collections.Counter[str] = field(default_factory=collections.Counter)
    failed: dict[str, str] = field(default_factory=dict)


def tests(suite: Path, folder: str) -> Iterator[Test]:
    """The tests of a folder, each once."""
    seen = set()
    for name in ("testlist", "testlist.in"):
        path = suite / folder / name
        for line in path.read_text().splitlines() if path.exists() else ():
            test = _test(folder, line)
            if test is not None and test not in seen:
                seen.add(test)
                yield test


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _test(folder: str, line: str) -> Test | None:
    words = line.split("#", maxsplit=1)[0].split()
    if len(words) < 2 or not words[1].isdigit():
        return None
    settings = [_pair(word) for word in words[2:]]
    named = dict(settings)
    skipped = ""
    if "xfail" in named:
        skipped = "MPICH expects its own to fail (xfail)"
    elif named.get("strict") == "FALSE":
        skipped = "it is not strictly correct, by the test list"
    elif float(named.get("mem", 0)) > MAX_MEMORY:
        skipped = f"it asks for more than {MAX_MEMORY:g} GB"
    elif named.get("resultTest", "TestAllowWarnings") != "TestAllowWarnings":
        skipped = "it is to end with an error, which its list has a script for"
    arguments = [value for key, value in settings if key == "arg" and not re.match(r"-\w*mem\w*=", value)]
    variables = [_pair(value) for key, value in settings if key == "env"]
    own = tuple(pair for pair in variables if not pair[0].startswith(("MPIR_", "MPICH_", "FI_", "UCX_")))
    return Test(folder, words[0], int(words[1]), tuple(arguments), own, skipped)


class Builder:
    """Compiles tests, each program once."""

    def __init__(self, chosen: argparse.Namespace, folder: Path) -> None:
        self.suite: Path = chosen.suite.resolve()
        self.compiler: str = chosen.compiler
        self.folder = folder
        configuration = folder / "include" / "mpitestconf.h"
        configuration.parent.mkdir(parents=True, exist_ok=True)
        configuration.write_text(CONFIGURATION)
        # What MPICH has beyond the standard is declared in a file that its build makes; the suite's own makes it empty.
        (folder / "include" / "mtest_mpix.h").touch()
        # The library of datatypes looks for its own beside its folder.
        (folder / "include" / "dtpools").mkdir(exist_ok=True)
        (folder / "include" / "dtpoolsconf.h").write_text(CONFIGURATION)
        self.flags = ["-w", "-O1", f"-I{folder}/include/dtpools", f"-I{folder}/include"]
        self.flags += [f"-I{self.suite}/include", f"-I{self.suite}/dtpools/include"]
        self.library = folder / "libmtest.a"
        objects = [self._object(source) for source in COMMON]
        subprocess.run(["ar", "rcs", str(self.library), *objects], check=True)

    def _compile(self, arguments: list[str], cwd: Path | None = None) -> str | None:
        done = subprocess.run([self.compiler, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return None
        errors = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        return errors[0][-150:] if errors else "the compiler says nothing"

    def _object(self, source: str) -> str:
        target = self.folder / (source.replace("/", ".") + ".o")
        if not target.exists():
            problem = self._compile([*self.flags, "-c", str(self.suite / source), "-o", str(target)])
            if problem is not None:
                raise SystemExit(f"{source} of the suite cannot be compiled: {problem}")
        return str(target)

    def build(self, test: Test) -> tuple[Path, str | None]:
        """The program of a test, and why it cannot be compiled."""
        target = self.folder / test.folder / test.program
        if target.exists():
            return target, None
        target.parent.mkdir(parents=True, exist_ok=True)
        source = self.suite / test.folder
        makefile = (source / "Makefile.am").read_text()
        files = _setting(makefile, f"{test.program}_SOURCES") or [f"{test.program}.c"]
        flags = _setting(makefile, f"{test.program}_CPPFLAGS")
        if not (source / files[0]).exists():
            return target, "there is no source of C of it"
        rest = [*files, str(self.library), "-o", str(target), "-lm"]
        return target, self._compile([*self.flags, f"-I{source}", *flags, *rest], cwd=source)


def _setting(makefile: str, name: str) -> list[str]:
    match = re.search(rf"^{re.escape(name)}\s*=((?:.*\\\n)*.*)$", makefile, re.MULTILINE)
    return [word for word in match[1].replace("\\\n", " ").split() if "$(" not in word] if match else []


def run_test(program: Path, test: Test, chosen: argparse.Namespace, folder: Path) -> str | None:
    """Run a test; why it has not passed."""
    command = [sys.executable, "-m", "weft.cli.main", "run", "--on", chosen.machine, "-n", str(test.ranks)]
    command += [str(program), *test.arguments]
    done = run_limited(command, chosen.limit, cwd=folder, env={**os.environ, **dict(test.variables)})
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
        builder = Builder(chosen, programs)
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

"""mpi4py's own test suite in virtual time: every module of it in `weft run`, ranks of one process or
of a process each (`--isolate`).

The suite is that of mpi4py's source distribution (its folder `test`), unchanged; `--suite` names the folder. A test has
passed if it has passed on every rank; what did not is listed with its reason, and what the suite itself skips (tests
that need more ranks, packages that are missing) is counted by reasons. Tests that start processes, and those of arrays
of CUDA devices, are left out by the switches that the suite has for it.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from benches.benchmark import Benchmark, Need, numbers, positive
from benches.hosting.limited import run_limited
from benches.recording import Report

PASSED = 0.95
"""The part that is to pass of all tests that the suite does not skip."""

PROGRAM = """
import json, sys, unittest
from mpi4py import MPI

class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.outcomes = {}
    def note(self, test, outcome, reason=""):
        if self.outcomes.get(test.id(), ("passed",))[0] == "passed":
            self.outcomes[test.id()] = (outcome, reason)
    def addSuccess(self, test):
        self.note(test, "passed")
    def addSkip(self, test, reason):
        self.note(test, "skipped", reason)
    def addExpectedFailure(self, test, error):
        self.note(test, "passed")
    def addFailure(self, test, error):
        self.note(test, "failed", last_line(error))
    addError = addFailure
    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.note(test, "failed", last_line(error))

def last_line(error):
    return f"{error[0].__name__}: {error[1]}".splitlines()[0][:200]

def ids(suite):
    for test in suite:
        yield from ids(test) if isinstance(test, unittest.TestSuite) else [test.id()]

# As the suite's own switches --no-cupy and --no-numba do, which a computer without such a device needs.
sys.modules["cupy"] = sys.modules["numba"] = None

suite = unittest.defaultTestLoader.loadTestsFromName(sys.argv[1])
rank = MPI.COMM_WORLD.rank
def write(kind, content):
    with open(f"{sys.argv[2]}/{kind}.{rank}.json", "w") as file:
        json.dump(content, file)
write("tests", list(ids(suite)))
result = Result()
suite.run(result)
write("outcomes", result.outcomes)
"""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--suite", type=Path, required=True, help="folder `test` of mpi4py's source distribution")
    parser.add_argument("--ranks", type=numbers, default=[1, 2, 3, 4, 8], help="numbers of ranks (default 1,2,3,4,8)")
    parser.add_argument("--modules", default="test_*", help="pattern of modules (default all)")
    parser.add_argument("--isolate", action="store_true", help="ranks with a process each (default one for all)")
    parser.add_argument("--machine", default="ipsc860", help="the machine (default ipsc860)")
    parser.add_argument("--part-of", type=Path, metavar="RECORD", help="keep what this record has of other ranks")
    parser.add_argument(
        "--results", type=Path, metavar="FOLDER", help="keep what each module came to here, and run only the others"
    )
    parser.add_argument(
        "--limit", type=positive, default=900, help="processor time for a module, in seconds (default 900)"
    )


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    if not (chosen.suite / "mpiunittest.py").is_file():
        parser.error(f"{chosen.suite} is not the folder `test` of mpi4py's source distribution: no mpiunittest.py")


@dataclass
class Tally:
    """What the tests came to."""

    passed: int = 0
    skipped: collections.Counter[str] = field(default_factory=collections.Counter)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All tests."""
        return self.passed + self.skipped.total() + len(self.failed)

    def add(self, module: str, ranks: list[dict[str, tuple[str, str]]], tests: list[str], ended: str) -> None:
        """Count the tests of a module by what each rank reports of them."""
        if not tests:
            self.failed[module] = ended
        for test in tests:
            fixture = f"setUpClass ({test.rpartition('.')[0]})"
            outcomes = [rank.get(test) or rank.get(fixture) or ("failed", ended) for rank in ranks]
            reasons = dict(reversed(outcomes))
            if "failed" in reasons:
                self.failed[test] = reasons["failed"]
            elif "skipped" in reasons:
                self.skipped[reasons["skipped"]] += 1
            else:
                self.passed += 1


def run_module(module: str, folder: Path, ranks: int, chosen: argparse.Namespace, tally: Tally) -> None:
    """Count the tests of one module of the suite, which is run unless it has been."""
    kept = chosen.results or folder
    results = kept / f"{module}.{ranks}{'.isolate' * chosen.isolate}"
    if not (results / "ended.json").exists():
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir(parents=True)
        (results / "ended.json").write_text(json.dumps(_run(module, folder, results.resolve(), ranks, chosen)))
    ended = json.loads((results / "ended.json").read_text())
    read = [_read(results / f"outcomes.{rank}.json") for rank in range(ranks)]
    tally.add(module, [dict(outcomes) for outcomes in read], list(_read(results / "tests.0.json")), ended)


def _run(module: str, folder: Path, results: Path, ranks: int, chosen: argparse.Namespace) -> str:
    """Run one module, whose ranks write what its tests came to; how it ended."""
    command = [sys.executable, "-m", "weft.cli.main", "run", "--on", chosen.machine, "-n", str(ranks)]
    command += ["--isolate"] if chosen.isolate else []
    command += [str(folder / "run_module.py"), module, str(results)]
    environment = {**os.environ, "MPI4PY_TEST_SPAWN": "0"}
    done = run_limited(command, chosen.limit, cwd=folder, env=environment)
    lines = [line for line in done.errors.splitlines() if line.startswith("error")]
    return done.reason or (lines[0][:200] if lines else f"the process ended with exit code {done.code}")


def _read(path: Path) -> dict[str, tuple[str, str]]:
    return json.loads(path.read_text()) if path.exists() else {}


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {"machine": chosen.machine, "modules": chosen.modules, "limit": chosen.limit}
    if chosen.part_of is not None:
        report.continue_from(chosen.part_of)
        chosen.record = chosen.part_of
    with tempfile.TemporaryDirectory(prefix="mpi4py-suite-") as temporary:
        # What lies beside the script is each rank's own.
        folder = Path(temporary) / "test"
        shutil.copytree(chosen.suite, folder)
        (folder / "run_module.py").write_text(PROGRAM)
        modules = sorted(path.stem for path in folder.glob(f"{chosen.modules}.py"))
        for ranks in chosen.ranks:
            tally = Tally()
            what = f"{ranks} ranks{' in processes' if chosen.isolate else ''}"
            for module in modules:
                run_module(module, folder, ranks, chosen, tally)
            ran = tally.total - tally.skipped.total()
            report.figure(f"{what}: passed of those that ran", tally.passed / max(ran, 1), "", PASSED, "at least")
            report.figure(f"{what}: passed of all", tally.passed / max(tally.total, 1))
            report.notes[what] = {
                "tests": tally.total,
                "passed": tally.passed,
                "skipped": dict(tally.skipped.most_common()),
                "failed": tally.failed,
            }


BENCHMARK = Benchmark(
    "mpi4py-suite",
    "mpi4py's own test suite in virtual time",
    "an hour",
    run,
    options,
    check,
    needs=(Need("mpi4py", "package", required=True), Need("greenlet", "package", required=True)),
)

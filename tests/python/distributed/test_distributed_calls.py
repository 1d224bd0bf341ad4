"""Calls over ranks that do not match are an error on every rank, which shows them side by side."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from weft.launch import mpiexec

PROGRAM = Path(__file__).parent / "mismatch_program.py"


def launch(ranks, scenario, **variables):
    words = [*mpiexec.command(), "-n", str(ranks), sys.executable, str(PROGRAM), scenario]
    environment = {**os.environ, "WEFT_BLOCKED_LIMIT": "60", **variables}
    return subprocess.run(words, check=False, capture_output=True, text=True, timeout=120, env=environment)


def marked(scenario):
    """The lines of a scenario that are marked."""
    lines = PROGRAM.read_text().splitlines()
    start = lines.index(f"def {scenario}():")
    found = {}
    for number in range(start, len(lines)):
        for mark in ("one", "other"):
            if lines[number].endswith(f"# {mark}"):
                found.setdefault(mark, number + 1)
        if number > start and lines[number].startswith("def "):
            break
    return found


def refused(ranks, scenario, **variables):
    done = launch(ranks, scenario, **variables)
    assert done.returncode != 0, done.stdout
    said = re.findall(r"the ranks disagree[^\n]*((?:\n  rank \d+: [^\n]*)+)", done.stderr)
    assert len(said) == ranks, done.stderr
    for text in said:
        lines = dict(re.findall(r"\n  rank (\d+): ([^\n]*)", text))
        assert sorted(lines) == [str(rank) for rank in range(ranks)], text
        places = marked(scenario)
        if "one" in places:
            assert f"mismatch_program.py:{places['one']}" in lines["0"], text
        if "other" in places:
            assert all(f"mismatch_program.py:{places['other']}" in lines[str(rank)] for rank in range(1, ranks)), text
    return said[0]


@pytest.mark.mpi
@pytest.mark.parametrize("scenario", ["operators", "kinds", "plans", "steps", "selections", "cold_and_warm", "more"])
def test_two_ranks_in_different_calls_are_told_so(native, scenario):
    refused(2, scenario)


@pytest.mark.mpi
@pytest.mark.parametrize("scenario", ["dtypes", "routers", "shapes", "reads", "gathers", "fewer"])
def test_three_ranks_in_different_calls_are_told_so(native, scenario):
    refused(3, scenario)


@pytest.mark.mpi
def test_what_differs_is_shown(native):
    said = refused(2, "operators")
    assert "rank 0: reduce max of int32, all, on (8, 3), at " in said
    assert "rank 1: reduce add of int32, all, on (8, 3), at " in said


@pytest.mark.mpi
@pytest.mark.parametrize("scenario", ["kinds", "steps"])
def test_without_shared_memory_too(native, scenario):
    refused(2, scenario, WEFT_SHARED_MEMORY="0")


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_calls_that_match_say_nothing_and_ranks_that_met_go_on(native, ranks):
    done = launch(ranks, "again")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("again: ok") == ranks, done.stdout + done.stderr

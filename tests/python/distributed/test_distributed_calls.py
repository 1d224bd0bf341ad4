"""Calls over ranks that do not match are an error on every rank, which shows them side by side."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from weft.launch import mpiexec

PROGRAM = Path(__file__).parent / "mismatch_program.py"
NEIGHBORS = Path(__file__).parent / "neighbor_mismatch_program.py"


def launch(ranks, scenario, program=PROGRAM, **variables):
    words = [*mpiexec.command(), "-n", str(ranks), sys.executable, str(program), scenario]
    environment = {**os.environ, "WEFT_BLOCKED_LIMIT": "60", **variables}
    return subprocess.run(words, check=False, capture_output=True, text=True, timeout=120, env=environment)


def marked(scenario, program=PROGRAM):
    """The lines of a scenario that are marked."""
    lines = program.read_text().splitlines()
    start = lines.index(f"def {scenario}():")
    found = {}
    for number in range(start, len(lines)):
        for mark in ("one", "other"):
            if lines[number].endswith(f"# {mark}"):
                found.setdefault(mark, number + 1)
        if number > start and lines[number].startswith("def "):
            break
    return found


def refused(ranks, scenario, program=PROGRAM, **variables):
    done = launch(ranks, scenario, program, **variables)
    assert done.returncode != 0, done.stdout
    said = re.findall(r"the ranks disagree[^\n]*((?:\n  rank \d+: [^\n]*)+)", done.stderr)
    assert len(said) == ranks, done.stderr
    for text in said:
        lines = dict(re.findall(r"\n  rank (\d+): ([^\n]*)", text))
        assert sorted(lines) == [str(rank) for rank in range(ranks)], text
        places = marked(scenario, program)
        if "one" in places:
            assert f"{program.name}:{places['one']}" in lines["0"], text
        if "other" in places:
            assert all(f"{program.name}:{places['other']}" in lines[str(rank)] for rank in range(1, ranks)), text
    return said[0]


@pytest.mark.mpi
@pytest.mark.parametrize(
    "scenario",
    ["reductions", "axes", "rows", "functions", "percentiles", "broadcasts", "products", "divisions"],
)
def test_two_ranks_in_different_calls_of_arrays_are_told_so(native, scenario):
    refused(2, f"array_{scenario}")


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


@pytest.mark.mpi
@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")
@pytest.mark.parametrize(("ranks", "strategy"), [(2, "direct"), (3, "combined"), (3, "collective")])
@pytest.mark.parametrize("scenario", ["others", "kinds", "more", "anew", "communicators"])
def test_exchanges_with_neighbors_that_do_not_match_are_told(native, ranks, strategy, scenario):
    refused(ranks, scenario, NEIGHBORS, STRATEGY=strategy)


@pytest.mark.mpi
@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")
@pytest.mark.parametrize("strategy", ["direct", "combined"])
@pytest.mark.parametrize("scenario", ["dtypes", "lengths", "shorter", "first"])
def test_exchanges_with_neighbors_of_other_lengths_are_told(native, strategy, scenario):
    said = refused(2, scenario, NEIGHBORS, STRATEGY=strategy)
    assert re.search(r"rank 0: neighbor_alltoallv \d+, .* sends \[\d+, \d+\] of ", said), said

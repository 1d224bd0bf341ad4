"""Distributed arrays under a real mpiexec."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.launch import mpiexec

PROGRAM = Path(__file__).parent / "rank_program.py"


def launch(ranks, scenario, program=PROGRAM, **variables):
    words = [*mpiexec.command(), "-n", str(ranks), sys.executable, str(program), scenario]
    environment = {**os.environ, "WEFT_BLOCKED_LIMIT": "20", **variables}
    return subprocess.run(words, check=False, capture_output=True, text=True, timeout=120, env=environment)


def succeed(ranks, scenario, program=PROGRAM, **variables):
    done = launch(ranks, scenario, program, **variables)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"{scenario}: ok") == ranks, done.stdout + done.stderr


@pytest.mark.mpi
@pytest.mark.parametrize("scenario", ["shifts", "halos", "overlap", "mistakes", "boundary_arrays", "many_axes"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_do(native, scenario, ranks):
    succeed(ranks, scenario)


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_stencils_are_those_of_the_whole_array(native, ranks):
    succeed(ranks, "stencils")


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 4])
def test_several_steps_between_exchanges_are_the_same_bits(native, ranks):
    succeed(ranks, "deep_stencils")


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_blocks_of_one_site_are_the_same_bits(native, ranks):
    succeed(ranks, "small_blocks")


@pytest.mark.mpi
def test_mistakes_in_stencils_are_told_to_all(native):
    succeed(3, "stencil_mistakes")


@pytest.mark.mpi
@pytest.mark.parametrize("scenario", ["shifts", "stencils"])
def test_without_shared_memory(native, scenario):
    succeed(2, scenario, WEFT_SHARED_MEMORY="0")


@pytest.mark.mpi
@pytest.mark.parametrize("shared", ["0", "1"])
def test_a_lost_rank_ends_the_run(native, shared):
    done = launch(3, "lost", WEFT_SHARED_MEMORY=shared)
    assert done.returncode != 0
    assert "this rank has had enough" in done.stderr
    assert "lost: ok" not in done.stdout


@pytest.mark.mpi
@pytest.mark.parametrize("shared", ["0", "1"])
def test_a_killed_rank_ends_the_run(native, shared):
    done = launch(3, "killed", WEFT_SHARED_MEMORY=shared)
    assert done.returncode != 0
    assert "killed: ok" not in done.stdout


@pytest.mark.mpi
def test_a_rank_that_is_interrupted_while_mpi_starts_ends_the_run(native):
    done = launch(3, "interrupted")
    assert done.returncode != 0
    assert "weft: rank 1 ended the run with exit code 1: KeyboardInterrupt at " in done.stderr
    assert "interrupted: ok" not in done.stdout


@pytest.mark.mpi
@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")
def test_with_the_communicator_of_mpi4py(native):
    succeed(4, "mpi4py")


@pytest.mark.parametrize(
    "scenario",
    [
        "shifts",
        "halos",
        "overlap",
        "mistakes",
        "boundary_arrays",
        "many_axes",
        "stencils",
        "deep_stencils",
        "stencil_mistakes",
    ],
)
def test_one_process_alone(native, scenario):
    words = [sys.executable, str(PROGRAM), scenario]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_what_ranks_import_leaves_scipy_out(native):
    # It takes a second at the start of every rank, and nothing of arrays over ranks needs it.
    script = "import sys, weft; weft.arrays.Geometry; print('scipy' in sys.modules)"
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert outcome.stdout == "False\n"

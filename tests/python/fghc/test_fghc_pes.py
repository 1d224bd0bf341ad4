"""`weft fghc run` on several processing elements: threads, and ranks of an MPI job."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import until
from weft import fghc
from weft.launch import mpiexec

PROGRAMS = Path(__file__).parents[3] / "programs" / "fghc"


def command(*words):
    return [sys.executable, "-m", "weft.cli.main", "fghc", "run", *map(str, words)]


def run(*words):
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("pes", [2, 3, 6])
def test_the_same_counts_on_any_number_of_pes(pes):
    done = fghc.run(PROGRAMS / "program1.fghc", goal=f"t([1,2,3,4,5,6,7,8],{pes},2)", pes=pes)
    assert done.status == "done"
    assert done.reductions == 38_879
    assert [pe.pe for pe in done.pes] == list(range(pes))
    assert sum(pe.throw_goal for pe in done.pes) == 64
    assert len(done.output.splitlines()) == 92


def test_answers_and_statistics_on_the_command_line():
    done = run(PROGRAMS / "queens.fghc", "--goal", "queens(6,2,S)", "-n", 2, "--stats", "json")
    assert done.returncode == 0
    answer, statistics = done.stdout.splitlines()
    assert answer == "S = 4"
    assert len(json.loads(statistics)["pes"]) == 2


def test_a_deadlock_across_pes():
    done = run(PROGRAMS / "deadlock.fghc", "-n", 2)
    assert done.returncode == 1
    assert "PE 0: left(" in done.stderr
    assert "PE 1: right(" in done.stderr
    assert "of PE 0" in done.stderr


def test_a_failure_and_an_exit_elsewhere(tmp_path):
    program = tmp_path / "fails.fghc"
    program.write_text("main :- p(3)@node(1).\np(1).\nleave :- unix:exit(7)@node(1).\n")
    done = run(program, "-n", 2)
    assert done.returncode == 1
    assert "PE 1: no clause of main:p/1 can take the goal" in done.stderr
    assert run(program, "-n", 2, "--goal", "leave").returncode == 7
    done = run(program, "-n", 1)
    assert done.returncode == 1
    assert "there is no such processing element" in done.stderr


@pytest.mark.mpi
def test_on_ranks_of_an_mpi_job():
    goal = "t([1,2,3,4,5,6,7,8],2,2)"
    words = command(PROGRAMS / "program1.fghc", "--goal", goal, "--stats", "json")
    done = subprocess.run(
        [*mpiexec.command(), "-n", "2", *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    statistics = json.loads(next(line for line in lines if line.startswith("{")))
    assert statistics["total"]["reductions"] == 38_879
    assert statistics["total"]["throw_goal"] == 64
    assert sum(line.startswith("[") for line in lines) == 92


@pytest.mark.mpi
@pytest.mark.parametrize("waiting", [False, True])
def test_an_interrupted_mpi_job_says_what_it_was_doing(tmp_path, waiting):
    """As on threads: rank 0 shows the next goals of all ranks, also where it waits itself."""
    program, started = tmp_path / "loop.fghc", tmp_path / "started"
    own = "needs(X)" if waiting else "loop(0)"
    program.write_text(
        f"main :- loop(X, 0)@node(1), {own}.\nneeds(done).\n"
        f'loop(X, N) :- unix:unix([write_open("{started}", O)]), shut(O, N).\n'
        "shut(normal(S), N) :- S = [], loop(N).\nloop(N) :- M := N + 1 | loop(M).\n"
    )
    job = subprocess.Popen(
        [*mpiexec.command(), "-n", "2", *command(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until(started.exists, job)
        job.send_signal(signal.SIGINT)
        _, said = job.communicate(timeout=60)
    finally:
        if job.poll() is None:
            job.kill()
            job.communicate()
    assert job.returncode == 130, said
    assert said.count("interrupted after") == 1, said
    assert "PE 1: loop(" in said, said
    if waiting:
        assert "PE 0: needs(" in said, said

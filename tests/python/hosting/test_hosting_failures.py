"""What is said where a program in virtual time goes wrong."""

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys

import pytest

import weft
from weft.hosting.library import path
from weft.hosting.run import run

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
]

HEAD = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"


def failing(tmp_path, text, *options, ranks=2):
    """Exit code and standard error of a program that fails."""
    program = tmp_path / "program.py"
    program.write_text(HEAD + text)
    weft_run = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", str(ranks), *options]
    done = subprocess.run([*weft_run, str(program)], check=False, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def test_a_deadlock_names_each_rank_its_call_and_its_line(tmp_path):
    code, said = failing(tmp_path, "comm.Recv(bytearray(4), 1 - comm.rank, 7)\n")
    assert code == 1
    assert "deadlock: 2 of 2 ranks cannot go on" in said
    assert "rank 0: receive from rank 1, tag 7" in said
    assert f"rank 1: MPI_Recv_c at {tmp_path / 'program.py'}:3" in said


def test_an_exception_ends_the_run_and_says_whose_it_was(tmp_path):
    code, said = failing(tmp_path, "if comm.rank == 1:\n    1 / 0\ncomm.Barrier()\n")
    assert code == 1
    assert "[rank 1] ZeroDivisionError: division by zero" in said
    assert "error: rank 1: ZeroDivisionError: division by zero" in said


def test_the_exit_code_is_the_programs(tmp_path):
    assert failing(tmp_path, "import sys\nsys.exit(7 if comm.rank == 1 else 0)\n")[0] == 7
    code, said = failing(tmp_path, "comm.Abort(9)\n")
    assert code == 9
    assert "MPI_Abort with code 9" in said


def test_a_message_that_is_too_long_is_an_error_of_mpi(tmp_path):
    text = "if comm.rank == 0:\n    comm.Send(bytearray(8), 1)\nelse:\n    comm.Recv(bytearray(4), 0)\n"
    code, said = failing(tmp_path, text)
    assert code == 1
    assert "MPI_ERR_TRUNCATE: message truncated: truncation: rank 1 posted a receive of 4 bytes" in said


def test_what_is_not_supported_names_itself(tmp_path):
    code, said = failing(tmp_path, "MPI.Open_port()\n")
    assert code == 1
    assert "MPI_Open_port is not supported in virtual time" in said


def test_threads_that_call_mpi_are_refused(tmp_path):
    text = "import threading\nthread = threading.Thread(target=comm.Barrier)\nthread.start()\nthread.join()\n"
    code, said = failing(tmp_path, text)
    assert code == 1
    assert "MPI_Barrier was called from a thread that the program has started" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on": "cm200", "ranks": 2}, "cm200 is a data-parallel machine: its nodes pass no messages between programs"),
        ({"on": "ipsc860", "ranks": 200}, "expected 1 to 128 ranks, 1 on each node of ipsc860, found 200"),
        ({"on": "ipsc860", "ranks": 2, "compute": -1.0}, "expected a factor on computation that is not negative"),
    ],
)
def test_what_cannot_run_is_refused_before_it_starts(tmp_path, options, message):
    program = tmp_path / "program.py"
    program.write_text(HEAD)
    with pytest.raises(weft.UsageError, match=message):
        run(program, **options)


def test_a_program_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(weft.UsageError, match="there is no such program"):
        run(tmp_path / "nothing.py", on="ipsc860", ranks=2)


LOOP = "print('started', flush=True)\nwhile True:\n    pass\n"


@contextlib.contextmanager
def started(tmp_path, *options, interruptible=True):
    """`weft run` of a program that does not end, once a rank of it runs; in a group of processes of its own.

    Not interruptible: as shells start a command in the background.
    """
    program = tmp_path / "program.py"
    program.write_text(HEAD + LOOP)
    weft_run = [sys.executable, "-m", "weft.cli.main", "run", "-n", "2", *options, str(program)]
    process = subprocess.Popen(
        weft_run,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL if interruptible else signal.SIG_IGN),  # noqa: PLW1509
    )
    with process:
        try:
            line = process.stdout.readline()
            assert "started" in line, process.communicate(timeout=60)
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


OPTIONS = pytest.mark.parametrize(
    "options", [["--on", "ipsc860"], ["--on", "ipsc860", "--isolate"]], ids=["one process", "a process each"]
)


@OPTIONS
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_that_only_the_command_gets_ends_the_run(tmp_path, options, number):
    with started(tmp_path, *options) as process:
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "interrupted" in said or "KeyboardInterrupt" in said


@OPTIONS
def test_a_run_in_the_background_of_a_shell_can_be_ended(tmp_path, options):
    with started(tmp_path, *options, interruptible=False) as process:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "interrupted" in said


@OPTIONS
def test_a_signal_that_ends_all_processes_is_an_interruption(tmp_path, options):
    with started(tmp_path, *options) as process:
        os.killpg(process.pid, signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "interrupted" in said


@pytest.mark.mpi
def test_a_signal_that_only_the_command_gets_ends_a_run_on_real_mpi(tmp_path):
    with started(tmp_path, "--on", "here") as process:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode != 0

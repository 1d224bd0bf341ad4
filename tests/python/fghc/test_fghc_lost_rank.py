"""A rank that is killed in mid-run: the job ends, whatever the others wait for."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import until
from weft.launch import mpiexec

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="ranks are found in /proc"),
]


def rank_process(file, number):
    """The process that is this rank of the job that runs `file`; None as long as there is none."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            variables = (path / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        names = {b"PMI_RANK=%d" % number, b"OMPI_COMM_WORLD_RANK=%d" % number}
        if os.fsencode(file) in words and names & set(variables):
            return int(path.name)
    return None


def test_a_killed_rank_ends_the_job(tmp_path):
    program = tmp_path / "endless.fghc"
    started = tmp_path / "started"
    # PE 0 waits for a value that only PE 1 could send.
    program.write_text(
        f'main :- say, loop(X)@node(1), needs(X).\nsay :- unix:unix([write_open("{started}", O)]), shut(O).\n'
        "shut(normal(S)) :- S = [].\nloop(X) :- loop(X).\nneeds(done).\n"
    )
    words = [sys.executable, "-m", "weft.cli.main", "fghc", "run", str(program)]
    job = subprocess.Popen(
        [*mpiexec.command(), "-n", "2", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        until(lambda: rank_process(str(program), 1) is not None and started.exists(), job)
        os.kill(rank_process(str(program), 1), signal.SIGKILL)
        output, _ = job.communicate(timeout=60)
        assert job.returncode != 0, output
    finally:
        if job.poll() is None:
            job.kill()
            job.communicate()

"""How often ranks with a process each are switched to: what a message in virtual time costs the computer."""

import subprocess
import sys

import pytest

from weft.hosting.library import path

pytestmark = pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built")

PROGRAM = """
import resource
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
sent, received = numpy.arange(comm.size), numpy.zeros(comm.size, int)


def switches(call):
    comm.Barrier()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    for _ in range(100):
        call()
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before


blocking = switches(lambda: comm.Alltoall(sent, received))
started = switches(lambda: comm.Ialltoall(sent, received).Wait())
totals = comm.gather((blocking, started))
if comm.rank == 0:
    print(*map(sum, zip(*totals)))
"""


def test_a_collective_that_is_started_and_waited_for_switches_as_the_blocking_one_does(tmp_path):
    pytest.importorskip("mpi4py")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", "8", "--isolate", str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    blocking, started = map(int, done.stdout.split())
    # There are some more where the call that starts it sends the first messages; with a question to the hub for every
    # look at it there were nearly three times as many.
    assert started < 2.2 * blocking

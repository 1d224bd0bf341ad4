"""Messages in parts: what programs may not do with them is an error of its own, as it would hang or be lost."""

import subprocess
import sys

import pytest

from weft.hosting.library import path

pytestmark = pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built")

PROGRAM = """
from mpi4py import MPI

comm = MPI.COMM_WORLD
parts, received = bytearray(range(4)), bytearray(4)


def fails(call, *arguments):
    try:
        call(*arguments)
    except MPI.Exception as error:
        print(error.error_class == WANTED, error.Get_error_string())
    else:
        print("no error")


WANTED = MPI.ERR_ARG
fails(comm.Psend_init, parts, 0, comm.rank, 1)
fails(comm.Precv_init, received, -1, comm.rank, 1)
WANTED = MPI.ERR_RANK
fails(comm.Precv_init, received, 4, MPI.ANY_SOURCE, 1)
WANTED = MPI.ERR_TAG
fails(comm.Precv_init, received, 4, comm.rank, MPI.ANY_TAG)
WANTED = MPI.ERR_ARG
request = comm.Psend_init(parts, 4, comm.rank, 1)
other = comm.Precv_init(received, 4, comm.rank, 1)
MPI.Prequest.Startall([request, other])
for part in range(3):
    request.Pready(part)
fails(request.Pready, 4)
fails(request.Pready, 1)
WANTED = MPI.ERR_REQUEST
fails(request.Cancel)
fails(request.Free)
request.Pready(3)
MPI.Request.Waitall([request, other])
print(list(received))
request.Free()
other.Free()
"""

SAID = [
    "the number of partitions is 0",
    "the number of partitions is -1",
    "rank -2, where there are ranks 0 to 0",
    "tag -1; the largest is 1048575",
    "partition 4 of 4",
    "partition 1 is ready already",
    "a message that is sent or received in parts cannot be cancelled",
    "a message in parts is freed that is not complete",
]


@pytest.mark.parametrize("options", [[], ["--isolate"]])
def test_what_may_not_be_done_with_a_message_in_parts_is_said(tmp_path, options):
    pytest.importorskip("mpi4py")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "weft.cli.main", "run", "--on", "frontera", "-n", "1", *options, str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    *errors, received = done.stdout.splitlines()
    assert [line.startswith("True ") and line.endswith(said) for line, said in zip(errors, SAID, strict=True)] == [
        True
    ] * len(SAID), errors
    assert received == "[0, 1, 2, 3]"

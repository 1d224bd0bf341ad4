"""What a program in virtual time leaves: messages that nobody received, requests, a timeline."""

import importlib.util
import json
import subprocess
import sys

import pytest

import weft
from weft.hosting.library import path

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
]

HEAD = "import numpy as np\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
SHARED_OR_NOT = pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])


def run(tmp_path, text, **options):
    program = tmp_path / "program.py"
    program.write_text(HEAD + text)
    return weft.run(program, **{"on": "frontera", "ranks": 3, **options})


@SHARED_OR_NOT
def test_messages_that_nobody_received_are_told(tmp_path, isolate):
    text = """
sub = comm.Split(comm.rank > 0)
for tag in range(4 if comm.rank == 2 else 0):
    sub.Send(bytearray(10), 0, tag)
comm.Barrier()
if comm.rank == 1:
    sub.Recv(bytearray(10), 1, 2)
"""
    outcome = run(tmp_path, text, isolate=isolate)
    assert outcome.unreceived == 3
    assert outcome.remarks == (
        "3 messages were never received: 10 bytes from rank 2 to rank 1, tag 0; 10 bytes from rank 2 to rank 1, tag 1; "
        "10 bytes from rank 2 to rank 1, tag 3",
    )


@SHARED_OR_NOT
def test_requests_that_were_not_completed_are_told(tmp_path, isolate):
    text = """
mine = comm.Irecv(bytearray(1), (comm.rank + 1) % 3)
other = comm.Isend(bytearray(1), (comm.rank - 1) % 3)
if comm.rank != 1:
    MPI.Request.Waitall([mine, other])
else:
    other.Free()
"""
    outcome = run(tmp_path, text, isolate=isolate)
    assert (outcome.open_requests, outcome.unreceived) == (1, 0)
    assert outcome.remarks == ("1 request was neither completed nor freed before MPI_Finalize: 1 of rank 1",)


@SHARED_OR_NOT
def test_a_program_that_cleans_up_is_not_remarked_upon(tmp_path, isolate):
    text = """
comm.allreduce(comm.rank)
window = MPI.Win.Allocate(8, comm=comm)
window.Fence()
window.Put(np.zeros(1), (comm.rank + 1) % 3)
window.Fence()
window.Free()
comm.Ibarrier().Wait()
persistent = comm.Send_init(bytearray(1), MPI.PROC_NULL)
persistent.Start()
persistent.Wait()
persistent.Free()
"""
    outcome = run(tmp_path, text, isolate=isolate)
    assert (outcome.remarks, outcome.open_requests, outcome.unreceived) == ((), 0, 0)


@SHARED_OR_NOT
def test_a_timeline_has_every_message(tmp_path, isolate):
    text = "if comm.rank == 0:\n    comm.Send(bytearray(77), 2)\nelif comm.rank == 2:\n    comm.Recv(bytearray(77))\n"
    file = tmp_path / "timeline.json"
    run(tmp_path, text, isolate=isolate, trace=file)
    events = json.loads(file.read_text())["traceEvents"]
    named = [event for event in events if event.get("args", {}).get("bytes") == 77]
    assert {event["tid"] for event in named} == {0, 2}
    with pytest.raises(weft.UsageError, match="exists: --force"):
        run(tmp_path, text, trace=file)
    run(tmp_path, text, trace=file, force=True)


def test_a_run_that_fails_leaves_no_timeline(tmp_path):
    with pytest.raises(weft.RunError, match="deadlock"):
        run(tmp_path, "comm.Recv(bytearray(1), 0)\n", trace=tmp_path / "timeline.json")
    assert [file.name for file in tmp_path.iterdir()] == ["program.py"]


def test_the_command_tells_on_standard_error(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(HEAD + "if comm.rank == 0:\n    comm.Send(bytearray(5), 1)\nprint('done')\n")
    command = [sys.executable, "-m", "weft.cli.main", "run", "--on", "frontera", str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "done\ndone\n")
    assert "weft: 1 message was never received: 5 bytes from rank 0 to rank 1, tag 0\n" in done.stderr

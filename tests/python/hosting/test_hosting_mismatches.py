"""What is said where ranks make different calls of those that all ranks make together: every rank with the call that it
waits in. Calls that differ never meet, however alike their messages are."""

import importlib.util
import subprocess
import sys

import pytest

import weft
from weft.hosting.library import path

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
]

HEAD = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nlast = comm.rank == comm.size - 1\n"
SHARED_OR_NOT = pytest.mark.parametrize("options", [[], ["--isolate"]], ids=["one process", "a process each"])

WINDOW = "win = MPI.Win.Allocate(8, comm=comm)\n"
FILE = "file = MPI.File.Open(comm, 'data', MPI.MODE_CREATE | MPI.MODE_RDWR)\n"
GRID = "grid = comm.Create_cart([comm.size], [True])\n"

CALLS = {
    "finalize": ("", "pass", "comm.Barrier()", "MPI_Finalize", "MPI_Barrier"),
    "finalize after barriers": (
        "comm.Barrier()\ncomm.Barrier()\n",
        "pass",
        "comm.Barrier()",
        "MPI_Finalize",
        "MPI_Barrier",
    ),
    "duplicate": ("", "comm.Dup()", "comm.Barrier()", "MPI_Comm_dup", "MPI_Barrier"),
    "create": ("", "comm.Create(comm.Get_group())", "comm.Barrier()", "MPI_Comm_create", "MPI_Barrier"),
    "create and duplicate": ("", "comm.Create(comm.Get_group())", "comm.Dup()", "MPI_Comm_create", "MPI_Comm_dup"),
    "split": ("", "comm.Split(0, 0)", "comm.allgather(1)", "MPI_Comm_split", "MPI_Allgather"),
    "grid": ("", "comm.Create_cart([comm.size])", "comm.Barrier()", "MPI_Cart_create", "MPI_Barrier"),
    "graph": (
        "",
        "comm.Create_dist_graph([comm.rank], [1], [0])",
        "comm.Create_dist_graph_adjacent([], [])",
        "MPI_Dist_graph_create",
        "MPI_Dist_graph_create_adjacent",
    ),
    "neighbors": (GRID, "grid.neighbor_alltoall([1, 2])", "grid.Barrier()", "MPI_Neighbor_alltoall", "MPI_Barrier"),
    "kinds of windows": (
        "",
        "MPI.Win.Allocate(8, comm=comm)",
        "MPI.Win.Create(None, comm=comm)",
        "MPI_Win_allocate",
        "MPI_Win_create",
    ),
    "windows": (WINDOW, "win.Free()", "win.Fence()", "MPI_Win_free", "MPI_Win_fence"),
    "files": (FILE, "file.Close()", "file.Sync()", "MPI_File_close", "MPI_File_sync"),
    "files and views": (FILE, "file.Set_view()", "file.Preallocate(8)", "MPI_File_set_view", "MPI_File_preallocate"),
}


def failing(folder, text, options=(), ranks=3):
    """Exit code and standard error of a program."""
    program = folder / "program.py"
    program.write_text(HEAD + text)
    command = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", str(ranks), *options]
    done = subprocess.run(
        [*command, str(program)], check=False, capture_output=True, text=True, timeout=120, cwd=folder
    )
    return done.returncode, done.stderr


@SHARED_OR_NOT
@pytest.mark.parametrize("name", CALLS)
def test_every_rank_is_named_with_the_call_that_it_waits_in(tmp_path, name, options):
    before, of_last, of_others, call_of_last, call_of_others = CALLS[name]
    code, said = failing(tmp_path, f"{before}if last:\n    {of_last}\nelse:\n    {of_others}\n", options)
    assert code == 1
    assert "deadlock: 3 of 3 ranks cannot go on" in said
    lines = said.splitlines()
    calls = [next(line for line in reversed(lines) if line.startswith(f"  rank {rank}: ")) for rank in range(3)]
    for rank, line in enumerate(calls):
        assert line.startswith(f"  rank {rank}: {call_of_last if rank == 2 else call_of_others}"), said
    if not options and of_last != "pass":
        number = len((HEAD + before).splitlines())
        assert calls[0].endswith(f"program.py:{number + 4}")
        assert calls[2].endswith(f"program.py:{number + 2}")
    elif not options:
        assert calls[2] == "  rank 2: MPI_Finalize at the end of the program"


@SHARED_OR_NOT
def test_a_leader_receives_no_message_of_the_program_when_two_groups_are_joined(tmp_path, options):
    """A receive of any message is under way between the leaders meanwhile."""
    text = """
half = comm.Split(comm.rank % 2, comm.rank)
message = bytearray(4)
request = comm.Irecv(message, MPI.ANY_SOURCE, MPI.ANY_TAG)
between = half.Create_intercomm(0, comm, 1 - comm.rank % 2, 7)
comm.Send(b"abcd", (comm.rank + 1) % comm.size, 7)
request.Wait()
assert bytes(message) == b"abcd" and between.remote_size == 2
"""
    code, said = failing(tmp_path, text, options, ranks=4)
    assert code == 0, said


@SHARED_OR_NOT
def test_messages_of_a_collective_that_a_rank_skips_are_told(tmp_path, options):
    program = tmp_path / "program.py"
    program.write_text(HEAD + "comm.Bcast(bytearray(8)) if comm.rank == 0 else None\n")
    outcome = weft.run(program, on="ipsc860", ranks=2, isolate=bool(options))
    assert outcome.unreceived == 0
    (remark,) = outcome.remarks
    assert remark.startswith("1 message of a collective was never received, since ranks made different calls: ")
    assert remark.endswith("broadcast #0 from rank 0 to rank 1")


def test_different_collectives_of_one_communicator_are_named(tmp_path):
    code, said = failing(tmp_path, "comm.barrier() if last else comm.allgather(1)\n")
    assert code == 1
    assert "mismatched collective: rank " in said
    assert "barrier" in said
    assert "allgather" in said


TOO_LONG = {
    "gather": ("comm.Gather([two, 2, MPI.INT], [ones, 1, MPI.INT])", [0]),
    "gather of parts": (
        "comm.Gatherv([two, 2, MPI.INT], [ones, [1] * size, list(range(size)), MPI.INT])",
        [0],
    ),
    "allgather": ("comm.Allgather([two, 2, MPI.INT], [ones, 1, MPI.INT])", [0, 1, 2]),
    "allgather of parts": (
        "comm.Allgatherv([two, 2, MPI.INT], [ones, [1] * size, list(range(size)), MPI.INT])",
        [0, 1, 2],
    ),
    "alltoall": ("comm.Alltoall([twos, 2, MPI.INT], [ones, 1, MPI.INT])", [0, 1, 2]),
}


@SHARED_OR_NOT
@pytest.mark.parametrize("name", TOO_LONG)
def test_parts_that_are_longer_than_their_memory_are_an_error_of_who_receives_them(tmp_path, name, options):
    call, failing_ranks = TOO_LONG[name]
    text = f"""
from array import array
size = comm.size
two, twos, ones = array("i", [1, 2]), array("i", [3] * 2 * size), array("i", [-1] * 2 * size)
comm.Set_errhandler(MPI.ERRORS_RETURN)
try:
    {call}
    print(comm.rank, "went on", flush=True)
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_TRUNCATE, error
    assert list(ones[size:]) == [-1] * size, ones
    print(comm.rank, "failed", flush=True)
"""
    program = tmp_path / "program.py"
    program.write_text(HEAD + text)
    command = [sys.executable, "-m", "weft.cli.main", "run", "-q", "--on", "ipsc860", "-n", "3", *options, str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    expected = [f"{rank} {'failed' if rank in failing_ranks else 'went on'}" for rank in range(3)]
    assert sorted(done.stdout.splitlines()) == expected

"""Objects of different sessions do not meet in one call, and those of one do."""

import importlib.util

import pytest

import weft
from weft.hosting.library import path

pytestmark = [
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
]

HEAD = """
import numpy as np
from mpi4py import MPI
sessions = [MPI.Session.Init() for _ in range(2)]
groups = [session.Create_group("mpi://WORLD") for session in sessions]
one, other = (MPI.Intracomm.Create_from_group(group, "a", errhandler=MPI.ERRORS_RETURN) for group in groups)
rank, size = one.rank, one.size
half = one.Split(rank % 2, rank)
def refused(kind, call, *arguments):
    try:
        call(*arguments)
    except MPI.Exception as error:
        assert error.Get_error_class() == kind, error
        assert "objects of different sessions" in str(error), error
    else:
        raise AssertionError(call)
"""

MIXED = """
for group in (groups[1], MPI.COMM_WORLD.group):
    for call in (MPI.Group.Compare, MPI.Group.Union, MPI.Group.Intersection, MPI.Group.Difference):
        refused(MPI.ERR_GROUP, call, groups[0], group)
    refused(MPI.ERR_GROUP, MPI.Group.Translate_ranks, groups[0], [0], group)
for comm in (other, MPI.COMM_WORLD):
    refused(MPI.ERR_COMM, one.Compare, comm)
    refused(MPI.ERR_COMM, half.Compare, comm)
    refused(MPI.ERR_COMM, one.Create, comm.group)
    refused(MPI.ERR_COMM, one.Create_group, comm.group.Incl([rank]))
"""

REQUESTS = """
buffers = [np.zeros(1, "i") for _ in range(2)]
def receives(*comms):
    return [comm.Irecv([buffer, MPI.INT], comm.rank, 9) for comm, buffer in zip(comms, buffers)]
def send(*comms):
    for comm in comms:
        comm.Send([np.array([7], "i"), MPI.INT], comm.rank, 9)
for comm in (other, MPI.COMM_WORLD):
    pending = receives(one, comm)
    for name in ("Waitall", "Waitany", "Waitsome", "Testall", "Testany", "Testsome"):
        refused(MPI.ERR_REQUEST, getattr(MPI.Request, name), pending)
    send(one, comm)
    for request in pending:
        request.Wait()
pending = [MPI.REQUEST_NULL, *receives(one, half)]
send(one, half)
MPI.Request.Waitall(pending)
assert [int(buffer[0]) for buffer in buffers] == [7, 7]
"""

STARTS = """
buffers = [np.zeros(1, "i") for _ in range(2)]
def receives(*comms):
    return [comm.Recv_init([buffer, MPI.INT], comm.rank, 9) for comm, buffer in zip(comms, buffers)]
for comm in (other, MPI.COMM_WORLD, MPI.COMM_SELF):
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    refused(MPI.ERR_REQUEST, MPI.Prequest.Startall, receives(one, comm))
starting = receives(one, half)
MPI.Prequest.Startall(starting)
for comm in (one, half):
    comm.Send([np.array([7], "i"), MPI.INT], comm.rank, 9)
MPI.Request.Waitall(starting)
assert [int(buffer[0]) for buffer in buffers] == [7, 7]
"""

FILES_AND_WINDOWS = """
import sys
def writes(comm):
    file = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_WRONLY)
    return file, file.Iwrite_at(rank, b"a")
def puts(comm):
    window = MPI.Win.Allocate(1, comm=comm)
    window.Lock_all()
    return window, [window.Rput(b"a", rank), window.Rput(b"a", MPI.PROC_NULL)]
file, write = writes(one)
window, (put, nobody) = puts(one)
buffer = np.zeros(1, "i")
for comm in (other, MPI.COMM_WORLD, MPI.COMM_SELF):
    receive = comm.Irecv([buffer, MPI.INT], comm.rank, 9)
    for request in (write, put, nobody):
        refused(MPI.ERR_REQUEST, MPI.Request.Waitall, [request, receive])
    comm.Send([np.array([7], "i"), MPI.INT], comm.rank, 9)
    receive.Wait()
MPI.Request.Waitall([write, put, nobody])
window.Unlock_all()
window.Free()
file.Close()
"""

ALONE = """
assert MPI.Group.Union(MPI.GROUP_EMPTY, groups[0]).size == size
assert MPI.Group.Compare(MPI.Group.Union(groups[0], half.group), one.group) == MPI.IDENT
assert one.Compare(one.Dup()) == MPI.CONGRUENT
assert one.Create(half.group.Incl([0])) is not None
assert MPI.Group.Translate_ranks(half.group, [0], one.Dup().Split(0, -rank).group)[0] in (size - 1, size - 2)
for comm in (one, half, one.Dup()):
    assert comm.Get_attr(MPI.TAG_UB) >= 32767
    assert [comm.Get_attr(key) for key in (MPI.IO, MPI.WTIME_IS_GLOBAL, MPI.UNIVERSE_SIZE)] == [None] * 3
assert MPI.COMM_WORLD.Dup().Get_attr(MPI.WTIME_IS_GLOBAL) is not None
"""


@pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])
@pytest.mark.parametrize(
    "text",
    [MIXED, REQUESTS, STARTS, FILES_AND_WINDOWS, ALONE],
    ids=["groups and communicators", "requests", "starts", "files and windows", "one session"],
)
def test_objects_of_different_sessions_do_not_meet(tmp_path, text, isolate):
    script = tmp_path / "program.py"
    script.write_text(HEAD + text)
    weft.run(script, str(tmp_path / "file"), on="frontera", ranks=3, isolate=isolate)

"""Windows in virtual time: what they cost, what they refuse, and in which order requests are served."""

import importlib.util

import pytest

import weft
from weft.hosting.library import path

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
]

HEAD = """
import sys
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD

def refused(call, *arguments):
    try:
        call(*arguments)
    except MPI.Exception as error:
        return MPI.Get_error_string(error.Get_error_class()), str(error)
    return "not refused"
"""


def printed(tmp_path, capfd, text, *arguments, ranks=2, on="ipsc860", isolate=False):
    """Lines that a program prints."""
    program = tmp_path / "program.py"
    program.write_text(HEAD + text)
    weft.run(program, *arguments, on=on, ranks=ranks, isolate=isolate)
    return capfd.readouterr().out.splitlines()


PUT = """
data = np.zeros(int(sys.argv[1]), dtype="u1")
window = MPI.Win.Allocate(len(data), 1, comm=comm)
comm.Barrier()
if comm.rank == 0:
    window.Lock(1, assertion=MPI.MODE_NOCHECK)
    start = MPI.Wtime()
    for _ in range(5):
        window.Put(data, 1)
        window.Flush(1)
    put = (MPI.Wtime() - start) / 5
    start = MPI.Wtime()
    for _ in range(5):
        window.Get(data, 1)
        window.Flush(1)
    print(put, (MPI.Wtime() - start) / 5)
    window.Unlock(1)
comm.Barrier()
window.Free()
"""


SHARED_OR_NOT = pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])


@SHARED_OR_NOT
@pytest.mark.parametrize("machine", ["ipsc860", "frontera"])
@pytest.mark.parametrize("length", [8, 1024])
def test_a_put_takes_a_message_there_and_an_empty_one_back_and_a_get_the_reverse(
    tmp_path, capfd, machine, length, isolate
):
    put, get = map(float, printed(tmp_path, capfd, PUT, str(length), on=machine, isolate=isolate)[0].split())
    messages = [weft.simulate(machine, "echo", bytes=bytes)["seconds"].median() for bytes in (length, 0)]
    assert put == pytest.approx(sum(messages), rel=0.02)
    assert get == pytest.approx(sum(messages), rel=0.02)


@SHARED_OR_NOT
def test_what_is_put_is_there_when_it_has_come_and_not_before(tmp_path, capfd, isolate):
    text = """
window = MPI.Win.Allocate(1, 1, comm=comm)
memory = window.tomemory()
memory[0] = 0
comm.Barrier()
start = MPI.Wtime()
if comm.rank == 0:
    window.Lock(1, assertion=MPI.MODE_NOCHECK)
    window.Put(bytearray([7]), 1)
    window.Unlock(1)
else:
    while memory[0] == 0:
        window.Sync()
    print(memory[0], MPI.Wtime() - start)
comm.Barrier()
window.Free()
"""
    value, seconds = printed(tmp_path, capfd, text, isolate=isolate)[0].split()
    message = weft.simulate("ipsc860", "echo", bytes=1)["seconds"].median()
    assert value == "7"
    # The ranks leave the barrier within a message of each other.
    assert 0.4 * message < float(seconds) < 2 * message


@SHARED_OR_NOT
def test_the_program_of_a_target_takes_no_part(tmp_path, capfd, isolate):
    text = """
window = MPI.Win.Allocate(8, 8, comm=comm)
comm.Barrier()
if comm.rank > 0:
    window.Lock(0)
    window.Accumulate(np.array([comm.rank], dtype="i8"), 0)
    window.Unlock(0)
    comm.send(None, dest=0)
else:
    # No call on the window from here on.
    for other in range(1, comm.size):
        comm.recv(source=other)
    print(np.frombuffer(window.tomemory(), dtype="i8")[0])
comm.Barrier()
window.Free()
"""
    assert printed(tmp_path, capfd, text, ranks=6, isolate=isolate) == ["15"]


def test_memory_that_a_process_has_not_is_an_error_that_names_the_target(tmp_path, capfd):
    text = """
window = MPI.Win.Create_dynamic(comm=comm)
comm.Barrier()
if comm.rank == 0:
    window.Lock(1)
    window.Get(np.zeros(1), 1, 64)
    print(*refused(window.Flush, 1))
    window.Unlock(1)
comm.Barrier()
window.Free()
"""
    (line,) = printed(tmp_path, capfd, text, isolate=True)
    assert "the memory of the target cannot be accessed: Bad address" in line


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ("window.Put, data, 0", "MPI_ERR_RMA_SYNC", "no epoch is open in which rank 0 may be accessed"),
        ("window.Flush, 0", "MPI_ERR_RMA_SYNC", "the window is not locked"),
        ("window.Unlock, 0", "MPI_ERR_RMA_SYNC", "MPI_Win_unlock of a target that is not locked"),
        ("window.Complete,", "MPI_ERR_RMA_SYNC", "MPI_Win_complete without MPI_Win_start"),
        ("window.Wait,", "MPI_ERR_RMA_SYNC", "MPI_Win_wait without MPI_Win_post"),
        ("window.Unlock_all,", "MPI_ERR_RMA_SYNC", "MPI_Win_unlock_all without MPI_Win_lock_all"),
        ("window.Lock, 5", "MPI_ERR_RANK", "rank 5, where there are ranks 0 to 1"),
        ("window.Lock, 0, 77", "MPI_ERR_LOCKTYPE", "a lock of type 77"),
        ("window.Fence, 7", "MPI_ERR_ASSERT", "an assertion of 7"),
        ("window.Attach, data", "MPI_ERR_RMA_FLAVOR", "the window is not dynamic"),
        ("locked, window.Put, data, 0, 1", "MPI_ERR_RMA_RANGE", "outside of the window's memory on rank 0"),
        ("locked, window.Put, data, 0, -1", "MPI_ERR_DISP", "a displacement of -1"),
        ("locked, window.Lock, 0", "MPI_ERR_RMA_SYNC", "the target is locked already"),
        ("locked, window.Fence", "MPI_ERR_RMA_SYNC", "MPI_Win_fence within an epoch of another kind"),
        ("locked, window.Accumulate, data, 0, 0, op", "MPI_ERR_OP", "an operation of the program's own"),
        ("locked, window.Get, np.zeros(1, 'u1'), 0, (0, 8, MPI.BYTE)", "MPI_ERR_TRUNCATE", "8 bytes for 1 bytes"),
        ("shared,", "MPI_ERR_RMA_SHARED", "the ranks are on nodes that share no memory"),
    ],
)
def test_what_is_out_of_order_is_an_error_of_mpi(tmp_path, capfd, call, error, message):
    text = f"""
data = np.zeros(8, dtype="u1")
window = MPI.Win.Allocate(8, 1, comm=comm)
op = MPI.Op.Create(lambda a, b, t: None)

def locked(call, *arguments):
    window.Lock(0)
    try:
        call(*arguments)
    finally:
        window.Unlock(0)

def shared():
    MPI.Win.Allocate_shared(8, 1, comm=comm)

said = refused({call})
if comm.rank == 0:
    print(*said)
op.Free()
comm.Barrier()
window.Free()
"""
    (line,) = printed(tmp_path, capfd, text)
    assert line.startswith(error)
    assert message in line


def test_ranks_that_lock_each_other_out_for_ever_are_named(tmp_path):
    program = tmp_path / "program.py"
    text = """
window = MPI.Win.Allocate(8, 1, comm=comm)
window.Lock(comm.rank)
comm.Barrier()
window.Lock(1 - comm.rank)
"""
    program.write_text(HEAD + text)
    with pytest.raises(weft.RunError) as caught:
        weft.run(program, on="ipsc860", ranks=2)
    assert "deadlock: 2 of 2 ranks cannot go on" in str(caught.value)
    assert f"rank 1: MPI_Win_lock at {program}:" in str(caught.value)


@SHARED_OR_NOT
def test_a_fence_of_one_rank_waits_for_what_it_has_put(tmp_path, capfd, isolate):
    text = """
memory = np.zeros(4)
window = MPI.Win.Create(memory, 8, comm=MPI.COMM_SELF)
window.Fence()
window.Put(np.arange(4.0), 0)
window.Fence()
seen = memory.sum()
window.Lock(0)
window.Accumulate(np.ones(4), 0)
window.Unlock(0)
print(seen, memory.sum())
window.Free()
"""
    assert printed(tmp_path, capfd, text, ranks=1, isolate=isolate) == ["6.0 10.0"]

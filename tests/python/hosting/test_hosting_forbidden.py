"""What is said of calls that the standard forbids and that come to an end all the same; none of what it allows."""

import importlib.util
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

import weft
from weft.hosting.library import path

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
]

INCLUDE = Path(sysconfig.get_path("data")) / "include" / "mpi.h"
HEAD = """import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
def win_of(count):
    win = MPI.Win.Allocate(4 * count, 4, comm=comm)
    return win
"""
SHARED_OR_NOT = pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])


def remarks(folder, text, isolate, ranks=3):
    program = folder / "program.py"
    program.write_text(HEAD + text)
    return weft.run(program, on="frontera", ranks=ranks, isolate=isolate).remarks


SENT = "comm.Send([np.zeros(4, 'i'), MPI.INT], 1, 7) if rank == 0 else None\n"
UNFENCED = "win = win_of(4)\nbuffer = np.zeros(4, 'i')\n"

CALL = "1 collective call in which ranks do not agree: "
MESSAGE = "1 message was received as other elements than sent: "
MEMORY = "1 call used memory of a request that was pending: "
WINDOW = "1 access of a window met another that was not complete: "

FORBIDDEN = {
    "elements of a message": (
        SENT + "comm.Recv([np.zeros(4, 'f'), MPI.FLOAT], 0) if rank == 1 else None",
        MESSAGE + "MPI_INT of rank 0 as MPI_FLOAT on rank 1, tag 7",
    ),
    "elements of a message that fills its receive": (
        SENT + "pair = MPI.Datatype.Create_struct([2, 1], [0, 8], [MPI.INT, MPI.DOUBLE]).Commit()\n"
        "comm.Recv([bytearray(16), 1, pair], 0) if rank == 1 else None\npair.Free()",
        MESSAGE + "MPI_INT of rank 0 as MPI_DOUBLE and MPI_INT on rank 1, tag 7",
    ),
    "elements of a nonblocking message": (
        "comm.Isend([np.zeros(2), MPI.DOUBLE], 1).Wait() if rank == 0 else None\n"
        "comm.Irecv([np.zeros(9, 'l'), MPI.LONG]).Wait() if rank == 1 else None",
        MESSAGE + "MPI_DOUBLE of rank 0 as MPI_LONG on rank 1, tag 0",
    ),
    "elements of a collective": (
        "comm.Bcast([np.zeros(2), MPI.DOUBLE if rank == 0 else MPI.LONG])",
        CALL + "MPI_Bcast with MPI_DOUBLE on rank 0 and with MPI_LONG on rank 1",
    ),
    "elements of a gather": (
        "comm.Gather([np.zeros(1), MPI.LONG if rank == 0 else MPI.DOUBLE], [np.zeros(3, 'l'), MPI.LONG])",
        CALL + "MPI_Gather with MPI_LONG on rank 0 and with MPI_DOUBLE on rank 1",
    ),
    "elements of an all-to-all with counts": (
        "kind = MPI.INT if rank == 0 else MPI.FLOAT\n"
        "comm.Alltoallv([np.zeros(3, 'i'), [1] * 3, kind], [np.zeros(3, 'i'), [1] * 3, kind])",
        CALL + "MPI_Alltoallv with MPI_INT on rank 0 and with MPI_FLOAT on rank 1",
    ),
    "elements that a rank sends to itself": (
        "comm.Scatter([np.zeros(3, 'i'), 1, MPI.INT], [np.zeros(1, 'i'), 1, MPI.INT], 1)\n"
        "if rank == 0:\n    MPI.COMM_SELF.Allgather([np.zeros(2, 'i'), MPI.INT], [np.zeros(2), MPI.DOUBLE])",
        CALL + "MPI_Allgather of rank 0, which sends MPI_INT to itself and receives MPI_DOUBLE",
    ),
    "an operation": (
        "comm.Allreduce(np.zeros(1), np.zeros(1), MPI.MAX if rank == 0 else MPI.SUM)",
        CALL + "MPI_Allreduce with MPI_MAX on rank 0 and with MPI_SUM on rank 1",
    ),
    "a root": (
        "comm.Ireduce(np.zeros(1), np.zeros(1), root=rank % 2).Wait()",
        CALL + "MPI_Ireduce with root 0 on rank 0 and with root 1 on rank 1",
    ),
    "calls in another order": (
        "value = np.zeros(1)\ncomm.Bcast(value) if rank == 0 else comm.Reduce(value, None)",
        CALL + "MPI_Bcast of rank 0 and MPI_Reduce of rank 1",
    ),
    "memory of a receive": (
        "buffer = np.zeros(4, 'i')\n"
        "both = [comm.Irecv([buffer[index:], 2, MPI.INT], 0, index) for index in (0, 1)] if rank == 1 else []\n"
        "for tag in range(2 if rank == 0 else 0):\n    comm.Send([buffer, 2, MPI.INT], 1, tag)\n"
        "MPI.Request.Waitall(both)",
        MEMORY + "MPI_Irecv of rank 1 writes what a pending MPI_Irecv receives into",
    ),
    "memory of a send": (
        "buffer = np.zeros(4, 'i')\n"
        "if rank == 0:\n    request = comm.Isend([buffer, MPI.INT], 1)\n"
        "    comm.Recv([buffer, MPI.INT], 1)\n    request.Wait()\n"
        "if rank == 1:\n    comm.Send([np.zeros(4, 'i'), MPI.INT], 0)\n    comm.Recv([buffer, MPI.INT], 0)",
        MEMORY + "MPI_Recv of rank 0 writes what a pending MPI_Isend sends",
    ),
    "puts between two fences": (
        UNFENCED + "win.Fence()\nif rank > 0:\n    win.Put([buffer, MPI.INT], 0)\nwin.Fence()\nwin.Free()",
        WINDOW + "MPI_Put of rank 1 and MPI_Put of rank 2 to memory of rank 0",
    ),
    "a put and a get under shared locks": (
        UNFENCED + "win.Lock_all()\nif rank == 1:\n    win.Put([buffer, MPI.INT], 0)\n"
        "if rank == 2:\n    win.Get([buffer, MPI.INT], 0)\nwin.Unlock_all()\nwin.Free()",
        WINDOW + "MPI_Put of rank 1 and MPI_Get of rank 2 to memory of rank 0",
    ),
    "puts under shared locks one after the other": (
        UNFENCED + "comm.Barrier()\nif rank > 0:\n    win.Lock(0, MPI.LOCK_SHARED)\n    win.Put([buffer, MPI.INT], 0)\n"
        "    if rank == 1:\n        win.Flush(0)\n    win.Unlock(0)\ncomm.Barrier()\nwin.Free()",
        WINDOW + "MPI_Put of rank 1 and MPI_Put of rank 2 to memory of rank 0",
    ),
    "a put and a sum under shared locks, each complete": (
        UNFENCED + "comm.Barrier()\nwin.Lock_all()\nif rank == 1:\n    win.Put([buffer, MPI.INT], 0)\n"
        "if rank == 2:\n    win.Accumulate([buffer, MPI.INT], 0)\n"
        "win.Unlock_all()\ncomm.Barrier()\nwin.Free()",
        WINDOW + "MPI_Put of rank 1 and MPI_Accumulate with MPI_SUM of rank 2 to memory of rank 0",
    ),
    "accumulates by two operations": (
        UNFENCED + "win.Fence()\nwin.Accumulate([buffer, MPI.INT], 0, op=MPI.SUM if rank == 0 else MPI.MAX)\n"
        "win.Fence()\nwin.Free()",
        "2 accesses of windows met others that were not complete: "
        "MPI_Accumulate with MPI_SUM of rank 0 and MPI_Accumulate with MPI_MAX of rank ",
    ),
}

MAY_WAIT = ("a root", "calls in another order")
"""Ranks that do so wait for each other, or leave messages that nobody receives."""


@SHARED_OR_NOT
@pytest.mark.parametrize("name", FORBIDDEN)
def test_calls_that_the_standard_forbids_are_named(tmp_path, name, isolate):
    text, expected = FORBIDDEN[name]
    if name not in MAY_WAIT:
        assert [remark[: len(expected)] for remark in remarks(tmp_path, text, isolate)] == [expected]
        return
    try:
        said = list(remarks(tmp_path, text, isolate))
    except weft.RunError as error:
        # What differs is said with the error, too.
        said = [line.strip() for line in str(error).splitlines()]
    assert any(remark.startswith(expected) for remark in said), said


ALLOWED = {
    "bytes and packed data": (
        "if rank == 0:\n    comm.Send([np.zeros(4, 'i'), MPI.INT], 1)\n    comm.Send([np.zeros(4, 'i'), MPI.BYTE], 1)\n"
        "    comm.Send([bytearray(8), MPI.PACKED], 1)\n"
        "if rank == 1:\n    comm.Recv([bytearray(16), MPI.BYTE])\n    comm.Recv([np.zeros(4, 'f'), MPI.FLOAT])\n"
        "    comm.Recv([np.zeros(4, 'f'), MPI.FLOAT])"
    ),
    "derived datatypes by what they are made of": (
        "pair = MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.INT, MPI.DOUBLE]).Commit()\n"
        "wide = MPI.INT.Create_vector(2, 1, 3).Commit()\n"
        "if rank == 0:\n    comm.Send([np.zeros(2, 'i'), MPI.INT], 1)\n    comm.Send([bytearray(16), 1, pair], 1)\n"
        "    comm.Send([np.zeros(1, 'i'), MPI.INT], 1)\n"
        "if rank == 1:\n    comm.Recv([np.zeros(4, 'i'), 1, wide])\n    comm.Recv([bytearray(32), 2, pair])\n"
        "    comm.Recv([bytearray(16), 1, pair])\npair.Free()\nwide.Free()"
    ),
    "a wildcard": (
        "comm.Send([np.zeros(1, 'i'), MPI.INT], 0, rank) if rank else "
        "[comm.Recv([np.zeros(1, 'i'), MPI.INT], MPI.ANY_SOURCE, MPI.ANY_TAG) for _ in range(size - 1)]"
    ),
    "gathers of different lengths": (
        "comm.Gatherv([np.zeros(rank), MPI.DOUBLE], [np.zeros(3), [0, 1, 2], MPI.DOUBLE])\n"
        "comm.Allgatherv([np.zeros(rank), MPI.DOUBLE], [np.zeros(3), [0, 1, 2], MPI.DOUBLE])\n"
        "comm.Gather(MPI.IN_PLACE if rank == 0 else [np.zeros(1), MPI.DOUBLE], [np.zeros(3), MPI.DOUBLE])"
    ),
    "all-to-alls with counts of zero and with datatypes of pairs": (
        "kind = MPI.INT if rank == 0 else MPI.FLOAT\n"
        "comm.Alltoallv([bytearray(12), [0] * 3, kind], [bytearray(12), [0] * 3, kind])\n"
        "kinds = [MPI.INT if 0 in (rank, other) else MPI.FLOAT for other in range(size)]\n"
        "comm.Alltoallw([bytearray(12), ([1] * 3, [0, 4, 8]), kinds], [bytearray(12), ([1] * 3, [0, 4, 8]), kinds])"
    ),
    "two groups, each with a root of its own": (
        "half = comm.Split(rank % 2, rank)\nother = half.Create_intercomm(0, comm, 1 - rank % 2)\n"
        "root = MPI.ROOT if rank == 1 else 0 if rank % 2 == 0 else MPI.PROC_NULL\n"
        "other.Bcast([np.zeros(2), MPI.DOUBLE], root)\nother.Barrier()\n"
        "half.Bcast([np.zeros(2), MPI.DOUBLE] if rank % 2 else [np.zeros(2, 'i'), MPI.INT])"
    ),
    "memory that several sends read": (
        "buffer, into = np.zeros(4, 'i'), [np.zeros(4, 'i') for _ in range(size)]\n"
        "requests = [comm.Irecv([into[other], MPI.INT], other) for other in range(size)]\n"
        "requests += [comm.Isend([buffer, MPI.INT], other) for other in range(size)]\nMPI.Request.Waitall(requests)\n"
        "comm.Sendrecv([into[0], MPI.INT], rank, recvbuf=[into[1], MPI.INT], source=rank)"
    ),
    "accesses after each other": (
        UNFENCED + "for other in range(size):\n    win.Fence()\n    if rank == other:\n"
        "        win.Put([buffer, MPI.INT], 0)\nwin.Fence()\n"
        "win.Lock(0)\nwin.Put([buffer, MPI.INT], 0)\nwin.Flush(0)\nwin.Get([buffer, MPI.INT], 0)\nwin.Unlock(0)\n"
        "comm.Barrier()\nwin.Lock_all()\nfor other in range(size):\n    if rank == other:\n"
        "        win.Put([buffer, MPI.INT], 0)\n        win.Flush(0)\n    comm.Barrier()\n"
        "win.Get([buffer, MPI.INT], 0)\nwin.Flush_local(0)\ncomm.Barrier()\n"
        "win.Put([buffer, MPI.INT], 0) if rank == 1 else None\nwin.Unlock_all()\nwin.Free()"
    ),
    "accumulates": (
        UNFENCED + "win.Fence()\nwin.Accumulate([buffer, MPI.INT], 0)\n"
        "win.Get_accumulate(buffer, np.zeros(4, 'i'), 0, op=MPI.NO_OP)\nwin.Fence()\n"
        "win.Put([buffer, 1, MPI.INT], 0, [rank, 1, MPI.INT])\nwin.Fence()\nwin.Free()"
    ),
    "puts under shared locks that something orders": (
        UNFENCED + "def put(lock=MPI.LOCK_SHARED):\n    win.Lock(0, lock)\n    win.Put([buffer, MPI.INT], 0)\n"
        "    win.Unlock(0)\n"
        "for other in range(size):\n    if rank == other:\n        put()\n    comm.Barrier()\n"
        "if rank > 0:\n    comm.Recv(bytearray(1), rank - 1)\nput()\n"
        "if rank + 1 < size:\n    comm.Send(bytearray(1), rank + 1)\ncomm.Barrier()\n"
        "put() if rank == 1 else None\nwin.Lock_all()\nflag, one = np.zeros(1, 'i'), np.ones(1, 'i')\n"
        "win.Fetch_and_op(one, flag, 1, 3) if rank == 1 else None\n"
        "while rank == 2 and flag[0] == 0:\n    win.Fetch_and_op(one, flag, 1, 3, MPI.NO_OP)\n    win.Flush(1)\n"
        "win.Put([buffer, MPI.INT], 0) if rank == 2 else None\nwin.Unlock_all()\ncomm.Barrier()\nwin.Free()"
    ),
    "accesses under shared locks that do not conflict": (
        UNFENCED + "comm.Barrier()\nfor _ in range(2):\n    win.Lock(0, MPI.LOCK_SHARED)\n"
        "    win.Put([buffer, 1, MPI.INT], 0, [rank, 1, MPI.INT])\n    win.Flush(0)\n"
        "    win.Put([buffer, 1, MPI.INT], 0, [rank, 1, MPI.INT])\n"
        "    win.Accumulate([buffer, 1, MPI.INT], 0, [3, 1, MPI.INT])\n    win.Unlock(0)\ncomm.Barrier()\n"
        "win.Lock_all()\nwin.Get([buffer, MPI.INT], 0)\nwin.Unlock_all()\ncomm.Barrier()\nwin.Free()"
    ),
    "puts under shared locks within exclusive ones elsewhere": (
        UNFENCED + "mutex = win_of(1)\ncomm.Barrier()\nmutex.Lock(2)\nwin.Lock(0, MPI.LOCK_SHARED)\n"
        "win.Put([buffer, MPI.INT], 0)\nwin.Unlock(0)\nmutex.Unlock(2)\ncomm.Barrier()\nmutex.Free()\nwin.Free()"
    ),
    "a lock after a fence": (
        UNFENCED + "win.Fence()\nwin.Put([buffer, 1, MPI.INT], 0, [rank, 1, MPI.INT])\nwin.Fence()\n"
        "win.Lock(0)\nwin.Unlock(0)\nwin.Free()"
    ),
}


@SHARED_OR_NOT
@pytest.mark.parametrize("name", ALLOWED)
def test_nothing_is_said_of_what_the_standard_allows(tmp_path, name, isolate):
    assert remarks(tmp_path, ALLOWED[name], isolate) == ()


@SHARED_OR_NOT
def test_a_lock_may_not_be_taken_where_a_fence_has_to_come_first(tmp_path, isolate):
    text = (
        UNFENCED + "win.Set_errhandler(MPI.ERRORS_RETURN)\nwin.Fence()\n"
        "win.Put([buffer, 1, MPI.INT], 0, [rank, 1, MPI.INT])\n"
        "try:\n    win.Lock(0)\nexcept MPI.Exception as error:\n"
        "    assert error.Get_error_class() == MPI.ERR_RMA_SYNC\n"
        "    assert 'MPI_Win_lock within an epoch of fences' in str(error), error\nelse:\n    raise SystemExit(3)\n"
        "win.Fence()\nwin.Free()"
    )
    assert remarks(tmp_path, text, isolate) == ()


@SHARED_OR_NOT
def test_windows_files_and_persistent_requests_that_are_not_freed_are_told(tmp_path, isolate):
    text = (
        "half = comm.Split(rank)\nwin = win_of(1)\n"
        f"file = MPI.File.Open(comm, {str(tmp_path / 'data')!r}, MPI.MODE_CREATE | MPI.MODE_RDWR)\n"
        "request = comm.Send_init(bytearray(1), MPI.PROC_NULL) if rank == 1 else None\n"
    )
    assert sorted(remarks(tmp_path, text, isolate)) == [
        "1 persistent request was not freed before MPI_Finalize: 1 of rank 1",
        "3 files were not closed before MPI_Finalize: 1 of rank 0; 1 of rank 1; 1 of rank 2",
        "3 windows were not freed before MPI_Finalize: 1 of rank 0; 1 of rank 1; 1 of rank 2",
    ]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.skipif(not INCLUDE.exists(), reason="the headers of the MPICH wheel are not installed")
def test_objects_that_a_compiled_program_does_not_free_are_told(tmp_path):
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text("""#include <mpi.h>
void combine(void *in, void *inout, int *count, MPI_Datatype *type) {}
int main(int argc, char **argv) {
    MPI_Comm comms[3]; MPI_Group group; MPI_Datatype types[2]; MPI_Op op;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_Comm_free(&comms[1]);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Type_contiguous(2, MPI_INT, &types[0]);
    MPI_Type_dup(types[0], &types[1]);
    MPI_Type_free(&types[0]);
    MPI_Type_create_f90_integer(9, &types[0]);
    MPI_Op_create(combine, 1, &op);
    MPI_Finalize();
    return 0;
}
""")
    library = INCLUDE.parent.parent / "lib"
    command = ["cc", f"-I{INCLUDE.parent}", "-o", str(program), str(source), f"-L{library}", "-lmpi"]
    subprocess.run(command, check=True)
    assert sorted(weft.run(program, on="frontera", ranks=2).remarks) == [
        "2 datatypes were not freed before MPI_Finalize: 1 of rank 0; 1 of rank 1",
        "2 groups were not freed before MPI_Finalize: 1 of rank 0; 1 of rank 1",
        "2 operations were not freed before MPI_Finalize: 1 of rank 0; 1 of rank 1",
        "4 communicators were not freed before MPI_Finalize: 2 of rank 0; 2 of rank 1",
    ]

"""Errors that programs ask for: which handler is called, and what the call leaves."""

import importlib.util

import pytest

import weft
from weft.hosting.library import path

pytestmark = [
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
]


def run(tmp_path, capfd, program, **options):
    """The lines that a script prints."""
    script = tmp_path / "program.py"
    script.write_text(program)
    weft.run(script, **options)
    return capfd.readouterr().out.splitlines()


WINDOW = """\
from mpi4py import MPI
window = MPI.Win.Allocate(8, comm=MPI.COMM_WORLD)
MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_ARE_FATAL)
MPI.COMM_SELF.Set_errhandler(MPI.ERRORS_ARE_FATAL)
window.Set_errhandler(MPI.ERRORS_RETURN)
window.Lock(0, MPI.LOCK_SHARED)
try:
    window.Free()
except MPI.Exception as error:
    print(error.Get_error_class() == MPI.ERR_RMA_SYNC)
window.Unlock(0)
window.Free()
"""


def test_freeing_a_window_asks_the_error_handler_of_the_window(tmp_path, capfd):
    assert run(tmp_path, capfd, WINDOW, on="ipsc860", ranks=2) == ["True", "True"]


ONE_SIDED = """\
import numpy as np
from mpi4py import MPI
comm, data = MPI.COMM_WORLD, np.zeros(2)
for op in (MPI.REPLACE, MPI.NO_OP):
    for call, arguments in (
        (comm.Reduce, (data, data.copy(), op)),
        (comm.Allreduce, (data, data.copy(), op)),
        (comm.Scan, (data, data.copy(), op)),
        (comm.Iallreduce, (data, data.copy(), op)),
        (op.Reduce_local, (data, data.copy())),
    ):
        try:
            call(*arguments)
        except MPI.Exception as error:
            assert error.Get_error_class() == MPI.ERR_OP, error
        else:
            raise AssertionError(call)
window = MPI.Win.Allocate(16, 8, comm=comm)
window.Fence()
window.Accumulate(np.ones(2), comm.rank, op=MPI.REPLACE)
window.Fence()
print(np.frombuffer(window.tomemory()).tolist())
window.Free()
"""


@pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])
def test_operations_of_one_sided_calls_reduce_nothing(tmp_path, capfd, isolate):
    assert run(tmp_path, capfd, ONE_SIDED, on="ipsc860", ranks=2, isolate=isolate) == ["[1.0, 1.0]"] * 2


ALIASED = """\
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
buffer = np.arange(4.0 * size).reshape(size, 4)
own = buffer[rank]
for call, arguments in (
    (comm.Gather, (own, buffer)),
    (comm.Igather, (own, buffer)),
    (comm.Scatter, (buffer, own)),
    (comm.Allgather, (own, buffer)),
    (comm.Alltoall, (buffer, buffer)),
):
    if rank > 0 and call in (comm.Gather, comm.Igather, comm.Scatter):
        continue
    try:
        call(*arguments)
    except MPI.Exception as error:
        assert error.Get_error_class() == MPI.ERR_BUFFER, error
    else:
        raise AssertionError(call)
comm.Gather(np.empty(0), np.empty(0))
comm.Gather(MPI.IN_PLACE if rank == 0 else own, buffer)
comm.Gather(buffer[rank], buffer.copy())
print(buffer.sum() == (4 * size - 1) * 2 * size)
"""


@pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])
def test_a_rank_cannot_send_to_itself_what_lies_where_it_receives(tmp_path, capfd, isolate):
    assert run(tmp_path, capfd, ALIASED, on="ipsc860", ranks=3, isolate=isolate) == ["True"] * 3


KINDS = """\
from mpi4py import MPI
window = MPI.Win.Allocate(8, comm=MPI.COMM_WORLD)
MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_RETURN)
window.Set_errhandler(MPI.ERRORS_ARE_FATAL)
kind = MPI.Comm.Create_keyval()
try:
    window.Set_attr(kind, 1)
except MPI.Exception as error:
    print(error.Get_error_class() == MPI.ERR_KEYVAL)
MPI.Comm.Free_keyval(kind)
window.Free()
"""


def test_a_wrong_kind_of_attribute_is_no_error_of_the_window(tmp_path, capfd):
    assert run(tmp_path, capfd, KINDS, on="ipsc860", ranks=2) == ["True", "True"]


WAITED = """\
import numpy as np
from mpi4py import MPI
comm, pair, one = MPI.COMM_WORLD.Dup(), np.zeros(2, "i"), np.zeros(1, "i")
for other in (MPI.COMM_WORLD, MPI.COMM_SELF):
    other.Set_errhandler(MPI.ERRORS_ARE_FATAL)
comm.Set_errhandler(MPI.ERRORS_RETURN)
for complete in (MPI.Request.Wait, lambda request: MPI.Request.Waitall([MPI.REQUEST_NULL, request])):
    request = comm.Irecv([one, MPI.INT], comm.rank)
    comm.Send([pair, MPI.INT], comm.rank)
    try:
        complete(request)
    except MPI.Exception as error:
        print(error.Get_error_class() == MPI.ERR_TRUNCATE)
"""


@pytest.mark.parametrize("isolate", [False, True])
def test_waiting_for_a_request_asks_the_error_handler_of_its_communicator(tmp_path, capfd, isolate):
    assert run(tmp_path, capfd, WAITED, on="ipsc860", ranks=1, isolate=isolate) == ["True", "True"]


HINTS = """\
from mpi4py import MPI
info = MPI.Info.Create({"a key": "1", "mpi_assert_no_any_tag": "true", "same_size": "true"})
comm = MPI.COMM_WORLD.Dup_with_info(info)
window = MPI.Win.Allocate(8, info=info, comm=comm)
print(sorted(comm.Get_info().keys()), sorted(window.Get_info().keys()))
comm.Set_info(info)
window.Set_info(info)
print(sorted(comm.Get_info().keys()), sorted(window.Get_info().keys()))
window.Free()
"""


def test_objects_tell_no_hints_that_they_ignore(tmp_path, capfd):
    kept = "['mpi_assert_no_any_tag'] ['same_size']"
    assert run(tmp_path, capfd, HINTS, on="ipsc860", ranks=1) == [kept, kept]


NOWHERE = """\
import ctypes

from mpi4py import MPI

# mpi4py itself lets no buffer without an address through, so that C's functions are called here.
mpi = ctypes.CDLL(None)
comm, info = MPI.COMM_WORLD, MPI.INFO_NULL
comm.Set_errhandler(MPI.ERRORS_RETURN)
rank, size = comm.rank, comm.size
handle = lambda thing: ctypes.c_int.from_address(MPI._addressof(thing))
world, integer, total = handle(comm), handle(MPI.INT), handle(MPI.SUM)
data, request, null = (ctypes.c_int * 8)(*range(8)), ctypes.c_int(), None
wrong = [
    mpi.MPI_Send(null, 1, integer, 0, 0, world),
    mpi.MPI_Irecv(null, 1, integer, 0, 0, world, ctypes.byref(request)),
    mpi.MPI_Bcast(null, 1, integer, 0, world),
    mpi.MPI_Gather(null, 1, integer, data, 1, integer, 0, world),
    mpi.MPI_Allgather(data, 1, integer, null, 1, integer, world),
    mpi.MPI_Allreduce(null, data, 1, integer, total, world),
    mpi.MPI_Allreduce(data, null, 1, integer, total, world),
    mpi.MPI_Reduce(null, data, 1, integer, total, 0, world),
    mpi.MPI_Scan(null, data, 1, integer, total, world),
]
# No elements, elements for nobody and results of others need no memory, and addresses may be counted from MPI_BOTTOM.
absolute = MPI.INT.Create_hindexed([1], [ctypes.addressof(data)]).Commit()
right = [
    mpi.MPI_Send(null, 1, integer, MPI.PROC_NULL, 0, world),
    mpi.MPI_Bcast(null, 0, integer, 0, world),
    mpi.MPI_Allreduce(null, null, 0, integer, total, world),
    mpi.MPI_Reduce(data, data if rank else null, 0, integer, total, 0, world),
    mpi.MPI_Gather(data, 1, integer, null if rank else (ctypes.c_int * size)(), 1, integer, 0, world),
    mpi.MPI_Bcast(null, 1, handle(absolute), 0, world),
]
print([MPI.Get_error_class(code) == MPI.ERR_BUFFER for code in wrong].count(True), right)
absolute.Free()
"""


@pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])
def test_elements_without_an_address_are_an_error(tmp_path, capfd, isolate):
    lines = run(tmp_path, capfd, NOWHERE, on="ipsc860", ranks=2, isolate=isolate)
    assert lines == ["9 [0, 0, 0, 0, 0, 0]"] * 2

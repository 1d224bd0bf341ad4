"""Datatypes of more pieces than anyone would list."""

import importlib.util

import pytest

import weft
from weft.hosting.library import path

pytestmark = [
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
]

LARGE = """
import numpy as np
from mpi4py import MPI
count = 2**30
four = MPI.INT.Create_contiguous(4)
vector = four.Create_vector(count, 1, 3).Commit()
assert vector.Get_size() == 16 * count
assert vector.Get_extent() == vector.Get_true_extent() == (0, 48 * (count - 1) + 16)
resized = vector.Create_resized(5, -1024)
assert resized.Get_extent() == (5, -1024)
assert resized.Get_true_extent() == vector.Get_true_extent()
status = MPI.Status()
status.Set_elements(vector, 4 * count)
assert (status.Get_elements(vector), status.Get_count(vector)) == (4 * count, 1)
plane = MPI.BYTE.Create_subarray([2**16, 2**16, 2**16], [2**15, 2**15, 2**15], [1, 2, 3])
assert plane.Get_size() == 2**45
assert plane.Get_extent() == (0, 2**48)
first, last = ((x * 2**16 + y) * 2**16 + z for x, y, z in ([1, 2, 3], [2**15, 2**15 + 1, 2**15 + 2]))
assert plane.Get_true_extent() == (first, last - first + 1)
backwards = MPI.DOUBLE.Create_hvector(count, 2, -32)
assert backwards.Get_true_extent() == backwards.Get_extent() == (-32 * (count - 1), 32 * (count - 1) + 16)
"""

SENT = """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
columns, rows = 3, 2**23
every = np.arange(rows * columns, dtype="i2").reshape(rows, columns)
column = MPI.SHORT.Create_vector(rows, 1, columns).Create_resized(0, 2).Commit()
if comm.rank == 0:
    comm.Send([every, 2, column], 1)
elif comm.rank == 1:
    plain = np.zeros((2, rows), "i2")
    comm.Recv(plain, 0)
    assert (plain == every.T[:2]).all()
    comm.Send(plain, 2)
else:
    spread = np.zeros_like(every)
    comm.Recv([spread, 2, column], 1)
    assert (spread[:, :2] == every[:, :2]).all() and not spread[:, 2].any()
"""

FILE = """
import sys
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rows = 2**17
blocks = MPI.INT.Create_vector(rows, 2, 2 * comm.size).Create_resized(0, 8 * comm.size * rows).Commit()
file = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Set_view(8 * comm.rank, MPI.INT, blocks)
numbers = np.arange(4 * rows, dtype="i") * comm.size + comm.rank
file.Write_all(numbers)
file.Seek(2 * rows - 3)
part = np.zeros(7, "i")
file.Read(part)
assert (part == numbers[2 * rows - 3:][:7]).all()
file.Close()
if comm.rank == 0:
    written = np.fromfile(sys.argv[1], "i").reshape(-1, comm.size, 2)
    assert len(written) == 2 * rows
    for rank in range(comm.size):
        assert (written[:, rank].ravel() == np.arange(4 * rows) * comm.size + rank).all()
"""


@pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])
@pytest.mark.parametrize("text", [LARGE, SENT, FILE], ids=["asked for", "sent", "in a file"])
def test_what_repeats_at_equal_distances_may_do_so_often(tmp_path, text, isolate):
    script = tmp_path / "program.py"
    script.write_text(text)
    weft.run(script, str(tmp_path / "file"), on="frontera", ranks=3, isolate=isolate)


ENDS_WITHIN = """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
apart = MPI.INT.Create_indexed([1, 2, 1], [4, 8, 16]).Commit()
for sent in (3, 4, 5, 6, 8, 10, 15, 16):
    into = np.full(32, -1, "i")
    request = comm.Irecv([into, 1, apart], (comm.rank - 1) % comm.size, 1)
    comm.Send([np.ones(sent, "b"), MPI.BYTE], (comm.rank + 1) % comm.size, 1)
    try:
        request.Wait()
        is_refused = False
    except MPI.Exception as error:
        is_refused = error.Get_error_class() == MPI.ERR_TYPE
    assert is_refused == (sent % 4 != 0), sent
"""


@pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])
def test_a_message_that_ends_within_an_element_is_an_error(tmp_path, isolate):
    """Not compared with a real library: MPICH 5.0 says the same error, or is killed by SIGSEGV in one of five runs."""
    script = tmp_path / "program.py"
    script.write_text(ENDS_WITHIN)
    weft.run(script, on="ipsc860", ranks=3, isolate=isolate)

"""Files in virtual time: what they cost on a machine that has some, and what is refused."""

import importlib.util

import numpy as np
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
comm, name = MPI.COMM_WORLD, sys.argv[1]
"""


def printed(tmp_path, capfd, text, ranks=1, on="ipsc860", isolate=False):
    """Lines that a program prints, which gets the name of a file that is not there."""
    program = tmp_path / "program.py"
    program.write_text(HEAD + text)
    weft.run(program, str(tmp_path / "data"), on=on, ranks=ranks, isolate=isolate)
    return capfd.readouterr().out.splitlines()


@pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])
def test_a_file_is_read_in_the_time_that_weft_measures_on_the_machine(tmp_path, capfd, isolate):
    length, block = 1 << 18, 1 << 12
    text = f"""
file = MPI.File.Open(comm, name, MPI.MODE_RDONLY)
data = bytearray({block})
start = MPI.Wtime()
for _ in range({length // block}):
    file.Read(data)
print(MPI.Wtime() - start)
file.Close()
"""
    (tmp_path / "data").write_bytes(bytes(length))
    seconds = float(printed(tmp_path, capfd, text, isolate=isolate)[0])
    measured = weft.simulate("ipsc860", "file-read", bytes=block, file_bytes=length, ranks=1)
    assert seconds == pytest.approx(measured["seconds"].median(), rel=0.1)


def test_a_machine_without_files_takes_no_time_for_them(tmp_path, capfd):
    text = """
file = MPI.File.Open(comm, name, MPI.MODE_RDWR | MPI.MODE_CREATE)
start = MPI.Wtime()
file.Write(bytes(1000))
print(MPI.Wtime() - start)
file.Close()
"""
    assert printed(tmp_path, capfd, text, on="frontera") == ["0.0"]
    assert (tmp_path / "data").stat().st_size == 1000


def test_external_data_have_the_highest_byte_first(tmp_path, capfd):
    text = """
file = MPI.File.Open(comm, name, MPI.MODE_RDWR | MPI.MODE_CREATE)
numbers = np.arange(5, dtype="d") + comm.rank * 5
file.Set_view(4, MPI.DOUBLE, datarep="external32")
file.Write_at_all(comm.rank * 5, numbers)
back = np.zeros(5)
file.Read_at_all(comm.rank * 5, back)
print(np.array_equal(back, numbers), file.Get_view()[3])
file.Close()
"""
    assert printed(tmp_path, capfd, text, ranks=2) == ["True external32"] * 2
    assert np.array_equal(np.fromfile(tmp_path / "data", dtype=">f8", offset=4), np.arange(10.0))


@pytest.mark.parametrize("collective", [False, True], ids=["alone", "together"])
def test_the_pointer_after_a_read_beyond_the_end(tmp_path, capfd, collective):
    # Without gaps it is where the data end; with gaps, by the standard's formula, where what was asked for would.
    read = "Read_all" if collective else "Read"
    text = f"""
file = MPI.File.Open(MPI.COMM_SELF, name, MPI.MODE_RDONLY)
status = MPI.Status()
file.{read}([bytearray(300), MPI.CHAR], status)
print(status.Get_count(MPI.CHAR), file.Get_position())
file.Set_view(0, MPI.DOUBLE_INT, MPI.DOUBLE_INT)
file.Seek(10)
file.{read}([bytearray(200), 10, MPI.DOUBLE_INT], status)
print(status.Get_elements(MPI.DOUBLE_INT), file.Get_position())
file.Close()
"""
    (tmp_path / "data").write_bytes(bytes(240))
    assert printed(tmp_path, capfd, text) == ["240 240", "10 20"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ("MPI.File.Open(comm, name + 'x', MPI.MODE_RDONLY)", "MPI_ERR_NO_SUCH_FILE", "No such file or directory"),
        ("MPI.File.Open(comm, name, MPI.MODE_RDWR | MPI.MODE_EXCL | MPI.MODE_CREATE)", "MPI_ERR_FILE_EXISTS", "exists"),
        ("MPI.File.Open(comm, name, MPI.MODE_CREATE)", "MPI_ERR_AMODE", "one of MPI_MODE_RDONLY"),
        ("MPI.File.Open(comm, name, [MPI.MODE_RDONLY, MPI.MODE_RDWR][comm.rank])", "MPI_ERR_AMODE", "different modes"),
        ("MPI.File.Delete(name + 'x')", "MPI_ERR_NO_SUCH_FILE", "No such file or directory"),
        ("reads.Write(data)", "MPI_ERR_READ_ONLY", "the file is open for reading only"),
        ("writes.Read(data)", "MPI_ERR_ACCESS", "the file is open for writing only"),
        ("reads.Read_at(-1, data)", "MPI_ERR_ARG", "an offset of -1 elements"),
        ("reads.Seek(-1)", "MPI_ERR_ARG", "before the view begins"),
        ("reads.Set_view(0, MPI.INT, MPI.SHORT)", "MPI_ERR_TYPE", "no whole elements of 4 bytes"),
        ("reads.Set_view(0, MPI.INT, datarep='mine')", "MPI_ERR_UNSUPPORTED_DATAREP", "mine"),
        ("reads.Read_all_end(data)", "MPI_ERR_OTHER", "no such split collective has begun"),
        ("reads.Set_size(10)", "MPI_ERR_READ_ONLY", "the file is open for reading only"),
        ("writes.Set_size(comm.rank)", "MPI_ERR_NOT_SAME", "ranks name different sizes"),
    ],
)
def test_what_cannot_be_done_is_an_error_of_mpi(tmp_path, capfd, call, error, message):
    text = f"""
if comm.rank == 0:
    open(name, "wb").write(bytes(100))
comm.Barrier()
data = bytearray(10)
reads = MPI.File.Open(comm, name, MPI.MODE_RDONLY)
writes = MPI.File.Open(comm, name, MPI.MODE_WRONLY)
try:
    {call}
except MPI.Exception as error:
    print(MPI.Get_error_string(error.Get_error_class()), str(error))
comm.Barrier()
reads.Close()
writes.Close()
"""
    lines = printed(tmp_path, capfd, text, ranks=2)
    assert len(lines) == 2
    assert all(line.startswith(error) and message in line for line in lines)

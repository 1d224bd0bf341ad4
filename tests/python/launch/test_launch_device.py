"""Messages in the memory of a device: with a stand-in of CuPy, and what is said where something is missing."""

import textwrap
from pathlib import Path

import polars as pl
import pytest

from weft import RunError
from weft.launch import device

STAND_IN = Path(__file__).parents[1] / "cuda"


@pytest.fixture
def cupy(tmp_path, monkeypatch):
    """Puts a module `cupy` where ranks find it: the stand-in, after some more statements."""

    def write(more=""):
        folder = tmp_path / "modules"
        folder.mkdir()
        (folder / "cupy.py").write_text(
            textwrap.dedent(f"""\
                import sys
                sys.path.insert(0, {str(STAND_IN)!r})
                import cupy_stand_in
                cupy = cupy_stand_in.module()
                """)
            + textwrap.dedent(more)
            + "sys.modules[__name__] = cupy\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(folder))
        monkeypatch.setenv("WEFT_CUDA_AWARE", "1")  # The stand-in's addresses are the host's, which any library takes.

    return write


QUICK = "--iterations 5 --launches 1 --budget 0 --buffers device"


@pytest.mark.mpi
@pytest.mark.parametrize("benchmark", ["echo", "ping-ping", "bandwidth", "bidirectional", "multi-pair"])
def test_messages_go_from_device_to_device(command, cupy, benchmark):
    # The benchmark writes a pattern through the device and reads through it what came: were other memory handed to the
    # library, what the device has would be what nothing was written to.
    cupy()
    sizes = "1,8,100000" if benchmark != "echo" else "0,8,100000"
    code, _, err = command(f"measure {benchmark} --bytes {sizes} {QUICK} -o out.csv")
    assert code in (0, 3), err
    table = pl.read_csv("out.csv")
    assert set(table["buffers"]) == {"device"}
    assert sorted(table["bytes"]) == [int(size) for size in sizes.split(",")]


@pytest.mark.mpi
@pytest.mark.parametrize("benchmark", ["echo", "bandwidth"])
def test_memory_that_is_not_the_devices_is_noticed(command, cupy, benchmark):
    # Arrays of this stand-in say that they are elsewhere than what is written to them and read from them.
    cupy("""\
        import types, numpy
        held = []
        def data(self):
            held.append(numpy.zeros(self.size, "u1"))
            return types.SimpleNamespace(ptr=held[-1].ctypes.data)
        cupy_stand_in.ndarray.data = property(data)
        """)
    code, _, err = command(f"measure {benchmark} --bytes 64 {QUICK}")
    assert code == 1
    assert "byte 0 came" in " ".join(err.split())


@pytest.mark.mpi
def test_a_library_that_takes_no_addresses_of_devices_is_named(command, cupy, monkeypatch):
    cupy()
    monkeypatch.setenv("WEFT_CUDA_AWARE", "0")
    code, _, err = command(f"measure echo --bytes 8 {QUICK}")
    assert code != 0
    said = " ".join(err.split())
    assert "is not CUDA-aware" in said
    assert "WEFT_CUDA_AWARE=1" in said


@pytest.mark.mpi
def test_a_device_without_memory_says_so(command, cupy):
    cupy("""\
        def full(shape, dtype):
            raise MemoryError("out of memory allocating 8 bytes")
        cupy.empty = full
        """)
    code, _, err = command(f"measure echo --bytes 8 {QUICK}")
    assert code == 1
    assert "out of memory allocating 8 bytes" in " ".join(err.split())


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("raise ImportError('no CUDA here')\n", "need CuPy, which is not installed here"),
        ("cupy.cuda.runtime.getDeviceCount = lambda: 0\n", "need a CUDA device, and CuPy finds none"),
        ("cupy.cuda.runtime.getDeviceCount = lambda: 1 // 0\n", "CuPy finds none: integer division"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(command, cupy, more, sentence):
    cupy(more)
    code, _, err = command(f"measure echo --bytes 8 {QUICK}")
    assert code == 1
    assert sentence in " ".join(err.split())
    assert "Traceback" not in err


def test_ranks_of_a_node_take_devices_in_turn(monkeypatch):
    import sys

    sys.path.insert(0, str(STAND_IN))
    monkeypatch.setitem(sys.modules, "cupy", __import__("cupy_stand_in").module())
    memory = device.DeviceMemory()
    address = memory.allocate(8)
    memory.write(address, b"12345678")
    assert memory.read(address, 8) == b"12345678"
    memory.free(address)
    with pytest.raises(KeyError):
        memory.read(address, 8)
    assert device.local_rank({"OMPI_COMM_WORLD_LOCAL_RANK": "2", "PMI_RANK": "9"}) == 2


def test_without_cupy_there_is_no_device(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(RunError, match="need CuPy, which is not installed here"):
        device.DeviceMemory()


def test_a_described_machine_has_no_device(command):
    code, _, err = command("measure echo --on ipsc860 --bytes 8 --buffers device")
    assert code == 2
    assert "needs messages in the memory of a device, which virtual time does not have" in " ".join(err.split())
    code, _, err = command("measure echo --on ipsc860 --bytes 8 --buffers gpu")
    assert code == 2
    assert "expected `host` or `device`" in err
    code, _, err = command("measure ring --on ipsc860 --bytes 8 --buffers device")
    assert code == 2
    assert "takes no buffers" in " ".join(err.split())

"""Benchmarks as the OSU micro-benchmarks have them, in C and by mpi4py, print what `weft measure` prints."""

import importlib.util
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

import weft
from weft.catalogue import operation_time
from weft.hosting.library import path

HERE = Path(__file__).parent
INCLUDE = Path(sysconfig.get_path("data")) / "include" / "mpi.h"

pytestmark = pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built")
NEEDS_C = pytest.mark.skipif(
    shutil.which("cc") is None or not INCLUDE.exists(), reason="there is no C compiler, or no header of MPICH"
)
NEEDS_MPI4PY = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")

LENGTHS = [8, 1024, 65536]
COLLECTIVES = ["broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "scan"]


@pytest.fixture(scope="module", params=[pytest.param("c", marks=NEEDS_C), pytest.param("mpi4py", marks=NEEDS_MPI4PY)])
def program(request, tmp_path_factory):
    if request.param == "mpi4py":
        return HERE / "benchmarks.py"
    binary = tmp_path_factory.mktemp("benchmarks") / "benchmarks"
    library = INCLUDE.parent.parent / "lib"
    cc = ["cc", "-O1", f"-I{INCLUDE.parent}", "-o", str(binary), str(HERE / "benchmarks.c"), f"-L{library}", "-lmpi"]
    subprocess.run(cc, check=True)
    return binary


def printed(capfd, program, name, lengths, machine, ranks):
    """The curve that a program prints."""
    operation = operation_time(machine, "float64_sum_of_products") or 1.0
    weft.run(program, name, repr(operation), *map(str, lengths), on=machine, ranks=ranks)
    lines = [line.split() for line in capfd.readouterr().out.splitlines()]
    assert [int(length) for length, _ in lines] == lengths
    return [float(seconds) for _, seconds in lines]


@pytest.mark.parametrize("machine", ["frontera", "ipsc860", "ncube6400", "rail-h100", "tpu-v4"])
@pytest.mark.parametrize(("name", "measured"), [("latency", "echo"), ("bandwidth", "bandwidth")])
def test_messages_take_what_they_take_in_the_benchmark(capfd, program, machine, name, measured):
    expected = weft.simulate(machine, measured, bytes=LENGTHS)["seconds"].to_list()
    assert printed(capfd, program, name, LENGTHS, machine, 2) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("ranks", [8, 13])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_take_what_they_take_in_the_benchmark(capfd, program, name, ranks):
    expected = weft.simulate("frontera", name, bytes=LENGTHS, ranks=ranks)["seconds"].to_list()
    assert printed(capfd, program, name, LENGTHS, "frontera", ranks) == pytest.approx(expected, rel=0.02)


def test_a_barrier_takes_what_it_takes_in_the_benchmark(capfd, program):
    expected = weft.simulate("frontera", "barrier", ranks=16)["seconds"].to_list()
    assert printed(capfd, program, "barrier", [0], "frontera", 16) == pytest.approx(expected, rel=0.02)

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
COLLECTIVES = [
    *("broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "scan", "exscan"),
    "reduce-scatter",
]
MACHINES = ["frontera", "rail-h100"]
ROOTED = ["broadcast", "reduce", "gather", "scatter"]


@pytest.fixture(scope="module", params=[pytest.param("c", marks=NEEDS_C), pytest.param("mpi4py", marks=NEEDS_MPI4PY)])
def program(request, tmp_path_factory):
    if request.param == "mpi4py":
        return HERE / "benchmarks.py"
    binary = tmp_path_factory.mktemp("benchmarks") / "benchmarks"
    library = INCLUDE.parent.parent / "lib"
    cc = ["cc", "-O1", f"-I{INCLUDE.parent}", "-o", str(binary), str(HERE / "benchmarks.c"), f"-L{library}", "-lmpi"]
    subprocess.run(cc, check=True)
    return binary


def printed(capfd, program, name, lengths, machine, ranks, timing="window"):
    """The curve that a program prints."""
    operation = (operation_time(machine, "float64_sum_of_products") or 1.0) if timing == "window" else 0.0
    weft.run(program, name, repr(operation), *map(str, lengths), on=machine, ranks=ranks)
    lines = [line.split() for line in capfd.readouterr().out.splitlines()]
    assert [int(length) for length, _ in lines] == lengths
    return [float(seconds) for _, seconds in lines]


@pytest.mark.parametrize("machine", ["frontera", "ipsc860", "ncube6400", "rail-h100", "tpu-v4"])
@pytest.mark.parametrize(("name", "measured"), [("latency", "echo"), ("bandwidth", "bandwidth")])
def test_messages_take_what_they_take_in_the_benchmark(capfd, program, machine, name, measured):
    expected = weft.simulate(machine, measured, bytes=LENGTHS)["seconds"].to_list()
    assert printed(capfd, program, name, LENGTHS, machine, 2) == pytest.approx(expected, rel=0.02)


def assert_equal(capfd, program, name, machine, ranks, timing):
    """A collective takes what `weft measure` says."""
    parameters = {"ranks": ranks, "timing": timing, "warmup": 2, "iterations": 10}
    expected = weft.simulate(machine, name, bytes=LENGTHS, **parameters)["seconds"].to_list()
    assert printed(capfd, program, name, LENGTHS, machine, ranks, timing) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("ranks", [2, 3, 8, 13])
@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize("timing", ["window", "barrier"])
def test_collectives_take_what_they_take_in_the_benchmark(capfd, program, name, ranks, timing):
    # A program cannot wait for a moment to the picosecond, and where routes collide it matters who is first: ranks that
    # start together do so on a machine without collisions. Else each machine has some of the numbers of ranks.
    number = COLLECTIVES.index(name) + [2, 3, 8, 13].index(ranks)
    machine = MACHINES[number % len(MACHINES)] if timing == "barrier" else "frontera"
    assert_equal(capfd, program, name, machine, ranks, timing)


# Where all ranks send at once they wait for each other's circuits on this machine, and what a rank waits depends on
# nanoseconds by which both start apart: collectives with a root do not.
@pytest.mark.parametrize("ranks", [2, 3, 8, 13])
@pytest.mark.parametrize("name", ROOTED)
def test_collectives_with_a_root_take_what_they_take_where_circuits_are_switched(capfd, program, name, ranks):
    assert_equal(capfd, program, name, "ipsc860", ranks, "barrier")


@pytest.mark.parametrize("timing", ["window", "barrier"])
@pytest.mark.parametrize("ranks", [2, 3, 16])
def test_a_barrier_takes_what_it_takes_in_the_benchmark(capfd, program, ranks, timing):
    expected = weft.simulate("frontera", "barrier", ranks=ranks, timing=timing)["seconds"].to_list()
    assert printed(capfd, program, "barrier", [0], "frontera", ranks, timing) == pytest.approx(expected, rel=0.02)

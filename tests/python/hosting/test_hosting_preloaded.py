"""Tools that users preload (`LD_PRELOAD`) stand before functions of MPI, as on real MPI."""

import subprocess

import pytest
from test_hosting_compiled import INCLUDE, weft_run, written
from test_hosting_compiled import pytestmark as needs

from weft.hosting.binary import brings_mpi

pytestmark = needs

# Counts what it wraps, and tells of it when MPI ends, by messages of its own. One function finds the next library's by
# the dynamic linker, as tools do that know no MPI.
TOOL = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
static int sends, barriers;
int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    sends++;
    return PMPI_Send(data, count, type, to, tag, comm);
}
/* What mpi4py calls to send. */
int MPI_Send_c(const void *data, MPI_Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    sends++;
    return PMPI_Send_c(data, count, type, to, tag, comm);
}
int MPI_Barrier(MPI_Comm comm) {
    int (*next)(MPI_Comm) = dlsym(RTLD_NEXT, "MPI_Barrier");
    barriers++;
    return next(comm);
}
int MPI_Finalize(void) {
    int rank, size, own[2] = {sends, barriers}, all[2];
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Reduce(own, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("tool: %d ranks, %d sends, %d barriers\\n", size, all[0], all[1]);
        fflush(stdout);
    }
    return PMPI_Finalize();
}
"""

BODY = """
    int value = rank, sum;
    if (rank > 0) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    else for (int i = 1; i < size; i++) MPI_Recv(&value, 1, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("sum %d\\n", sum);
"""

SCRIPT = """
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
value = numpy.array([world.rank])
if world.rank > 0:
    world.Send(value, 0)
else:
    for source in range(1, world.size):
        world.Recv(value, source)
    print("the last value is", value[0])
world.Barrier()
"""


@pytest.fixture
def tool(tmp_path, monkeypatch):
    source = tmp_path / "tool.c"
    source.write_text(TOOL)
    library = tmp_path / "libtool.so"
    folder = INCLUDE.parent.parent / "lib"
    cc = ["cc", "-shared", "-fPIC", f"-I{INCLUDE.parent}", "-o", str(library), str(source), f"-L{folder}", "-lmpi"]
    subprocess.run([*cc, "-ldl"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    # Where the tool finds the MPI that it was linked with, in processes that have nothing of a run's.
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    return library


@pytest.mark.usefixtures("tool")
def test_a_tool_wraps_functions_that_a_compiled_program_calls(tmp_path):
    code, printed, said = weft_run(written(BODY, tmp_path), ranks=4)
    assert code == 0, said
    assert sorted(printed.splitlines()) == ["sum 6", "tool: 4 ranks, 3 sends, 4 barriers"]


@pytest.mark.usefixtures("tool")
def test_a_script_under_a_tool_has_a_process_for_each_rank(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    code, printed, said = weft_run(script, ranks=3)
    assert code == 0, said
    assert sorted(printed.splitlines()) == ["the last value is 2", "tool: 3 ranks, 2 sends, 3 barriers"]
    code, printed, said = weft_run(script, ranks=3, options=["--no-isolate"])
    assert (code, printed) == (2, "")
    assert "leave --no-isolate out" in said


def test_a_library_that_has_nothing_of_mpi_brings_none(tool, tmp_path):
    other = tmp_path / "other.so"
    other.write_bytes(b"\x7fELF")
    assert brings_mpi(f"{other}:{tool}")
    assert not brings_mpi(f"{other} {tmp_path / 'absent.so'}")
    assert not brings_mpi("")


def test_what_a_library_of_c_had_set_for_a_signal_is_no_error(monkeypatch):
    """A handler of C is None in Python, which cannot set it again."""
    import signal

    from weft.cli.interrupting import terminating_is_interrupting

    before = signal.getsignal(signal.SIGTERM)
    real = signal.signal
    monkeypatch.setattr(signal, "signal", lambda number, handler: [None, real(number, handler)][0])
    try:
        with terminating_is_interrupting():
            pass
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        monkeypatch.undo()
        signal.signal(signal.SIGTERM, before)

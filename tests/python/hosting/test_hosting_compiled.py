"""Compiled programs, a process for each rank: in virtual time they print what they print on real MPI."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

import weft
from weft.hosting import limits
from weft.hosting.binary import libraries_of_mpi4py
from weft.hosting.library import open_mpi_path, path, standard_path
from weft.hosting.run import run
from weft.launch.mpiexec import command

SOURCES = sorted((Path(__file__).parent / "compiled").glob("*.c"))
INCLUDE = Path(sysconfig.get_path("data")) / "include" / "mpi.h"

pytestmark = [
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.skipif(not INCLUDE.exists(), reason="the headers of the MPICH wheel are not installed"),
]

HEAD = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int rank, size;
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
"""
TAIL = "    MPI_Finalize();\n    return 0;\n}\n"


def compiled(source, folder, *options):
    """The program that a C compiler makes of a source, with MPICH's headers and library."""
    program = folder / source.stem
    library = INCLUDE.parent.parent / "lib"
    cc = ["cc", "-O1", f"-I{INCLUDE.parent}", "-o", str(program), str(source), *options, f"-L{library}", "-lmpi", "-lm"]
    subprocess.run(cc, check=True)
    return program


def written(body, folder, *options):
    """The program of a main function of which only the middle is given."""
    source = folder / "program.c"
    source.write_text(HEAD + body + TAIL)
    return compiled(source, folder, *options)


def weft_run(program, *arguments, ranks, machine="ipsc860", options=()):
    start = [sys.executable, "-m", "weft.cli.main", "run", "--on", machine, "-n", str(ranks), *options]
    done = subprocess.run([*start, str(program), *arguments], check=False, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def virtual(program, *arguments, ranks, machine="ipsc860"):
    code, printed, said = weft_run(program, *arguments, ranks=ranks, machine=machine)
    assert code == 0, said
    return sorted(printed.splitlines())


@pytest.mark.mpi
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_what_is_printed_in_virtual_time_is_what_real_mpi_prints(tmp_path, source):
    program = compiled(source, tmp_path)
    for ranks in (2, 5):
        library = {"LD_LIBRARY_PATH": str(INCLUDE.parent.parent / "lib")}
        launch = [*command(), "-n", str(ranks), str(program)]
        real = subprocess.run(launch, check=True, capture_output=True, text=True, timeout=120, env=os.environ | library)
        expected = sorted(real.stdout.splitlines())
        assert expected
        for machine in ("ipsc860", "frontera"):
            assert virtual(program, ranks=ranks, machine=machine) == expected


@pytest.mark.skipif(not open_mpi_path().exists(), reason="the library with Open MPI's interface is not built")
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_program_prints_the_same_whichever_interface_it_was_compiled_for(tmp_path, source):
    """The programs with position-independent code and without, which have copies of the library's objects."""
    expected = virtual(compiled(source, tmp_path), ranks=5)
    header = source.parent / "openmpi"
    for name, options in (("pie", []), ("plain", ["-no-pie"])):
        program = tmp_path / name
        cc = ["cc", "-O1", *options, f"-I{header}", "-o", str(program), str(source), str(open_mpi_path())]
        subprocess.run(cc, check=True)
        assert virtual(program, ranks=5) == expected


OF_ATTRIBUTES = """there 1 1 1 1
host none 1, all reach files 1
allocated 1, unified 1
unified in Fortran 1 1
"""


@pytest.mark.skipif(not open_mpi_path().exists(), reason="the library with Open MPI's interface is not built")
def test_values_of_attributes_are_open_mpis(tmp_path):
    source = Path(__file__).parent / "compiled" / "openmpi" / "attributes.c"
    program = tmp_path / "attributes"
    subprocess.run(["cc", "-O1", "-o", str(program), str(source), str(open_mpi_path())], check=True)
    assert virtual(program, ranks=1) == sorted(OF_ATTRIBUTES.splitlines())


def test_every_rank_reaches_files(tmp_path):
    body = """
    int *io, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &io, &flag);
    printf("%d %d\\n", flag, *io == MPI_ANY_SOURCE);
    """
    assert virtual(written(body, tmp_path), ranks=2) == ["1 1", "1 1"]


OF_FORTRAN = """{0}: 1 1 1 1
{0}: largest 2 0
{0}: {1}.5, index 2, source {1}, tag 5, null 1 1
{0}: some 1, all 1
{0}: from {1}, {1}, flag 1
{0}: source {1}, same 1
{0}: generalized, tag 9
{0}: copied 107 and 100, 1
{0}: deleted 107
{0}: deleted 7
{0}: bound 1 1
{0}: groups of 1 and 2
{0}: sum 3
{0}: error 6 of 0
{0}: [weft] [weft  ]
"""


@pytest.mark.skipif(not open_mpi_path().exists(), reason="the library with Open MPI's interface is not built")
def test_programs_of_open_mpis_fortran_find_what_its_libraries_cannot_do_here(tmp_path):
    source = Path(__file__).parent / "compiled" / "openmpi" / "fortran.c"
    program = tmp_path / "fortran"
    subprocess.run(["cc", "-O1", "-o", str(program), str(source), str(open_mpi_path())], check=True)
    expected = "".join(OF_FORTRAN.format(rank, (rank - 1) % 3) for rank in range(3))
    assert virtual(program, ranks=3) == sorted(expected.splitlines())


OWN_INTERPRETER = """
import ctypes, os
mpi = ctypes.CDLL({library!r}, ctypes.RTLD_GLOBAL)
mpi.MPI_Init(None, None)
size = ctypes.c_int()
mpi.MPI_Comm_size(ctypes.byref((ctypes.c_char * 512).in_dll(mpi, "ompi_mpi_comm_world")), ctypes.byref(size))
names = "RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE"
print(size.value, *(os.environ["OMPI_COMM_WORLD_" + name] for name in names))
mpi.MPI_Finalize()
"""


@pytest.mark.skipif(not open_mpi_path().exists(), reason="the library with Open MPI's interface is not built")
def test_an_interpreter_gets_the_interface_that_its_mpi4py_was_linked_with(tmp_path):
    """As distributions have it; the one here is no more than a library that wants Open MPI's."""
    package = tmp_path / "mpi4py"
    package.mkdir()
    (package / "__init__.py").touch()
    extension = package / f"MPI{sysconfig.get_config_var('EXT_SUFFIX')}"
    link = ["cc", "-shared", "-fPIC", "-Wl,--no-as-needed", "-xc", "/dev/null", "-xnone", str(open_mpi_path())]
    subprocess.run([*link, "-o", str(extension)], check=True)
    script = tmp_path / "program.py"
    script.write_text(OWN_INTERPRETER.format(library=open_mpi_path().name))
    start = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", "3", "--ranks-per-node", "2"]
    done = subprocess.run(
        [*start, sys.executable, str(script)],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["3 0 3 0 2", "3 1 3 1 2", "3 2 3 0 1"]


SEVERAL = """
import importlib.util, os, pathlib, sys

class Finder:
    def find_spec(self, name, path, target=None):
        if name == "mpi4py.MPI":
            interface = os.environ.get("MPI4PY_MPIABI", "openmpi")
            return importlib.util.spec_from_file_location(name, pathlib.Path(__file__).with_name(f"MPI.{interface}.so"))

sys.meta_path.insert(0, Finder())
"""


@pytest.mark.skipif(not open_mpi_path().exists(), reason="the library with Open MPI's interface is not built")
def test_an_interpreters_mpi4py_with_several_interfaces_takes_that_of_the_library_it_finds(tmp_path, monkeypatch):
    """Alone it takes the MPI that the system has, as PyPI's does."""
    package = tmp_path / "mpi4py"
    package.mkdir()
    (package / "__init__.py").write_text(SEVERAL)
    for interface, library in (("openmpi", open_mpi_path()), ("mpich", path())):
        link = ["cc", "-shared", "-fPIC", "-Wl,--no-as-needed", "-xc", "/dev/null", "-xnone", str(library)]
        subprocess.run([*link, "-o", str(package / f"MPI.{interface}.so")], check=True)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("MPI4PY_MPIABI", raising=False)
    libraries = libraries_of_mpi4py(Path(sys.executable))
    assert path().name in libraries
    assert open_mpi_path().name not in libraries


def test_a_program_that_asks_for_versions_alone_need_not_initialize_mpi(tmp_path):
    source = tmp_path / "program.c"
    source.write_text(
        "#include <mpi.h>\n#include <stdio.h>\nint main(void) {\n    int major, minor, yes;\n"
        "    MPI_Get_version(&major, &minor);\n    MPI_Initialized(&yes);\n"
        '    printf("%d %d\\n", major > 2, yes);\n    return 0;\n}\n'
    )
    assert virtual(compiled(source, tmp_path), ranks=2) == ["1 0", "1 0"]


def test_a_program_is_started_by_the_name_that_it_is_called_by(tmp_path):
    """An interpreter of a virtual environment is a link, and finds its packages by that name."""
    program = written("if (rank == 0) puts(strrchr(argv[0], 47));", tmp_path)
    link = tmp_path / "by_another_name"
    link.symlink_to(program)
    assert virtual(link, ranks=2) == ["/by_another_name"]


STANDARD = pytest.mark.skipif(
    not (standard_path().exists() and (INCLUDE.parent / "mpi_abi.h").exists()),
    reason="the library with the standard's interface is not built, or the MPICH wheel has none",
)


def of_standard(source, program, *options):
    """The program that a C compiler makes of a source, with the standard's header and a library of its interface."""
    cc = ["cc", "-O1", "-DMPI_ABI", *options, f"-I{INCLUDE.parent}", "-o", str(program), str(source)]
    library = INCLUDE.parent.parent / "lib"
    subprocess.run([*cc, f"-L{library}", "-lmpi_abi", "-lm"], check=True)
    return program


@STANDARD
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_program_of_the_standards_interface_prints_what_it_prints_otherwise(tmp_path, source):
    expected = virtual(compiled(source, tmp_path), ranks=5)
    assert virtual(of_standard(source, tmp_path / "standard"), ranks=5) == expected


CHECKED = Path(__file__).parent / "compiled" / "standard" / "interface.c"


@STANDARD
@pytest.mark.parametrize("ranks", [2, 3])
def test_numbers_handles_and_errors_mean_what_the_standards_header_says(tmp_path, ranks):
    program = of_standard(CHECKED, tmp_path / "interface")
    assert virtual(program, str(tmp_path / "file"), ranks=ranks) == ["all is as the header says"]


@STANDARD
def test_every_datatype_of_the_standards_header_is_known_by_its_name(tmp_path):
    header = (INCLUDE.parent / "mpi_abi.h").read_text()
    names = re.findall(r"#define (MPI_\w+) +\(\(MPI_Datatype\)0x", header)
    names = [name for name in names if name != "MPI_DATATYPE_NULL"]
    assert len(names) > 60
    lines = "".join(f'    known({name}, "{name}");\n' for name in names)
    source = tmp_path / "names.c"
    source.write_text(
        """#include <mpi.h>
#include <stdio.h>
#include <string.h>
static void known(MPI_Datatype datatype, const char *expected) {
    char name[MPI_MAX_OBJECT_NAME];
    int length, size;
    MPI_Type_size(datatype, &size);
    MPI_Type_get_name(datatype, name, &length);
    printf("%s %s %d\\n", expected, name, size);
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
"""
        + lines
        + TAIL
    )
    same = {"MPI_LONG_LONG": "MPI_LONG_LONG_INT", "MPI_C_FLOAT_COMPLEX": "MPI_C_COMPLEX"}
    for line in virtual(of_standard(source, tmp_path / "names"), ranks=1):
        expected, name, size = line.split()
        assert name in (expected, same.get(expected)), line
        bits = re.search(r"INT(\d+)_T", expected)
        assert int(size) == int(bits[1]) // 8 if bits else int(size) > 0, line


@STANDARD
def test_every_function_of_the_standards_header_is_there():
    header = (INCLUDE.parent / "mpi_abi.h").read_text()
    wanted = set(re.findall(r"\b(P?MPI_\w+)\(", header.split("MPI_T_ENUM_NULL")[1]))
    library = ctypes.CDLL(str(standard_path()))
    assert len(wanted) > 1000
    assert [name for name in sorted(wanted) if not hasattr(library, name)] == []


def test_long_messages_arrive_whole_whatever_their_length(tmp_path):
    program = compiled(SOURCES[[source.stem for source in SOURCES].index("ring")], tmp_path)
    for count in (1, 30_000, 32_700, 65_000, 400_000):
        last = count - 1 + 1 + 2
        assert any(
            line.endswith(f"{count} numbers from 2 with tag 5, the last is {last:g}")
            for line in virtual(program, str(count), ranks=3)
        )


def test_a_program_that_waits_for_a_time_comes_to_its_end(tmp_path):
    body = """    double start = MPI_Wtime(), now;
    long readings = 0;
    for (now = start; now - start < 2.0; now = MPI_Wtime()) readings++;
    printf("%d %d\\n", now - start < 2.1, readings < 10000);
"""
    assert virtual(written(body, tmp_path), ranks=2) == ["1 1"] * 2


def test_a_datatype_may_be_freed_while_requests_need_it(tmp_path):
    body = """    int there[3] = {-1, -1, -1}, here[2] = {rank, 10 + rank}, other = 1 - rank;
    MPI_Request requests[3];
    MPI_Datatype strided, pair;
    MPI_Type_vector(2, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Recv_init(there, 1, strided, other, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(here, 1, pair, other, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&strided);
    MPI_Type_free(&pair);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    printf("%d %d %d\\n", there[0], there[1], there[2]);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
"""
    assert virtual(written(body, tmp_path), ranks=2) == ["0 -1 10", "1 -1 11"]


def test_a_program_of_sessions_ends_without_finalize(tmp_path):
    source = tmp_path / "sessions.c"
    source.write_text(
        """#include <mpi.h>
#include <stdio.h>
int main(void) {
    for (int round = 0; round < 2; round++) {
        MPI_Session session;
        MPI_Group group;
        MPI_Comm comm;
        int sum, one = 1;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        MPI_Group_from_session_pset(session, "mpi://world", &group);
        MPI_Comm_create_from_group(group, "a tag", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        printf("%d\\n", sum);
        MPI_Comm_free(&comm);
        MPI_Group_free(&group);
        MPI_Session_finalize(&session);
    }
    return 0;
}
"""
    )
    assert virtual(compiled(source, tmp_path), ranks=3) == ["3"] * 6


def test_two_runs_are_equal_and_times_are_those_of_a_script(tmp_path):
    body = """    double start = MPI_Wtime();
    char message[1024];
    for (int i = 0; i < 10; i++) {
        if (rank == 0) { MPI_Send(message, 1024, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
                         MPI_Recv(message, 1024, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
        if (rank == 1) { MPI_Recv(message, 1024, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                         MPI_Send(message, 1024, MPI_CHAR, 0, 0, MPI_COMM_WORLD); }
    }
    printf("%d %.15e\\n", rank, MPI_Wtime() - start);
"""
    program = written(body, tmp_path)
    script = tmp_path / "program.py"
    script.write_text(
        "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nstart = MPI.Wtime()\nmessage = bytearray(1024)\n"
        "for i in range(10):\n"
        "    if comm.rank == 0:\n        comm.Send(message, 1)\n        comm.Recv(message, 1)\n"
        "    if comm.rank == 1:\n        comm.Recv(message, 0)\n        comm.Send(message, 0)\n"
        "print('%d %.15e' % (comm.rank, MPI.Wtime() - start))\n"
    )
    first = virtual(program, ranks=2)
    assert first == virtual(program, ranks=2) == virtual(script, ranks=2)
    assert run(program, on="ipsc860", ranks=2).makespan == run(script, on="ipsc860", ranks=2).makespan


def test_a_script_with_isolated_ranks_prints_and_takes_what_it_does_in_one_process(tmp_path):
    programs = Path(__file__).parent / "programs"
    for name in ("conjugate_gradients", "master_worker", "nonblocking_collectives", "communicators"):
        script = programs / f"{name}.py"
        together = weft_run(script, ranks=4)
        apart = weft_run(script, ranks=4, options=["--isolate"])
        assert apart[0] == together[0] == 0, apart[2]
        assert sorted(apart[1].splitlines()) == sorted(together[1].splitlines())
        assert apart[2].splitlines()[-1] == together[2].splitlines()[-1]


def test_declared_computation_takes_what_the_machine_file_says_in_every_kind_of_rank(tmp_path):
    """On the iPSC/860, 1e9 operations of 0.05 us each, or 1e9 bytes at half of 0.0168 us each."""
    script = tmp_path / "program.py"
    script.write_text(
        "import weft\nfrom mpi4py import MPI\nstart = MPI.Wtime()\nweft.compute(flops=1e9, bytes=8)\n"
        "print('%.3f' % (MPI.Wtime() - start))\nstart = MPI.Wtime()\nweft.compute(bytes=1e10)\n"
        "print('%.3f' % (MPI.Wtime() - start))\n"
    )
    body = """    double start = MPI_Wtime();
    MPI_Pcontrol(2003134068, 1e9, 8.0);
    MPI_Pcontrol(1);
    printf("%.3f\\n", MPI_Wtime() - start);
    start = MPI_Wtime();
    MPI_Pcontrol(2003134068, 0.0, 1e10);
    printf("%.3f\\n", MPI_Wtime() - start);
"""
    expected = ["50.000"] * 2 + ["84.000"] * 2
    assert virtual(script, ranks=2) == virtual(written(body, tmp_path), ranks=2) == expected
    assert sorted(weft_run(script, ranks=2, options=["--isolate"])[1].splitlines()) == expected


def test_what_is_declared_is_an_amount():
    with pytest.raises(weft.UsageError, match="expected amounts from 0 to 1e18, found -1"):
        weft.compute(flops=-1)


@pytest.mark.mpi
def test_on_here_the_program_runs_on_real_mpi(tmp_path):
    body = '    printf("%d of %d\\n", rank, size);\n    MPI_Finalize();\n    exit(rank == 1 ? 5 : 0);\n'
    program = written(body, tmp_path)
    library = os.environ | {"LD_LIBRARY_PATH": str(INCLUDE.parent.parent / "lib")}
    start = [sys.executable, "-m", "weft.cli.main", "run", "--on", "here", "-n", "2"]
    done = subprocess.run([*start, str(program)], check=False, capture_output=True, text=True, timeout=60, env=library)
    assert done.returncode == 5
    assert "2 ranks on real MPI" in done.stderr
    with pytest.raises(weft.UsageError, match="on real MPI every rank is a process"):
        run(program, on="here", ranks=2, compute=1.0)


def test_more_ranks_than_processes_are_refused_before_they_start(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "_limits", lambda: [(70, "`ulimit -u` sets the limit")])
    program = written("", tmp_path)
    with pytest.raises(weft.UsageError, match="7 ranks are as many processes, and only 6 more may be started: `ulimit"):
        run(program, on="ipsc860", ranks=7)
    assert run(program, on="ipsc860", ranks=6).codes == (0,) * 6


def test_a_deadlock_names_each_rank_and_its_call(tmp_path):
    body = "    char byte;\n    MPI_Recv(&byte, 1, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
    code, _, said = weft_run(written(body, tmp_path), ranks=2)
    assert code == 1
    assert "deadlock: 2 of 2 ranks cannot go on" in said
    assert "rank 0: receive from rank 1, tag 7" in said
    assert "rank 1: MPI_Recv" in said


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 9);\n", 9, "rank 1: MPI_Abort with code 9"),
        ("    if (rank == 1) *(volatile int *)8 = 1;\n", 139, "rank 1: the process was ended by signal 11 (SIGSEGV"),
        ("    if (rank == 1) exit(3);\n", 3, "rank 1: the process ended with exit code 3 before MPI_Finalize"),
        ("    MPI_Finalize();\n    return rank == 1 ? 7 : 0;\n", 7, ""),
        (
            "    char two[2];\n    if (rank == 0) MPI_Send(two, 2, MPI_CHAR, 1, 0, MPI_COMM_WORLD);\n"
            "    else MPI_Recv(two, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n",
            14,
            "MPI_ERR_TRUNCATE: message truncated",
        ),
        (
            "    MPI_Comm other;\n    MPI_Comm_get_parent(&other);\n"
            '    MPI_Comm_spawn("x", NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, NULL);\n',
            44,
            "MPI_Comm_spawn is not supported in virtual time",
        ),
        ("    if (fork() == 0) MPI_Barrier(MPI_COMM_WORLD);\n", 0, "MPI_Barrier was called outside of a run"),
    ],
)
def test_the_exit_code_and_what_is_said_are_those_of_the_rank_that_failed(tmp_path, body, code, message):
    ended, _, said = weft_run(written(body, tmp_path), ranks=2)
    assert ended == code, said
    assert message in said


def test_a_program_that_never_calls_mpi_runs_once_a_rank(tmp_path):
    source = tmp_path / "plain.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("plain"); return 0; }\n')
    assert virtual(compiled(source, tmp_path), ranks=3) == ["plain"] * 3


SLEEPS = {
    "sleep": "sleep({})",
    "usleep": "for (int i = 0; i < {}; i++) usleep(1000000)",
    "nanosleep": "struct timespec t = {{{}, 0}}, left; if (nanosleep(&t, &left) != 0) abort()",
    "clock_nanosleep": "struct timespec t = {{{}, 0}}; if (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL)) abort()",
}


@pytest.mark.parametrize("name", SLEEPS)
def test_a_compiled_rank_sleeps_on_the_machine_and_keeps_nobody_here(tmp_path, name):
    """The second rank polls and sleeps until the first has slept for an hour."""
    body = f"""
    int flag = 0, naps = 0;
    if (rank == 0) {{
        {SLEEPS[name].format(3600)};
        MPI_Send(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }} else {{
        for (; !flag; naps++) {{
            {SLEEPS[name].format(10)};
            MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }}
        MPI_Recv(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%d %d\\n", naps >= 359 && naps <= 362, MPI_Wtime() >= 3600.0 && MPI_Wtime() < 3621.0);
    }}
"""
    program = written(body, tmp_path)
    assert virtual(program, ranks=2) == ["1 1"]


def test_a_compiled_rank_that_has_threads_really_sleeps(tmp_path):
    """The thread is what the rank waits for, and nothing that happens in the run ends the wait."""
    source = tmp_path / "program.c"
    source.write_text(
        "#include <pthread.h>\nstatic volatile int done;\n"
        "static void *work(void *unused);\n"
        + HEAD
        + """
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    while (!done) usleep(1000);
    pthread_join(thread, NULL);
    printf("%d\\n", MPI_Wtime() < 1e-3);
"""
        + TAIL
        + "static void *work(void *unused) { usleep(20000); done = 1; return unused; }\n"
    )
    assert virtual(compiled(source, tmp_path, "-pthread"), ranks=2) == ["1", "1"]


def test_what_ends_a_sleep_is_told_where_nobody_has_begun_to_communicate(tmp_path):
    source = tmp_path / "program.c"
    source.write_text(
        """#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static void wake(int number) {}
int main(void) {
    struct itimerval soon = {{0, 0}, {0, 1000}};
    struct timespec hour = {3600, 0}, left = {0, 0}, wrong = {0, -1};
    signal(SIGALRM, wake);
    setitimer(ITIMER_REAL, &soon, NULL);
    int code = nanosleep(&hour, &left);
    printf("%d %d %d\\n", code, errno == EINTR, left.tv_sec == 3599);
    setitimer(ITIMER_REAL, &soon, NULL);
    printf("%u\\n", sleep(3600));
    code = nanosleep(&wrong, NULL);
    printf("%d %d %d\\n", code, errno == EINVAL, clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, NULL) == EINVAL);
    return 0;
}
"""
    )
    assert virtual(compiled(source, tmp_path), ranks=1) == sorted(["-1 1 1", "3600", "-1 1 1"])


def test_after_ctrl_c_nothing_is_left_running(tmp_path):
    program = written('    fprintf(stderr, "pid %d\\n", getpid());\n    for (;;) usleep(1000);\n', tmp_path)
    start = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", "2", str(program)]
    with subprocess.Popen(start, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        pids = [int(process.stderr.readline().split()[1])]
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert "interrupted" in said
    pids += [int(line.split()[1]) for line in said.splitlines() if line.startswith("pid")]
    assert_ended(pids)


def test_ranks_end_with_a_command_that_is_killed(tmp_path):
    program = written('    fprintf(stderr, "pid %d\\n", getpid());\n    for (;;) usleep(1000);\n', tmp_path)
    start = [sys.executable, "-m", "weft.cli.main", "run", "--on", "ipsc860", "-n", "2", str(program)]
    with subprocess.Popen(start, stderr=subprocess.PIPE, text=True) as process:
        pid = int(process.stderr.readline().split()[1])
        process.kill()
    assert_ended([pid])


def assert_ended(pids):
    deadline = time.monotonic() + 20.0
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, "ranks outlive their run"
        time.sleep(0.01)


def test_a_binary_linked_statically_or_to_another_mpi_is_refused_by_name(tmp_path):
    source = tmp_path / "plain.c"
    source.write_text("int main(void) { return 0; }\n")
    plain = tmp_path / "static"
    built = subprocess.run(["cc", "-static", "-o", str(plain), str(source)], check=False, capture_output=True)
    if built.returncode == 0:
        with pytest.raises(weft.UsageError, match="is linked statically: its MPI cannot be replaced"):
            run(plain, on="ipsc860", ranks=2)
    other = tmp_path / "libmpi.so.20"
    subprocess.run(["cc", "-shared", f"-Wl,-soname,{other.name}", "-o", str(other), "-xc", "/dev/null"], check=True)
    program = tmp_path / "other"
    subprocess.run(["cc", "-Wl,--no-as-needed", "-o", str(program), str(source), str(other)], check=True)
    with pytest.raises(weft.UsageError, match=r"was built for Open MPI 2 \(libmpi.so.20\)"):
        run(program, on="ipsc860", ranks=2)


def test_what_cannot_be_run_is_refused(tmp_path):
    cut = tmp_path / "cut"
    cut.write_bytes(b"\x7fELF\x02\x01")
    cut.chmod(0o755)
    with pytest.raises(weft.UsageError, match="it is no program of 64 bits"):
        run(cut, on="ipsc860", ranks=2)
    cut.chmod(0o644)
    with pytest.raises(weft.UsageError, match="may not be run"):
        run(cut, on="ipsc860", ranks=2)


POLLING = """    int value = 0, flag = 0, looks = 0, probes = argc > 1;
    double before = 0, after = 0;
    if (rank == 0) {
        MPI_Pcontrol(2003134068, 1e9, 0.0);
        before = MPI_Wtime();
        for (int to = 1; to < size; to++) MPI_Send(&to, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    } else if (probes) {
        for (; !flag; looks++) MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Request requests[2];
        int flags[2] = {0, 0};
        MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
        while (!flags[0] || !flags[1])
            for (int i = 0; i < 2; i++, looks++) MPI_Test(&requests[i], &flags[i], MPI_STATUS_IGNORE);
    }
    after = MPI_Wtime();
    MPI_Bcast(&before, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == size - 1) printf("%d %d %.9f %.9f\\n", value, looks, before, after);
"""


@pytest.mark.parametrize("form", [[], ["probes"]])
def test_a_rank_that_polls_for_long_looks_seldom_and_finds_the_message_when_it_has_come(tmp_path, form):
    program = written(POLLING, tmp_path)
    (line,) = virtual(program, *form, ranks=4)
    value, looks, sent, found = (float(word) for word in line.split())
    assert value == 3
    # A look takes what receiving takes, some tens of microseconds, and the wait is some hundred seconds.
    assert sent > 20
    assert looks < 2000
    # Three messages are sent one after another.
    assert 0 < found - sent < 1e-3


def test_a_rank_that_polls_beside_another_takes_the_time_of_its_looks_alone(tmp_path):
    body = """    int flag, looks = 1000;
    MPI_Request request;
    if (rank == 0) {
        MPI_Irecv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        for (int i = 0; i < looks; i++) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        printf("%d %.6f\\n", flag, MPI_Wtime());
        MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
"""
    (line,) = virtual(written(body, tmp_path), ranks=2)
    flag, time = line.split()
    # Nothing can happen before the rank sends: its looks do not grow.
    assert flag == "0"
    assert 0.01 < float(time) < 0.2

"""Programs in C, C++ and Fortran: compiled, run, and compared with numpy."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from weft import capi
from weft.launch import mpiexec

HERE = Path(__file__).parent
C = ("gcc", "cc", "clang")
CPP = ("g++", "c++", "clang++")
FORTRAN = ("gfortran", "flang")


def compiler(names):
    found = next((name for name in names if shutil.which(name)), None)
    return found or pytest.skip(f"none of {', '.join(names)} in PATH")


def built(tmp_path, names, source, *options, language=()):
    program = tmp_path / source.replace(".", "_")
    flags = capi.fflags() if names is FORTRAN else capi.cflags()
    words = [compiler(names), *options, *flags, *language, str(HERE / source), "-o", str(program), *capi.libs()]
    done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return program


def run(words, **options):
    return subprocess.run(list(map(str, words)), check=False, capture_output=True, timeout=60, **options)


def eoshift(x, by, axis, boundary):
    """Fortran's EOSHIFT, element by element."""
    moved = np.moveaxis(x, axis, 0)
    result = np.empty_like(moved)
    for i in range(len(moved)):
        result[i] = moved[i + by] if 0 <= i + by < len(moved) else boundary
    return np.moveaxis(result, 0, axis)


def test_shifts_in_c(tmp_path):
    program = built(tmp_path, C, "shifts.c", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
    x = np.random.default_rng(1).standard_normal((5, 7))
    done = run([program], input=x.tobytes())
    assert done.returncode == 0, done.stderr
    results = np.frombuffer(done.stdout).reshape(4, 5, 7)
    expected = [
        np.roll(x, -2, 0),
        np.roll(x, 9, 1),
        eoshift(x, 1, 0, 9.0),
        eoshift(x, -2, 1, np.array([-1, 2, 3, 4, 5.0])),
    ]
    np.testing.assert_array_equal(results, expected)


def test_shifts_and_ghosts_in_cpp(tmp_path):
    program = built(tmp_path, CPP, "shifts.cpp", "-std=c++17", "-Wall", "-Wextra", "-Werror")
    x = np.random.default_rng(2).standard_normal((5, 7))
    done = run([program], input=x.tobytes())
    assert done.returncode == 0, done.stderr
    numbers = np.frombuffer(done.stdout)
    np.testing.assert_array_equal(numbers[:35].reshape(5, 7), np.roll(x, -2, 0))
    np.testing.assert_array_equal(numbers[35:70].reshape(5, 7), eoshift(x, -1, 1, 9.0))
    np.testing.assert_array_equal(numbers[70:].reshape(7, 7), np.pad(x, ((1, 1), (0, 0)), mode="wrap"))
    assert done.stderr == b"2 shift 0: there is no axis 4 in an array of rank 2\n"


def test_shifts_and_ghosts_in_fortran(tmp_path):
    program = built(tmp_path, FORTRAN, "shifts.f90", "-std=f2008")
    done = run([program])
    # The program compares with CSHIFT and EOSHIFT; the last call has no ierr, and ends it.
    assert done.stdout == b"2 shift 0: there is no axis 2 in an array of rank 2\n", done.stderr
    assert b"weft: shift 0: there is no axis 2 in an array of rank 2" in done.stderr
    assert done.returncode == 1


def test_mistakes_in_c(tmp_path):
    done = run([built(tmp_path, C, "mistakes.c")])
    assert done.returncode == 0
    assert done.stdout.decode().splitlines() == [
        "2 shift 0: there is no axis 2 in an array of rank 2",
        "1",
        "2 an element has 0 bytes",
        "2 shift 0 has boundary 77: expected WEFT_CIRCULAR, WEFT_VALUE or WEFT_ARRAY",
        "2 the boundary of shift 0 is NULL",
        "2 shape is NULL",
        f"2 an array has at most 64 axes, not {2**64 - 1}",
        "2 an array has at most 64 axes, not 65",
        f"2 shifts: no memory holds {2**64 - 1} of them",
        "2 the pointer to write to is NULL",
        "0 ",
        "2 result 0 overlaps source 0: give each shift memory of its own",
        "2 result 0 is NULL",
        "2 plan is NULL",
        "0 ",
        "2 the grid (2, 1) has 2 ranks, but there are 1",
        "2 an array has at most 64 axes, not 200",
        "0 ",
        "2 corners is 7: expected 0, 1 or 2",
        "2 a block of [4, 6] with ghosts of widths [[0, 4611686018427387904], [0, 0]] and 8 bytes an element fits into "
        "no memory",
        "0 ",
        "2 this exchange has not begun",
        "0 ",
        "2 this exchange has begun already: end it before it begins again",
        "0 ",
    ]


def with_ghosts():
    """The array of halo.c with its ghosts, by numpy.pad along one axis after the other."""
    x = 10.0 * np.arange(7)[:, None] + np.arange(5)
    rows = np.pad(x, ((2, 0), (0, 0)), mode="reflect")
    rows = np.pad(rows, ((0, 1), (0, 0)), constant_values=100)
    left = np.pad(rows, ((0, 0), (1, 0)), mode="wrap")[:, :1]
    return np.hstack([left, np.pad(rows, ((0, 0), (0, 2)), mode="symmetric")]), np.roll(x, -3, 0)


def check_blocks(folder, ranks):
    """What the ranks wrote: blocks and their ghosts, and the shift of the blocks, whose ghosts are as they were."""
    padded, moved = with_ghosts()
    sites = 0
    for rank in range(ranks):
        head, ghosts, shifted = (folder / str(rank)).read_text().split("\n")
        i, j, n, m, rows, columns = map(int, head.split())
        block = np.array(ghosts.split(), float).reshape(rows, columns)
        if n and m:
            np.testing.assert_array_equal(block[: n + 3, : m + 3], padded[i : i + n + 3, j : j + m + 3])
        result = np.array(shifted.split(), float).reshape(rows, columns)
        np.testing.assert_array_equal(result[2 : n + 2, 1 : m + 1], moved[i : i + n, j : j + m])
        assert (result[:2] == -1).all()
        sites += n * m
    assert sites == 35


def launched(ranks, program, *words, library=None):
    environment = {**os.environ, "WEFT_BLOCKED_LIMIT": "20"}
    environment.pop("WEFT_MPI_LIBRARY", None)
    if library:
        environment["WEFT_MPI_LIBRARY"] = library
    done = run([*mpiexec.command(), "-n", ranks, program, *words], env=environment)
    assert done.returncode == 0, done.stderr


def test_ghosts_of_one_process(tmp_path):
    assert run([built(tmp_path, C, "halo.c"), "alone", tmp_path]).returncode == 0
    check_blocks(tmp_path, 1)


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [1, 2, 3, 6])
def test_ghosts_over_ranks(tmp_path, ranks):
    launched(ranks, built(tmp_path, C, "halo.c"), "launched", tmp_path, library=mpiexec.library())
    check_blocks(tmp_path, ranks)


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_ghosts_over_the_program_s_own_communicator(tmp_path, ranks):
    wrapper = Path(mpiexec.command()[0]).parent / "mpicc"
    if not wrapper.is_file():
        pytest.skip("this MPI has no mpicc")
    compiler(C)
    program = built(tmp_path, (str(wrapper),), "halo.c", "-DWITH_MPI")
    launched(ranks, program, "own", tmp_path)
    check_blocks(tmp_path, ranks)


def test_the_header_is_that_of_c_and_of_cpp(tmp_path):
    for names, option in ((C, "-std=c99"), (CPP, "-std=c++17")):
        source = tmp_path / "only.c"
        source.write_text("#include <weft.h>\nint main(void) { return weft_version() < 0; }\n")
        words = [
            compiler(names),
            "-x",
            "c" if names is C else "c++",
            option,
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pedantic",
        ]
        subprocess.run([*words, *capi.cflags(), "-fsyntax-only", str(source)], check=True)

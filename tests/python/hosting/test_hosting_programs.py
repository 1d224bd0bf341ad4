"""Unmodified programs with mpi4py: in virtual time they print what they print on real MPI."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.hosting.library import path
from weft.launch.mpiexec import command

PROGRAMS = sorted(program for program in (Path(__file__).parent / "programs").glob("*.py") if program.stem != "beside")
MACHINES = ("ipsc860", "frontera", "tpu-v4")

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
]


def virtual(program, ranks, machine, *options):
    """Lines that the ranks print in virtual time."""
    weft = [sys.executable, "-m", "weft.cli.main", "run", "--on", machine, "-n", str(ranks), *options, str(program)]
    # Without buffers Python writes the end of a line by itself, and the lines of two processes mix.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(weft, check=False, capture_output=True, text=True, timeout=120, env=variables)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


def real(program, ranks, folder):
    """Lines that the ranks print on real MPI."""
    to_files = Path(__file__).parent / "to_files.py"
    launch = [*command(), "-n", str(ranks), sys.executable, str(to_files), str(folder), str(program)]
    done = subprocess.run(launch, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return sorted(line for file in folder.iterdir() for line in file.read_text().splitlines())


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("program", "machine"),
    # What a program prints is the same on all machines: each runs on one of them.
    [pytest.param(program, MACHINES[i % len(MACHINES)], id=program.stem) for i, program in enumerate(PROGRAMS)],
)
def test_what_is_printed_in_virtual_time_is_what_real_mpi_prints(tmp_path, program, machine):
    ranks = 4
    expected = real(program, ranks, tmp_path)
    assert expected
    assert virtual(program, ranks, machine) == expected


WINDOWS = ("one_sided_histogram", "swapped_lock", "exposed_groups", "attached_list")
FILES = ("files_by_views", "shared_pointers")


@pytest.mark.parametrize("name", WINDOWS + FILES)
def test_ranks_with_a_process_each_print_what_those_of_one_process_print(name):
    """Windows and files: the hub reaches into the memory of the ranks, and keeps shared pointers."""
    program = next(program for program in PROGRAMS if program.stem == name)
    expected = virtual(program, 4, "ipsc860")
    assert expected
    assert virtual(program, 4, "ipsc860", "--isolate") == expected


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 17])
def test_collectives_are_right_for_any_number_of_ranks(ranks):
    """Against the definitions, computed by each rank for itself."""
    program = Path(__file__).parent / "collectives_by_definition.py"
    assert virtual(program, ranks, "frontera") == sorted(f"{rank} right" for rank in range(ranks))

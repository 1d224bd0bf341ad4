"""The page of MPI's functions says what the library has."""

import subprocess

import pytest
from mpi_calls import PAGE, functions, page

from weft.hosting.library import path


def test_the_page_is_made_from_the_table():
    assert PAGE.read_text() == page(), "run tests/python/house/mpi_calls.py"


@pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built")
def test_the_library_has_every_function_of_the_table():
    symbols = subprocess.run(["nm", "-D", "--defined-only", path()], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in symbols.splitlines()}
    assert {f"MPI_{name}" for name in functions()} <= names
    assert {"MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY"} <= names

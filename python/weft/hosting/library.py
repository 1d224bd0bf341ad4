"""The library that stands in for MPI: where it is, and loading it before any program asks for its own."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

__all__ = ["load", "open_mpi_path", "path", "standard_path"]

NAME = "libmpi.so.12"
"""What programs that were compiled against MPICH's interface ask for."""


OPEN_MPI_NAME = "libmpi.so.40"
"""What programs that were compiled against Open MPI 3, 4 or 5 ask for."""


OF_MPI4PY = {"MPI4PY_MPIABI": "mpich"}
"""The variable by which an mpi4py that has several interfaces, as PyPI's, takes that of `NAME`."""


STANDARD_NAMES = ("libmpi_abi.so.1", "libmpi_abi.so.0")
"""What programs that were compiled against the standard's own interface ask for."""


def path() -> Path:
    """Path of the library."""
    return Path(__file__).parent / "lib" / NAME


def open_mpi_path() -> Path:
    """Path of the library that has Open MPI's interface and calls the other one."""
    return Path(__file__).parent / "lib" / OPEN_MPI_NAME


def standard_path() -> Path:
    """Path of the library that has the standard's interface and calls the first one."""
    return Path(__file__).parent / "lib" / STANDARD_NAMES[0]


@functools.cache
def load() -> ctypes.PyDLL:
    """Load the library so that all that is loaded later finds MPI in it.

    Its functions are called with the interpreter's lock held: the programs that it runs are Python's.
    """
    library = ctypes.PyDLL(os.fspath(path()), mode=ctypes.RTLD_GLOBAL)
    library.weft_run.argtypes = (ctypes.c_char_p, ctypes.c_void_p)
    library.weft_run.restype = None
    library.weft_finished.argtypes = (ctypes.c_int,)
    library.weft_finished.restype = None
    return library

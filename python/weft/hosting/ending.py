"""How a rank of a process begins and ends MPI while others go on."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from weft.hosting.library import path

__all__ = ["end", "own_beginning", "own_end"]

_MPI4PY = "mpi4py.MPI"


def own_end() -> bool:
    """Let `MPI.Finalize` end MPI for the rank that calls it, if mpi4py is loaded; whether it is.

    mpi4py's own function first clears what it keeps once for the process: the key and the tags of the communicators
    over which it sends pickled objects. A rank that is done early would take them from those that still need them.
    """
    mpi: Any = sys.modules.get(_MPI4PY)
    if mpi is None:
        return False
    mpi.Finalize = _finalize
    return True


def own_beginning() -> None:
    """Let each rank initialize MPI by itself where mpi4py, which all share, was told not to as it was loaded."""
    options = getattr(sys.modules.get("mpi4py"), "rc", None)
    if not getattr(options, "initialize", True):
        ctypes.CDLL(str(path())).weft_each_initializes()


def end() -> None:
    """End MPI for the rank that runs, unless its program has done so or never began."""
    mpi: Any = sys.modules.get(_MPI4PY)
    if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        _finalize()


def _finalize() -> None:
    """Terminate the MPI execution environment."""
    mpi: Any = sys.modules[_MPI4PY]
    # The rank may wait in the call while others run: as from mpi4py, it is made without the interpreter's lock.
    if code := ctypes.CDLL(str(path())).MPI_Finalize():
        raise mpi.Exception(code)

"""Errors that programs ask for: which handler is called, and what the call leaves."""

import importlib.util

import pytest

import weft
from weft.hosting.library import path

pytestmark = [
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
]

WINDOW = """\
from mpi4py import MPI
window = MPI.Win.Allocate(8, comm=MPI.COMM_WORLD)
MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_ARE_FATAL)
MPI.COMM_SELF.Set_errhandler(MPI.ERRORS_ARE_FATAL)
window.Set_errhandler(MPI.ERRORS_RETURN)
window.Lock(0, MPI.LOCK_SHARED)
try:
    window.Free()
except MPI.Exception as error:
    print(error.Get_error_class() == MPI.ERR_RMA_SYNC)
window.Unlock(0)
window.Free()
"""


def test_freeing_a_window_asks_the_error_handler_of_the_window(tmp_path, capfd):
    script = tmp_path / "program.py"
    script.write_text(WINDOW)
    weft.run(script, on="ipsc860", ranks=2)
    assert capfd.readouterr().out.splitlines() == ["True", "True"]

"""Measuring in a program that has started MPI itself, through mpi4py."""

import importlib.util
import json
import subprocess
import sys

import pytest

from weft.launch import mpiexec
from weft.launch.request import Request

pytestmark = pytest.mark.mpi

PROGRAM = """
import sys
from mpi4py import MPI
from weft import _core
rows = _core.run_mpi_rank(sys.argv[1], "")
total = MPI.COMM_WORLD.allreduce(1)
if rows is not None:
    print(total, rows)
"""


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")
def test_ranks_of_mpi4py_measure(native):
    request = Request("echo", 2, {"bytes": (8,), "iterations": 2, "warmup": 1}).to_json()
    words = [*mpiexec.command(), "-n", "2", sys.executable, "-c", PROGRAM, request]
    out = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
    total, rows = out.split(maxsplit=1)
    assert total == "2"
    assert [row["bytes"] for row in json.loads(rows)] == [8]

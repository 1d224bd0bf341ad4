"""Parallel variables under a real mpiexec: the same answers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.launch import mpiexec

PROGRAM = Path(__file__).parent / "pvar_rank_program.py"


@pytest.mark.mpi
@pytest.mark.parametrize(
    "scenario",
    [
        *("primitives", "numpy", "more_numpy", "scans", "own_functions", "own_arrays", "none", "order", "elements"),
        *("mistakes", "metered", "floats"),
    ],
)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_do(native, scenario, ranks):
    words = [*mpiexec.command(), "-n", str(ranks), sys.executable, str(PROGRAM), scenario]
    environment = {**os.environ, "WEFT_BLOCKED_LIMIT": "60"}
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"{scenario}: ok") == ranks, done.stdout + done.stderr

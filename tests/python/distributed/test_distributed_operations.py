"""Distributed arrays as numpy's, on one rank and over several."""

from pathlib import Path

import pytest
from test_distributed_ranks import succeed

PROGRAM = Path(__file__).parent / "operations_program.py"


@pytest.mark.mpi
@pytest.mark.parametrize(
    "scenario",
    [
        "elements",
        "reductions",
        "functions",
        "broadcasting",
        "parts",
        "redistribution",
        "copies",
        "arguments",
        "nans",
        "separated",
        "mistakes",
    ],
)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_ranks_do(native, scenario, ranks):
    succeed(ranks, scenario, program=PROGRAM)

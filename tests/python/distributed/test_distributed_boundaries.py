"""Boundaries of each end of each axis, over ranks."""

from pathlib import Path

import pytest
from test_distributed_ranks import succeed

PROGRAM = Path(__file__).parent / "boundary_program.py"


@pytest.mark.mpi
@pytest.mark.parametrize(
    "scenario",
    [
        "halos",
        "stencils",
        "stencils_by_numpy",
        "corners_of_eoshift",
        "plans_end_with_their_stencil",
        "distributed_coefficients",
        "updates",
        "mistakes",
    ],
)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_ranks_do(native, scenario, ranks):
    succeed(ranks, scenario, program=PROGRAM)

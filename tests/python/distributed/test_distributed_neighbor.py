"""`weft.arrays.neighbor_alltoallv` against MPI's own collective, in programs with mpi4py."""

import importlib.util
import subprocess
import sys

import pytest

from weft.launch import mpiexec

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
]

PROGRAM = """
import numpy as np
from mpi4py import MPI
import weft
from weft.distributed.neighbor import STRATEGIES, neighbor_choice

world = MPI.COMM_WORLD
size, rank = world.Get_size(), world.Get_rank()
others = [other for other in range(size) if other != rank]
topologies = {
    "torus": world.Create_cart(MPI.Compute_dims(size, 3), periods=[True] * 3),
    "mesh": world.Create_cart(MPI.Compute_dims(size, 2), periods=[False] * 2),
    "patches": world.Create_dist_graph_adjacent(others * 3 + [rank], [rank] + others * 3),
}
for name, comm in topologies.items():
    if comm.Get_topology() == MPI.CART:
        into = out = 2 * comm.Get_dim()
        counts_in = counts_out = [3] * out
    else:
        into, out, _ = comm.Get_dist_neighbors_count()
        # Edge e between two ranks has e + 1 elements.
        counts_out = [2] + [1 + place // len(others) for place in range(out - 1)]
        counts_in = [1 + place // len(others) for place in range(into - 1)] + [2]
    for strategy in (None, *STRATEGIES, "collective", "measure"):
        for step in range(3):
            send = np.arange(sum(counts_out), dtype=np.int64) + 1000 * rank + 100000 * step
            right, found = np.zeros(sum(counts_in), dtype=np.int64), np.zeros(sum(counts_in), dtype=np.int64)
            comm.Neighbor_alltoallv([send, counts_out], [right, counts_in])
            first = strategy if step == 0 else None
            weft.arrays.neighbor_alltoallv(comm, [send, counts_out], [found, counts_in], strategy=first)
            assert (right == found).all(), (name, strategy, step, right, found)
            # The same buffers again, with other numbers in them.
            send += 7
            comm.Neighbor_alltoallv([send, counts_out], [right, counts_in])
            weft.arrays.neighbor_alltoallv(comm, [send, counts_out], [found, counts_in])
            assert (right == found).all(), (name, strategy, step, "again")
            # Counts as an array, with displacements.
            places = np.concatenate([[0], np.cumsum(counts_out[:-1])])
            arrays = [send, (np.array(counts_out), places), MPI.INT64_T]
            weft.arrays.neighbor_alltoallv(comm, arrays, [found, counts_in])
            assert (right == found).all(), (name, strategy, step, "arrays")
            comm.Neighbor_alltoallv([send, counts_out], [right, counts_in])
            weft.arrays.neighbor_alltoallv(comm, [send, np.array(counts_out)], [found, counts_in])
            assert (right == found).all(), (name, strategy, step, "an array of counts")
        choice = neighbor_choice(comm)
        assert choice.strategy == (strategy if strategy in (*STRATEGIES, "collective") else choice.strategy)
    comm.Free()
for wrong, message in (
    ((world, [send, [1]], [found, [1]]), "has no topology"),
):
    try:
        weft.arrays.neighbor_alltoallv(*wrong)
    except weft.UsageError as error:
        assert message in str(error)
    else:
        raise AssertionError(message)
comm = world.Create_dist_graph_adjacent(others, others)
for arguments, message in (
    (([send, [1, 2, 3, 4, 5]], [found, [1] * len(others)]), "sendbuf has 5 counts for"),
    (([send, [10**9] * len(others)], [found, [1] * len(others)]), "are not in an array of"),
    ((send, [found, [1]]), "sendbuf must be [array, counts"),
    (([send[::2], [1] * len(others)], [found, [1] * len(others)]), "contiguous"),
):
    try:
        weft.arrays.neighbor_alltoallv(comm, *arguments)
    except weft.UsageError as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)
print("all right")
"""


@pytest.mark.parametrize("ranks", [2, 3])
def test_every_way_gives_what_mpi_gives(native, ranks):
    words = [*mpiexec.command(), "-n", str(ranks), sys.executable, "-c", PROGRAM]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("all right") == ranks

"""Collectives against what the standard says that they do, computed from all ranks' data without messages."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size


def data(other, count):
    """What a rank has."""
    return np.random.default_rng([other, count]).integers(-50, 50, count).astype("l")


for count in (0, 1, 7, 2049):
    all_data = [data(other, count) for other in range(size)]
    own = all_data[rank].copy()
    for root in {0, size // 2, size - 1}:
        got = own.copy()
        comm.Bcast(got, root)
        assert (got == all_data[root]).all()
        result = np.zeros(count, "l")
        comm.Reduce(own, result, MPI.SUM, root)
        assert rank != root or (result == sum(all_data)).all()
    for operation, function in ((MPI.SUM, np.add), (MPI.MAX, np.maximum), (MPI.BXOR, np.bitwise_xor)):
        result = np.zeros(count, "l")
        comm.Allreduce(own, result, operation)
        assert (result == function.reduce(all_data)).all()
        comm.Scan(own, result, operation)
        assert (result == function.reduce(all_data[: rank + 1])).all()
        comm.Exscan(own, result, operation)
        assert rank == 0 or (result == function.reduce(all_data[:rank])).all()
    whole = np.zeros(count * size, "l")
    comm.Allgather(own, whole)
    assert (whole == np.concatenate(all_data)).all()
    requests = [comm.Iallgather(own, whole), comm.Ibarrier()]
    MPI.Request.Waitall(requests)
    assert (whole == np.concatenate(all_data)).all()
    blocks = [np.concatenate([all_data[source] + target for target in range(size)]) for source in range(size)]
    exchanged = np.zeros(count * size, "l")
    comm.Alltoall(blocks[rank], exchanged)
    assert (exchanged == np.concatenate([all_data[source] + rank for source in range(size)])).all()
    part = np.zeros(count, "l")
    comm.Reduce_scatter_block(blocks[rank], part, MPI.SUM)
    assert (part == sum(all_data) + size * rank).all()
    comm.Reduce_scatter(blocks[rank], part, [count] * size, MPI.MAX)
    assert (part == np.maximum.reduce(all_data) + rank).all()
    comm.Reduce_scatter_block(MPI.IN_PLACE, blocks[rank], MPI.SUM)
    assert (blocks[rank][:count] == sum(all_data) + size * rank).all()
print(rank, "right")

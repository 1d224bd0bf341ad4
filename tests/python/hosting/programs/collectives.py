"""Every collective of buffers, at awkward lengths and with every root."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
checksum = []


def note(array):
    flat = np.asarray(array, dtype=float).reshape(-1)
    checksum.append(round(float((flat * np.arange(1, flat.size + 1)).sum()), 3))


for count in (0, 1, 2, 3, 1000, 1025):
    own = np.arange(count, dtype="d") + rank
    for root in range(size):
        data = own.copy()
        comm.Bcast(data, root)
        note(data)
        whole = np.zeros(count * size) if rank == root else None
        comm.Gather(own, whole, root)
        if rank == root:
            note(whole)
        part = np.zeros(count)
        comm.Scatter(whole, part, root)
        note(part)
        result = np.zeros(count)
        comm.Reduce(own, result, MPI.SUM, root)
        note(result)
    whole = np.zeros(count * size)
    comm.Allgather(own, whole)
    note(whole)
    exchanged = np.zeros(count * size)
    comm.Alltoall(whole + rank, exchanged)
    note(exchanged)
    for kind in ("b", "h", "i", "l", "f", "d", "B", "H"):
        values = (np.arange(count) % 5 + rank).astype(kind)
        result = np.zeros(count, dtype=kind)
        for operation in (MPI.SUM, MPI.MAX, MPI.MIN, MPI.PROD):
            comm.Allreduce(values, result, operation)
            note(result)
        comm.Scan(values, result)
        note(result)
    counts = [count + other for other in range(size)]
    gathered = np.zeros(sum(counts))
    comm.Allgatherv(np.arange(counts[rank], dtype="d") + rank, [gathered, counts])
    note(gathered)
    scattered = np.zeros(counts[rank])
    comm.Reduce_scatter(np.arange(sum(counts), dtype="d") * (rank + 1), scattered, counts)
    note(scattered)
print(rank, checksum)

"""Ranks put into and get from their neighbours' windows, which open them for these groups only."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
left, right = (rank - 1) % size, (rank + 1) % size
window = MPI.Win.Allocate(16 * 8, 8, comm=comm)
memory = np.frombuffer(window.tomemory(), dtype="d")
memory[:] = np.arange(16) + 100 * rank
neighbors = sorted({left, right})
group = comm.group.Incl(neighbors)
comm.Barrier()
column = MPI.DOUBLE.Create_vector(4, 1, 4).Commit()
received = np.zeros(4)
for step in range(3):
    sent = np.full(4, 1000.0 * rank + step)
    window.Post(group)
    window.Start(group)
    window.Put([sent, 4, MPI.DOUBLE], right, target=(1, 1, column))
    window.Get([received, 4, MPI.DOUBLE], left, target=(3, 1, column))
    window.Complete()
    window.Wait()
    print(rank, step, memory.reshape(4, 4)[:, 1].tolist(), received.tolist())
column.Free()
group.Free()
comm.Barrier()
window.Free()

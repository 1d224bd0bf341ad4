"""Messages of unknown length are taken out by matched probes, whatever comes first."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
for other in range(size):
    if other != rank:
        comm.isend(np.arange(rank + other, dtype="d"), dest=other, tag=rank).wait()
status, got = MPI.Status(), {}
while len(got) < size - 1:
    message = comm.mprobe(status=status)
    got[status.source] = message.recv().tolist()
print(rank, sorted(got.items()), comm.iprobe())

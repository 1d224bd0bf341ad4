"""A message that ends between the pieces of the datatype that it is received as."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
apart = MPI.INT.Create_indexed([1, 2, 1], [4, 8, 16]).Commit()
for sent in (4, 8, 16):
    into, status = np.full(32, -1, "i"), MPI.Status()
    request = comm.Irecv([into, 1, apart], (rank - 1) % size, 1)
    comm.Send([np.ones(sent, "b"), MPI.BYTE], (rank + 1) % size, 1)
    request.Wait(status)
    print(rank, sent, status.Get_elements(apart), np.flatnonzero(into != -1).tolist())
apart.Free()

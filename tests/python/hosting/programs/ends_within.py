"""A message that ends within an element of the datatype that it is received as."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
apart = MPI.INT.Create_indexed([1, 2, 1], [4, 8, 16]).Commit()
comm.Set_errhandler(MPI.ERRORS_RETURN)
for sent in (3, 4, 6, 8, 16):
    into = np.full(32, -1, "i")
    request = comm.Irecv([into, 1, apart], (rank - 1) % size, 1)
    comm.Send([np.ones(sent, "b"), MPI.BYTE], (rank + 1) % size, 1)
    try:
        request.Wait()
        outcome = "whole"
    except MPI.Exception as error:
        outcome = error.Get_error_class() == MPI.ERR_TYPE
    print(rank, sent, outcome)
apart.Free()

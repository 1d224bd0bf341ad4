"""A linked list over the ranks: memory is attached when it is needed, and found by its address."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
window = MPI.Win.Create_dynamic(comm=comm)
# An element: a value, the rank of the next element, and its address.
element = np.array([rank * rank + 1, (rank + 1) % size, 0], dtype="i8")
window.Attach(element)
addresses = comm.allgather(MPI.Get_address(element))
element[2] = addresses[(rank + 1) % size]
comm.Barrier()
owner, address, values = rank, addresses[rank], []
window.Lock_all()
for _ in range(size):
    found = np.zeros(3, dtype="i8")
    window.Get(found, owner, target=(address, 3, MPI.LONG))
    window.Flush(owner)
    values.append(int(found[0]))
    owner, address = int(found[1]), int(found[2])
window.Unlock_all()
comm.Barrier()
window.Detach(element)
window.Free()
print(rank, values)

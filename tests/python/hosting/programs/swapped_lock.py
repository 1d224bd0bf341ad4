"""A lock of the program's own: a word that ranks swap, and a counter that is only right if the lock is."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
window = MPI.Win.Allocate(2 * 8 if comm.rank == 0 else 0, 8, comm=comm)
if comm.rank == 0:
    np.frombuffer(window.tomemory(), dtype="i8")[:] = 0
comm.Barrier()
free, taken, before = np.zeros(1, "i8"), np.full(1, comm.rank + 1, "i8"), np.zeros(1, "i8")
window.Lock_all()
for _ in range(4):
    while True:
        window.Compare_and_swap(taken, free, before, 0, 0)
        window.Flush(0)
        if before[0] == 0:
            break
    value = np.zeros(1, "i8")
    window.Get(value, 0, target=(1, 1, MPI.LONG))
    window.Flush(0)
    window.Put(value + 1, 0, target=(1, 1, MPI.LONG))
    window.Flush(0)
    window.Accumulate(free, 0, target=(0, 1, MPI.LONG), op=MPI.REPLACE)
    window.Flush(0)
window.Unlock_all()
comm.Barrier()
window.Lock(0, MPI.LOCK_SHARED)
value = np.zeros(1, "i8")
window.Rget(value, 0, target=(1, 1, MPI.LONG)).Wait()
window.Unlock(0)
print(comm.rank, int(value[0]) == 4 * comm.size)
window.Free()

"""A histogram whose bins lie on all ranks: accumulated between fences, and then counted again under locks."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size, bins = comm.rank, comm.size, 5
own = np.zeros(bins, dtype="i8")
window = MPI.Win.Create(own, disp_unit=own.itemsize, comm=comm)
numbers = np.random.default_rng(rank).integers(0, bins * size, 40)
ones = np.ones(1, dtype="i8")

window.Fence()
for number in numbers:
    window.Accumulate(ones, int(number) // bins, target=(int(number) % bins, 1, MPI.LONG), op=MPI.SUM)
window.Fence()
print(rank, "fences", own.tolist())
comm.Barrier()

window.Lock_all()
for number in numbers[::4]:
    before = np.zeros(1, dtype="i8")
    window.Fetch_and_op(ones, before, int(number) // bins, int(number) % bins, op=MPI.SUM)
    window.Flush(int(number) // bins)
    assert before[0] > 0
window.Unlock_all()
comm.Barrier()
print(rank, "locks", own.tolist(), comm.allreduce(int(own.sum())))
window.Free()

"""Sorts by exchanges with the neighbour on one side and on the other, in turns."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
numbers = np.sort(np.random.default_rng(rank + 3).integers(0, 1000, 9))
other = np.empty_like(numbers)
for phase in range(size):
    partner = rank + 1 if (rank + phase) % 2 == 0 else rank - 1
    if not 0 <= partner < size:
        partner = MPI.PROC_NULL
    comm.Sendrecv(numbers, partner, phase, other, partner, phase)
    if partner != MPI.PROC_NULL:
        both = np.sort(np.concatenate([numbers, other]))
        numbers = both[:9].copy() if rank < partner else both[9:].copy()
print(rank, numbers.tolist())

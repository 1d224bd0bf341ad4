"""Random walks with generators of each rank's own, and their histogram on the root."""

import random

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
random.seed(100 + comm.rank)
np.random.seed(comm.rank)
ends = []
for _ in range(20):
    position = 0
    for _ in range(30):
        position += random.choice((-1, 1))
        comm.Barrier() if random.random() < 0 else None
    ends.append(position)
steps = np.random.normal(size=50).cumsum()
histogram = np.bincount(np.abs(ends), minlength=31).astype("i")
total = np.zeros_like(histogram) if comm.rank == 0 else None
comm.Reduce(histogram, total, root=0)
everyone = comm.gather(round(float(steps[-1]), 9), root=0)
print(comm.rank, total.tolist() if comm.rank == 0 else ends, everyone)

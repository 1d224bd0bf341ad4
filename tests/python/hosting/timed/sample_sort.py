"""Sorts numbers by splitters that all ranks choose together, again and again."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
count = 100_000
random = np.random.default_rng(rank)


def sort(numbers):
    numbers = np.sort(numbers)
    samples = np.sort(np.concatenate(comm.allgather(numbers[:: count // 64])))
    splitters = samples[len(samples) // size :: len(samples) // size][: size - 1]
    ends = np.searchsorted(numbers, splitters)
    counts = np.diff(ends, prepend=0, append=len(numbers)).astype("i")
    incoming = np.empty(size, "i")
    comm.Alltoall(counts, incoming)
    received = np.empty(incoming.sum())
    comm.Alltoallv([numbers, counts], [received, incoming])
    return np.sort(received)


sort(random.random(count))
comm.Barrier()
start = MPI.Wtime()
for _ in range(int(sys.argv[1])):
    sort(random.random(count))
seconds = comm.reduce(MPI.Wtime() - start, MPI.MAX)
if rank == 0:
    print(seconds)

"""Sorts numbers by splitters that all ranks have chosen together."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
size = comm.size
numbers = np.random.default_rng(comm.rank).integers(0, 10_000, 200 + 7 * comm.rank)
samples = np.sort(np.concatenate(comm.allgather(numbers[:: max(1, len(numbers) // size)])))
splitters = samples[len(samples) // size :: len(samples) // size][: size - 1]
parts = np.split(np.sort(numbers), np.searchsorted(np.sort(numbers), splitters))
counts = np.array([len(part) for part in parts], dtype="i")
incoming = np.empty(size, dtype="i")
comm.Alltoall(counts, incoming)
received = np.empty(incoming.sum(), dtype=numbers.dtype)
comm.Alltoallv([np.concatenate(parts), counts], [received, incoming])
received.sort()
offset = comm.exscan(len(received)) or 0
print(comm.rank, offset, len(received), received[:3].tolist(), received[-3:].tolist())

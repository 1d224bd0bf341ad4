"""Two-dimensional Fourier transforms by rows, with transpositions by all-to-all in between."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
rows = 512 // size
n = rows * size
mine = np.random.default_rng(rank).random((rows, n)) + 0j


def transposed(part):
    blocks = np.ascontiguousarray(part.reshape(rows, size, rows).transpose(1, 2, 0))
    received = np.empty_like(blocks)
    comm.Alltoall(blocks, received)
    return np.ascontiguousarray(received.transpose(1, 0, 2).reshape(rows, n))


def transform(part):
    return transposed(np.fft.fft(transposed(np.fft.fft(part, axis=1)), axis=1)) / n


transform(mine)
comm.Barrier()
start = MPI.Wtime()
for _ in range(int(sys.argv[1])):
    mine = transform(mine)
seconds = comm.reduce(MPI.Wtime() - start, MPI.MAX)
if rank == 0:
    print(seconds)

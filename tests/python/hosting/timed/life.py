"""The game of life on strips, with counts of all cells alive now and then."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
up, down = (rank - 1) % size, (rank + 1) % size
rows, columns = 256, 512
cells = np.zeros((rows + 2, columns), "u1")
cells[1:-1] = np.random.default_rng(rank).integers(0, 2, (rows, columns))


def step():
    requests = [comm.Irecv(cells[-1], down, 0), comm.Irecv(cells[0], up, 1)]
    requests += [comm.Isend(cells[1], up, 0), comm.Isend(cells[-2], down, 1)]
    MPI.Request.Waitall(requests)
    vertical = cells[:-2] + cells[1:-1] + cells[2:]
    around = vertical + np.roll(vertical, 1, axis=1) + np.roll(vertical, -1, axis=1) - cells[1:-1]
    cells[1:-1] = (around == 3) | ((around == 2) & (cells[1:-1] == 1))


step()
comm.Barrier()
start = MPI.Wtime()
for number in range(int(sys.argv[1])):
    step()
    if number % 10 == 0:
        comm.allreduce(int(cells[1:-1].sum()))
seconds = comm.reduce(MPI.Wtime() - start, MPI.MAX)
if rank == 0:
    print(seconds)

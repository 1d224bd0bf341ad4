"""The game of life on strips, with corners through the rows of neighbours."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
up, down = (rank - 1) % size, (rank + 1) % size
rows, columns = 5, 16
cells = np.zeros((rows + 2, columns), dtype="u1")
cells[1:-1] = np.random.default_rng(rank).integers(0, 2, (rows, columns))
for _ in range(12):
    comm.Sendrecv(cells[1], up, 0, cells[-1], down, 0)
    comm.Sendrecv(cells[-2], down, 1, cells[0], up, 1)
    wide = np.pad(cells, ((0, 0), (1, 1)), mode="wrap")
    around = sum(wide[1 + i : rows + 1 + i, 1 + j : columns + 1 + j] for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
    cells[1:-1] = (around == 3) | ((around == 2) & (cells[1:-1] == 1))
print(rank, ["".join(".#"[cell] for cell in row) for row in cells[1:-1]], comm.allreduce(int(cells[1:-1].sum())))

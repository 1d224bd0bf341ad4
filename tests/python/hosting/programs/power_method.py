"""The largest eigenvalue of a matrix in columns, whose products are summed and scattered at once."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
part = 3
n = part * size
whole = np.random.default_rng(1).random((n, n))
whole += whole.T
columns = whole[:, rank * part : (rank + 1) * part]
mine = np.ones(part)
value = 0.0
for _ in range(60):
    products = columns @ mine
    mine = np.zeros(part)
    comm.Reduce_scatter_block(products, mine)
    value = comm.allreduce(float(mine @ mine)) ** 0.5
    mine /= value
print(rank, abs(value - np.linalg.eigvalsh(whole).max()) < 1e-9, round(value, 6))

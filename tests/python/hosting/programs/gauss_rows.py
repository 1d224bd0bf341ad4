"""Elimination with partial pivoting, rows dealt out in turns; pivots are agreed on with MAXLOC."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size, n = comm.rank, comm.size, 11
matrix = np.random.default_rng(5).random((n, n + 1))
mine = {row: matrix[row].copy() for row in range(rank, n, size)}
order = []
for step in range(n):
    best = max(((abs(row[step]), number) for number, row in mine.items() if number not in order), default=(-1.0, n))
    pair = np.array([best], dtype=[("value", "d"), ("row", "i")])
    chosen = np.empty_like(pair)
    comm.Allreduce([pair, 1, MPI.DOUBLE_INT], [chosen, 1, MPI.DOUBLE_INT], MPI.MAXLOC)
    pivot = int(chosen["row"][0])
    order.append(pivot)
    row = mine[pivot] if pivot % size == rank else np.empty(n + 1)
    comm.Bcast(row, root=pivot % size)
    for number in mine.keys() - order:
        mine[number] -= row * (mine[number][step] / row[step])
solution = np.zeros(n)
for step in reversed(range(n)):
    pivot = order[step]
    value = np.zeros(1)
    if pivot % size == rank:
        row = mine[pivot]
        value[0] = (row[n] - row[:n] @ solution) / row[step]
    comm.Bcast(value, root=pivot % size)
    solution[step] = value[0]
print(rank, order, np.allclose(matrix[:, :n] @ solution, matrix[:, n]))

"""Jacobi steps on a grid of processes, with columns as derived datatypes."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
dims = MPI.Compute_dims(comm.size, 2)
grid = comm.Create_cart(dims, periods=[True, False])
side = 6
field = np.zeros((side + 2, side + 2))
row, column = grid.coords
field[1:-1, 1:-1] = np.arange(side * side).reshape(side, side) + 100 * row + 1000 * column
strip = MPI.DOUBLE.Create_vector(side + 2, 1, side + 2).Commit()


def line(i, j):
    return [field.reshape(-1)[i * (side + 2) + j :], 1, strip]


for _ in range(5):
    up, down = grid.Shift(0, 1)
    left, right = grid.Shift(1, 1)
    requests = [
        grid.Irecv(field[0], up, 0),
        grid.Irecv(field[-1], down, 1),
        grid.Isend(field[-2].copy(), down, 0),
        grid.Isend(field[1].copy(), up, 1),
    ]
    MPI.Request.Waitall(requests)
    grid.Sendrecv(line(0, side), right, 2, line(0, 0), left, 2)
    grid.Sendrecv(line(0, 1), left, 3, line(0, side + 1), right, 3)
    middle = field[1:-1, 1:-1]
    field[1:-1, 1:-1] = (field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:] + middle) / 5
print(grid.rank, round(float(field.sum()), 6))
strip.Free()

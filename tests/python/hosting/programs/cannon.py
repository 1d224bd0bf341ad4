"""Cannon's multiplication of matrices on a square of processes; ranks that do not fit in stay out."""

import math

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
side = math.isqrt(world.size)
comm = world.Split(0 if world.rank < side * side else MPI.UNDEFINED)
if comm != MPI.COMM_NULL:
    grid = comm.Create_cart([side, side], periods=[True, True])
    row, column = grid.coords
    n = 6
    a = np.random.default_rng(2 * grid.rank).integers(0, 9, (n, n)).astype("d")
    b = np.random.default_rng(2 * grid.rank + 1).integers(0, 9, (n, n)).astype("d")
    product = np.zeros((n, n))
    whole = [
        np.block([[blocks[i * side + j] for j in range(side)] for i in range(side)])
        for blocks in (grid.allgather(a), grid.allgather(b))
    ]
    source, target = grid.Shift(1, -row)
    grid.Sendrecv_replace(a, target, 0, source, 0)
    source, target = grid.Shift(0, -column)
    grid.Sendrecv_replace(b, target, 0, source, 0)
    for _ in range(side):
        product += a @ b
        source, target = grid.Shift(1, -1)
        grid.Sendrecv_replace(a, target, 1, source, 1)
        source, target = grid.Shift(0, -1)
        grid.Sendrecv_replace(b, target, 1, source, 1)
    expected = (whole[0] @ whole[1])[row * n : (row + 1) * n, column * n : (column + 1) * n]
    print(world.rank, np.array_equal(product, expected), product[0].tolist())
else:
    print(world.rank, "left out")

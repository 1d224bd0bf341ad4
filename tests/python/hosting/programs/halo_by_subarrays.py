"""Faces of three-dimensional blocks as derived datatypes, exchanged in one call with all neighbours."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
grid = comm.Create_cart(MPI.Compute_dims(comm.size, 3), periods=[True] * 3)
shape = (4, 5, 6)
field = np.zeros([extent + 2 for extent in shape])
field[1:-1, 1:-1, 1:-1] = np.random.default_rng(grid.rank).random(shape).round(3)


def face(axis, index):
    sizes = list(field.shape)
    part = [extent - 2 for extent in sizes]
    start = [1, 1, 1]
    part[axis], start[axis] = 1, index
    return MPI.DOUBLE.Create_subarray(sizes, part, start).Commit()


sends = [face(axis, index) for axis in range(3) for index in (1, shape[axis])]
receives = [face(axis, index) for axis in range(3) for index in (0, shape[axis] + 1)]
for _ in range(4):
    counts, places = [1] * 6, [0] * 6
    grid.Neighbor_alltoallw([field, counts, places, sends], [field, counts, places, receives])
    inner = field[1:-1, 1:-1, 1:-1]
    around = sum(np.roll(field, shift, axis)[1:-1, 1:-1, 1:-1] for axis in range(3) for shift in (1, -1))
    field[1:-1, 1:-1, 1:-1] = (inner + around) / 7
print(grid.rank, grid.coords, round(float(field[1:-1, 1:-1, 1:-1].sum()), 9))
for datatype in sends + receives:
    datatype.Free()

"""Clusters points by k-means: the sums of all ranks' points are combined in every iteration."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
clusters, dimensions = 12, 4
points = np.random.default_rng(comm.rank).random((4000, dimensions))
centres = comm.bcast(points[:clusters].copy())
totals = np.empty((clusters, dimensions + 1))


def step(centres):
    distances = ((points[:, None] - centres) ** 2).sum(axis=2)
    nearest = distances.argmin(axis=1)
    sums = np.empty_like(totals)
    sums[:, 0] = np.bincount(nearest, minlength=clusters)
    for axis in range(dimensions):
        sums[:, axis + 1] = np.bincount(nearest, points[:, axis], clusters)
    comm.Allreduce(sums, totals)
    return totals[:, 1:] / np.maximum(totals[:, :1], 1)


step(centres)
comm.Barrier()
start = MPI.Wtime()
for _ in range(int(sys.argv[1])):
    centres = step(centres)
seconds = comm.reduce(MPI.Wtime() - start, MPI.MAX)
if comm.rank == 0:
    print(seconds)

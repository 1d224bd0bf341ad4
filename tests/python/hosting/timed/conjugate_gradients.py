"""Conjugate gradients for a Poisson equation on a square: rows of neighbours, and dot products of all ranks."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
side, iterations = 384, int(sys.argv[1])
rows = side * (rank + 1) // size - side * rank // size
down = rank - 1 if rank > 0 else MPI.PROC_NULL
up = rank + 1 if rank < size - 1 else MPI.PROC_NULL
padded = np.zeros((rows + 2, side + 2))


def apply(x):
    padded[1:-1, 1:-1] = x
    comm.Sendrecv(padded[-2], up, 0, padded[0], down, 0)
    comm.Sendrecv(padded[1], down, 1, padded[-1], up, 1)
    inner = 4 * padded[1:-1, 1:-1]
    return inner - padded[:-2, 1:-1] - padded[2:, 1:-1] - padded[1:-1, :-2] - padded[1:-1, 2:]


def dot(a, b):
    return comm.allreduce(float(np.vdot(a, b)))


r = np.ones((rows, side))
x, p = np.zeros_like(r), r.copy()
apply(p)
comm.Barrier()
start = MPI.Wtime()
rr = dot(r, r)
for _ in range(iterations):
    q = apply(p)
    alpha = rr / dot(p, q)
    x += alpha * p
    r -= alpha * q
    rr, old = dot(r, r), rr
    p = r + rr / old * p
seconds = comm.reduce(MPI.Wtime() - start, MPI.MAX)
if rank == 0:
    print(seconds)

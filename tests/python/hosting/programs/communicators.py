"""Splits, groups, communicators between groups, user operations and attributes."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
half = comm.Split(rank % 2, -rank)
inside = half.allgather(rank)
leader = 1 if rank % 2 == 0 else 0
lines = [inside]
if size > 1:
    between = half.Create_intercomm(half.size - 1, comm, leader, 3)
    lines.append(between.allgather(rank))
    lines.append(between.allreduce(rank))
    merged = between.Merge(high=rank % 2 == 1)
    lines.append(merged.allgather(rank))
    merged.Free()
    between.Free()


def compose(a, b, datatype):
    """Affine maps do not commute."""
    left, right = np.frombuffer(a, dtype=float), np.frombuffer(b, dtype=float)
    right[:] = [left[0] * right[0], right[0] * left[1] + right[1]]


operation = MPI.Op.Create(compose, commute=False)
result = np.zeros(2)
comm.Allreduce(np.array([1.0 + rank, rank]), result, op=operation)
lines.append(result.tolist())
prefix = np.zeros(2)
comm.Scan(np.array([1.0 + rank, rank]), prefix, op=operation)
lines.append(prefix.tolist())
operation.Free()
lines.append(comm.reduce((rank * 7 % size, rank), op=MPI.MAXLOC, root=size - 1))
group = comm.group.Range_incl([(size - 1, 0, -1)])
backwards = comm.Create(group)
lines.append(backwards.allgather(rank))
print(rank, lines)

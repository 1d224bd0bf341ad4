"""Producers and consumers in groups of their own, with a communicator between them."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
produces = rank % 2 == 0
local = comm.Split(int(produces), rank)
between = local.Create_intercomm(0, comm, 1 if produces else 0, tag=5)
if produces:
    for consumer in range(between.remote_size):
        between.send({"from": local.rank, "squares": [i * i for i in range(consumer + 2)]}, dest=consumer)
    total = np.zeros(3)
    between.Allreduce(np.full(3, 1.0 + local.rank), total)
    print(rank, "producer", total.tolist())
else:
    got = [between.recv(source=producer) for producer in range(between.remote_size)]
    total = np.zeros(3)
    between.Allreduce(np.full(3, 10.0 * (1 + local.rank)), total)
    print(rank, "consumer", got, total.tolist())
merged = between.Merge(high=not produces)
print(rank, merged.rank, merged.allgather(rank))

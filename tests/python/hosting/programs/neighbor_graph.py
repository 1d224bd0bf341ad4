"""Values move along the edges of a graph that every rank knows its own part of."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
targets = sorted({(rank * 2) % size, (rank * 2 + 1) % size})
edges = comm.allgather(targets)
sources = [other for other in range(size) if rank in edges[other]]
graph = comm.Create_dist_graph_adjacent(sources, targets)
value = float(rank + 1)
for _ in range(3):
    shares = np.full(len(targets), value / len(targets))
    received = np.zeros(len(sources))
    graph.Neighbor_alltoall(shares, received)
    value = float(received.sum())
counts = [index + 1 for index in range(len(targets))]
parts = graph.neighbor_alltoall([list(range(count)) for count in counts])
print(rank, round(value, 9), parts, graph.Get_dist_neighbors_count())

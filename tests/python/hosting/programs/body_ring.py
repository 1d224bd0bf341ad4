"""Forces among bodies that travel around a ring while the next are on their way."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
bodies = np.random.default_rng(rank).random((5, 3))
force = np.zeros_like(bodies)
travelling = bodies.copy()
for _ in range(size):
    arriving = np.empty_like(bodies)
    requests = [comm.Isend(travelling, (rank + 1) % size), comm.Irecv(arriving, (rank - 1) % size)]
    distance = travelling[None] - bodies[:, None]
    square = (distance**2).sum(axis=2)
    weight = np.where(square > 0, 1 / np.maximum(square, 1e-9) ** 1.5, 0)
    force += (distance * weight[:, :, None]).sum(axis=1)
    MPI.Request.Waitall(requests)
    travelling = arriving
print(rank, np.round(force[0], 6).tolist(), abs(comm.allreduce(force.sum())) < 1e-6 * comm.allreduce(abs(force).sum()))

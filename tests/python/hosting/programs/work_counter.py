"""Ranks take numbered pieces of work from a counter that lies on rank 0."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
pieces = 50
window = MPI.Win.Allocate(8 if comm.rank == 0 else 0, 8, comm=comm)
if comm.rank == 0:
    window.Lock(0)
    window.Put(np.zeros(1, dtype="i8"), 0)
    window.Unlock(0)
comm.Barrier()
one, ticket, done = np.ones(1, dtype="i8"), np.zeros(1, dtype="i8"), []
while True:
    window.Lock(0, MPI.LOCK_SHARED)
    window.Fetch_and_op(one, ticket, 0, 0, MPI.SUM)
    window.Unlock(0)
    if ticket[0] >= pieces:
        break
    done.append(int(ticket[0]))
everything = sorted(piece for part in comm.allgather(done) for piece in part)
print(comm.rank, everything == list(range(pieces)), sum(piece**2 for piece in everything))
window.Free()

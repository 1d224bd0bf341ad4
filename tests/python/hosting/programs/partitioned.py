"""A message whose parts are ready one after another."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size, parts, each = comm.rank, comm.size, 4, 3
out, into = np.zeros(parts * each), np.zeros(parts * each)
send = comm.Psend_init(out, parts, (rank + 1) % size, 0)
receive = comm.Precv_init(into, parts, (rank - 1) % size, 0)
for step in range(3):
    receive.Start()
    send.Start()
    for part in reversed(range(parts)):
        out[part * each : (part + 1) * each] = 100 * rank + 10 * step + part
        send.Pready(part)
    MPI.Request.Waitall([send, receive])
    print(rank, step, into.tolist())
send.Free()
receive.Free()

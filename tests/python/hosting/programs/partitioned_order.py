"""Messages in parts meet in the order of their initialization, and no messages of other calls."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size, parts, count = comm.rank, comm.size, 2, 3
after, before = (rank + 1) % size, (rank - 1) % size
out = [np.full(parts * 4, 100.0 * rank + number) for number in range(count)]
into = [np.zeros(parts * 4) for _ in range(count)]
sends = [comm.Psend_init(data, parts, after, 5) for data in out]
receives = [comm.Precv_init(data, parts, before, 5) for data in into]
other = comm.Psend_init(out[0], parts, after, 6)
receive_other = np.zeros(parts * 4)
from_other = comm.Precv_init(receive_other, parts, before, 6)

for step in range(2):
    for request in [*receives, from_other]:
        request.Start()
    # The last is started and ready first.
    for number in reversed(range(count)):
        sends[number].Start()
        sends[number].Pready_range(0, parts - 1)
    other.Start()
    for part in range(parts):
        other.Pready(part)
    # A message of the same tag, and one of no elements and no datatype: neither meets a message in parts.
    single = np.zeros(1)
    comm.Sendrecv(np.full(1, 7.0 * rank), after, 5, single, before, 5)
    comm.Sendrecv([None, 0, MPI.DATATYPE_NULL], after, 6, [None, 0, MPI.DATATYPE_NULL], before, 6)
    MPI.Request.Waitall([*sends, *receives, other, from_other])
    print(rank, step, single.tolist(), [data.tolist() for data in into], receive_other.tolist())
    for data in into:
        data[:] = 0
for request in [*sends, *receives, other, from_other]:
    request.Free()

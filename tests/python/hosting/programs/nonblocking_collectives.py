"""Collectives that overlap each other and messages, persistent requests, and looking until they are done."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
total, most = np.zeros(4), np.zeros(4)
own = np.arange(4.0) * (rank + 1)
first = comm.Iallreduce(own, total)
second = comm.Iallreduce(own, most, op=MPI.MAX)
barrier = comm.Ibarrier()
message = comm.isend({"from": rank}, (rank + 1) % size, 5)
received = comm.recv(source=(rank - 1) % size, tag=5)
message.wait()
looks = 0
while not barrier.Test():
    looks += 1
MPI.Request.Waitall([second, first])
inbox = np.zeros(1)
send = comm.Send_init(np.array([float(rank)]), (rank + 1) % size, 9)
receive = comm.Recv_init(inbox, (rank - 1) % size, 9)
seen = []
for _ in range(3):
    MPI.Prequest.Startall([receive, send])
    MPI.Request.Waitall([receive, send])
    seen.append(inbox[0])
send.Free()
receive.Free()
print(rank, total.tolist(), most.tolist(), received, seen, looks >= 0)

"""Words counted on every rank, and counts merged by an operation of the program's own."""

from collections import Counter

from mpi4py import MPI

comm = MPI.COMM_WORLD
words = ["link", "node", "rank", "route", "port", "hop", "flit"]
mine = Counter(words[(index * index + comm.rank) % len(words)] for index in range(30 + comm.rank))
merge = MPI.Op.Create(lambda a, b, _: None, commute=True)
merge.Free()
total = comm.allreduce(mine, op=lambda a, b: a + b)
first = comm.scan(mine, op=lambda a, b: a + b)
print(comm.rank, sorted(total.items()), sum(first.values()))

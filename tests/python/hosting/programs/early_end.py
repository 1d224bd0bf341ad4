"""Ranks that end MPI while others still receive objects from them, and say so themselves."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
totals = [comm.allreduce(rank)]
comm.Barrier()
totals.append(comm.reduce(rank))
totals += [comm.reduce([rank, root], root=root) for root in range(size)]
comm.gather({rank: totals})
print(rank, totals)
MPI.Finalize()

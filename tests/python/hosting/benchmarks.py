"""What benchmarks.c measures, by mpi4py: BENCHMARK, SECONDS of an operation, BYTES..."""

import sys

import numpy as np
from mpi4py import MPI

import weft

WARMUP, ITERATIONS, WINDOW, MARGIN = 2, 10, 64, 0.01

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size


def latency(out, into):
    """Half of a message there and back."""
    for index in range(WARMUP + ITERATIONS):
        if index == WARMUP:
            start = MPI.Wtime()
        if rank == 0:
            comm.Send(out, 1, 1)
            comm.Recv(into, 1, 1)
        elif rank == 1:
            comm.Recv(into, 0, 1)
            comm.Send(out, 0, 1)
    return (MPI.Wtime() - start) / (2 * ITERATIONS)


def bandwidth(out, into):
    """A message of a window of which the receiver acknowledges the whole."""
    acknowledgement = bytearray(4)
    for index in range(WARMUP + ITERATIONS):
        if index == WARMUP:
            start = MPI.Wtime()
        if rank == 0:
            MPI.Request.Waitall([comm.Isend(out, 1, 100) for _ in range(WINDOW)])
            comm.Recv(acknowledgement, 1, 101)
        elif rank == 1:
            MPI.Request.Waitall([comm.Irecv(into, 0, 100) for _ in range(WINDOW)])
            comm.Send(acknowledgement, 0, 101)
    return (MPI.Wtime() - start) / (ITERATIONS * WINDOW)


CALLS = {
    "barrier": lambda out, into: comm.Barrier(),
    "broadcast": lambda out, into: comm.Bcast(into),
    "reduce": lambda out, into: comm.Reduce(out.view("f8"), into.view("f8")),
    "allreduce": lambda out, into: comm.Allreduce(out.view("f8"), into.view("f8")),
    "gather": comm.Gather,
    "scatter": comm.Scatter,
    "allgather": comm.Allgather,
    "alltoall": comm.Alltoall,
    "scan": lambda out, into: comm.Scan(out.view("f8"), into.view("f8")),
    "exscan": lambda out, into: comm.Exscan(out.view("f8"), into.view("f8")),
    "reduce-scatter": lambda out, into: comm.Reduce_scatter_block(out.view("f8"), into.view("f8")),
}

SENT_BY_ALL_TO_ALL, TAKEN_FROM_ALL = {"scatter", "alltoall", "reduce-scatter"}, {"gather", "allgather", "alltoall"}


def collectively(name, out, into, operation):
    """From the start of all ranks to the end of the last, in the mean over calls."""
    times = np.zeros(ITERATIONS)
    for index in range(WARMUP + ITERATIONS):
        start = comm.allreduce(MPI.Wtime(), MPI.MAX) + MARGIN
        weft.compute(flops=(start - MPI.Wtime()) / operation)
        CALLS[name](out, into)
        if index >= WARMUP:
            times[index - WARMUP] = MPI.Wtime() - start
    last = np.zeros(ITERATIONS)
    comm.Allreduce(times, last, MPI.MAX)
    return last.mean()


def between_barriers(name, out, into):
    """The mean over ranks of their own times, with a barrier after each iteration."""
    timer = 0.0
    for index in range(WARMUP + ITERATIONS):
        start = MPI.Wtime()
        CALLS[name](out, into)
        if index >= WARMUP:
            timer += MPI.Wtime() - start
        comm.Barrier()
    total = comm.reduce(timer / ITERATIONS)
    return total / size if rank == 0 else None


name, operation = sys.argv[1], float(sys.argv[2])
for length in map(int, sys.argv[3:]):
    out = np.zeros(length * (size if name in SENT_BY_ALL_TO_ALL else 1), "u1")
    into = np.zeros(length * (size if name in TAKEN_FROM_ALL else 1), "u1")
    comm.Barrier()
    if name in ("latency", "bandwidth"):
        seconds = {"latency": latency, "bandwidth": bandwidth}[name](out, into)
    elif operation:
        seconds = collectively(name, out, into, operation)
    else:
        seconds = between_barriers(name, out, into)
    if rank == 0:
        print(length, seconds)

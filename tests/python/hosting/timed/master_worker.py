"""A master that hands out lines of a Mandelbrot set to whoever asks, and workers that compute them."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
LINE, END = 1, 2
width, lines = 400, int(sys.argv[1])
status = MPI.Status()


def line(number):
    c = np.linspace(-2, 1, width) + 1j * (1.2 - 2.4 * number / lines)
    z, counts = np.zeros_like(c), np.zeros(width, "i")
    for _ in range(60):
        inside = np.abs(z) < 2
        z[inside] = z[inside] ** 2 + c[inside]
        counts += inside
    return counts


def master():
    """Pickled tasks go out, and lines come back by the buffer interface."""
    next_line, counts = 0, np.empty(width, "i")
    for worker in range(1, size):
        comm.send(next_line, worker, LINE)
        next_line += 1
    for _ in range(lines):
        comm.Recv(counts, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        if next_line < lines:
            comm.send(next_line, status.source, LINE)
        else:
            comm.send(None, status.source, END)
        next_line += 1


def worker():
    while True:
        number = comm.recv(source=0, tag=MPI.ANY_TAG, status=status)
        if status.tag == END:
            return
        comm.Send(line(number), 0, LINE)


line(0)
comm.Barrier()
start = MPI.Wtime()
master() if rank == 0 else worker()
seconds = comm.reduce(MPI.Wtime() - start, MPI.MAX)
if rank == 0:
    print(seconds)

"""Each rank has its own main module, its own modules beside the script, and its own random numbers."""

import random

import beside
import numpy as np
from mpi4py import MPI


class Parcel:
    def __init__(self, number):
        self.number = number


comm = MPI.COMM_WORLD
random.seed(comm.rank)
comm.Barrier()
np.random.seed(comm.rank)
beside.mine.append(comm.rank)
received = comm.sendrecv(Parcel(comm.rank), (comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)
drawn = [random.randrange(1000) for _ in range(2)]
arrays = [np.random.rand(3)]
comm.Barrier()
drawn.append(random.randrange(1000))
arrays.append(np.random.rand(3))
assert (np.concatenate(arrays) == np.random.RandomState(comm.rank).rand(6)).all()
generator = random.Random(comm.rank)
assert drawn == [generator.randrange(1000) for _ in range(3)]
assert isinstance(received, Parcel)
print(comm.rank, received.number, beside.mine)

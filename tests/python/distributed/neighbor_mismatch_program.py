"""Ranks whose exchanges with neighbours do not match: `neighbor_mismatch_program.py SCENARIO`.

The form of the exchange is in the variable STRATEGY. Calls are marked as in `mismatch_program.py`.
"""

import os
import sys

import numpy as np
from mpi4py import MPI

import weft
from weft.arrays import neighbor_alltoallv as exchange

world = MPI.COMM_WORLD
one = world.rank == 0
ring, second = (world.Create_cart([world.size], periods=[True]) for _ in range(2))
sent, received = np.arange(8.0), np.zeros(8)


def buffers(comm=ring, count=2, dtype="float64"):
    return comm, [sent.astype(dtype), [count] * 2], [received.astype(dtype), [count] * 2]


def either(first, other):
    return first() if one else other()


def others():
    either(
        lambda: exchange(*buffers(ring)),  # one
        lambda: exchange(*buffers(second)),  # other
    )


def kinds():
    either(
        lambda: exchange(*buffers()),  # one
        lambda: weft.arrays.Geometry((9, 4)),  # other
    )


def more():
    exchange(*buffers())
    if one:
        exchange(*buffers())  # one


def anew():
    either(
        lambda: exchange(*buffers(), strategy="measure"),  # one
        lambda: exchange(*buffers()),  # other
    )


def communicators():
    either(
        lambda: (exchange(*buffers(ring)), exchange(*buffers(second))),  # one
        lambda: (exchange(*buffers(second)), exchange(*buffers(ring))),  # other
    )


def dtypes():
    either(
        lambda: exchange(*buffers(dtype="float32")),  # one
        lambda: exchange(*buffers(dtype="float64")),  # other
    )


def lengths():
    either(
        lambda: exchange(*buffers(count=1)),  # one
        lambda: exchange(*buffers(count=3)),  # other
    )


def shorter():
    either(
        lambda: exchange(*buffers(count=3)),  # one
        lambda: exchange(*buffers(count=2)),  # other
    )


def first():
    third = world.Create_cart([world.size], periods=[True])
    either(
        lambda: exchange(*buffers(third, count=3)),  # one
        lambda: exchange(*buffers(third, count=2)),  # other
    )


for comm in (ring, second):
    exchange(*buffers(comm), strategy=os.environ["STRATEGY"])
    for _ in range(3):
        exchange(*buffers(comm))
globals()[sys.argv[1]]()

"""Collectives in place: what is sent lies where it is received, by MPI_IN_PLACE and by nothing else."""

import pytest

import weft

EXCHANGES = """\
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
INT = MPI.INT64_T
width = 16  # elements that a part has, of which less is sent


def before(words):
    buffer = np.full((size, width), -1, np.int64)
    for peer in range(size):
        buffer[peer, :words[peer]] = 100 * rank + peer
    return buffer


def after(words):
    buffer = np.full((size, width), -1, np.int64)
    for peer in range(size):
        buffer[peer, :words[peer]] = 100 * peer + rank
    return buffer


whole = [width] * size
differing = [1 + (rank + peer) % 3 for peer in range(size)]  # as many from a peer as to it
starts = [width * peer for peer in range(size)]
for name, words, received in (
    ("Alltoall", whole, lambda buffer: buffer),
    ("Alltoallv", differing, lambda buffer: [buffer, differing, starts, INT]),
    ("Alltoallw", differing, lambda buffer: [buffer, differing, [8 * start for start in starts], [INT] * size]),
):
    for form in (name, "I" + name.lower(), name + "_init"):
        buffer = before(words)
        request = getattr(comm, form)(MPI.IN_PLACE, received(buffer))
        if form.endswith("_init"):
            request.Start()
        if request is not None:
            request.Wait()
        assert (buffer == after(words)).all(), (form, buffer)
        if form.endswith("_init"):
            request.Free()

for form in ("Allgather", "Iallgather"):
    buffer = np.zeros((size, 2), np.int64)
    buffer[rank] = rank
    request = getattr(comm, form)(MPI.IN_PLACE, buffer)
    if request is not None:
        request.Wait()
    assert (buffer == np.arange(size)[:, None]).all(), (form, buffer)

for root in range(size):
    buffer = np.arange(2 * size)
    own = np.zeros(2, np.int64)
    comm.Scatter(buffer if rank == root else None, MPI.IN_PLACE if rank == root else own, root)
    assert rank == root or (own == [2 * rank, 2 * rank + 1]).all(), own
    buffer = np.full(2 * size, rank)
    comm.Gather(MPI.IN_PLACE if rank == root else buffer[:2], buffer if rank == root else None, root)
    assert rank != root or (buffer == np.repeat(np.arange(size), 2)).all(), buffer
    total = np.array([rank + 1])
    comm.Reduce(MPI.IN_PLACE if rank == root else total, total if rank == root else None, MPI.SUM, root)
    assert total[0] == (size * (size + 1) // 2 if rank == root else rank + 1), total

total = np.array([rank + 1])
comm.Allreduce(MPI.IN_PLACE, total)
assert total[0] == size * (size + 1) // 2
total = np.array([rank + 1])
comm.Scan(MPI.IN_PLACE, total)
assert total[0] == (rank + 1) * (rank + 2) // 2
parts = np.arange(size) + rank
comm.Reduce_scatter_block(MPI.IN_PLACE, parts)
assert parts[0] == size * rank + size * (size - 1) // 2, parts
print("done")
"""


@pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_collectives_in_place_replace_what_they_send(tmp_path, capfd, ranks, isolate):
    script = tmp_path / "program.py"
    script.write_text(EXCHANGES)
    weft.run(script, on="ipsc860", ranks=ranks, isolate=isolate)
    assert capfd.readouterr().out.splitlines() == ["done"] * ranks

"""Exchanges with neighbours: `weft.neighbor_alltoallv` beside `MPI_Neighbor_alltoallv`, interleaved in one launch.

    mpiexec -n 2 python benches/conset/neighbor.py [FILE]

Rank 0 prints a table and writes FILE (default: benches/records/DATE-neighbor.json). Needs mpi4py.
"""

import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "node"))

import peers

try:
    from mpi4py import MPI
except ImportError:
    sys.exit("skipped: mpi4py is not installed")

from weft.conset.neighbor import neighbor_alltoallv, neighbor_choice

ROUNDS = 15
SECONDS = 0.02


def topologies(comm):
    """Communicators by name: what MPI programs have."""
    size, rank = comm.Get_size(), comm.Get_rank()
    yield "one neighbour", comm.Create_dist_graph_adjacent([(rank + 1) % size], [(rank - 1) % size])
    dims = MPI.Compute_dims(size, 3)
    yield "3-D torus", comm.Create_cart(dims, periods=[True] * 3)
    yield "2-D mesh", comm.Create_cart(MPI.Compute_dims(size, 2), periods=[False] * 2)
    # As a mesh whose parts share several patches: eight edges between the same ranks.
    others = [other for other in range(size) if other != rank]
    yield "eight patches", comm.Create_dist_graph_adjacent(others * 8, others * 8)


def degree(comm):
    """Edges in and out."""
    if comm.Get_topology() == MPI.CART:
        return 2 * comm.Get_dim(), 2 * comm.Get_dim()
    count = comm.Get_dist_neighbors_count()
    return count[0], count[1]


def timed(comm, run, calls):
    comm.Barrier()
    start = MPI.Wtime()
    for _ in range(calls):
        run()
    return comm.allreduce((MPI.Wtime() - start) / calls, MPI.MAX)


def compare(comm, count):
    """Medians of both and the ratio of each round."""
    into, out = degree(comm)
    send = [np.arange(out * count, dtype=np.float64), [count] * out]
    receive = [np.zeros(into * count), [count] * into]
    neighbor_alltoallv(comm, send, receive)
    sides = {
        "MPI": lambda: comm.Neighbor_alltoallv(send, receive),
        "weft": lambda: neighbor_alltoallv(comm, send, receive),
    }
    calls = max(4, int(SECONDS / ROUNDS / max(timed(comm, sides["MPI"], 10), 1e-7)))
    calls = comm.allreduce(calls, MPI.MIN)
    times = {name: [] for name in sides}
    for round_ in range(ROUNDS):
        for name in sorted(sides, reverse=bool(round_ % 2)):
            times[name].append(timed(comm, sides[name], calls))
    ratios = sorted(weft / own for weft, own in zip(times["weft"], times["MPI"], strict=True))
    return {
        "bytes": 8 * count,
        "edges": out,
        "way": neighbor_choice(comm).way,
        "mpi_seconds": statistics.median(times["MPI"]),
        "weft_seconds": statistics.median(times["weft"]),
        "ratio": statistics.median(ratios),
        "ratio_low": ratios[len(ratios) // 10],
        "ratio_high": ratios[-1 - len(ratios) // 10],
    }


def main():
    world = MPI.COMM_WORLD
    machine = peers.machine()
    rows = []
    for count in (1, 16, 128, 1024, 8192):
        for name, comm in topologies(world):
            rows.append({"topology": name, **compare(comm, count)})
            comm.Free()
    if world.Get_rank() > 0:
        return
    print(f"{'topology':15} {'bytes':>7} {'MPI us':>9} {'weft us':>9} {'ratio':>7} {'p10':>6} {'p90':>6}  way")
    for row in rows:
        print(
            f"{row['topology']:15} {row['bytes']:7} {row['mpi_seconds'] * 1e6:9.2f} {row['weft_seconds'] * 1e6:9.2f} "
            f"{row['ratio']:7.3f} {row['ratio_low']:6.3f} {row['ratio_high']:6.3f}  {row['way']}"
        )
    content = {
        "machine": machine,
        "library": MPI.Get_library_version().splitlines()[0],
        "ranks": world.Get_size(),
        "rows": rows,
    }
    path = peers.record("neighbor", content, Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    print(f"record: {path}")


if __name__ == "__main__":
    main()

"""weft's halo exchange beside hand-written mpi4py and GHEX: two ranks of one machine.

Each launch runs every variant in rounds, one after the other in an order that changes; a round's time of a variant is
that of many exchanges divided by their number, on the slower rank. A ratio is that of one round; what is shown is the
median over the rounds of all launches. Every variant's ghosts are checked against the elements they copy.

    python3 -m venv BASELINES
    BASELINES/bin/pip install mpich mpi4py numpy scipy polars    # ghex too, if it shall take part: a long build
    python -m benches halo --python BASELINES/bin/python

weft is imported from this working tree (`make setup` first); it uses the MPI library that mpi4py has loaded. What is
not installed is left out, and the record says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benches import harness, ranks
from benches.benchmark import Benchmark
from benches.recording import Report

Region = tuple[slice, ...]
Exchange = Callable[[], Any]

CASES: dict[str, dict[str, Any]] = {
    "3-D 128^3, axis 0 divided": {"block": (128, 128, 128), "axis": 0, "iterations": 40, "targets": (0.8, 0.45)},
    "3-D 128^3, axis 2 divided": {"block": (128, 128, 128), "axis": 2, "iterations": 40, "targets": None},
    "4-D 16^4, axis 0 divided": {"block": (16, 16, 16, 16), "axis": 0, "iterations": 200, "targets": (0.7, 0.35)},
}
LAUNCH_LIMIT = 120


def cases(only: Sequence[str], awkward: bool) -> dict[str, dict[str, Any]]:
    """The cases that are wanted; with `awkward`, each at awkward extents of the block too, without targets."""
    wanted = {name: case for name, case in CASES.items() if not only or name in only}
    if awkward:
        for name, case in list(wanted.items()):
            for block in harness.awkward_shapes(case["block"]):
                wanted[f"{name}, blocks of {block[0]}"] = {**case, "block": block, "targets": None}
    return wanted


# ---- One rank. --------------------------------------------------------------------------------------------------


class Faces:
    """The faces of a block with one ghost around it: where each begins, where it goes, and which rank has it."""

    def __init__(self, block: tuple[int, ...], axis: int, rank: int) -> None:
        self.block, self.axis, self.other = block, axis, 1 - rank
        inner = [slice(1, n + 1) for n in block]
        self.moves: list[tuple[int, Region, Region]] = []
        for a, n in enumerate(block):
            # What goes towards lower elements fills the ghosts after the block, and the other way round.
            for first, ghost in ((1, n + 1), (n, 0)):
                source, target = list(inner), list(inner)
                source[a], target[a] = slice(first, first + 1), slice(ghost, ghost + 1)
                self.moves.append((a, tuple(source), tuple(target)))

    def travels(self, a: int) -> bool:
        return a == self.axis


def field(block: tuple[int, ...], rank: int, axis: int) -> np.ndarray:
    """Numbers that say where they are: a block with empty ghosts."""
    whole = np.zeros([n + 2 for n in block])
    index = np.indices(block)
    index[axis] += rank * block[axis]
    inner = np.zeros(block)
    for a in range(len(block)):
        inner = inner * 300 + index[a]
    whole[tuple(slice(1, n + 1) for n in block)] = inner
    return whole


def check(faces: Faces, rank: int, whole: np.ndarray, name: str) -> None:
    """Every ghost across a face holds the element it stands for."""
    block, axis = faces.block, faces.axis
    there = field(block, 1 - rank, axis)
    own = field(block, rank, axis)
    for a, source, target in faces.moves:
        expected = (there if a == axis else own)[source]
        assert np.array_equal(whole[target], expected), f"{name}: the ghosts of axis {a} are wrong"


def sequential(mpi: Any, comm: Any, faces: Faces, u: np.ndarray, local: bool) -> Exchange:
    """Sendrecv after Sendrecv, each face packed and unpacked by numpy; with `local`, a rank's own faces are copied."""
    rank = comm.rank
    buffers = [(np.empty(u[source].shape), np.empty(u[target].shape)) for _, source, target in faces.moves]
    views = [(faces.travels(a), u[source], u[target]) for a, source, target in faces.moves]

    def exchange() -> None:
        for (travels, source, target), (out, into) in zip(views, buffers, strict=True):
            if local and not travels:
                target[...] = source
                continue
            neighbour = faces.other if travels else rank
            out[...] = source
            comm.Sendrecv(out, neighbour, 0, into, neighbour, 0)
            target[...] = into

    return exchange


def packed(mpi: Any, comm: Any, faces: Faces, u: np.ndarray, local: bool) -> Exchange:
    """All faces under way at once from contiguous buffers."""
    rank = comm.rank
    buffers = [(np.empty(u[source].shape), np.empty(u[target].shape)) for _, source, target in faces.moves]
    views = [(faces.travels(a), u[source], u[target]) for a, source, target in faces.moves]

    def exchange() -> None:
        requests = []
        for tag, ((travels, _, _), (_, into)) in enumerate(zip(views, buffers, strict=True)):
            if travels or not local:
                requests.append(comm.Irecv(into, faces.other if travels else rank, tag))
        for tag, ((travels, source, target), (out, _)) in enumerate(zip(views, buffers, strict=True)):
            if travels or not local:
                out[...] = source
                requests.append(comm.Isend(out, faces.other if travels else rank, tag))
            else:
                target[...] = source
        mpi.Request.Waitall(requests)
        for (travels, _, target), (_, into) in zip(views, buffers, strict=True):
            if travels or not local:
                target[...] = into

    return exchange


def subarray(mpi: Any, u: np.ndarray, region: Region) -> Any:
    sizes = list(u.shape)
    subsizes = [s.stop - s.start for s in region]
    kind = mpi.DOUBLE.Create_subarray(sizes, subsizes, [s.start for s in region])
    return kind.Commit()


def persistent(mpi: Any, comm: Any, faces: Faces, u: np.ndarray, local: bool) -> Exchange:
    """Persistent requests of subarray types; no packing in Python."""
    rank = comm.rank
    requests: list[Any] = []
    copies: list[tuple[np.ndarray, np.ndarray]] = []
    for tag, (a, source, target) in enumerate(faces.moves):
        if local and not faces.travels(a):
            copies.append((u[source], u[target]))
            continue
        neighbour = faces.other if faces.travels(a) else rank
        requests.append(comm.Recv_init([u, 1, subarray(mpi, u, target)], neighbour, tag))
        requests.append(comm.Send_init([u, 1, subarray(mpi, u, source)], neighbour, tag))

    def exchange() -> None:
        mpi.Prequest.Startall(requests)
        for source, target in copies:
            target[...] = source
        mpi.Request.Waitall(requests)

    return exchange


def alltoallw(mpi: Any, comm: Any, faces: Faces, u: np.ndarray, local: bool) -> Exchange:
    """One neighbourhood collective over a Cartesian communicator."""
    dims = [2 if a == faces.axis else 1 for a in range(u.ndim)]
    cart = comm.Create_cart(dims, periods=[True] * u.ndim)
    # Neighbours in the order of MPI: of each axis before, then after. `moves` has what goes there in this order too.
    sends = [subarray(mpi, u, source) for _, source, _ in faces.moves]
    # From the neighbour before come its last elements, for the ghosts before.
    targets = [faces.moves[i ^ 1][2] for i in range(len(faces.moves))]
    receives = [subarray(mpi, u, target) for target in targets]
    count = len(sends)
    ones, zeros = [1] * count, [0] * count

    def exchange() -> None:
        cart.Neighbor_alltoallw([u, ones, zeros, sends], [u, ones, zeros, receives])

    return exchange


BY_HAND: dict[str, tuple[Callable[..., Exchange], bool]] = {
    "sequential Sendrecv": (sequential, False),
    "sequential Sendrecv, own axes copied": (sequential, True),
    "non-blocking packed": (packed, False),
    "non-blocking packed, own axes copied": (packed, True),
    "persistent subarray types": (persistent, False),
    "persistent subarray types, own axes copied": (persistent, True),
    "Neighbor_alltoallw": (alltoallw, False),
}


def ghex_exchange(comm: Any, faces: Faces, u: np.ndarray) -> Exchange:
    """GHEX's structured exchange, edges and corners too; axes in the order of Fortran, so that memory is the same."""
    from ghex.context import make_context
    from ghex.structured.cartesian_sets import IndexSpace
    from ghex.structured.regular import (
        DomainDescriptor,
        HaloGenerator,
        make_communication_object,
        make_field_descriptor,
        make_pattern,
    )

    ndim = u.ndim
    block = tuple(reversed(faces.block))
    axis = ndim - 1 - faces.axis
    dims = [2 if a == axis else 1 for a in range(ndim)]
    sizes = [n * d for n, d in zip(block, dims, strict=True)]
    cart = comm.Create_cart(dims, periods=[True] * ndim)
    context = make_context(cart, False)
    whole = IndexSpace.from_sizes(*sizes)
    owned = whole.decompose(cart.dims)[tuple(cart.Get_coords(cart.rank))].subset["definition"]
    halos = ((1, 1),) * ndim
    sub = IndexSpace({"definition": owned, "halo": owned.extend(*halos).without(owned)})
    memory = sub.translate(*(-origin for origin in sub.bounds[(0,) * ndim]))
    domain = DomainDescriptor(context.rank(), owned)
    pattern = make_pattern(context, HaloGenerator(whole.subset["definition"], halos, (True,) * ndim), [domain])
    transport = make_communication_object(context)
    values = u.T
    assert values.flags.f_contiguous
    described = make_field_descriptor(domain, values, memory.subset["definition"][(0,) * ndim], memory.bounds.shape)
    bound = [pattern(described)]

    # The pattern refers to the context and the communicator without keeping them.
    def exchange(_keep: object = (context, pattern, cart)) -> None:
        transport.exchange(bound).wait()

    return exchange


def weft_exchange(comm: Any, faces: Faces) -> tuple[Exchange, np.ndarray, str]:
    """The exchange, its memory, and the plan in words."""
    import weft

    shape = [2 * n if a == faces.axis else n for a, n in enumerate(faces.block)]
    grid = [2 if a == faces.axis else 1 for a in range(len(faces.block))]
    geometry = weft.arrays.Geometry(shape, comm=comm, grid=grid, order="send")
    x = geometry.zeros(halo=1)
    plan = geometry.halo_exchange(halo=1)
    return plan.bind(x), x.local_with_halo, plan.explain()


def variants(mpi: Any, comm: Any, case: dict[str, Any]) -> tuple[list[ranks.Variant], dict[str, str], str]:
    """What takes part: name, exchange, its array; what does not, with the reason; and weft's plan in words."""
    block, axis = case["block"], case["axis"]
    faces = Faces(block, axis, comm.rank)
    absent: dict[str, str] = {}
    exchange, memory, explained = weft_exchange(comm, faces)
    memory[...] = field(block, comm.rank, axis)
    there: list[ranks.Variant] = [("weft", exchange, memory)]
    for name, (make, local) in BY_HAND.items():
        u = field(block, comm.rank, axis)
        there.append((name, make(mpi, comm, faces, u, local), u))
    if importlib.util.find_spec("ghex") is None:
        absent["GHEX"] = "not installed"
    else:
        try:
            u = field(block, comm.rank, axis)
            there.append(("GHEX", ghex_exchange(comm, faces, u), u))
        except Exception as error:
            absent["GHEX"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200]
    for name, exchange, u in there:
        exchange()
        check(faces, comm.rank, u, name)
    return there, absent, explained


def exchanges(variant: ranks.Variant, count: int) -> None:
    _, exchange, _ = variant
    for _ in range(count):
        exchange()


def rank_main(job: dict[str, Any]) -> None:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    results = {}
    for name, case in cases(job["only"], job["awkward"]).items():
        there, absent, explained = variants(MPI, comm, case)
        rounds = ranks.interleaved(comm, there, job["rounds"], exchanges, case["iterations"], warm_up=3)
        results[name] = {"rounds": rounds, "absent": absent, "explain": explained}
    if comm.rank == 0:
        print("RESULT " + json.dumps(results), flush=True)


# ---- The launches. ----------------------------------------------------------------------------------------------


def summarise(name: str, case: dict[str, Any], outcomes: list[dict[str, Any]], report: Report) -> None:
    rounds = ranks.summarise(name, outcomes, report, case["block"])
    best = min(BY_HAND, key=lambda variant: statistics.median(rounds[variant]))
    report.notes[f"{name}: the best by hand"] = best
    by_hand, ghex = case["targets"] or (None, None)
    ratio = harness.spread(harness.ratios(rounds["weft"], rounds[best]))
    report.figure(f"{name}: weft/the best by hand", ratio, "ratio", by_hand, "at most")
    if "GHEX" in rounds:
        ratio = harness.spread(harness.ratios(rounds["weft"], rounds["GHEX"]))
        report.figure(f"{name}: weft/GHEX", ratio, "ratio", ghex, "at most")


def options(parser: argparse.ArgumentParser) -> None:
    ranks.options(parser, "ghex", 6, 9, list(CASES))


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = ranks.protocol(chosen, "an exchange")
    outcomes = ranks.launches(chosen, __name__, LAUNCH_LIMIT * (4 if chosen.awkward else 1))
    for name, case in cases(chosen.case, chosen.awkward).items():
        summarise(name, case, outcomes, report)


BENCHMARK = Benchmark(
    "halo", "halo exchanges of two ranks beside mpi4py by hand and GHEX", "two minutes", run, options, needs=ranks.NEEDS
)

if __name__ == "__main__":
    rank_main(json.loads(sys.argv[1]))

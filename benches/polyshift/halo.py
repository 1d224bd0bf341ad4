#!/usr/bin/env python3
"""Holds weft's halo exchange against hand-written mpi4py and GHEX: two ranks of one machine, all in one interleaved run.

Each launch runs every variant in rounds, one after the other in an order that changes; a round's time of a variant is
that of many exchanges divided by their number, on the slower rank. A ratio is that of one round; what is shown is the
median over the rounds of all launches. Every variant's ghosts are checked against the elements they copy.

    python3 -m venv PEERS
    PEERS/bin/pip install mpich mpi4py numpy scipy polars    # ghex too, if it shall take part: a long build
    python3 benches/polyshift/halo.py --python PEERS/bin/python

weft is imported from this working tree (`make setup` first); it uses the MPI library that mpi4py has loaded. What is
not installed is left out, and the record says so. Ends with code 1 when a target is missed.
"""

import importlib.util
import json
import os
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "benches"))

import ranks  # noqa: E402

CASES = {
    "3-D 128^3, axis 0 divided": {"block": (128, 128, 128), "axis": 0, "iterations": 40, "targets": (0.8, 0.45)},
    "3-D 128^3, axis 2 divided": {"block": (128, 128, 128), "axis": 2, "iterations": 40, "targets": None},
    "4-D 16^4, axis 0 divided": {"block": (16, 16, 16, 16), "axis": 0, "iterations": 200, "targets": (0.7, 0.35)},
}
LAUNCH_LIMIT = 120


# ---- One rank. --------------------------------------------------------------------------------------------------


class Faces:
    """The faces of a block with one ghost around it: where each begins, where it goes, and which rank has it."""

    def __init__(self, block, axis, rank):
        self.block, self.axis, self.other = block, axis, 1 - rank
        inner = [slice(1, n + 1) for n in block]
        self.moves = []
        for a, n in enumerate(block):
            # What goes towards lower elements fills the ghosts after the block, and the other way round.
            for first, ghost in ((1, n + 1), (n, 0)):
                source, target = list(inner), list(inner)
                source[a], target[a] = slice(first, first + 1), slice(ghost, ghost + 1)
                self.moves.append((a, tuple(source), tuple(target)))

    def travels(self, a):
        return a == self.axis


def field(np, block, rank, axis):
    """Numbers that say where they are: a block with empty ghosts."""
    whole = np.zeros([n + 2 for n in block])
    place = np.indices(block)
    place[axis] += rank * block[axis]
    inner = np.zeros(block)
    for a in range(len(block)):
        inner = inner * 300 + place[a]
    whole[tuple(slice(1, n + 1) for n in block)] = inner
    return whole


def check(np, faces, rank, whole, name):
    """Every ghost across a face holds the element it stands for."""
    block, axis = faces.block, faces.axis
    there = field(np, block, 1 - rank, axis)
    own = field(np, block, rank, axis)
    for a, source, target in faces.moves:
        expected = (there if a == axis else own)[source]
        assert np.array_equal(whole[target], expected), f"{name}: the ghosts of axis {a} are wrong"


def sequential(np, MPI, comm, faces, u, local):
    """Sendrecv after Sendrecv, each face packed and unpacked by numpy; with `local`, a rank's own faces are copied."""
    rank = comm.rank
    buffers = [(np.empty(u[source].shape), np.empty(u[target].shape)) for _, source, target in faces.moves]
    views = [(faces.travels(a), u[source], u[target]) for a, source, target in faces.moves]

    def exchange():
        for (travels, source, target), (out, into) in zip(views, buffers):
            if local and not travels:
                target[...] = source
                continue
            peer = faces.other if travels else rank
            out[...] = source
            comm.Sendrecv(out, peer, 0, into, peer, 0)
            target[...] = into

    return exchange


def packed(np, MPI, comm, faces, u, local):
    """All faces under way at once from contiguous buffers."""
    rank = comm.rank
    buffers = [(np.empty(u[source].shape), np.empty(u[target].shape)) for _, source, target in faces.moves]
    views = [(faces.travels(a), u[source], u[target]) for a, source, target in faces.moves]

    def exchange():
        requests = []
        for tag, ((travels, _, _), (_, into)) in enumerate(zip(views, buffers)):
            if travels or not local:
                requests.append(comm.Irecv(into, faces.other if travels else rank, tag))
        for tag, ((travels, source, target), (out, _)) in enumerate(zip(views, buffers)):
            if travels or not local:
                out[...] = source
                requests.append(comm.Isend(out, faces.other if travels else rank, tag))
            else:
                target[...] = source
        MPI.Request.Waitall(requests)
        for (travels, _, target), (_, into) in zip(views, buffers):
            if travels or not local:
                target[...] = into

    return exchange


def subarray(MPI, u, region):
    sizes = list(u.shape)
    subsizes = [s.stop - s.start for s in region]
    kind = MPI.DOUBLE.Create_subarray(sizes, subsizes, [s.start for s in region])
    return kind.Commit()


def persistent(np, MPI, comm, faces, u, local):
    """Persistent requests of subarray types; no packing in Python."""
    rank, requests, copies = comm.rank, [], []
    for tag, (a, source, target) in enumerate(faces.moves):
        if local and not faces.travels(a):
            copies.append((u[source], u[target]))
            continue
        peer = faces.other if faces.travels(a) else rank
        requests.append(comm.Recv_init([u, 1, subarray(MPI, u, target)], peer, tag))
        requests.append(comm.Send_init([u, 1, subarray(MPI, u, source)], peer, tag))

    def exchange():
        MPI.Prequest.Startall(requests)
        for source, target in copies:
            target[...] = source
        MPI.Request.Waitall(requests)

    return exchange


def alltoallw(np, MPI, comm, faces, u, local):
    """One neighbourhood collective over a Cartesian communicator."""
    dims = [2 if a == faces.axis else 1 for a in range(u.ndim)]
    cart = comm.Create_cart(dims, periods=[True] * u.ndim)
    # Neighbours in the order of MPI: of each axis before, then after. `moves` has what goes there in this order too.
    sends = [subarray(MPI, u, source) for _, source, _ in faces.moves]
    # From the neighbour before come its last elements, for the ghosts before.
    targets = [faces.moves[i ^ 1][2] for i in range(len(faces.moves))]
    receives = [subarray(MPI, u, target) for target in targets]
    count = len(sends)
    ones, zeros = [1] * count, [0] * count

    def exchange():
        cart.Neighbor_alltoallw([u, ones, zeros, sends], [u, ones, zeros, receives])

    return exchange


PEERS = {
    "sequential Sendrecv": (sequential, False),
    "sequential Sendrecv, own axes copied": (sequential, True),
    "non-blocking packed": (packed, False),
    "non-blocking packed, own axes copied": (packed, True),
    "persistent subarray types": (persistent, False),
    "persistent subarray types, own axes copied": (persistent, True),
    "Neighbor_alltoallw": (alltoallw, False),
}


def ghex_exchange(np, MPI, comm, faces, u):
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
    sizes = [n * d for n, d in zip(block, dims)]
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
    described = make_field_descriptor(
        domain, values, memory.subset["definition"][(0,) * ndim], memory.bounds.shape
    )
    bound = [pattern(described)]

    def exchange():
        transport.exchange(bound).wait()

    exchange.keep = (context, pattern, cart)
    return exchange


def weft_exchange(np, MPI, comm, faces, block):
    import weft

    shape = [2 * n if a == faces.axis else n for a, n in enumerate(block)]
    grid = [2 if a == faces.axis else 1 for a in range(len(block))]
    geometry = weft.Geometry(shape, comm=comm, grid=grid, order="send")
    x = geometry.zeros(halo=1)
    plan = geometry.halo_exchange(halo=1)
    bound = plan.bind(x)
    return bound, x.local_with_halo, plan


def variants(np, MPI, comm, case):
    """What takes part: name, exchange, its array; and what does not, with the reason."""
    block, axis = case["block"], case["axis"]
    faces = Faces(block, axis, comm.rank)
    there, absent = [], {}
    exchange, memory, plan = weft_exchange(np, MPI, comm, faces, block)
    memory[...] = field(np, block, comm.rank, axis)
    there.append(("weft", exchange, memory))
    for name, (make, local) in PEERS.items():
        u = field(np, block, comm.rank, axis)
        there.append((name, make(np, MPI, comm, faces, u, local), u))
    if importlib.util.find_spec("ghex") is None:
        absent["GHEX"] = "not installed"
    else:
        try:
            u = field(np, block, comm.rank, axis)
            there.append(("GHEX", ghex_exchange(np, MPI, comm, faces, u), u))
        except Exception as error:
            absent["GHEX"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200]
    for name, exchange, u in there:
        exchange()
        check(np, faces, comm.rank, u, name)
    return there, absent, plan


def exchanges(variant, count):
    _, exchange, _ = variant
    for _ in range(count):
        exchange()


def rank_main(job):
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    results = {}
    for name, case in CASES.items():
        if job["only"] and name not in job["only"]:
            continue
        there, absent, plan = variants(np, MPI, comm, case)
        rounds = ranks.in_turn(comm, there, job["rounds"], exchanges, case["iterations"], warm_up=3)
        results[name] = {"rounds": rounds, "absent": absent, "explain": plan.explain()}
    if comm.rank == 0:
        print("RESULT " + json.dumps(results), flush=True)


# ---- The launches. ----------------------------------------------------------------------------------------------


def judge(name, launches):
    rounds = ranks.rounds_of(name, launches)
    medians = {variant: statistics.median(times) for variant, times in rounds.items()}
    by_hand = min((v for v in medians if v in PEERS), key=medians.get)
    ratios = {v: [w / t for w, t in zip(rounds["weft"], times)] for v, times in rounds.items() if v != "weft"}
    row = {
        "seconds": medians,
        "seconds_p10_p90": {variant: ranks.spread(times) for variant, times in rounds.items()},
        "best_by_hand": by_hand,
        "ratio_to_best_by_hand": statistics.median(ratios[by_hand]),
        "ratio_to_best_by_hand_p10_p90": ranks.spread(ratios[by_hand]),
        "absent": launches[0][name]["absent"],
        "explain": launches[0][name]["explain"],
        "targets": CASES[name]["targets"],
    }
    if "GHEX" in ratios:
        row["ratio_to_ghex"] = statistics.median(ratios["GHEX"])
        row["ratio_to_ghex_p10_p90"] = ranks.spread(ratios["GHEX"])
    return row


def show(results):
    missed = False
    for name, row in results.items():
        print(name)
        for variant, seconds in sorted(row["seconds"].items(), key=lambda item: item[1]):
            low, high = row["seconds_p10_p90"][variant]
            print(f"  {variant:45} {1e6 * seconds:8.1f} us  ({1e6 * low:.1f} to {1e6 * high:.1f})")
        for variant, why in row["absent"].items():
            print(f"  {variant:45} left out: {why}")
        for what, key, target in (("the best by hand", "ratio_to_best_by_hand", 0), ("GHEX", "ratio_to_ghex", 1)):
            if key in row:
                low, high = row[key + "_p10_p90"]
                aim = row["targets"][target] if row["targets"] else None
                missed = missed or (aim is not None and row[key] > aim)
                words = f", target {aim}" if aim is not None else ""
                print(f"  weft / {what}: {row[key]:.2f} ({low:.2f} to {high:.2f}{words})")
    return missed


def main():
    options = ranks.arguments(__doc__, "halo", "ghex", 6, 9, list(CASES))
    if options.rank:
        return rank_main(json.loads(options.rank))
    before = os.getloadavg()
    launches = [ranks.launch(options, __file__, LAUNCH_LIMIT) for _ in range(options.launches)]
    names = options.case or list(CASES)
    results = {name: judge(name, launches) for name in names}
    missed = show(results)
    if not options.no_record:
        ranks.write(options, "halo", before, "an exchange", results)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())

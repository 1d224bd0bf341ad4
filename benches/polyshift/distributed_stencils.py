#!/usr/bin/env python3
"""Holds a step of weft's distributed stencils against hand-written mpi4py with numba and with numpy: two ranks of one
machine, all in one interleaved run.

Each launch runs every variant in rounds, one after the other in an order that changes; a round's time of a variant is
that of several steps, from one array to another and back, divided by their number, on the slower rank. A ratio is that
of one round; what is shown is the median over the rounds of all launches. Arrays are 0 beyond their ends. Every
variant's result is checked against the whole array's on one rank.

    python3 -m venv PEERS
    PEERS/bin/pip install mpich mpi4py numpy scipy polars numba
    python3 benches/polyshift/distributed_stencils.py --python PEERS/bin/python

weft is imported from this working tree (`make setup` first); it uses the MPI library that mpi4py has loaded. What is
not installed is left out, and the record says so.
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
    "5-point 4096^2": {"shape": (4096, 4096), "steps": 4},
    "7-point 256^3": {"shape": (256, 256, 256), "steps": 4},
    "5-point 256^2": {"shape": (256, 256), "steps": 200},
}
CENTRE = 0.5
SEVERAL = 4
"""Steps per exchange of the variant that has several."""
LAUNCH_LIMIT = 120


# ---- One rank. --------------------------------------------------------------------------------------------------


def weights(axes):
    """The coefficient of each neighbour; they are all alike in no axis."""
    return [(0.05 + 0.02 * axis, 0.06 + 0.02 * axis) for axis in range(axes)]


def start(np, shape, low, high):
    """Rows `low` to `high` of an array that has a different number at every place."""
    rows = np.arange(low, high).reshape(-1, *[1] * (len(shape) - 1))
    field = np.sin(0.1 * rows)
    for axis, extent in enumerate(shape[1:], 1):
        field = field + np.cos(0.01 * np.arange(extent) * (axis + 1)).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return field


def expected(np, shape, steps, low, high):
    """Rows of the result after some steps, by slices of the whole array."""
    u = np.zeros([n + 2 for n in shape])
    inner = tuple(slice(1, -1) for _ in shape)
    u[inner] = start(np, shape, 0, shape[0])
    for _ in range(steps):
        v = np.zeros_like(u)
        numpy_rows(np, u, v, 1, shape[0] + 1, None)
        u = v
    return u[inner][low:high]


def numpy_rows(np, u, v, first, end, room):
    """Rows `first` to `end` (ghosts counted) of a step, by numpy; `room` has the products."""
    axes = u.ndim
    inner = [slice(first, end)] + [slice(1, -1)] * (axes - 1)
    out = v[tuple(inner)]
    room = np.empty_like(out) if room is None else room[: end - first]
    np.multiply(u[tuple(inner)], CENTRE, out=out)
    for axis, pair in enumerate(weights(axes)):
        for by, weight in zip((-1, 1), pair):
            region = list(inner)
            begin, stop = (first, end) if axis == 0 else (1, u.shape[axis] - 1)
            region[axis] = slice(begin + by, stop + by)
            np.multiply(u[tuple(region)], weight, out=room)
            out += room


def numba_rows(axes):
    """The same compiled by numba: plain loops over the rows, one thread."""
    import numba

    (a, b), (c, d), *rest = weights(axes)
    if axes == 2:

        @numba.njit(fastmath=True)
        def rows(u, v, first, end):
            for i in range(first, end):
                for j in range(1, u.shape[1] - 1):
                    v[i, j] = CENTRE * u[i, j] + a * u[i - 1, j] + b * u[i + 1, j] + c * u[i, j - 1] + d * u[i, j + 1]
    else:
        ((e, f),) = rest

        @numba.njit(fastmath=True)
        def rows(u, v, first, end):
            for i in range(first, end):
                for j in range(1, u.shape[1] - 1):
                    for k in range(1, u.shape[2] - 1):
                        v[i, j, k] = (
                            CENTRE * u[i, j, k]
                            + a * u[i - 1, j, k]
                            + b * u[i + 1, j, k]
                            + c * u[i, j - 1, k]
                            + d * u[i, j + 1, k]
                            + e * u[i, j, k - 1]
                            + f * u[i, j, k + 1]
                        )

    return rows


def by_hand(np, MPI, comm, shape, rows, overlapped):
    """A step of two arrays with a frame of ghosts; the face between the ranks is contiguous and sent as it is."""
    own = shape[0] // 2
    u, v = (np.zeros([own + 2, *[n + 2 for n in shape[1:]]]) for _ in range(2))
    inner = tuple(slice(1, -1) for _ in shape)
    u[inner] = start(np, shape, comm.rank * own, (comm.rank + 1) * own)
    # The face that goes over, and the ghosts that the other's comes to.
    face, ghosts = (own, own + 1) if comm.rank == 0 else (1, 0)

    def persistent(array):
        return [comm.Recv_init(array[ghosts], 1 - comm.rank, 0), comm.Send_init(array[face], 1 - comm.rank, 0)]

    def step(source, target, requests):
        MPI.Prequest.Startall(requests)
        if overlapped:
            low, high = (1, own) if comm.rank == 0 else (2, own + 1)
            rows(source, target, low, high)
            MPI.Request.Waitall(requests)
            rows(source, target, face, face + 1)
        else:
            MPI.Request.Waitall(requests)
            rows(source, target, 1, own + 1)

    there, back = persistent(u), persistent(v)

    def steps(count):
        for _ in range(count // 2):
            step(u, v, there)
            step(v, u, back)

    return steps, lambda: u[inner]


def weft_steps(np, comm, shape, per_exchange):
    import weft

    axes = len(shape)
    points = {(0,) * axes: CENTRE}
    for axis, pair in enumerate(weights(axes)):
        for by, weight in zip((-1, 1), pair):
            points[tuple(by if a == axis else 0 for a in range(axes))] = weight
    geometry = weft.Geometry(shape, comm=comm, grid=[2] + [1] * (axes - 1), order="send")
    plan = geometry.stencil(weft.stencil(points, boundary=0.0), steps_per_exchange=per_exchange)
    u, v = geometry.zeros(halo=plan.halo), geometry.zeros(halo=plan.halo)
    own = shape[0] // 2
    u.local[...] = start(np, shape, comm.rank * own, (comm.rank + 1) * own)
    if per_exchange == 1:
        there, back = plan.bind(u, v), plan.bind(v, u)

        def steps(count):
            for _ in range(count // 2):
                there()
                back()
    else:
        # An even number of exchanges leaves the result where it began.
        there, back = plan.bind(u, v, steps=per_exchange), plan.bind(v, u, steps=per_exchange)

        def steps(count):
            for _ in range(count // (2 * per_exchange)):
                there()
                back()

    return steps, lambda: u.local, plan


def variants(np, MPI, comm, shape):
    """What takes part: name, steps, their result; what does not, with the reason; and the plans in words."""
    there, absent, plans = [], {}, {}
    for name, per_exchange in (("weft", 1), (f"weft, {SEVERAL} steps per exchange", SEVERAL)):
        steps, result, plan = weft_steps(np, comm, shape, per_exchange)
        there.append((name, steps, result))
        plans[name] = plan.explain()
    room = np.empty([shape[0] // 2, *shape[1:]])
    kernels = {"numpy": lambda u, v, first, end: numpy_rows(np, u, v, first, end, room)}
    if importlib.util.find_spec("numba") is None:
        absent["mpi4py + numba"] = "numba is not installed"
    else:
        kernels["numba"] = numba_rows(len(shape))
    for kernel, rows in kernels.items():
        for words, overlapped in (("overlapped", True), ("in turn", False)):
            steps, result = by_hand(np, MPI, comm, shape, rows, overlapped)
            there.append((f"mpi4py + {kernel}, {words}", steps, result))
    own = shape[0] // 2
    wanted = expected(np, shape, 2 * SEVERAL, comm.rank * own, (comm.rank + 1) * own)
    for name, steps, result in there:
        steps(2 * SEVERAL)
        assert np.allclose(result(), wanted, rtol=1e-12, atol=1e-12), f"{name}: the result is wrong"
    return there, absent, plans


def steps_of(variant, count):
    _, steps, _ = variant
    steps(count)


def rank_main(job):
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    results = {}
    for name, case in CASES.items():
        if job["only"] and name not in job["only"]:
            continue
        there, absent, plans = variants(np, MPI, comm, case["shape"])
        # A number that every variant can do, so that each ends in the array it began with.
        count = -(-case["steps"] // (2 * SEVERAL)) * 2 * SEVERAL
        rounds = ranks.in_turn(comm, there, job["rounds"], steps_of, count)
        results[name] = {"rounds": rounds, "absent": absent, "explain": plans}
        del there
    if comm.rank == 0:
        print("RESULT " + json.dumps(results), flush=True)


# ---- The launches. ----------------------------------------------------------------------------------------------


def judge(name, launches):
    rounds = ranks.rounds_of(name, launches)
    medians = {variant: statistics.median(times) for variant, times in rounds.items()}
    by_hand = min((variant for variant in medians if variant.startswith("mpi4py")), key=medians.get)
    row = {
        "seconds": medians,
        "seconds_p10_p90": {variant: ranks.spread(times) for variant, times in rounds.items()},
        "best_by_hand": by_hand,
        "absent": launches[0][name]["absent"],
        "explain": launches[0][name]["explain"],
        "ratio_to_best_by_hand": {},
    }
    for variant in (variant for variant in medians if variant.startswith("weft")):
        ratios = [own / peer for own, peer in zip(rounds[variant], rounds[by_hand])]
        row["ratio_to_best_by_hand"][variant] = {"median": statistics.median(ratios), "p10_p90": ranks.spread(ratios)}
    return row


def show(results):
    for name, row in results.items():
        print(name)
        for variant, seconds in sorted(row["seconds"].items(), key=lambda item: item[1]):
            low, high = row["seconds_p10_p90"][variant]
            print(f"  {variant:35} {1e6 * seconds:10.1f} us a step  ({1e6 * low:.1f} to {1e6 * high:.1f})")
        for variant, why in row["absent"].items():
            print(f"  {variant:35} left out: {why}")
        for variant, ratio in row["ratio_to_best_by_hand"].items():
            low, high = ratio["p10_p90"]
            print(f"  {variant} / the best by hand: {ratio['median']:.2f} ({low:.2f} to {high:.2f})")


def main():
    options = ranks.arguments(__doc__, "distributed-stencils", "numba", 3, 7, list(CASES))
    if options.rank:
        return rank_main(json.loads(options.rank))
    before = os.getloadavg()
    launches = [ranks.launch(options, __file__, LAUNCH_LIMIT, OMP_NUM_THREADS="1") for _ in range(options.launches)]
    results = {name: judge(name, launches) for name in options.case or list(CASES)}
    show(results)
    if not options.no_record:
        ranks.write(options, "distributed-stencils", before, "a step", results)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A step of weft's distributed stencils beside hand-written mpi4py with numba and with numpy: two ranks of one machine.

Each launch runs every variant in rounds, one after the other in an order that changes; a round's time of a variant
is that of several steps, from one array to another and back, divided by their number, on the slower rank. A ratio is
that of one round; what is shown is the median over the rounds of all launches. Arrays are 0 beyond their ends. Every
variant's result is checked against the whole array's on one rank.

    python3 -m venv BASELINES
    BASELINES/bin/pip install mpich mpi4py numpy scipy polars numba
    python -m benches distributed-stencils --python BASELINES/bin/python

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

Shape = tuple[int, ...]
Rows = Callable[[np.ndarray, np.ndarray, int, int], None]
Steps = Callable[[int], None]
Result = Callable[[], np.ndarray]

CASES: dict[str, dict[str, Any]] = {
    "5-point 4096^2": {"shape": (4096, 4096), "steps": 4},
    "7-point 256^3": {"shape": (256, 256, 256), "steps": 4},
    "5-point 256^2": {"shape": (256, 256), "steps": 200},
}
CENTRE = 0.5
SEVERAL = 4
"""Steps per exchange of the variant that has several."""
LAUNCH_LIMIT = 120


def cases(only: Sequence[str], awkward: bool) -> dict[str, dict[str, Any]]:
    """The cases that are wanted; with `awkward` at awkward extents too, the divided one even: halves are alike."""
    wanted = {name: case for name, case in CASES.items() if not only or name in only}
    if awkward:
        for name, case in list(wanted.items()):
            for shape in harness.awkward_shapes(case["shape"]):
                whole = (shape[0] + shape[0] % 2, *shape[1:])
                wanted[f"{name}, rows of {shape[1]}"] = {**case, "shape": whole}
    return wanted


# ---- One rank. --------------------------------------------------------------------------------------------------


def weights(axes: int) -> list[tuple[float, float]]:
    """The coefficient of each neighbour; they are all alike in no axis."""
    return [(0.05 + 0.02 * axis, 0.06 + 0.02 * axis) for axis in range(axes)]


def start(shape: Shape, low: int, high: int) -> np.ndarray:
    """Rows `low` to `high` of an array that has a different number at every index."""
    rows = np.arange(low, high).reshape(-1, *[1] * (len(shape) - 1))
    field = np.sin(0.1 * rows)
    for axis, extent in enumerate(shape[1:], 1):
        along = [-1 if a == axis else 1 for a in range(len(shape))]
        field = field + np.cos(0.01 * np.arange(extent) * (axis + 1)).reshape(along)
    whole: np.ndarray = field
    return whole


def expected(shape: Shape, steps: int, low: int, high: int) -> Any:
    """Rows of the result after some steps, by slices of the whole array."""
    u = np.zeros([n + 2 for n in shape])
    inner = tuple(slice(1, -1) for _ in shape)
    u[inner] = start(shape, 0, shape[0])
    for _ in range(steps):
        v = np.zeros_like(u)
        numpy_rows(u, v, 1, shape[0] + 1, None)
        u = v
    return u[inner][low:high]


def numpy_rows(u: np.ndarray, v: np.ndarray, first: int, end: int, buffer: np.ndarray | None) -> None:
    """Rows `first` to `end` (ghosts counted) of a step, by numpy; `buffer` takes the products."""
    axes = u.ndim
    inner = [slice(first, end)] + [slice(1, -1)] * (axes - 1)
    out = v[tuple(inner)]
    products = np.empty_like(out) if buffer is None else buffer[: end - first]
    np.multiply(u[tuple(inner)], CENTRE, out=out)
    for axis, pair in enumerate(weights(axes)):
        for by, weight in zip((-1, 1), pair, strict=True):
            region = list(inner)
            begin, stop = (first, end) if axis == 0 else (1, u.shape[axis] - 1)
            region[axis] = slice(begin + by, stop + by)
            np.multiply(u[tuple(region)], weight, out=products)
            out += products


def numba_rows(axes: int) -> Rows:
    """The same compiled by numba: plain loops over the rows, one thread."""
    import numba

    (a, b), (c, d), *rest = weights(axes)
    if axes == 2:

        @numba.njit(fastmath=True)
        def rows(u: np.ndarray, v: np.ndarray, first: int, end: int) -> None:
            for i in range(first, end):
                for j in range(1, u.shape[1] - 1):
                    v[i, j] = CENTRE * u[i, j] + a * u[i - 1, j] + b * u[i + 1, j] + c * u[i, j - 1] + d * u[i, j + 1]
    else:
        ((e, f),) = rest

        @numba.njit(fastmath=True)
        def rows(u: np.ndarray, v: np.ndarray, first: int, end: int) -> None:
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

    kernel: Rows = rows
    return kernel


def by_hand(mpi: Any, comm: Any, shape: Shape, rows: Rows, overlapped: bool) -> tuple[Steps, Result]:
    """A step of two arrays with a frame of ghosts; the face between the ranks is contiguous and sent as it is."""
    own = shape[0] // 2
    u, v = (np.zeros([own + 2, *[n + 2 for n in shape[1:]]]) for _ in range(2))
    inner = tuple(slice(1, -1) for _ in shape)
    u[inner] = start(shape, comm.rank * own, (comm.rank + 1) * own)
    # The face that goes over, and the ghosts that the other's comes to.
    face, ghosts = (own, own + 1) if comm.rank == 0 else (1, 0)

    def persistent(array: np.ndarray) -> list[Any]:
        return [comm.Recv_init(array[ghosts], 1 - comm.rank, 0), comm.Send_init(array[face], 1 - comm.rank, 0)]

    def step(source: np.ndarray, target: np.ndarray, requests: list[Any]) -> None:
        mpi.Prequest.Startall(requests)
        if overlapped:
            low, high = (1, own) if comm.rank == 0 else (2, own + 1)
            rows(source, target, low, high)
            mpi.Request.Waitall(requests)
            rows(source, target, face, face + 1)
        else:
            mpi.Request.Waitall(requests)
            rows(source, target, 1, own + 1)

    there, back = persistent(u), persistent(v)

    def steps(count: int) -> None:
        for _ in range(count // 2):
            step(u, v, there)
            step(v, u, back)

    return steps, lambda: u[inner]


def weft_steps(comm: Any, shape: Shape, per_exchange: int) -> tuple[Steps, Result, str]:
    import weft

    axes = len(shape)
    points: dict[int | tuple[int, ...], Any] = {(0,) * axes: CENTRE}
    for axis, pair in enumerate(weights(axes)):
        for by, weight in zip((-1, 1), pair, strict=True):
            points[tuple(by if a == axis else 0 for a in range(axes))] = weight
    geometry = weft.arrays.Geometry(shape, comm=comm, grid=[2] + [1] * (axes - 1), order="send")
    plan = geometry.stencil(weft.arrays.stencil(points, boundary=0.0), steps_per_exchange=per_exchange)
    u, v = geometry.zeros(halo=plan.halo), geometry.zeros(halo=plan.halo)
    own = shape[0] // 2
    u.local[...] = start(shape, comm.rank * own, (comm.rank + 1) * own)
    if per_exchange == 1:
        there, back = plan.bind(u, v), plan.bind(v, u)

        def steps(count: int) -> None:
            for _ in range(count // 2):
                there()
                back()
    else:
        # An even number of exchanges leaves the result where it began.
        there, back = plan.bind(u, v, steps=per_exchange), plan.bind(v, u, steps=per_exchange)

        def steps(count: int) -> None:
            for _ in range(count // (2 * per_exchange)):
                there()
                back()

    return steps, lambda: u.local, plan.explain()


def variants(mpi: Any, comm: Any, shape: Shape) -> tuple[list[ranks.Variant], dict[str, str], dict[str, str]]:
    """What takes part: name, steps, their result; what does not, with the reason; and the plans in words."""
    there: list[ranks.Variant] = []
    absent, plans = {}, {}
    for name, per_exchange in (("weft", 1), (f"weft, {SEVERAL} steps per exchange", SEVERAL)):
        steps, result, plans[name] = weft_steps(comm, shape, per_exchange)
        there.append((name, steps, result))
    buffer = np.empty([shape[0] // 2, *shape[1:]])
    kernels: dict[str, Rows] = {"numpy": lambda u, v, first, end: numpy_rows(u, v, first, end, buffer)}
    if importlib.util.find_spec("numba") is None:
        absent["mpi4py + numba"] = "numba is not installed"
    else:
        kernels["numba"] = numba_rows(len(shape))
    for kernel, rows in kernels.items():
        for words, overlapped in (("overlapped", True), ("in turn", False)):
            steps, result = by_hand(mpi, comm, shape, rows, overlapped)
            there.append((f"mpi4py + {kernel}, {words}", steps, result))
    own = shape[0] // 2
    wanted = expected(shape, 2 * SEVERAL, comm.rank * own, (comm.rank + 1) * own)
    for name, steps, result in there:
        steps(2 * SEVERAL)
        assert np.allclose(result(), wanted, rtol=1e-12, atol=1e-12), f"{name}: the result is wrong"
    return there, absent, plans


def steps_of(variant: ranks.Variant, count: int) -> None:
    _, steps, _ = variant
    steps(count)


def rank_main(job: dict[str, Any]) -> None:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    results = {}
    for name, case in cases(job["only"], job["awkward"]).items():
        there, absent, plans = variants(MPI, comm, case["shape"])
        # A number that every variant can do, so that each ends in the array it began with.
        count = -(-case["steps"] // (2 * SEVERAL)) * 2 * SEVERAL
        rounds = ranks.interleaved(comm, there, job["rounds"], steps_of, count)
        results[name] = {"rounds": rounds, "absent": absent, "explain": plans}
        del there
    if comm.rank == 0:
        print("RESULT " + json.dumps(results), flush=True)


# ---- The launches. ----------------------------------------------------------------------------------------------


def summarise(name: str, shape: Shape, outcomes: list[dict[str, Any]], report: Report) -> None:
    rounds = ranks.summarise(name, outcomes, report, shape)
    by_hand = [variant for variant in rounds if variant.startswith("mpi4py")]
    best = min(by_hand, key=lambda variant: statistics.median(rounds[variant]))
    report.notes[f"{name}: the best by hand"] = best
    for variant in ("weft", f"weft, {SEVERAL} steps per exchange"):
        ratio = harness.spread(harness.ratios(rounds[variant], rounds[best]))
        report.figure(f"{name}: {variant}/the best by hand", ratio, "ratio")


def options(parser: argparse.ArgumentParser) -> None:
    ranks.options(parser, "numba", 3, 7, list(CASES))


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = ranks.protocol(chosen, "a step")
    outcomes = ranks.launches(chosen, __name__, LAUNCH_LIMIT * (4 if chosen.awkward else 1), OMP_NUM_THREADS="1")
    for name, case in cases(chosen.case, chosen.awkward).items():
        summarise(name, case["shape"], outcomes, report)


BENCHMARK = Benchmark(
    "distributed-stencils",
    "steps of stencils on two ranks beside mpi4py with numba and numpy",
    "two minutes",
    run,
    options,
    needs=ranks.NEEDS,
)

if __name__ == "__main__":
    rank_main(json.loads(sys.argv[1]))

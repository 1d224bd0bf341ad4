"""weft's stencils beside numpy, numba, JAX and C, interleaved, as shares of a copy of the array.

    python benches/polyshift/stencils.py [CASE]… [--rounds 7] [--peers c,numpy,numba,jax] [--threads N] [--steps N]
        [--no-record]

Each round times a copy by memmove of the same array on one thread, and one shared by --threads (default: all), with
which weft's gain from threads is compared; weft on one thread and on --threads; weft with --steps time steps in one
call (per step; several in one sweep, so beyond 1.0 is possible); and every peer that is there; peers that are not are
named and left out. Where all coefficients differ, as many products in registers, which read and write nothing: what the
processor allows one thread in that minute. A share is bytes over seconds over the copy's rate of the
same round: 16 bytes a point (source read, result written), 232 where each of 27 points has an array of coefficients.
Every result is checked against weft's first. Run it on a quiet machine, with weft installed.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "node"))
import peers

import weft

PRODUCTS = "products alone"
"""As many products and sums as the points need, in registers: a share that one thread cannot exceed."""

Points = dict[tuple[int, ...], Any]
Call = Callable[[], None]


def around(axes: int) -> Points:
    """Both neighbours along every axis, each with its own coefficient."""
    steps = [(axis, by) for axis in range(axes) for by in (-1, 1)]
    return {tuple(by if a == axis else 0 for a in range(axes)): 0.1 + 0.01 * axis + 0.001 * by for axis, by in steps}


def star(axes: int) -> Points:
    return {(0,) * axes: 0.5, **around(axes)}


def cube() -> Points:
    return {offset: 0.01 + 0.001 * n for n, offset in enumerate(itertools.product((-1, 0, 1), repeat=3))}


def symmetric() -> Points:
    weights = (0.5, 0.05, 0.01, 0.002)
    return {offset: weights[sum(map(abs, offset))] for offset in cube()}


CASES: dict[str, tuple[tuple[int, ...], Callable[[], Points], bool, float]] = {
    "5-point": ((4096, 4096), lambda: star(2), False, 0.85),
    "7-point": ((256,) * 3, lambda: star(3), False, 0.85),
    "27-point": ((256,) * 3, cube, False, 0.55),
    "27-point-symmetric": ((256,) * 3, symmetric, False, 0.55),
    "8-point": ((64,) * 4, lambda: around(4), False, 0.65),
    "27-point-arrays": ((192,) * 3, cube, True, 0.75),
}
"""Shape, points, whether each has an array of coefficients, and the share of a copy to reach on one thread."""


def c_peer(library: ctypes.CDLL, name: str, x: np.ndarray, y: np.ndarray, points: Points) -> Call:
    """The function of stencils.c for a case."""
    pointer = ctypes.POINTER(ctypes.c_double)
    source, target = x.ctypes.data_as(pointer), y.ctypes.data_as(pointer)
    extents = [ctypes.c_ssize_t(extent) for extent in (x.shape if x.ndim == 2 else x.shape[:1])]
    if name == "27-point-arrays":
        held: Any = (pointer * 27)(*(array.ctypes.data_as(pointer) for array in points.values()))
    else:
        held = (ctypes.c_double * len(points))(*points.values())
    functions = {"5-point": "star2", "7-point": "star3", "8-point": "around4", "27-point-arrays": "cube3_arrays"}
    function = getattr(library, functions.get(name, "cube3"))
    return lambda: function(source, target, *extents, held)


def numpy_peer(x: np.ndarray, y: np.ndarray, points: Points) -> Call:
    """Sums of rolled copies."""

    def call() -> None:
        y[...] = 0
        for offset, coefficient in points.items():
            axes = [axis for axis, by in enumerate(offset) if by]
            moved = np.roll(x, [-offset[axis] for axis in axes], axes) if axes else x
            np.add(y, coefficient * moved, out=y)

    return call


def numba_peer(x: np.ndarray, y: np.ndarray, points: Points) -> Call:
    """Loops over the inner points, written out for the case; its ends are left out, in its favour."""
    import numba

    names = "hijk"[: x.ndim]
    arrays = not isinstance(next(iter(points.values())), float)
    terms = []
    for number, offset in enumerate(points):
        place = ",".join(f"{name}{by:+d}" if by else name for name, by in zip(names, offset, strict=True))
        factor = f"c{number}[{','.join(names)}]" if arrays else f"c[{number}]"
        terms.append(f"{factor}*x[{place}]")
    held = [f"c{number}" for number in range(len(points))] if arrays else ["c"]
    lines = [f"def kernel(x, y, {', '.join(held)}):"]
    for depth, name in enumerate(names):
        lines.append("    " * (depth + 1) + f"for {name} in range(1, x.shape[{depth}] - 1):")
    lines.append("    " * (x.ndim + 1) + f"y[{','.join(names)}] = {' + '.join(terms)}")
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)
    kernel = numba.njit(fastmath=True)(space["kernel"])
    arguments = list(points.values()) if arrays else [np.array(list(points.values()))]
    return lambda: kernel(x, y, *arguments)


def jax_peer(x: np.ndarray, y: np.ndarray, points: Points) -> Call:
    """Sums of rolled arrays under jit, on one processor."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def total(x: Any, factors: list[Any]) -> Any:
        return sum(
            factor * jnp.roll(x, [-by for by in offset], range(x.ndim))
            for offset, factor in zip(points, factors, strict=True)
        )

    compiled = jax.jit(total)
    there, factors = jnp.asarray(x), [jnp.asarray(factor) for factor in points.values()]
    return lambda: compiled(there, factors).block_until_ready()


def timed(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def inner(y: np.ndarray) -> np.ndarray:
    return y[(slice(1, -1),) * y.ndim]


def calls_of(name: str, chosen: argparse.Namespace, library: ctypes.CDLL | None) -> dict[str, Any]:
    """Arrays and everything that is timed, for a case; each peer's result is checked."""
    shape, make, arrays, _ = CASES[name]
    points = make()
    if arrays:
        points = {offset: np.full(shape, value) for offset, value in points.items()}
    x = np.random.default_rng(1).random(shape)
    y = weft.stencil({(0,) * len(shape): 1.0})(x)
    s = weft.stencil(points)
    plan = s.plan(shape, threads=1)
    calls: dict[str, Call] = {"weft": plan.bind(x, y)}
    calls["weft"]()
    expected = y.copy()
    if chosen.threads > 1:
        calls[f"weft, {chosen.threads} threads"] = s.plan(shape, threads=chosen.threads).bind(x, y)
    if not arrays and chosen.steps > 1:
        calls[f"weft, {chosen.steps} steps"] = s.plan(shape, threads=1, steps=chosen.steps).bind(x, y)
    for peer in chosen.peers:
        try:
            made = {
                "c": lambda: c_peer(library, name, x, y, points) if library else None,
                "numpy": lambda: numpy_peer(x, y, points),
                "numba": lambda: numba_peer(x, y, points),
                "jax": lambda: jax_peer(x, y, points),
            }[peer]()
        except ImportError as error:
            print(f"{name}: {peer} is left out: {error}")
            continue
        if made is None:
            continue
        y.fill(0)
        made()
        if peer != "jax" and not np.allclose(inner(y), inner(expected), rtol=1e-12):
            sys.exit(f"{name}: {peer} computes something else")
        calls[peer] = made
    if library and not arrays and len(set(points.values())) == len(points):
        calls[PRODUCTS] = lambda: library.products(len(points) * x.size, 0.5)
    return {"x": x, "y": y, "calls": calls, "bytes": plan.bytes()}


def measure(name: str, chosen: argparse.Namespace, library: ctypes.CDLL | None) -> dict[str, Any]:
    """Shares of the copy's rate, round by round."""
    made = calls_of(name, chosen, library)
    x, y, calls = made["x"], made["y"], made["calls"]
    shares: dict[str, list[float]] = {label: [] for label in calls}
    copies = []
    several = f"{chosen.threads} threads"
    copies_by_several: list[float] = []
    slow = {"numpy", "jax"}
    for number in range(chosen.rounds):
        copies.append(timed(lambda: ctypes.memmove(y.ctypes.data, x.ctypes.data, x.nbytes)))
        rate = 2 * x.nbytes / copies[-1]
        if library and chosen.threads > 1:
            parts = timed(lambda: library.copy(y.ctypes.data, x.ctypes.data, x.size, chosen.threads))
            copies_by_several.append(copies[-1] / parts)
        for label, call in calls.items():
            if label in slow and number >= 2:
                continue
            steps = chosen.steps if label.endswith("steps") else 1
            shares[label].append(made["bytes"] * steps / timed(call) / rate)
    copy = statistics.median(copies)
    result: dict[str, Any] = {"copy_gb_per_s": 2 * x.nbytes / copy / 1e9, "target": CASES[name][3]}
    print(f"{name} {CASES[name][0]}: copy {result['copy_gb_per_s']:.1f} GB/s, target {CASES[name][3]}")
    by_round = {label: list(values) for label, values in shares.items()}
    for label, values in shares.items():
        values.sort()
        found = {"median": statistics.median(values), "least": values[0], "largest": values[-1], "rounds": len(values)}
        result[label] = found
        print(f"  {label:<18} {found['median']:.3f} ({found['least']:.3f} to {found['largest']:.3f})", flush=True)
    if copies_by_several:
        by_copy = statistics.median(copies_by_several)
        by_weft = result[f"weft, {several}"]["median"] / result["weft"]["median"]
        result["scaling"] = {"threads": chosen.threads, "copy": by_copy, "weft": by_weft}
        print(f"  {several}: copy {by_copy:.2f} times as fast as one, weft {by_weft:.2f}")
    result["met"] = result["weft"]["median"] >= result["target"]
    if PRODUCTS in result:
        pairs = zip(by_round["weft"], by_round[PRODUCTS], strict=True)
        result["share_of_products"] = statistics.median(share / bound for share, bound in pairs)
        print(f"  weft reaches {result['share_of_products']:.2f} of what its products alone would")
    return result


def build_c(folder: Path) -> ctypes.CDLL | None:
    source = Path(__file__).with_name("stencils.c")
    command = [
        "cc",
        "-O3",
        "-march=native",
        "-ffast-math",
        "-fopenmp",
        "-shared",
        "-fPIC",
        str(source),
        "-o",
        str(folder / "stencils.so"),
    ]
    peers.run(command, "building the C peer")
    library = ctypes.CDLL(str(folder / "stencils.so"))
    library.copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]
    library.copy.restype = None
    library.products.argtypes = [ctypes.c_ssize_t, ctypes.c_double]
    library.products.restype = ctypes.c_double
    return library


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds (default 7)")
    parser.add_argument("--peers", default="c,numpy,numba,jax", help="comma-separated (default c,numpy,numba,jax)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads of the second row of weft")
    parser.add_argument("--steps", type=int, default=8, help="time steps in one call (default 8)")
    parser.add_argument("--no-record", action="store_true", help="print only")
    chosen = parser.parse_args()
    chosen.peers = [peer for peer in chosen.peers.split(",") if peer]
    unknown = [name for name in chosen.cases if name not in CASES]
    wrong = [peer for peer in chosen.peers if peer not in ("c", "numpy", "numba", "jax")]
    if unknown or wrong:
        parser.error(f"unknown: {', '.join(unknown + wrong)}")
    if min(chosen.rounds, chosen.threads, chosen.steps) < 1:
        parser.error("rounds, threads and steps must be at least 1")
    return chosen


def main() -> None:
    chosen = options()
    # One thread for a library that would take all.
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    before = peers.machine()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        library = build_c(Path(folder)) if "c" in chosen.peers else None
        for name in chosen.cases or CASES:
            results[name] = measure(name, chosen, library)
    if not chosen.no_record:
        content = {"machine": before, "denominator": "memmove of the same array, one thread", "cases": results}
        print("recorded in", peers.record("stencils", content).relative_to(peers.ROOT))
        print(json.dumps({name: row["met"] for name, row in results.items()}))


if __name__ == "__main__":
    main()

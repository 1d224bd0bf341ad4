"""Baselines of the kernels of parallel variables, each as it does the thing best; those not installed are left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benches.benchmark import Need, has_package
from benches.harness import Call

NEEDS = (Need("numba", "package"), Need("numexpr", "package"), Need("jax", "package"))


def baselines(row: str, *arrays: Any) -> dict[str, Call]:
    """The baselines for a row of the benchmark, numpy first: each returns its result, or writes it into the output."""
    makers = {"numpy": with_numpy, "numba": with_numba, "numexpr": with_numexpr, "jax": with_jax}
    calls = {name: make(row, *arrays) for name, make in makers.items() if has_package(name)}
    return {name: call for name, call in calls.items() if call is not None}


def with_numpy(row: str, *arrays: Any) -> Call | None:
    a, b, out, *rest = arrays
    flags, side = rest if rest else (np.zeros(0, dtype=bool), 1)
    calls: dict[str, Call] = {
        "add": lambda: none(np.add(a, b, out=out)),
        "sum": a.sum,
        "max": a.max,
        "scan": lambda: none(np.cumsum(a, out=out)),
        "segmented scan": lambda: segmented_by_numpy(a, flags, out),
        "spread": lambda: np.copyto(plane(out, side), plane(a, side)[1]),
        "shift": lambda: rolled(a, out),
        "gather": lambda: none(np.take(a, b, out=out, mode="clip")),
        "send": lambda: np.add.at(out, b, a),
        "send max": lambda: np.maximum.at(out, b, a),
        "send overwriting": lambda: out.__setitem__(b, a),
        "histogram": lambda: np.copyto(out, np.bincount(b, minlength=len(out))),
        "rank": lambda: out.__setitem__(np.argsort(a, kind="stable"), b),
    }
    return calls[row]


def plane(a: np.ndarray, side: int) -> np.ndarray:
    """As many whole rows of so many elements as an array has."""
    return a[: len(a) // side * side].reshape(-1, side)


def none(_: Any) -> None:
    """The result is in the output."""


def rolled(a: np.ndarray, out: np.ndarray) -> None:
    out[:-1] = a[1:]
    out[-1:] = a[:1]


def segmented_by_numpy(a: np.ndarray, flags: np.ndarray, out: np.ndarray) -> None:
    """The sum up to each element, less that up to its segment."""
    np.cumsum(a, out=out)
    firsts = np.flatnonzero(flags)
    before = out[firsts] - a[firsts]
    out -= np.repeat(before, np.diff(np.append(firsts, len(a))))


def with_numexpr(row: str, *arrays: Any) -> Call | None:
    import numexpr

    a, b, out = arrays[:3]
    names = {"a": a, "b": b}
    calls: dict[str, Call] = {
        "add": lambda: none(numexpr.evaluate("a + b", local_dict=names, out=out)),
        "sum": lambda: numexpr.evaluate("sum(a)", local_dict=names),
    }
    # Its greatest of 32-bit integers begins with a number that is none of them, and raises (numexpr 2.14).
    if a.dtype != np.int32:
        calls["max"] = lambda: numexpr.evaluate("max(a)", local_dict=names)
    return calls.get(row)


_compiled: dict[str, Any] = {}


def with_numba(row: str, *arrays: Any) -> Call | None:
    import numba

    a, b, out, *rest = arrays
    if not _compiled:
        _compiled.update(numba_kernels(numba))
    kernel = _compiled.get(row)
    if kernel is None:
        return None
    if row in ("sum", "max"):
        return lambda: kernel(a)
    if row == "segmented scan":
        return lambda: kernel(a, rest[0], out)
    if row == "spread":
        return lambda: kernel(plane(a, rest[1]), plane(out, rest[1]))
    if row in ("scan", "shift"):
        return lambda: kernel(a, out)
    return lambda: kernel(a, b, out)


def numba_kernels(numba: Any) -> dict[str, Any]:
    parallel = numba.njit(parallel=True, fastmath=True)

    @parallel
    def add(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        for i in numba.prange(a.size):
            out[i] = a[i] + b[i]

    @parallel
    def total(a: np.ndarray) -> Any:
        result = a[0] - a[0]
        for i in numba.prange(a.size):
            result += a[i]
        return result

    @parallel
    def largest(a: np.ndarray) -> Any:
        result = a[0]
        for i in numba.prange(a.size):
            result = max(result, a[i])
        return result

    @numba.njit
    def scan(a: np.ndarray, out: np.ndarray) -> None:
        carried = a[0] - a[0]
        for i in range(a.size):
            carried += a[i]
            out[i] = carried

    @numba.njit
    def segmented(a: np.ndarray, flags: np.ndarray, out: np.ndarray) -> None:
        carried = a[0] - a[0]
        for i in range(a.size):
            if flags[i]:
                carried = a[i] - a[i]
            carried += a[i]
            out[i] = carried

    @parallel
    def spread(a: np.ndarray, out: np.ndarray) -> None:
        for i in numba.prange(out.shape[0]):
            out[i] = a[1]

    @parallel
    def shift(a: np.ndarray, out: np.ndarray) -> None:
        for i in numba.prange(a.size - 1):
            out[i] = a[i + 1]
        out[a.size - 1] = a[0]

    @parallel
    def gather(a: np.ndarray, index: np.ndarray, out: np.ndarray) -> None:
        for i in numba.prange(index.size):
            out[i] = a[index[i]]

    @numba.njit
    def send(a: np.ndarray, index: np.ndarray, out: np.ndarray) -> None:
        for i in range(index.size):
            out[index[i]] += a[i]

    @numba.njit
    def send_max(a: np.ndarray, index: np.ndarray, out: np.ndarray) -> None:
        for i in range(index.size):
            held, sent = out[index[i]], a[i]
            # A NaN stays, whichever of the two it is, as it does in weft and numpy; Python's max keeps only the first.
            out[index[i]] = held if held >= sent or held != held else sent

    @parallel
    def overwrite(a: np.ndarray, index: np.ndarray, out: np.ndarray) -> None:
        for i in numba.prange(index.size):
            out[index[i]] = a[i]

    @numba.njit
    def histogram(_: np.ndarray, index: np.ndarray, out: np.ndarray) -> None:
        out[:] = 0
        for i in range(index.size):
            out[index[i]] += 1

    kernels = {"add": add, "sum": total, "max": largest, "scan": scan, "segmented scan": segmented}
    sends = {"send": send, "send max": send_max, "send overwriting": overwrite, "histogram": histogram}
    return kernels | {"spread": spread, "shift": shift, "gather": gather} | sends


def checking(row: str, *arrays: Any) -> Call | None:
    """numba's loop of a row with what weft's has more: no index is used that is not one of the array, and it is known
    whether there was one."""
    if not has_package("numba"):
        return None
    import numba

    a, b, out = arrays[:3]
    if not _checking:
        _checking.update(checking_kernels(numba))
    kernel = _checking.get(row)
    return None if kernel is None else lambda: kernel(a, b, out)


_checking: dict[str, Any] = {}


def checking_kernels(numba: Any) -> dict[str, Any]:
    @numba.njit(parallel=True, fastmath=True)
    def gather(a: np.ndarray, index: np.ndarray, out: np.ndarray) -> int:
        beyond = 0
        for i in numba.prange(index.size):
            if 0 <= index[i] < a.size:
                out[i] = a[index[i]]
            else:
                beyond += 1
        return beyond

    @numba.njit
    def send(a: np.ndarray, index: np.ndarray, out: np.ndarray) -> int:
        beyond = 0
        for i in range(index.size):
            if 0 <= index[i] < out.size:
                out[index[i]] += a[i]
            else:
                beyond += 1
        return beyond

    @numba.njit
    def histogram(_: np.ndarray, index: np.ndarray, out: np.ndarray) -> int:
        out[:] = 0
        beyond = 0
        for i in range(index.size):
            if 0 <= index[i] < out.size:
                out[index[i]] += 1
            else:
                beyond += 1
        return beyond

    return {"gather": gather, "send": send, "histogram": histogram}


def with_jax(row: str, *arrays: Any) -> Call | None:
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    a, b, out = arrays[:3]
    # Scans of so many elements take seconds: one of them is enough to show.
    functions: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: a + b,
        "sum": lambda a, b: a.sum(),
        "max": lambda a, b: a.max(),
        "shift": lambda a, b: jax.numpy.roll(a, -1),
        "gather": lambda a, index: a[index],
        "histogram": lambda a, index: jax.numpy.bincount(index, length=len(out)),
        "rank": lambda a, b: jax.numpy.zeros_like(b).at[jax.numpy.argsort(a, stable=True)].set(b, unique_indices=True),
    }
    methods = {"send": "add", "send max": "max", "send overwriting": "set"}
    if row in methods:
        function = jax.jit(lambda out, a, index: getattr(out.at[index], methods[row])(a), donate_argnums=0)
        held = [jax.numpy.asarray(out.copy())]
        there, index = jax.numpy.asarray(a), jax.numpy.asarray(b)

        def call() -> None:
            held[0] = jax.block_until_ready(function(held[0], there, index))

        return call
    if row not in functions:
        return None
    function = jax.jit(functions[row])
    there, other = jax.numpy.asarray(a), jax.numpy.asarray(b)
    return lambda: jax.block_until_ready(function(there, other))

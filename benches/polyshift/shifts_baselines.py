"""Baselines of weft's shifts: both directions along every axis of a float64 array, as each of them does it best.

A baseline is a function `(x, out) -> callable` for an array and as many outputs as shifts, in the order +1, -1 along
axis 0, +1, -1 along axis 1, ... in Fortran's sense.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import weft
from benches import building
from benches.benchmark import Need, has_package
from benches.harness import Call
from benches.polyshift.pages import on_huge_pages

HERE = Path(__file__).resolve().parent

NEEDS = (
    Need("numba", "package"),
    Need("jax", "package"),
    Need("gfortran", "program"),
    Need("cc", "program", hint="copies by streaming stores need it"),
)

Baseline = Callable[[np.ndarray, list[np.ndarray]], Call]


def distances(rank: int) -> list[tuple[int, int]]:
    """Distance and axis of every shift."""
    return [(by, axis) for axis in range(rank) for by in (1, -1)]


def arrays(shape: tuple[int, ...]) -> tuple[np.ndarray, list[np.ndarray]]:
    """An array of random numbers, and an output for every shift, on huge pages."""
    x = on_huge_pages(np.random.default_rng(1).random(shape))
    return x, [on_huge_pages(np.zeros(shape)) for _ in distances(len(shape))]


def weft_bound(threads: int | None) -> Baseline:
    def make(x: np.ndarray, out: list[np.ndarray]) -> Call:
        return weft.arrays.polyshift(x.shape, x.dtype, distances(x.ndim), threads=threads).bind(x, out=out)

    return make


def weft_checked(x: np.ndarray, out: list[np.ndarray]) -> Call:
    plan = weft.arrays.polyshift(x.shape, x.dtype, distances(x.ndim))
    return lambda: plan(x, out=out)


def weft_new(x: np.ndarray, out: list[np.ndarray]) -> Call:
    plan = weft.arrays.polyshift(x.shape, x.dtype, distances(x.ndim))
    return lambda: plan(x)


def numpy_roll(x: np.ndarray, out: list[np.ndarray]) -> Call:
    shifts = distances(x.ndim)
    return lambda: [np.roll(x, -by, axis) for by, axis in shifts]


def with_numba(x: np.ndarray, out: list[np.ndarray]) -> Call:
    kernel = numba_kernel(x.ndim)
    outputs = tuple(out)
    return lambda: kernel(x, *outputs)


@functools.cache
def numba_kernel(rank: int) -> Callable[..., None]:
    """One loop nest that writes all outputs, with the neighbours' indices taken out of the inner loops."""
    outputs = [f"o{number}" for number in range(2 * rank)]
    lines = [f"def fused(x, {', '.join(outputs)}):"]
    for axis in range(rank):
        margin = "    " * (axis + 1)
        lines += [
            f"{margin}n{axis} = x.shape[{axis}]",
            f"{margin}for i{axis} in range(n{axis}):",
            f"{margin}    u{axis} = i{axis} + 1 if i{axis} + 1 < n{axis} else 0",
            f"{margin}    d{axis} = i{axis} - 1 if i{axis} > 0 else n{axis} - 1",
        ]
    margin = "    " * (rank + 1)
    here = [f"i{axis}" for axis in range(rank)]
    for number, (by, axis) in enumerate(distances(rank)):
        index = [*here]
        index[axis] = f"{'u' if by > 0 else 'd'}{axis}"
        lines.append(f"{margin}o{number}[{', '.join(here)}] = x[{', '.join(index)}]")
    import numba

    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    kernel: Callable[..., None] = numba.njit(names["fused"])
    return kernel


def with_jax(x: np.ndarray, out: list[np.ndarray]) -> Call:
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    shifts = distances(x.ndim)
    compiled = jax.jit(lambda y: [jax.numpy.roll(y, -by, axis) for by, axis in shifts])
    there = jax.numpy.asarray(x)
    return lambda: jax.block_until_ready(compiled(there))


def fortran_source(rank: int) -> str:
    outputs = [f"o{number}" for number in range(2 * rank)]
    shape = ", ".join(f"extents({d})" for d in range(1, rank + 1))
    lines = [
        f"subroutine shifts(extents, x, {', '.join(outputs)}) bind(c)",
        "  use iso_c_binding",
        f"  integer(c_int64_t), intent(in) :: extents({rank})",
        f"  real(c_double), intent(in) :: x({shape})",
        *(f"  real(c_double), intent(out) :: {output}({shape})" for output in outputs),
        *(f"  o{number} = cshift(x, {by}, {rank - axis})" for number, (by, axis) in enumerate(distances(rank))),
        "end subroutine",
    ]
    return "\n".join(lines) + "\n"


def with_gfortran(folder: Path) -> Baseline:
    def make(x: np.ndarray, out: list[np.ndarray]) -> Call:
        source = folder / f"shifts{x.ndim}.f90"
        library = source.with_suffix(".so")
        source.write_text(fortran_source(x.ndim))
        flags = [*building.NATIVE, "-ffree-line-length-none", "-shared", "-fPIC"]
        building.run(["gfortran", *flags, source, "-o", library], f"compiling {source.name}")
        function = ctypes.CDLL(str(library)).shifts
        extents = (ctypes.c_int64 * x.ndim)(*x.shape[::-1])
        function.argtypes = [ctypes.c_void_p] * (2 + len(out))
        function.restype = None
        addresses = [ctypes.addressof(extents), x.ctypes.data, *(array.ctypes.data for array in out)]
        pointers = [ctypes.c_void_p(address) for address in addresses]

        def call(_keep: object = extents) -> None:
            function(*pointers)

        return call

    return make


def copies(folder: Path) -> Callable[..., dict[str, Call]]:
    """STREAM's copy, as memcpy and by streaming stores (with several threads only so), and streaming stores alone; for
    arrays in cache, the source into every output, a few KiB of each in turn."""
    native = None
    if shutil.which("cc") and platform.machine() in ("x86_64", "AMD64"):
        native = building.c_library(HERE / "shifts.c", folder, "-fopenmp")
        native.copy_streaming.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        native.fill_streaming.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        native.copy_blocks.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]

    def make(to: np.ndarray, x: np.ndarray, threads: int, every: Sequence[np.ndarray] = ()) -> dict[str, Call]:
        calls: dict[str, Call] = {}
        if threads == 1:
            calls["copy, memcpy"] = lambda: ctypes.memmove(to.ctypes.data, x.ctypes.data, x.nbytes)
        if native is not None:
            calls["copy, streaming"] = lambda: native.copy_streaming(to.ctypes.data, x.ctypes.data, x.nbytes, threads)
            calls["fill, streaming"] = lambda: native.fill_streaming(to.ctypes.data, x.nbytes, threads)
        if native is not None and every:
            pointers = (ctypes.c_void_p * len(every))(*(array.ctypes.data for array in every))
            calls["copies, by blocks"] = lambda: native.copy_blocks(pointers, len(pointers), x.ctypes.data, x.nbytes)
        return calls

    return make


def whole(x: np.ndarray, out: list[np.ndarray]) -> dict[str, Call]:
    """What arrays in cache are compared with: the source copied into every output, and a store into all of them."""
    source, targets = x.ctypes.data, [array.ctypes.data for array in out]
    return {
        "copies, memcpy": lambda: [ctypes.memmove(target, source, x.nbytes) for target in targets],
        "fills, memset": lambda: [ctypes.memset(target, 1, x.nbytes) for target in targets],
    }


def installed(folder: Path) -> dict[str, Baseline]:
    """The baselines that are installed, by name."""
    known: dict[str, Baseline] = {"numpy.roll": numpy_roll}
    if has_package("numba"):
        known["numba, fused"] = with_numba
    if has_package("jax"):
        known["jax.numpy.roll, jit"] = with_jax
    if shutil.which("gfortran"):
        known["gfortran CSHIFT"] = with_gfortran(folder)
    return known


def check(name: str, call: Call, x: np.ndarray, out: list[np.ndarray]) -> None:
    """Ends the program where a contender does not shift."""
    for array in out:
        array[...] = -1
    result = call()
    arrays = result if isinstance(result, (list, tuple)) else out
    for array, (by, axis) in zip(arrays, distances(x.ndim), strict=True):
        if not np.array_equal(np.asarray(array), np.roll(x, -by, axis)):
            sys.exit(f"{name} shifts wrongly by {by} along axis {axis} of {x.shape}")

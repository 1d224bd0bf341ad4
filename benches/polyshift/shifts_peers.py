"""Peers of weft's shifts: both directions along every axis of a float64 array, as each of them does it best.

A peer is a function `(x, out) -> callable` for an array and as many outputs as shifts, in the order +1, -1 along axis 0,
+1, -1 along axis 1, ... in Fortran's sense. Peers that are not installed are left out with a message.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import weft

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "benches"))

from recording import head

RECORDS = ROOT / "benches" / "records"

Call = Callable[[], Any]
Peer = Callable[[np.ndarray, list[np.ndarray]], Call]


def ways(rank: int) -> list[tuple[int, int]]:
    """Distance and axis of every shift."""
    return [(by, axis) for axis in range(rank) for by in (1, -1)]


def weft_bound(threads: int | None) -> Peer:
    def make(x: np.ndarray, out: list[np.ndarray]) -> Call:
        return weft.polyshift(x.shape, x.dtype, ways(x.ndim), threads=threads).bind(x, out=out)

    return make


def weft_checked(x: np.ndarray, out: list[np.ndarray]) -> Call:
    plan = weft.polyshift(x.shape, x.dtype, ways(x.ndim))
    return lambda: plan(x, out=out)


def weft_new(x: np.ndarray, out: list[np.ndarray]) -> Call:
    plan = weft.polyshift(x.shape, x.dtype, ways(x.ndim))
    return lambda: plan(x)


def numpy_roll(x: np.ndarray, out: list[np.ndarray]) -> Call:
    shifts = ways(x.ndim)
    return lambda: [np.roll(x, -by, axis) for by, axis in shifts]


def find_numba() -> Peer | None:
    try:
        import numba  # noqa: F401
    except ImportError:
        return None

    def make(x: np.ndarray, out: list[np.ndarray]) -> Call:
        kernel = numba_kernel(x.ndim)
        arrays = tuple(out)
        return lambda: kernel(x, *arrays)

    return make


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
    for number, (by, axis) in enumerate(ways(rank)):
        there = [*here]
        there[axis] = f"{'u' if by > 0 else 'd'}{axis}"
        lines.append(f"{margin}o{number}[{', '.join(here)}] = x[{', '.join(there)}]")
    # A module of its own, so that numba can keep what it has compiled.
    folder = HERE / "__pycache__"
    folder.mkdir(exist_ok=True)
    name = f"numba_shifts_{rank}"
    (folder / f"{name}.py").write_text("import numba\n\n\n@numba.njit(cache=True)\n" + "\n".join(lines) + "\n")
    sys.path.insert(0, str(folder))
    return __import__(name).fused


def find_jax() -> Peer | None:
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")

    def make(x: np.ndarray, out: list[np.ndarray]) -> Call:
        shifts = ways(x.ndim)
        compiled = jax.jit(lambda y: [jax.numpy.roll(y, -by, axis) for by, axis in shifts])
        there = jax.numpy.asarray(x)
        return lambda: jax.block_until_ready(compiled(there))

    return make


def fortran_source(rank: int) -> str:
    outputs = [f"o{number}" for number in range(2 * rank)]
    shape = ", ".join(f"extents({d})" for d in range(1, rank + 1))
    lines = [
        f"subroutine shifts(extents, x, {', '.join(outputs)}) bind(c)",
        "  use iso_c_binding",
        f"  integer(c_int64_t), intent(in) :: extents({rank})",
        f"  real(c_double), intent(in) :: x({shape})",
        *(f"  real(c_double), intent(out) :: {output}({shape})" for output in outputs),
        *(f"  o{number} = cshift(x, {by}, {rank - axis})" for number, (by, axis) in enumerate(ways(rank))),
        "end subroutine",
    ]
    return "\n".join(lines) + "\n"


def find_gfortran(folder: Path) -> Peer | None:
    compiler = shutil.which("gfortran")
    if compiler is None:
        return None

    def make(x: np.ndarray, out: list[np.ndarray]) -> Call:
        source = folder / f"shifts{x.ndim}.f90"
        library = source.with_suffix(".so")
        source.write_text(fortran_source(x.ndim))
        flags = ["-O3", "-march=native", "-ffree-line-length-none", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True, capture_output=True)
        function = ctypes.CDLL(str(library)).shifts
        extents = (ctypes.c_int64 * x.ndim)(*x.shape[::-1])
        function.argtypes = [ctypes.c_void_p] * (2 + len(out))
        function.restype = None
        arguments = [ctypes.addressof(extents), x.ctypes.data, *(array.ctypes.data for array in out)]
        held = [ctypes.c_void_p(argument) for argument in arguments]
        return lambda _keep=extents: function(*held)

    return make


def copies(folder: Path) -> Callable[..., dict[str, Call]]:
    """STREAM's copy, as memcpy and by streaming stores (with several threads only so), and streaming stores alone; for
    arrays in cache, the source into every output, a few KiB of each in turn."""
    native = None
    if shutil.which("cc") and platform.machine() in ("x86_64", "AMD64"):
        library = folder / "copies.so"
        flags = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, str(HERE / "shifts.c"), "-o", str(library)], check=True, capture_output=True)
        native = ctypes.CDLL(str(library))
        native.copy_streaming.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        native.fill_streaming.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        native.copy_blocks.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    else:
        print("no C compiler, or not x86-64: STREAM by memcpy only", file=sys.stderr)

    def make(to: np.ndarray, x: np.ndarray, threads: int, every: Sequence[np.ndarray] = ()) -> dict[str, Call]:
        made: dict[str, Call] = {}
        if threads == 1:
            made["copy, memcpy"] = lambda: ctypes.memmove(to.ctypes.data, x.ctypes.data, x.nbytes)
        if native is not None:
            made["copy, streaming"] = lambda: native.copy_streaming(to.ctypes.data, x.ctypes.data, x.nbytes, threads)
            made["fill, streaming"] = lambda: native.fill_streaming(to.ctypes.data, x.nbytes, threads)
        if native is not None and every:
            held = (ctypes.c_void_p * len(every))(*(array.ctypes.data for array in every))
            made["copies, by blocks"] = lambda: native.copy_blocks(held, len(held), x.ctypes.data, x.nbytes)
        return made

    return make


def whole(x: np.ndarray, out: list[np.ndarray]) -> dict[str, Call]:
    """What arrays in cache are held against: the source copied into every output, and a store into all of them."""
    source, targets = x.ctypes.data, [array.ctypes.data for array in out]
    return {
        "copies, memcpy": lambda: [ctypes.memmove(target, source, x.nbytes) for target in targets],
        "fills, memset": lambda: [ctypes.memset(target, 1, x.nbytes) for target in targets],
    }


def found(folder: Path) -> dict[str, Peer]:
    """The peers that are installed, by name."""
    all_of_them = {
        "numpy.roll": numpy_roll,
        "numba, fused": find_numba(),
        "jax.numpy.roll, jit": find_jax(),
        "gfortran CSHIFT": find_gfortran(folder),
    }
    for name, peer in all_of_them.items():
        if peer is None:
            print(f"skipped: {name} is not installed", file=sys.stderr)
    return {name: peer for name, peer in all_of_them.items() if peer is not None}


def check(name: str, call: Call, x: np.ndarray, out: list[np.ndarray]) -> None:
    """Ends the program where a contender does not shift."""
    for array in out:
        array[...] = -1
    result = call()
    arrays = result if isinstance(result, (list, tuple)) else out
    for array, (by, axis) in zip(arrays, ways(x.ndim), strict=True):
        if not np.array_equal(np.asarray(array), np.roll(x, -by, axis)):
            sys.exit(f"{name} shifts wrongly by {by} along axis {axis} of {x.shape}")


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {"median": statistics.median(ordered), "least": ordered[0], "largest": ordered[-1], "rounds": len(ordered)}


def record(name: str, started: datetime.datetime, load: tuple[float, ...], content: dict[str, Any]) -> Path:
    """Writes a dated record; a second one of a day gets a number."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    number, path = 2, RECORDS / f"{started:%Y-%m-%d}-{name}.json"
    while path.exists():
        number, path = number + 1, RECORDS / f"{started:%Y-%m-%d}-{name}-{number}.json"
    path.write_text(json.dumps({**head(name, started, load), **content}, indent=1) + "\n")
    return path

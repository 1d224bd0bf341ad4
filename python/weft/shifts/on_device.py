"""Shifts of arrays on a CUDA device, of CuPy and of JAX, where there is a kernel for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from weft.cuda import through_jax
from weft.cuda.launching import VECTOR_BYTES, is_cupy, is_output, launch, may_overlap
from weft.cuda.shifts import Described, shift_launch, shiftable
from weft.shifts.description import Shift, constant, is_number, within_extent


def shift_all(sources: Sequence[Any], wanted: Sequence[Shift], out: Any = None) -> list[Any] | None:
    """The results of all shifts, each array read once; None where there is no kernel for the arrays.

    The arrays and the boundaries are known to fit each other. Results are those arrays of `out` that a kernel can write
    straight into, else new arrays of the library of the sources.
    """
    if any(not source.ndim or not source.size or not _has_kernel(source.dtype) for source in sources):
        return None
    if all(map(is_cupy, sources)):
        return _of_cupy(sources, wanted, out)
    devices = {through_jax.device_of(source) for source in sources}
    device = devices.pop()
    return None if devices or device is None else _of_jax(sources, wanted, device)


def _has_kernel(dtype: Any) -> bool:
    """Whether a type is one that numpy has too, with elements that a thread moves."""
    try:
        return shiftable(dtype)
    except TypeError:
        return False


def _of_cupy(sources: Sequence[Any], wanted: Sequence[Shift], out: Any) -> list[Any] | None:
    """Shifts of arrays of CuPy."""
    import cupy

    if len({source.device.id for source in sources}) > 1:
        return None
    with sources[0].device:
        edges = [_cupy_edge(shift, sources[shift.source].shape) for shift in wanted]
        if any(edge is None and _is_array(shift.boundary) for edge, shift in zip(edges, wanted, strict=True)):
            return None
        read = [*sources, *(edge for edge in edges if edge is not None)]
        targets = list(out) if isinstance(out, Sequence) else [out] * (out is not None)
        results = [
            targets[at] if at < len(targets) and _writable(targets, at, sources[shift.source], read)
            else cupy.empty(sources[shift.source].shape, sources[shift.source].dtype)
            for at, shift in enumerate(wanted)
        ]  # fmt: skip
        for number, source in enumerate(sources):
            own = [at for at, shift in enumerate(wanted) if shift.source == number]
            if own:
                array = source if source.flags.c_contiguous else cupy.ascontiguousarray(source)
                boundaries = [edges[at] for at in own if edges[at] is not None]
                written = [results[at] for at in own]
                addresses = tuple(one.data.ptr % VECTOR_BYTES for one in (array, *written, *boundaries))
                described = tuple(_described(wanted[at], source.shape, source.dtype) for at in own)
                chosen = _launch(tuple(source.shape), np.dtype(source.dtype).itemsize, addresses, described)
                launch(chosen, [array, *boundaries], written)
        return results


def _of_jax(sources: Sequence[Any], wanted: Sequence[Shift], device: int) -> list[Any] | None:
    """Shifts of arrays of JAX, compiled as a whole."""
    edges = []
    for shift in wanted:
        if _is_array(shift.boundary):
            edge = through_jax.jax_array(shift.boundary, device)
            if edge is None:
                return None
            edges.append(edge)
    described = tuple(_described(shift, sources[0].shape, sources[0].dtype) for shift in wanted)
    of = tuple(shift.source for shift in wanted)
    compiled = _compiled(tuple(sources[0].shape), np.dtype(sources[0].dtype), of, described, device)
    return list(compiled(sources, edges))


@lru_cache(maxsize=256)
def _compiled(
    shape: tuple[int, ...], dtype: np.dtype[Any], sources: tuple[int, ...], shifts: tuple[Described, ...], device: int
) -> Callable[..., Sequence[Any]]:
    """Shifts as a function of arrays of one shape and of the boundaries that are arrays, which JAX compiles.

    `sources` has the array that each shift is of.
    """
    import jax
    import jax.numpy as jnp

    calls = {}
    for number in sorted(set(sources)):
        own = tuple(one for one, source in zip(shifts, sources, strict=True) if source == number)
        # XLA's arrays begin where vectors may.
        wanted = _launch(shape, dtype.itemsize, (0,), own)
        calls[number] = through_jax.call(wanted, [(shape, dtype)] * len(own), device)

    def shifted(arrays: Sequence[Any], edges: Sequence[Any]) -> list[Any]:
        remaining = iter(edges)
        faces: dict[int, list[Any]] = {number: [] for number in calls}
        for (_, axis, edge), source in zip(shifts, sources, strict=True):
            if edge is True:
                faces[source].append(jnp.broadcast_to(next(remaining), shape[:axis] + shape[axis + 1 :]))
        results = {number: iter(call(arrays[number], *faces[number])) for number, call in calls.items()}
        return [next(results[source]) for source in sources]

    compiled: Callable[..., Sequence[Any]] = jax.jit(shifted)
    return compiled


_launch = lru_cache(maxsize=256)(shift_launch)


def _described(shift: Shift, shape: tuple[int, ...], dtype: Any) -> Described:
    """A shift as the kernels have it, by the shorter way."""
    extent, edge = shape[shift.axis], shift.boundary
    by = within_extent(shift.by, extent, circular=edge is None)
    if edge is None:
        return (by - extent if 2 * by > extent else by), shift.axis, None
    return by, shift.axis, True if _is_array(edge) else constant(edge, np.dtype(dtype)).tobytes()


def _is_array(edge: Any) -> bool:
    """Whether a boundary is an array."""
    return edge is not None and not is_number(edge)


def _cupy_edge(shift: Shift, shape: tuple[int, ...]) -> Any | None:
    """A boundary that is an array as one of CuPy in C order; None for others, and where it is traced."""
    import cupy

    if not _is_array(shift.boundary):
        return None
    held = through_jax.cupy_copy(shift.boundary)
    face = shape[: shift.axis] + shape[shift.axis + 1 :]
    return None if held is None else cupy.ascontiguousarray(cupy.broadcast_to(held, face))


def _writable(targets: Sequence[Any], at: int, array: Any, read: Sequence[Any]) -> bool:
    """Whether a kernel can write a result straight into an array of `out`, which nothing else reads or writes."""
    target = targets[at]
    others = [*read, *(one for number, one in enumerate(targets) if number != at)]
    return is_output(target, array) and not any(is_cupy(other) and may_overlap(target, other) for other in others)

"""Shifts of arrays on a CUDA device, where there is a kernel for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.cuda import borrowing, shifts
from weft.cuda.launching import is_cupy, is_output
from weft.shifts.description import Shift, constant, is_number, within_extent


def shift_all(sources: Sequence[Any], wanted: Sequence[Shift], out: Any = None) -> list[Any] | None:
    """The results of all shifts, each array read once; None where there is no kernel for the arrays.

    The arrays and the boundaries are known to fit each other. Results are those arrays of `out` that a kernel can write
    straight into, else new arrays of the library of the sources.
    """
    arrays = [array for array in map(borrowing.as_cupy, sources) if array is not None]
    if len(arrays) < len(sources) or any(not one.ndim or not shifts.shiftable(one.dtype) for one in arrays):
        return None
    import cupy

    if len({array.device.id for array in arrays}) > 1:
        return None
    with arrays[0].device:
        borrowing.wait()
        described = [one for shift in wanted if (one := _described(shift, arrays[shift.source])) is not None]
        if len(described) < len(wanted):
            return None
        read = [*arrays, *(one[2] for one in described if isinstance(one[2], cupy.ndarray))]
        targets = list(out) if isinstance(out, Sequence) else [out] * (out is not None)
        results = [
            targets[at] if at < len(targets) and _writable(targets, at, arrays[shift.source], read)
            else cupy.empty(arrays[shift.source].shape, arrays[shift.source].dtype)
            for at, shift in enumerate(wanted)
        ]  # fmt: skip
        for number, array in enumerate(arrays):
            own = [at for at, shift in enumerate(wanted) if shift.source == number]
            if own:
                shifts.shift_all(array, [described[at] for at in own], [results[at] for at in own])
        borrowing.keep([*sources, *(shift.boundary for shift in wanted)])
        return [borrowing.back(result, sources[shift.source]) for result, shift in zip(results, wanted, strict=True)]


def _described(shift: Shift, array: Any) -> tuple[int, int, Any] | None:
    """A shift as the kernels have it: by the shorter way, its boundary on the device; None where that is traced."""
    import cupy

    extent, edge = array.shape[shift.axis], shift.boundary
    by = within_extent(shift.by, extent, circular=edge is None)
    if edge is None:
        return (by - extent if 2 * by > extent else by), shift.axis, None
    if is_number(edge):
        return by, shift.axis, constant(edge, np.dtype(array.dtype))[()]
    held = cupy.asarray(edge) if isinstance(edge, np.ndarray) else borrowing.as_cupy(edge)
    if held is None:
        return None
    face = array.shape[: shift.axis] + array.shape[shift.axis + 1 :]
    return by, shift.axis, cupy.broadcast_to(held, face)


def _writable(targets: Sequence[Any], at: int, array: Any, read: Sequence[Any]) -> bool:
    """Whether a kernel can write a result straight into an array of `out`, which nothing else reads or writes."""
    import cupy

    target = targets[at]
    others = [*read, *(one for number, one in enumerate(targets) if number != at)]
    return is_output(target, array) and not any(
        is_cupy(other) and cupy.may_share_memory(target, other) for other in others
    )

"""Shifts of arrays that are not numpy's, by the functions of the array API standard only.

Slices and concatenations: what JAX can compile, differentiate and shard (over meshes with automatic axes; with explicit
ones JAX itself cannot slice an axis that is split), and what CuPy does where its arrays are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft._core import UsageError
from weft.shifts.description import constant, is_number


def namespace(arrays: Sequence[Any]) -> Any | None:
    """The array API namespace of arrays; None where none has one, as lists. Raises UsageError if they differ."""
    from array_api_compat import array_namespace, is_array_api_obj

    known = [array for array in arrays if is_array_api_obj(array)]
    if not known:
        return None
    try:
        return array_namespace(*known)
    except TypeError as error:
        raise UsageError(f"arrays of different libraries in one call: {error}") from error


def dtype_name(array: Any) -> str:
    """The name that numpy has for an array's dtype; other libraries write their own before it."""
    return str(array.dtype).rsplit(".", 1)[-1]


def shifted(xp: Any, x: Any, by: int, axis: int, boundary: Any) -> Any:
    """One shift of an array of `xp`; `by` is within the extent. Raises UsageError where the boundary does not fit."""
    extent = x.shape[axis]
    coming = None if boundary is None else _coming(xp, x, abs(by), axis, boundary)
    if by == 0 or extent == 0:
        return xp.asarray(x, copy=True)
    if coming is None:
        return xp.concat([_part(x, axis, by, extent), _part(x, axis, 0, by)], axis=axis)
    if by > 0:
        return xp.concat([_part(x, axis, by, extent), coming], axis=axis)
    return xp.concat([coming, _part(x, axis, 0, extent + by)], axis=axis)


def stored(results: list[Any], out: Any) -> list[Any]:
    """The results, put into the arrays of `out`. Raises UsageError where those cannot be written."""
    if out is None:
        return results
    targets = list(out) if isinstance(out, Sequence) else [out]
    if len(targets) != len(results):
        raise UsageError(f"out has {len(targets)} arrays for {len(results)} shifts")
    for number, (target, result) in enumerate(zip(targets, results, strict=True)):
        if tuple(target.shape) != tuple(result.shape) or dtype_name(target) != dtype_name(result):
            raise UsageError(
                f"out[{number}] is {dtype_name(target)} of shape {tuple(target.shape)}, "
                f"expected {dtype_name(result)} of shape {tuple(result.shape)}"
            )
        if target is result:
            continue
        try:
            target[...] = result
        except TypeError as error:
            raise UsageError(f"out[{number}] cannot be written: {error}") from error
    return targets


def _part(x: Any, axis: int, start: int, stop: int) -> Any:
    whole = slice(None)
    return x[(whole,) * axis + (slice(start, stop),) + (whole,) * (x.ndim - axis - 1)]


def _coming(xp: Any, x: Any, count: int, axis: int, boundary: Any) -> Any:
    """What comes in at the edge, `count` elements along the axis."""
    from array_api_compat import is_array_api_obj

    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    if is_number(boundary):
        value = constant(boundary, np.dtype(dtype_name(x))).item()
        return xp.full(shape, value, dtype=x.dtype)
    if not is_array_api_obj(boundary):
        raise UsageError(f"boundary: expected a number or an array, got {boundary!r}")
    face = (*x.shape[:axis], *x.shape[axis + 1 :])
    if boundary.ndim and tuple(boundary.shape) != face:
        raise UsageError(f"boundary array has shape {tuple(boundary.shape)}, expected {face}")
    if dtype_name(boundary) != dtype_name(x):
        raise UsageError(f"boundary array has dtype {dtype_name(boundary)}, expected {dtype_name(x)}")
    if isinstance(boundary, np.ndarray):
        boundary = xp.asarray(boundary)
    return xp.broadcast_to(xp.expand_dims(boundary, axis=axis) if boundary.ndim else boundary, shape)

"""One shift at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from weft._core import UsageError
from weft.array_input import own_array
from weft.cuda.through_jax import is_jax
from weft.shifts import on_device, shards
from weft.shifts.array_api import namespace, shifted, stored
from weft.shifts.description import Shift, checked_axis, checked_dtype, constant, is_number, whole_number, within_extent
from weft.shifts.plan import ShiftPlan, polyshift

_Scalar = TypeVar("_Scalar", bound=np.generic)
_Array = TypeVar("_Array")

# Plans for the shapes and distances that come again and again; one of a single shift is small.
_PLANS = 128


@overload
def cshift(x: NDArray[_Scalar], by: int, axis: int, out: NDArray[_Scalar] | None = None) -> NDArray[_Scalar]: ...
@overload
def cshift(x: Sequence[Any], by: int, axis: int, out: NDArray[Any] | None = None) -> NDArray[Any]: ...
@overload
def cshift(x: _Array, by: int, axis: int, out: _Array | None = None, *, mesh_axis: str | None = None) -> _Array: ...
def cshift(x: Any, by: int, axis: int, out: Any = None, *, mesh_axis: str | None = None) -> Any:
    """Circular shift: element `i` of the result along `axis` is element `(i + by) mod extent` of `x`.

    As Fortran's CSHIFT(x, by, dim). `numpy.roll` counts the other way: `numpy.roll(x, n, axis)` is
    `cshift(x, -n, axis)`; it also takes several axes at once and, without an axis, shifts the flattened array.

    >>> import numpy as np
    >>> cshift(np.arange(6).reshape(2, 3), 1, 1)
    array([[1, 2, 0],
           [4, 5, 3]])

    Args:
        x: an array of numpy (not masked), or of another library with the array API (JAX, CuPy, PyTorch, Dask, which
            stays lazy), a `weft.arrays.DistributedArray`, or a list of numbers. Others, such as those of pandas, are
            refused.
        by: distance, of either sign and any size.
        axis: the axis, from 0; negative ones count from the last.
        out: an array for the result; where it overlaps `x`, `x` is copied first. None makes a new one, in the order of
            axes of `x`.
        mesh_axis: within `jax.shard_map`, the axis of the mesh that `axis` is divided along: `x` is a shard, and
            elements cross to other shards.

    Raises:
        UsageError: where these do not fit each other.
    """
    return _one(x, by, axis, None, out, mesh_axis)


@overload
def eoshift(
    x: NDArray[_Scalar], by: int, axis: int, boundary: Any = 0, out: NDArray[_Scalar] | None = None
) -> NDArray[_Scalar]: ...
@overload
def eoshift(
    x: Sequence[Any], by: int, axis: int, boundary: Any = 0, out: NDArray[Any] | None = None
) -> NDArray[Any]: ...
@overload
def eoshift(
    x: _Array, by: int, axis: int, boundary: Any = 0, out: _Array | None = None, *, mesh_axis: str | None = None
) -> _Array: ...
def eoshift(x: Any, by: int, axis: int, boundary: Any = 0, out: Any = None, *, mesh_axis: str | None = None) -> Any:
    """End-off shift: element `i` of the result along `axis` is element `i + by` of `x`, or the boundary where there is
    none.

    As Fortran's EOSHIFT(x, by, boundary, dim).

    >>> import numpy as np
    >>> eoshift(np.arange(6).reshape(2, 3), 1, 0, boundary=np.array([7, 8, 9]))
    array([[3, 4, 5],
           [7, 8, 9]])

    Args:
        x: as for `cshift`.
        by: distance, of either sign and any size.
        axis: the axis, from 0; negative ones count from the last.
        boundary: a number, or an array of the dtype of `x` and its shape without `axis`, read at each call.
        out: as for `cshift`.
        mesh_axis: as for `cshift`; a boundary array is that of the shard.

    Raises:
        UsageError: where these do not fit each other.
    """
    if boundary is None:
        raise UsageError("an end-off shift needs a boundary: a number, or an array of rank one less")
    return _one(x, by, axis, boundary, out, mesh_axis)


def _one(x: Any, by: int, axis: int, boundary: Any, out: Any, mesh_axis: str | None) -> Any:
    if mesh_axis is not None:
        return _one_of_shards(x, by, axis, boundary, out, mesh_axis)
    if not isinstance(x, np.ndarray):
        own = getattr(x, "__weft_shift__", None)
        if own is not None:
            return own(by, axis, boundary, out)
        xp = namespace([x])
        if xp is not None:
            return _one_elsewhere(xp, x, by, axis, boundary, out)
        x = own_array("x", x)
    by, axis = whole_number(by, "by"), checked_axis(axis, x.ndim)
    by = within_extent(by, x.shape[axis], circular=boundary is None)
    if boundary is None:
        plan = _plan(x.shape, x.dtype, by, axis, None)
    elif is_number(boundary):
        plan = _plan(x.shape, x.dtype, by, axis, constant(boundary, checked_dtype(x.dtype)).tobytes())
    else:
        plan = polyshift(x.shape, x.dtype, [Shift(by, axis, boundary)])
    return plan(x, out=out)[0]


@lru_cache(maxsize=_PLANS)
def _plan(shape: tuple[int, ...], dtype: np.dtype[Any], by: int, axis: int, boundary: bytes | None) -> ShiftPlan:
    """A plan of one shift; the boundary as the bytes of an element."""
    element = None if boundary is None else np.frombuffer(boundary, dtype)[0]
    return polyshift(shape, dtype, [Shift(by, axis, element)])


def _one_of_shards(x: Any, by: int, axis: int, boundary: Any, out: Any, mesh_axis: str) -> Any:
    if not is_jax(x):
        raise UsageError(f"mesh_axis is for arrays of JAX within jax.shard_map, not for {type(x).__name__}")
    if out is not None:
        raise UsageError("out is not for arrays within jax.shard_map: the result is a new array")
    return shards.shifted(x, whole_number(by, "by"), checked_axis(axis, x.ndim), boundary, mesh_axis)


def _one_elsewhere(xp: Any, x: Any, by: int, axis: int, boundary: Any, out: Any) -> Any:
    by, axis = whole_number(by, "by"), checked_axis(axis, x.ndim)
    by = within_extent(by, x.shape[axis], circular=boundary is None)
    launched = on_device.shift_all([x], [Shift(by, axis, boundary)], out)
    return stored([shifted(xp, x, by, axis, boundary)] if launched is None else launched, out)[0]

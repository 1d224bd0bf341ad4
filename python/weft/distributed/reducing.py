"""Reductions of distributed arrays: of all elements to a number, along axes to a distributed array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft._core import UsageError
from weft.distributed.moving import Slices, exchanged, moved, to_all, whole_lines

if TYPE_CHECKING:
    from weft.distributed.array import DistributedArray

Axes = int | Sequence[int] | None

_IDEMPOTENT = (np.maximum, np.minimum, np.fmax, np.fmin, np.logical_or, np.logical_and, np.bitwise_or, np.bitwise_and)
"""Functions for which it makes no difference how often an initial value is combined."""

_ASSOCIATIVE = (
    *(np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin),
    *(np.logical_or, np.logical_and, np.logical_xor, np.bitwise_or, np.bitwise_and, np.bitwise_xor),
    *(np.logaddexp, np.logaddexp2, np.gcd, np.lcm, np.hypot),
)
"""Functions whose reductions do not depend on how the elements are divided, but for rounding."""

_ABSENT: Any = np._NoValue


def axes_of(axis: Axes, ndim: int) -> tuple[int, ...]:
    """Axes from 0 on, in order, of what numpy takes for them. Raises UsageError."""
    if axis is None:
        return tuple(range(ndim))
    several = axis if isinstance(axis, (tuple, list)) else (axis,)
    if any(
        not isinstance(one, (int, np.integer)) or isinstance(one, bool) or not -ndim <= one < ndim for one in several
    ):
        raise UsageError(f"there is no axis {axis!r} in an array of {ndim} axes")
    axes = sorted({int(one) % ndim for one in several})
    if len(axes) < len(several):
        raise UsageError(f"axis {axis!r} names an axis twice")
    return tuple(axes)


def reduced(
    array: Any,
    ufunc: Any,
    axis: Axes,
    dtype: DTypeLike | None,
    out: Any = None,
    *,
    keepdims: bool = False,
    where: Any = True,
    initial: Any = _ABSENT,
) -> Any:
    """An array reduced along axes: a number where these are all, else a distributed array of the other axes.

    Blocks are reduced by themselves, then in the order of ranks: sums of floating point numbers are those of numpy but
    for rounding. Collective.
    """
    from weft.distributed.operations import own_part

    if out is not None:
        raise UsageError("the result of a reduction of a distributed array is new: leave out away")
    if ufunc not in _ASSOCIATIVE and array.geometry.ranks > 1:
        raise UsageError(
            f"numpy.{ufunc.__name__}.reduce depends on the order of the elements, which lie on several ranks: gather() "
            "the array, or reduce with a function as numpy.add, numpy.multiply or numpy.maximum"
        )
    axes = axes_of(axis, array.ndim)
    options: dict[str, Any] = {} if dtype is None else {"dtype": dtype}
    kind = np.asarray(ufunc.reduce(np.ones((1,) * array.ndim, array.dtype), axis=axes, **options)).dtype
    has_initial = initial is not _ABSENT and initial is not None
    if where is not True:
        if ufunc.identity is None and not has_initial:
            raise UsageError(f"numpy.{ufunc.__name__} of some elements only needs initial=, for where there are none")
        options["where"] = own_part(where, array, "where")
    if has_initial and ufunc in _IDEMPOTENT:
        options["initial"] = initial
    is_empty = 0 in array.geometry.local_shape()
    partial = None if is_empty else np.asarray(ufunc.reduce(array.local, axis=axes, **options), kind)
    if len(axes) == array.ndim:
        result = combined_partials(array, partial, ufunc)
        if has_initial and ufunc not in _IDEMPOTENT:
            result = kind.type(ufunc(result, initial))
        return _filled(array, (1,) * array.ndim, result) if keepdims else result
    result = _along(array, partial, kind, axes, ufunc, keepdims)
    if has_initial and ufunc not in _IDEMPOTENT:
        result.local[...] = ufunc(result.local, initial)
    return result


def _filled(array: Any, shape: tuple[int, ...], value: Any) -> DistributedArray:
    from weft.distributed.geometry import Geometry

    geometry = array.geometry if array.shape == shape else Geometry(shape, comm=array.geometry.communicator)
    result: DistributedArray = type(array)(geometry, np.asarray(value).dtype)
    result.local[...] = value
    return result


def _along(
    array: DistributedArray, partial: Any, kind: np.dtype[Any], axes: tuple[int, ...], ufunc: Any, keepdims: bool
) -> DistributedArray:
    """Blocks without some axes, in a geometry of the other axes; those that meet are combined."""
    from weft.distributed.geometry import Geometry

    source = array.geometry
    kept = [axis for axis in range(source.ndim) if axis not in axes]
    shape = [source.shape[axis] for axis in kept]
    full = [1 if axis in axes else n for axis, n in enumerate(source.shape)]
    # Axes of one element leave the shape as it is, and what is divided alike can be computed with together.
    is_same = keepdims and tuple(full) == source.shape
    geometry = source if is_same else Geometry(full if keepdims else shape, comm=source.communicator)

    def had(rank: int) -> Slices:
        slices = source.local_slices(rank)
        is_empty = any(one.start >= one.stop for one in slices)
        return tuple(slice(0, 0) if is_empty else slices[axis] for axis in kept)

    def wanted(rank: int) -> Slices:
        slices = geometry.local_slices(rank)
        is_empty = any(one.start >= one.stop for one in slices)
        own = [slices[axis] for axis in kept] if keepdims else slices
        return tuple(slice(0, 0) if is_empty else one for one in own)

    result = type(array)(geometry, kind)
    block = moved(array, partial, had, wanted, kind, ufunc)
    if block.size:
        result.local[...] = block.reshape(result.local.shape)
    return result


def combined_partials(array: DistributedArray, partial: Any, ufunc: Any) -> Any:
    """The ranks' numbers combined in the order of ranks, the same on every rank.

    None stands for nothing, as of a rank without elements, and is the result where all have nothing.
    """
    own = b"" if partial is None or 0 in array.geometry.local_shape() else np.asarray(partial).tobytes()
    kind = np.asarray(0 if partial is None else partial).dtype
    names = exchanged(array, [kind.str.encode()] * array.geometry.ranks, "types of a reduction")
    parts = exchanged(array, [own] * array.geometry.ranks, f"reduction {ufunc.__name__}")
    values = [np.frombuffer(p, np.dtype(name.decode()))[0] for name, p in zip(names, parts, strict=True) if p]
    if not values:
        return None
    result = values[0]
    for value in values[1:]:
        result = ufunc(result, value)
    return result


def type_of_mean(own: np.dtype[Any], dtype: DTypeLike | None) -> DTypeLike | None:
    """In which type the elements of a mean are added, as numpy has it: what has 16 bits in 32."""
    if dtype is not None or own.kind not in "fc":
        return np.float64 if dtype is None else dtype
    return np.float32 if own == np.float16 else None


def variance(array: Any, axis: Axes, dtype: DTypeLike | None, ddof: float, keepdims: bool) -> Any:
    """The mean square of the distance from the mean, in two passes as numpy's. Collective."""
    axes = axes_of(axis, array.ndim)
    adding = type_of_mean(array.dtype, dtype)
    distance = array - array.mean(axes, adding, keepdims=True)
    squares = distance * distance if distance.dtype.kind != "c" else distance.real**2 + distance.imag**2
    count = math.prod(array.shape[one] for one in axes)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = squares.sum(axes, adding, keepdims=keepdims) / max(count - ddof, 0)
    return result.astype(np.float16) if array.dtype == np.float16 and dtype is None else result


def extreme_index(array: Any, function: Any, axis: Any, keepdims: bool) -> Any:
    """The index of the first largest or least element, flat or along an axis, as of `numpy.argmax`. Collective."""
    if axis is not None:
        return along_lines(array, axis, lambda lines, own: function(lines, axis=own, keepdims=True), keepdims)
    geometry = array.geometry
    if 0 in geometry.local_shape():
        index, value = np.zeros(0, np.int64), np.zeros(0, array.dtype)
    else:
        local = np.unravel_index(int(function(array.local)), array.local.shape)
        at = tuple(int(one) + start for one, start in zip(local, geometry.start(), strict=True))
        index = np.array([np.ravel_multi_index(at, geometry.shape)], np.int64)
        value = np.asarray(array.local[local]).reshape(1)
    indices = np.concatenate(to_all(array, index, "index of an extreme"))
    values = np.concatenate(to_all(array, value, "extreme"))
    order = np.argsort(indices)
    # The first of equal ones, and the first NaN, in the order of the whole array.
    result = np.intp(indices[order][function(values[order])])
    return _filled(array, (1,) * array.ndim, result) if keepdims else result


def along_lines(array: Any, axis: Any, function: Any, keepdims: bool = True, dtype: Any = None) -> Any:
    """What a function makes of whole lines along an axis, divided over the ranks in another way meanwhile. Collective.

    Parameters
    ----------
    function
        Called with lines and the axis; returns an array with any extent along that axis.
    keepdims
        Without it the axis, of one element then, is left out; what is left of an array of one axis is a number.
    """
    from weft.distributed.geometry import Geometry

    source, (own,) = array.geometry, axes_of(axis, array.ndim)
    boxes = whole_lines(source.shape, own, source.ranks)
    lines = moved(array, array.local, source.local_slices, boxes, array.dtype)
    sample: NDArray[Any] = function(
        np.ones([n if a == own else 1 for a, n in enumerate(source.shape)], lines.dtype), own
    )
    extent = sample.shape[own]
    result = np.ascontiguousarray(function(lines, own)) if lines.size else np.zeros(0, sample.dtype)
    shape = [extent if a == own else n for a, n in enumerate(source.shape)]
    leave = not keepdims and source.ndim > 1
    shown = [n for a, n in enumerate(shape) if a != own] if leave else shape
    geometry = source if tuple(shown) == source.shape else Geometry(shown, comm=source.communicator)

    def had(rank: int) -> Slices:
        box = boxes(rank)
        is_empty = any(one.start >= one.stop for one in box)
        parts = [slice(0, 0) if is_empty else slice(0, extent) if a == own else one for a, one in enumerate(box)]
        return tuple(one for a, one in enumerate(parts) if not (leave and a == own))

    kind = np.dtype(sample.dtype if dtype is None else dtype)
    block = result.reshape([one.stop - one.start for one in had(source.rank)]) if result.size else None
    target: DistributedArray = type(array)(geometry, kind, array.halo if geometry is source else 0)
    part = moved(array, None if block is None else block.astype(kind), had, geometry.local_slices, kind)
    target.local[...] = part.reshape(target.local.shape)
    return target if keepdims or source.ndim > 1 else target[0]

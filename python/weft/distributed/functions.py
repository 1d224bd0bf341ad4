"""Functions of numpy that are no ufuncs, for distributed arrays. Those of several ranks are collective."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft._core import UsageError
from weft.array_input import refuse_layout
from weft.distributed import moving
from weft.distributed.operations import is_distributed, like, matrix_product, of_elements, own_part, shifted
from weft.distributed.parts import indices_of
from weft.distributed.reducing import along_lines, axes_of, reduced

if TYPE_CHECKING:
    from weft.distributed.array import DistributedArray

Function = Callable[..., Any]


def _reduction(name: str) -> Function:
    """A reduction, by the array's method; what numpy hands on as not given is left out."""

    def reduce(a: Any, axis: Any = None, dtype: Any = None, out: None = None, **options: Any) -> Any:
        options = {key: value for key, value in options.items() if value is not np._NoValue}
        if dtype is not None:
            options["dtype"] = dtype
        return getattr(a, name)(axis=axis, out=out, **options)

    return reduce


def _elements(function: Function) -> Function:
    """A function whose first argument is the array, and whose others are the same for all elements."""

    def compute(a: Any, *others: Any, **options: Any) -> Any:
        if not is_distributed(a) or any(map(is_distributed, (*others, *options.values()))):
            raise UsageError(
                f"numpy.{function.__name__} takes one distributed array, the first argument: gather() the others"
            )
        return of_elements(lambda x: function(x, *others, **options), [a], (), {})

    return compute


def _together(function: Function) -> Function:
    """A function of elements of several arrays."""
    return lambda *arrays, **options: of_elements(function, arrays, (), options)


def sizes_of(array: Any) -> Any:
    """Absolute values as floating point numbers: integers would overflow in them, and in their squares."""
    return abs(array if array.dtype.kind in "fc" else array.astype(np.float64))


def _norm(array: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is not None and np.ndim(axis) == 0 and ord in (None, 1, 2, math.inf):
        sizes = sizes_of(array)
        if ord == math.inf:
            return sizes.max(axis, keepdims=keepdims)
        return sizes.sum(axis, keepdims=keepdims) if ord == 1 else np.sqrt((sizes * sizes).sum(axis, keepdims=keepdims))
    if axis is not None or keepdims or (ord is not None and array.ndim > 1):
        raise UsageError(
            "numpy.linalg.norm of a distributed array is that of all elements as one vector, or of order 1, 2 or "
            "infinity along one axis; use .norm"
        )
    return float(array.norm(2 if ord is None else ord))


def _like(name: str, array: Any, value: Any, dtype: DTypeLike | None, more: dict[str, Any]) -> DistributedArray:
    """An array of the same geometry with one value, or with those of an array that broadcasts."""
    refuse_layout(f"numpy.{name}", "a distributed array", more)
    if not is_distributed(array):
        raise UsageError(f"numpy.{name} takes the geometry of its first argument, which is no distributed array")
    result = like(array, np.dtype(array.dtype if dtype is None else dtype))
    result.local[...] = own_part(value, array, "the value")
    return result


def _constant_like(name: str, value: Any) -> Function:
    def make(a: Any, dtype: DTypeLike | None = None, order: str = "K", **more: Any) -> DistributedArray:
        return _like(name, a, value, dtype, {"order": order, **more})

    return make


def _full_like(a: Any, fill_value: Any, dtype: DTypeLike | None = None, order: str = "K", **more: Any) -> Any:
    return _like("full_like", a, fill_value, dtype, {"order": order, **more})


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return _nonzero(condition)
    return of_elements(np.where, [condition, x, y], (), {})


def _nonzero(a: Any) -> tuple[NDArray[np.intp], ...]:
    return indices_of(a, a.local != 0)


def _clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **options: Any
) -> Any:
    if (a_min is not None and min is not None) or (a_max is not None and max is not None):
        raise UsageError("numpy.clip takes a_min and a_max, or min and max, not both")
    limits = [a_min if min is None else min, a_max if max is None else max]
    return of_elements(functools.partial(np.clip, **options), [a, *limits], () if out is None else (out,), {})


def _select(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0) -> Any:
    result = default
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        result = _where(condition, choice, result)
    return result


def _are_close(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    close = of_elements(np.isclose, [a, b], (), {"rtol": rtol, "atol": atol, "equal_nan": equal_nan})
    return bool(close.all())


def _are_equal(a: Any, b: Any, equal_nan: bool = False) -> bool:
    if np.shape(a) != np.shape(b):
        return False
    equal = of_elements(np.equal, [a, b], (), {})
    if equal_nan:
        equal = equal | of_elements(lambda x, y: (x != x) & (y != y), [a, b], (), {})
    return bool(equal.all())


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        if a.ndim > 1:
            raise UsageError("numpy.roll of a distributed array is along axes: give axis=")
        axis = 0
    count = max(np.size(shift), np.size(axis))
    result = a.copy()
    for by, along in zip(np.broadcast_to(shift, count), np.broadcast_to(axis, count), strict=True):
        (own,) = axes_of(int(along), a.ndim)
        result = shifted(result, -int(by), own, None, None)
    return result


def running(function: Function, a: Any, axis: int | None, dtype: DTypeLike | None = None) -> Any:
    """A running combination along an axis; the axis of a flat array need not be given. Collective.

    Raises
    ------
    UsageError
        If the array has several axes and none is given.
    """
    if axis is None:
        if a.ndim > 1:
            raise UsageError(f"numpy.{function.__name__} of a distributed array is along one axis: give axis=")
        axis = 0
    return along_lines(a, axis, lambda lines, own: function(lines, axis=own, dtype=dtype))


def _running(function: Function) -> Function:
    def along(a: Any, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Any:
        if out is not None:
            raise UsageError("the result is new: leave out away")
        return running(function, a, axis, dtype)

    return along


def _in_lines(function: Function, default: int = -1, before: int = 0) -> Function:
    """A function along one axis that numpy takes by that name, whose result has the array's other axes."""

    def along(a: Any, *others: Any, axis: Any = default, **options: Any) -> Any:
        if len(others) > before:
            axis, others = others[before], (*others[:before], *others[before + 1 :])
        if axis is None or np.ndim(axis) > 0:
            raise UsageError(f"numpy.{function.__name__} of a distributed array is along one axis: give axis=")
        return along_lines(a, axis, lambda lines, own: function(lines, *others, axis=own, **options))

    return along


def _sorting(function: Function) -> Function:
    def along(a: Any, axis: Any = -1, kind: Any = None, order: None = None, *, stable: bool | None = None) -> Any:
        if axis is None and a.ndim > 1:
            raise UsageError(f"numpy.{function.__name__} of a distributed array is along one axis: give axis=")
        more: dict[str, Any] = {"kind": kind, "order": order, "stable": stable}
        chosen = {name: value for name, value in more.items() if value is not None}
        return along_lines(a, axis or 0, lambda lines, own: function(lines, axis=own, **chosen))

    return along


def _of_lines(function: Function) -> Function:
    """A statistic along one axis, which is left out of the result; of all elements on every rank."""

    def along(a: Any, *others: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
        if axis is not None and (np.ndim(axis) > 0 or any(np.ndim(one) > 0 for one in (*others, *options.values()))):
            raise UsageError(
                f"numpy.{function.__name__} of a distributed array is along one axis, with one number for all lines"
            )
        if axis is None:
            return function(a.gather(None), *others, keepdims=keepdims, **options)
        return along_lines(
            a, axis, lambda lines, own: function(lines, *others, axis=own, keepdims=True, **options), keepdims
        )

    return along


def _flip(a: Any, axis: Any = None) -> Any:
    for one in axes_of(axis, a.ndim):
        a = along_lines(a, one, np.flip)
    return a


def _fourier(function: Function) -> Function:
    """A transform along several axes, one after the other."""

    def transformed(a: Any, s: None = None, axes: Any = None, norm: Any = None) -> Any:
        if s is not None:
            raise UsageError("transforms of distributed arrays keep their extents: leave s away")
        for one in axes_of(axes, a.ndim):
            a = along_lines(a, one, lambda lines, own: function(lines, axis=own, norm=norm))
        return a

    return transformed


def _gradient(a: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    differences: Function = np.gradient
    # Slopes and spacings come in the order of the axes as they are given.
    axes = [axes_of(one, a.ndim)[0] for one in (axis if isinstance(axis, (tuple, list)) else axes_of(axis, a.ndim))]
    axes_of(axes, a.ndim)
    steps = list(spacing) * (len(axes) if len(spacing) == 1 else 1) or [1.0] * len(axes)
    if len(steps) != len(axes):
        raise UsageError(f"numpy.gradient along {len(axes)} axes takes one spacing, or one for each")
    slopes = [
        along_lines(a, one, lambda lines, own, h=h: differences(lines, h, axis=own, edge_order=edge_order))
        for one, h in zip(axes, steps, strict=True)
    ]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _concatenate(arrays: Sequence[Any], axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    from weft.distributed.geometry import Geometry

    if out is not None or axis is None or not all(is_distributed(one) for one in arrays):
        raise UsageError("numpy.concatenate joins distributed arrays along one axis into a new one, without out")
    first = arrays[0]
    (along,) = axes_of(axis, first.ndim)
    rest = [one.shape[:along] + one.shape[along + 1 :] for one in arrays]
    if len(set(rest)) > 1:
        raise UsageError(f"arrays that are concatenated along axis {along} have the same other extents, not {rest}")
    kind = np.dtype(np.result_type(*(one.dtype for one in arrays)) if dtype is None else dtype)
    total = sum(one.shape[along] for one in arrays)
    shape = [total if a == along else n for a, n in enumerate(first.shape)]
    geometry = Geometry(shape, comm=first.geometry.communicator)
    result = type(first)(geometry, kind)
    begin = 0
    for one in arrays:
        moving.same_ranks(one.geometry, geometry)
        _join(result, one, along, begin)
        begin += one.shape[along]
    return result


def _join(result: Any, piece: Any, along: int, begin: int) -> None:
    """A piece into the elements of an axis from one on."""
    geometry, extent = result.geometry, piece.shape[along]

    def wanted(rank: int) -> moving.Slices:
        slices = list(geometry.local_slices(rank))
        own = slices[along]
        low, high = max(own.start - begin, 0), min(own.stop - begin, extent)
        slices[along] = slice(low, max(low, high))
        return tuple(slices)

    block = moving.moved(piece, piece.local, piece.geometry.local_slices, wanted, piece.dtype)
    if block.size:
        at = wanted(geometry.rank)[along].start + begin - geometry.local_slices()[along].start
        index = [slice(None)] * geometry.ndim
        index[along] = slice(at, at + block.shape[along])
        result.local[tuple(index)] = block


def _histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    limits = range
    if a.dtype == np.bool_:
        a = a.astype(np.uint8)
    if np.ndim(bins) == 0 and limits is None:
        limits = (a.min(), a.max())
    if isinstance(bins, str):
        raise UsageError(f"the number of bins of a distributed array is not chosen by {bins!r}: give a number or edges")
    own = None if weights is None else own_part(weights, a, "weights")
    counts, edges = np.histogram(a.local, bins, limits, weights=own)
    total = np.add.reduce(moving.to_all(a, counts, "histogram"), axis=0, dtype=counts.dtype)
    if density:
        return total / (total.sum() * np.diff(edges)), edges
    return total, edges


def _along_axis(a: Any, axis: Any, weights: Any) -> Any:
    """Weights of one axis as an array that broadcasts to the whole."""
    if is_distributed(weights) or np.ndim(weights) != 1 or axis is None or np.ndim(axis) > 0:
        raise UsageError(
            "weights of another shape than the distributed array's are a flat array that every rank has, along the "
            "one axis of axis="
        )
    (own,) = axes_of(axis, a.ndim)
    if len(weights) != a.shape[own]:
        raise UsageError(f"there are {len(weights)} weights for axis {own} of {a.shape[own]} elements")
    return np.asarray(weights).reshape([-1 if one == own else 1 for one in range(a.ndim)])


def _take(a: Any, indices: Any, axis: Any = None, out: None = None, mode: str = "raise") -> Any:
    if out is not None or mode != "raise" or is_distributed(indices) or np.ndim(indices) > 1:
        raise UsageError(
            "numpy.take of a distributed array takes a number or a flat list of indices, without out= and mode="
        )
    if axis is None and a.ndim > 1:
        raise UsageError("numpy.take of a distributed array is along one axis: give axis=")
    (own,) = axes_of(0 if axis is None else axis, a.ndim)
    if np.ndim(indices) == 0:
        return a[indices] if a.ndim == 1 else _taken(a, [indices], own, False)
    return _taken(a, indices, own, True)


def _taken(a: Any, indices: Any, axis: int, keepdims: bool) -> Any:
    extent = a.shape[axis]
    index = np.asarray(indices, np.intp if np.size(indices) == 0 else None)
    if index.dtype.kind not in "iu":
        raise UsageError(f"numpy.take takes whole numbers, not {index.dtype}")
    wrong = index[(index < -extent) | (index >= extent)]
    if len(wrong):
        raise UsageError(f"index {wrong[0]} is out of bounds for axis {axis} of {extent} elements")
    return along_lines(a, axis, lambda lines, own: np.take(lines, index, own), keepdims)


def _average(a: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Any:
    if weights is None:
        return a.mean(axis, keepdims=keepdims)
    if np.shape(weights) != np.shape(a):
        weights = _along_axis(a, axis, weights)
    shares = of_elements(lambda x, w: np.broadcast_to(w, x.shape) * 1.0, [a, weights], (), {})
    return (a * shares).sum(axis, keepdims=keepdims) / shares.sum(axis, keepdims=keepdims)


def _without_nans(ufunc: Any, filling: Any) -> Function:
    """A reduction of those that are numbers."""

    def reduce(a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Any:
        numbers = of_elements(lambda x: np.where(np.isnan(x), x.dtype.type(filling), x), [a], (), {})
        return reduced(numbers, ufunc, axis, dtype, keepdims=_is_kept(keepdims))

    return reduce


def _extreme_number(ufunc: Any) -> Function:
    """The greatest or least one of those that are numbers, and NaN where there are none."""
    return lambda a, axis=None, keepdims=False: reduced(a, ufunc, axis, None, keepdims=_is_kept(keepdims))


def _is_kept(keepdims: Any) -> bool:
    return keepdims is not np._NoValue and bool(keepdims)


def _nanmean(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    if a.dtype.kind not in "fc":
        return a.mean(axis, keepdims=_is_kept(keepdims))
    between = np.dtype(np.float32 if a.dtype == np.float16 else a.dtype)
    total = _without_nans(np.add, 0)(a, axis, between, keepdims=keepdims)
    count = _count_nonzero(~np.isnan(a), axis, keepdims=keepdims)
    # The quotient of an array of single precision and one of counts is of double precision.
    result = total / count
    return result.astype(a.dtype)


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return of_elements(np.not_equal, [a, 0], (), {}).sum(axis, keepdims=bool(keepdims))


def _ptp(a: Any, axis: Any = None, out: None = None, keepdims: Any = False) -> Any:
    kept = keepdims is not np._NoValue and bool(keepdims)
    return a.max(axis, out, keepdims=kept) - a.min(axis, out, keepdims=kept)


def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    moved_from = [axes_of(int(one), a.ndim)[0] for one in np.atleast_1d(source)]
    order = [axis for axis in range(a.ndim) if axis not in moved_from]
    for to, axis in sorted(
        zip([axes_of(int(d), a.ndim)[0] for d in np.atleast_1d(destination)], moved_from, strict=True)
    ):
        order.insert(to, axis)
    return a.transpose(order)


def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(a.ndim))
    (one,), (other,) = axes_of(axis1, a.ndim), axes_of(axis2, a.ndim)
    order[one], order[other] = other, one
    return a.transpose(order)


def _dot(a: Any, b: Any) -> Any:
    return of_elements(np.multiply, [a, b], (), {}) if 0 in (np.ndim(a), np.ndim(b)) else matrix_product(a, b)


FUNCTIONS: dict[Any, Function] = {
    **{getattr(np, name): _reduction(name) for name in ("sum", "prod", "max", "min", "any", "all", "mean")},
    **{getattr(np, name): _reduction(name) for name in ("var", "std", "argmax", "argmin")},
    np.amax: _reduction("max"),
    np.amin: _reduction("min"),
    np.dot: _dot,
    np.vdot: lambda a, b: a.vdot(b) if is_distributed(a) else np.conj(b.vdot(a)),
    np.linalg.norm: _norm,
    np.where: _where,
    np.nonzero: _nonzero,
    np.flatnonzero: lambda a: np.ravel_multi_index(_nonzero(a), a.shape),
    np.argwhere: lambda a: np.transpose(_nonzero(a)),
    np.select: _select,
    np.isclose: _together(np.isclose),
    np.allclose: _are_close,
    np.array_equal: _are_equal,
    np.clip: _clip,
    **{
        getattr(np, name): _elements(getattr(np, name))
        for name in ("real", "imag", "angle", "round", "around", "fix", "nan_to_num", "isreal", "iscomplex", "sinc")
    },
    **{getattr(np, name): _elements(getattr(np, name)) for name in ("interp", "isin", "digitize", "isposinf", "i0")},
    np.isneginf: _elements(np.isneginf),
    np.piecewise: lambda x, conditions, functions, *others, **options: of_elements(
        lambda own, *held: np.piecewise(own, list(held), functions, *others, **options), [x, *conditions], (), {}
    ),
    np.copy: lambda a: a.copy(),
    np.zeros_like: _constant_like("zeros_like", 0),
    np.ones_like: _constant_like("ones_like", 1),
    np.empty_like: _constant_like("empty_like", 0),
    np.full_like: _full_like,
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: math.prod(a.shape) if axis is None else a.shape[axis],
    np.iscomplexobj: lambda a: a.dtype.kind == "c",
    np.isrealobj: lambda a: a.dtype.kind != "c",
    np.result_type: lambda *all: np.result_type(*(one.dtype if is_distributed(one) else one for one in all)),
    np.roll: _roll,
    np.flip: _flip,
    np.cumsum: _running(np.cumsum),
    np.cumprod: _running(np.cumprod),
    np.nancumsum: _running(np.nancumsum),
    np.sort: _sorting(np.sort),
    np.argsort: _sorting(np.argsort),
    np.diff: _in_lines(np.diff, before=1),
    np.take: _take,
    np.gradient: _gradient,
    np.median: _of_lines(np.median),
    np.percentile: _of_lines(np.percentile),
    np.quantile: _of_lines(np.quantile),
    **{
        getattr(np.fft, name): _in_lines(getattr(np.fft, name), before=1)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    np.fft.fftn: _fourier(np.fft.fft),
    np.fft.ifftn: _fourier(np.fft.ifft),
    np.fft.fft2: lambda a, s=None, axes=(-2, -1), norm=None: _fourier(np.fft.fft)(a, s, axes, norm),
    np.fft.ifft2: lambda a, s=None, axes=(-2, -1), norm=None: _fourier(np.fft.ifft)(a, s, axes, norm),
    np.concatenate: _concatenate,
    np.transpose: lambda a, axes=None: a.transpose(axes),
    np.moveaxis: _moveaxis,
    np.swapaxes: _swapaxes,
    np.histogram: _histogram,
    np.average: _average,
    np.nansum: _without_nans(np.add, 0),
    np.nanprod: _without_nans(np.multiply, 1),
    np.nanmax: _extreme_number(np.fmax),
    np.nanmin: _extreme_number(np.fmin),
    np.nanmean: _nanmean,
    np.count_nonzero: _count_nonzero,
    np.ptp: _ptp,
}
"""What each is for distributed arrays."""

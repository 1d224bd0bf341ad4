"""Distributed arrays as numpy's: operators, functions of elements, reductions, parts.

What is done element by element stays on its rank. What needs all ranks is collective, and gives the same on every one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft._core import UsageError
from weft.distributed import calls

if TYPE_CHECKING:
    from weft.distributed.array import DistributedArray
    from weft.distributed.geometry import Geometry

Slices = tuple[slice, ...]
Axes = int | Sequence[int] | None

KEPT_SHIFTS = 32
"""Plans of single shifts that the ranks of a communicator keep."""


class ArrayOperations(np.lib.mixins.NDArrayOperatorsMixin):
    """What `DistributedArray` has in common with numpy's arrays."""

    geometry: Geometry
    local: NDArray[Any]
    dtype: np.dtype[Any]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        """A function of elements: of distributed arrays of one geometry, numbers, and arrays that every rank has."""
        if method == "reduce":
            axis = options.pop("axis", 0)
            if out is not None or options.pop("keepdims", False) or set(options) - {"dtype"}:
                raise UsageError(f"numpy.{ufunc.__name__}.reduce of a distributed array takes axis and dtype only")
            return reduced(inputs[0], ufunc, axis, options.get("dtype"))
        if method != "__call__":
            raise UsageError(f"numpy.{ufunc.__name__}.{method} is not for distributed arrays: use .local, or gather()")
        return of_elements(ufunc, inputs, out or (), options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        """Other functions of numpy: those that are known here, and on one rank all of them, as of a numpy array."""
        known = FUNCTIONS.get(function)
        if known is not None:
            return known(*arguments, **options)
        if self.geometry.ranks > 1:
            name = f"{function.__module__}.{function.__name__}"
            raise UsageError(f"{name} is not for arrays on several ranks; use .local for this rank's part, or gather()")
        return function(*_as_numpy(arguments), **_as_numpy(options))

    def __getitem__(self, key: Any) -> Any:
        """A part of the array by integers, slices and `...`, as a numpy array on every rank. Collective."""
        return part_of(self._self(), key)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Writes a part by integers, slices and `...`: a number, or an array that every rank has."""
        put_part(self._self(), key, value)

    def sum(self, axis: Axes = None, dtype: DTypeLike | None = None, out: None = None) -> Any:
        """The sum: a number, or with axes a distributed array of the others. Collective."""
        return reduced(self._self(), np.add, axis, dtype, out)

    def prod(self, axis: Axes = None, dtype: DTypeLike | None = None, out: None = None) -> Any:
        """The product. Collective."""
        return reduced(self._self(), np.multiply, axis, dtype, out)

    def max(self, axis: Axes = None, out: None = None) -> Any:
        """The greatest element. Collective."""
        return reduced(self._self(), np.maximum, axis, None, out)

    def min(self, axis: Axes = None, out: None = None) -> Any:
        """The least element. Collective."""
        return reduced(self._self(), np.minimum, axis, None, out)

    def any(self, axis: Axes = None, out: None = None) -> Any:
        """Whether any element is true. Collective."""
        return reduced(self._self(), np.logical_or, axis, None, out)

    def all(self, axis: Axes = None, out: None = None) -> Any:
        """Whether all elements are true. Collective."""
        return reduced(self._self(), np.logical_and, axis, None, out)

    def mean(self, axis: Axes = None, dtype: DTypeLike | None = None, out: None = None) -> Any:
        """The mean. Collective."""
        axes = axes_of(axis, self._self().ndim)
        count = math.prod(self.geometry.shape[one] for one in axes)
        wanted = dtype if dtype is not None or self.dtype.kind in "fc" else np.float64
        return self.sum(axis, wanted, out) / count

    def norm(self, ord: float = 2) -> float:
        """The norm of all elements as one vector: `ord` is 1, 2 or infinity. Collective.

        Raises
        ------
        UsageError
            For another one.
        """
        sizes: Any = np.abs(self._self())
        if ord == 2:
            squares = np.asarray(sizes.local, np.result_type(sizes.dtype, np.float32)).ravel()
            return math.sqrt(combined_partials(self._self(), np.dot(squares, squares), np.add))
        if ord == 1:
            return float(sizes.sum())
        if ord == math.inf:
            return float(sizes.max())
        raise UsageError(f"the norm of order {ord!r} is not known; there are 1, 2 and infinity")

    def dot(self, other: Any) -> Any:
        """The sum of products with another array of this geometry, `self` not conjugated. Collective."""
        return _product(self._self(), other, np.dot)

    def vdot(self, other: Any) -> Any:
        """The sum of products with another array of this geometry, `self` conjugated. Collective."""
        return _product(self._self(), other, np.vdot)

    def astype(self, dtype: DTypeLike) -> DistributedArray:
        """A copy with elements of another type, without ghosts' values."""
        result = _like(self._self(), np.dtype(dtype))
        result.local[...] = self.local.astype(dtype)
        return result

    def redistribute(self, geometry: Geometry) -> DistributedArray:
        """The same array divided in another way, over the same ranks. Collective.

        Raises
        ------
        UsageError
            If the other geometry has another shape, or is over other ranks.
        """
        if geometry.shape != self.geometry.shape:
            raise UsageError(f"the array has shape {self.geometry.shape}, but the geometry has {geometry.shape}")
        return _moved(self._self(), self.local, self.dtype, (), geometry, None)

    def _self(self) -> DistributedArray:
        from weft.distributed.array import DistributedArray

        assert isinstance(self, DistributedArray)
        return self


def _like(array: DistributedArray, dtype: np.dtype[Any]) -> DistributedArray:
    return type(array)(array.geometry, dtype, array.halo)


def _is_distributed(value: Any) -> bool:
    return isinstance(value, ArrayOperations)


def _as_numpy(value: Any) -> Any:
    """Arguments with numpy's arrays in the place of distributed ones of one rank."""
    if _is_distributed(value):
        return value.local
    if isinstance(value, (list, tuple)):
        return type(value)(map(_as_numpy, value))
    if isinstance(value, dict):
        return {name: _as_numpy(one) for name, one in value.items()}
    return value


def _first(values: Sequence[Any]) -> Any:
    return next(value for value in values if _is_distributed(value))


def own_part(value: Any, like: DistributedArray, what: str) -> Any:
    """This rank's elements of an operand."""
    if _is_distributed(value):
        if value.geometry is not like.geometry and value.geometry != like.geometry:
            raise UsageError(
                f"{what} has another geometry: {value.geometry}, not {like.geometry}; redistribute() one of them"
            )
        return value.local
    if np.ndim(value) == 0:
        return value
    whole = np.asarray(value)
    try:
        return np.broadcast_to(whole, like.geometry.shape)[like.geometry.local_slices()]
    except ValueError:
        raise UsageError(
            f"{what} of shape {whole.shape} does not broadcast to the distributed array's, {like.geometry.shape}"
        ) from None


def of_elements(ufunc: Any, inputs: Sequence[Any], out: Sequence[Any], options: dict[str, Any]) -> Any:
    """A function of elements.

    Raises
    ------
    UsageError
        For arrays of different geometries, and a target that is no distributed array.
    """
    like = _first([*inputs, *out, options.get("where")])
    if any(not (target is None or _is_distributed(target)) for target in out):
        raise UsageError("the result of a distributed array is one: out must be a DistributedArray")
    own = [own_part(value, like, f"operand {number}") for number, value in enumerate(inputs)]
    if "where" in options:
        options = {**options, "where": own_part(options["where"], like, "where")}
    targets = tuple(None if target is None else own_part(target, like, "out") for target in out)
    results = ufunc(*own, **options, **({"out": targets} if any(t is not None for t in targets) else {}))
    several = results if isinstance(results, tuple) else (results,)
    wrapped = []
    for number, result in enumerate(several):
        target = out[number] if number < len(out) else None
        if target is None:
            target = _like(like, np.asarray(result).dtype)
            target.local[...] = result
        wrapped.append(target)
    return tuple(wrapped) if isinstance(results, tuple) else wrapped[0]


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


def reduced(array: Any, ufunc: Any, axis: Axes, dtype: DTypeLike | None, out: Any = None) -> Any:
    """An array reduced along axes: a number where these are all, else a distributed array of the other axes.

    Blocks are reduced by themselves, then in the order of ranks: sums of floating point numbers are those of numpy but
    for rounding. Collective.
    """
    if out is not None:
        raise UsageError("the result of a reduction of a distributed array is new: leave out away")
    axes = axes_of(axis, array.ndim)
    options = {} if dtype is None else {"dtype": dtype}
    sample = ufunc.reduce(np.ones((1,) * array.ndim, array.dtype), axis=axes, **options)
    kind = np.asarray(sample).dtype
    is_empty = 0 in array.geometry.local_shape()
    partial = None if is_empty else np.asarray(ufunc.reduce(array.local, axis=axes, **options), kind)
    if len(axes) == array.ndim:
        return combined_partials(array, partial, ufunc)
    from weft.distributed.geometry import Geometry

    others = tuple(n for one, n in enumerate(array.geometry.shape) if one not in axes)
    geometry = Geometry(others, comm=array.geometry.communicator)
    return _moved(array, partial, kind, axes, geometry, ufunc)


def _exchanged(array: DistributedArray, parts: Sequence[bytes], what: str) -> list[bytes]:
    """What every rank has for this one."""
    ranks = array.geometry.communicator
    if ranks.size == 1:
        return list(parts)
    digest = calls.digest(what + " of {} over {}", array.geometry.shape, array.geometry.grid)
    return list(ranks.native.exchange(parts, digest))


def combined_partials(array: DistributedArray, partial: Any, ufunc: Any) -> Any:
    """The ranks' numbers combined in the order of ranks, the same on every rank.

    None stands for nothing, as of a rank without elements, and is the result where all have nothing.
    """
    own = b"" if partial is None or 0 in array.geometry.local_shape() else np.asarray(partial).tobytes()
    kind = np.asarray(0 if partial is None else partial).dtype
    names = _exchanged(array, [kind.str.encode()] * array.geometry.ranks, "types of a reduction")
    parts = _exchanged(array, [own] * array.geometry.ranks, "reduction")
    values = [np.frombuffer(p, np.dtype(name.decode()))[0] for name, p in zip(names, parts, strict=True) if p]
    if not values:
        return None
    result = values[0]
    for value in values[1:]:
        result = ufunc(result, value)
    return result


def _moved(
    array: DistributedArray,
    block: NDArray[Any] | None,
    dtype: np.dtype[Any],
    without: Sequence[int],
    geometry: Geometry,
    ufunc: Any,
) -> DistributedArray:
    """Blocks of an array without some axes, in a geometry of the other axes; those that meet are combined."""
    source = array.geometry
    if geometry.communicator is not source.communicator:
        raise UsageError("the geometries are over different ranks")
    kept = [axis for axis in range(source.ndim) if axis not in without]

    def block_of(rank: int) -> Slices:
        slices = source.local_slices(rank)
        is_empty = any(one.start >= one.stop for one in slices)
        return tuple(slice(0, 0) if is_empty else slices[axis] for axis in kept)

    mine, parts = block_of(source.rank), []
    for rank in range(source.ranks):
        common = _common(mine, geometry.local_slices(rank))
        parts.append(
            b"" if block is None or common is None else np.ascontiguousarray(block[_within(common, mine)]).tobytes()
        )
    result = type(array)(geometry, dtype)
    arrived = _exchanged(array, parts, "redistribution")
    own = geometry.local_slices()
    filled = np.zeros(result.local.shape, bool)
    for rank, content in enumerate(arrived):
        common = _common(block_of(rank), own)
        if common is None:
            continue
        here = _within(common, own)
        values = np.frombuffer(content, dtype).reshape([one.stop - one.start for one in common])
        if ufunc is not None and filled[here].any():
            values = ufunc(result.local[here], values)
        result.local[here] = values
        filled[here] = True
    return result


def _common(one: Slices, other: Slices) -> Slices | None:
    """What two blocks have in common."""
    both = tuple(slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(one, other, strict=True))
    return None if any(part.start >= part.stop for part in both) else both


def _within(part: Slices, block: Slices) -> Slices:
    """A part of the whole array as one of a block."""
    return tuple(slice(p.start - b.start, p.stop - b.start) for p, b in zip(part, block, strict=True))


def _product(array: DistributedArray, other: Any, product: Callable[..., Any]) -> Any:
    own = own_part(other, array, "the other array")
    if np.ndim(own) == 0:
        raise UsageError("a product of a distributed array is with another array")
    return combined_partials(array, product(array.local.ravel(), np.ravel(own)), np.add)


def _selection(array: DistributedArray, key: Any) -> tuple[list[NDArray[np.intp]], list[int]]:
    """The indices that a key selects along each axis, and the axes that an integer takes away. Raises UsageError."""
    words = list(key) if isinstance(key, tuple) else [key]
    if sum(word is Ellipsis for word in words) > 1:
        raise UsageError("an index has one ellipsis at most")
    if Ellipsis in [word for word in words if not hasattr(word, "shape")]:
        at = next(number for number, word in enumerate(words) if word is Ellipsis)
        words[at : at + 1] = [slice(None)] * (array.ndim - len(words) + 1)
    words += [slice(None)] * (array.ndim - len(words))
    if len(words) > array.ndim:
        raise UsageError(f"an index of {len(words)} axes into an array of {array.ndim}")
    indices, away = [], []
    for axis, (word, extent) in enumerate(zip(words, array.geometry.shape, strict=True)):
        if isinstance(word, slice):
            indices.append(np.arange(*word.indices(extent)))
        elif isinstance(word, (int, np.integer)) and not isinstance(word, bool):
            if not -extent <= word < extent:
                raise UsageError(f"index {word} is out of bounds for axis {axis} of {extent} elements")
            indices.append(np.array([int(word) % extent]))
            away.append(axis)
        else:
            raise UsageError(
                f"a distributed array is indexed by integers, slices and ..., not by {type(word).__name__}: "
                "gather() it, or use .local"
            )
    return indices, away


def _of_block(indices: Sequence[NDArray[np.intp]], block: Slices) -> list[slice]:
    """Which of the selected indices a block has."""
    chosen = []
    for own, part in zip(indices, block, strict=True):
        at = np.flatnonzero((own >= part.start) & (own < part.stop))
        chosen.append(slice(int(at[0]), int(at[-1]) + 1) if len(at) else slice(0, 0))
    return chosen


def part_of(array: DistributedArray, key: Any) -> Any:
    """The selected part on every rank. Collective."""
    geometry = array.geometry
    indices, away = _selection(array, key)
    mine = geometry.local_slices()
    chosen = _of_block(indices, mine)
    local = array.local[
        np.ix_(*(own[part] - block.start for own, part, block in zip(indices, chosen, mine, strict=True)))
    ]
    whole = np.empty([len(own) for own in indices], array.dtype)
    arrived = _exchanged(array, [np.ascontiguousarray(local).tobytes()] * geometry.ranks, "part")
    for rank, content in enumerate(arrived):
        there = _of_block(indices, geometry.local_slices(rank))
        shape = [part.stop - part.start for part in there]
        whole[tuple(there)] = np.frombuffer(content, array.dtype).reshape(shape)
    result = whole.reshape([n for axis, n in enumerate(whole.shape) if axis not in away])
    return result[()] if not result.ndim else result


def put_part(array: DistributedArray, key: Any, value: Any) -> None:
    """Writes what this rank has of the selected part."""
    indices, away = _selection(array, key)
    mine = array.geometry.local_slices()
    chosen = _of_block(indices, mine)
    index = np.ix_(*(own[part] - block.start for own, part, block in zip(indices, chosen, mine, strict=True)))
    if _is_distributed(value):
        whole = all(len(own) == n and (own == np.arange(n)).all() for own, n in zip(indices, array.shape, strict=True))
        if not whole:
            raise UsageError("a part is written from a number or an array that every rank has, not a distributed one")
        array.local[...] = own_part(value, array, "the value")
        return
    shape = tuple(len(own) for axis, own in enumerate(indices) if axis not in away)
    values = np.asarray(value)
    try:
        values = np.broadcast_to(values, shape)
    except ValueError:
        raise UsageError(f"a value of shape {values.shape} does not broadcast to the part's, {shape}") from None
    array.local[index] = values.reshape([len(own) for own in indices])[tuple(chosen)]


def shifted(array: DistributedArray, by: Any, axis: Any, boundary: Any, out: Any) -> DistributedArray:
    """`weft.arrays.cshift` and `weft.arrays.eoshift`, whose result is divided as the array is. Collective.

    Plans are kept for further calls, but those with a boundary array.
    """
    ranks, geometry = array.geometry.communicator, array.geometry
    shift = (by, axis) if boundary is None else (by, axis, boundary)
    if np.ndim(boundary) > 0:
        with geometry.polyshift(array.dtype, shifts=[shift], halo=array.halo) as plan:
            return _only(plan(array, out=None if out is None else [out]))
    key = (geometry, array.dtype, array.halo, int(by), int(axis), repr(boundary))
    kept = ranks.shifts
    if key not in kept:
        if len(kept) >= KEPT_SHIFTS:
            kept.pop(next(iter(kept))).release()
        kept[key] = geometry.polyshift(array.dtype, shifts=[shift], halo=array.halo)
    return _only(kept[key](array, out=None if out is None else [out]))


def _only(results: Sequence[DistributedArray]) -> DistributedArray:
    return results[0]


def _norm(array: Any, ord: Any = None, axis: None = None, keepdims: bool = False) -> float:
    if axis is not None or keepdims or (ord is not None and array.ndim > 1):
        raise UsageError("numpy.linalg.norm of a distributed array is that of all elements as one vector; use .norm")
    return float(array.norm(2 if ord is None else ord))


def _like_with(value: Any) -> Callable[..., DistributedArray]:
    def make(array: Any, dtype: DTypeLike | None = None) -> DistributedArray:
        result = _like(array, np.dtype(array.dtype if dtype is None else dtype))
        result.local[...] = value
        return result

    return make


def _where(condition: Any, x: Any, y: Any) -> Any:
    return of_elements(np.where, [condition, x, y], (), {})


def _are_close(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    close = of_elements(np.isclose, [a, b], (), {"rtol": rtol, "atol": atol, "equal_nan": equal_nan})
    return bool(close.all())


def _are_equal(a: Any, b: Any, equal_nan: bool = False) -> bool:
    if np.shape(a) != np.shape(b):
        return False
    return bool(of_elements(np.equal, [a, b], (), {}).all())


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: lambda a, axis=None, dtype=None: a.sum(axis, dtype),
    np.prod: lambda a, axis=None, dtype=None: a.prod(axis, dtype),
    np.max: lambda a, axis=None: a.max(axis),
    np.min: lambda a, axis=None: a.min(axis),
    np.any: lambda a, axis=None: a.any(axis),
    np.all: lambda a, axis=None: a.all(axis),
    np.mean: lambda a, axis=None, dtype=None: a.mean(axis, dtype),
    np.dot: lambda a, b: _first([a, b]).dot(b if _is_distributed(a) else a),
    np.vdot: lambda a, b: a.vdot(b) if _is_distributed(a) else np.conj(b.vdot(a)),
    np.linalg.norm: _norm,
    np.where: _where,
    np.isclose: lambda a, b, **options: of_elements(np.isclose, [a, b], (), options),
    np.allclose: _are_close,
    np.array_equal: _are_equal,
    np.real: lambda a: of_elements(np.real, [a], (), {}),
    np.imag: lambda a: of_elements(np.imag, [a], (), {}),
    np.clip: lambda a, low, high: of_elements(np.clip, [a, low, high], (), {}),
    np.copy: lambda a: a.copy(),
    np.zeros_like: _like_with(0),
    np.ones_like: _like_with(1),
    np.empty_like: _like_with(0),
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a: math.prod(a.shape),
    np.iscomplexobj: lambda a: a.dtype.kind == "c",
}
"""Functions of numpy that are no ufuncs, and what they are for distributed arrays."""

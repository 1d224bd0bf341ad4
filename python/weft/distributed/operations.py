"""Distributed arrays as numpy's: operators, functions of elements, reductions, parts.

What is done element by element stays on its rank, but for arrays that are broadcast. What needs all ranks is
collective, and gives the same on every one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft._core import UsageError
from weft.distributed import calls, moving, reducing
from weft.distributed.parts import part_of, put_part
from weft.distributed.reducing import Axes, axes_of, combined_partials, reduced

if TYPE_CHECKING:
    from weft.distributed.array import DistributedArray
    from weft.distributed.geometry import Geometry


KEPT_SHIFTS = 32
"""Plans of single shifts that the ranks of a communicator keep."""


class ArrayOperations(np.lib.mixins.NDArrayOperatorsMixin):
    """What `DistributedArray` has in common with numpy's arrays."""

    geometry: Geometry
    local: NDArray[Any]
    dtype: np.dtype[Any]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        """A function of elements: of distributed arrays, numbers, and arrays that every rank has."""
        words = ufunc.__name__ if method == "__call__" else calls.worded(f"{ufunc.__name__}.{method}", inputs, options)
        with calls.during(words):
            return self._by_ufunc(ufunc, method, inputs, out, options)

    def _by_ufunc(
        self, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], out: Any, options: dict[str, Any]
    ) -> Any:
        if method == "reduce":
            known = {"axis", "dtype", "keepdims", "where", "initial"}
            if out not in (None, (None,)) or set(options) - known:
                raise UsageError(
                    f"numpy.{ufunc.__name__}.reduce of a distributed array takes {', '.join(sorted(known))} only"
                )
            return reduced(inputs[0], ufunc, options.pop("axis", 0), options.pop("dtype", None), **options)
        if method == "accumulate" and out is None:
            axis = options.pop("axis", 0)
            return reducing.along_lines(inputs[0], axis, lambda lines, own: ufunc.accumulate(lines, own, **options))
        if ufunc is np.matmul and method == "__call__" and out is None:
            return matrix_product(*inputs)
        if method != "__call__" or ufunc.signature is not None:
            raise UsageError(
                f"numpy.{ufunc.__name__}{'' if method == '__call__' else '.' + method} is not for distributed arrays: "
                "use .local, or gather()"
            )
        return of_elements(ufunc, inputs, out or (), options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        """Other functions of numpy: those that are known here, and on one rank all of them, as of a numpy array."""
        from weft.distributed.functions import FUNCTIONS

        known = FUNCTIONS.get(function)
        if known is not None:
            with calls.during(calls.worded(function.__name__, arguments, options)):
                return known(*arguments, **options)
        if self.geometry.ranks > 1:
            name = f"{function.__module__}.{function.__name__}"
            raise UsageError(f"{name} is not for arrays on several ranks; use .local for this rank's part, or gather()")
        return function(*_as_numpy(arguments), **_as_numpy(options))

    @calls.named
    def __getitem__(self, key: Any) -> Any:
        """A part as a numpy array on every rank: by integers, slices, `...`, one list, or a mask. Collective."""
        return part_of(self._self(), key)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Writes a part from a number, or an array that every rank has. Collective where the key is a mask."""
        with calls.during(calls.worded("assignment", [key], {})):
            put_part(self._self(), key, value)

    def __len__(self) -> int:
        return self.geometry.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """Row after row, as numpy arrays on every rank. Collective."""
        return (self[row] for row in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    @calls.named
    def item(self) -> Any:
        """The element of an array of one, as Python's number. Collective.

        Raises
        ------
        UsageError
            If the array has several.
        """
        if self._self().size != 1:
            raise UsageError(
                f"an array of {self._self().size} elements is not one number; use .any(), .all() or an index"
            )
        return self[(0,) * self._self().ndim].item()

    @calls.named
    def tolist(self) -> Any:
        """All elements in Python's lists, on every rank. Collective."""
        whole = self._self().gather(None)
        assert whole is not None
        return whole.tolist()

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, on all ranks together."""
        return self._self().size * self.itemsize

    @property
    def real(self) -> DistributedArray:
        """The real parts, as an array of its own."""
        return cast("DistributedArray", of_elements(np.real, [self], (), {}))

    @property
    def imag(self) -> DistributedArray:
        """The imaginary parts, as an array of its own."""
        return cast("DistributedArray", of_elements(np.imag, [self], (), {}))

    @property
    def T(self) -> DistributedArray:  # noqa: N802  (numpy's name)
        """The axes in the opposite order. Collective."""
        return self.transpose()

    @calls.named
    def transpose(self, *axes: Any) -> DistributedArray:
        """The axes in another order, the opposite one by default, divided over the ranks alike. Collective."""
        words = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))) else axes
        return _transposed(self._self(), tuple(words or range(self._self().ndim)[::-1]))

    def conj(self) -> DistributedArray:
        """The complex conjugates."""
        return cast("DistributedArray", of_elements(np.conjugate, [self], (), {}))

    def round(self, decimals: int = 0) -> DistributedArray:
        """Rounded to some decimals."""
        return cast("DistributedArray", of_elements(np.round, [self], (), {"decimals": decimals}))

    def clip(self, min: Any = None, max: Any = None) -> DistributedArray:
        """Limited to a range."""
        return cast("DistributedArray", of_elements(np.clip, [self, min, max], (), {}))

    def fill(self, value: Any) -> None:
        """Gives every element one value."""
        self.local[...] = value

    @calls.named
    def sum(self, axis: Axes = None, dtype: DTypeLike | None = None, out: None = None, **options: Any) -> Any:
        """The sum: a number, or with axes a distributed array of the others. Collective.

        Like all reductions it takes numpy's `keepdims`, `where` and `initial`.
        """
        return reduced(self._self(), np.add, axis, dtype, out, **options)

    @calls.named
    def prod(self, axis: Axes = None, dtype: DTypeLike | None = None, out: None = None, **options: Any) -> Any:
        """The product. Collective."""
        return reduced(self._self(), np.multiply, axis, dtype, out, **options)

    @calls.named
    def max(self, axis: Axes = None, out: None = None, **options: Any) -> Any:
        """The greatest element. Collective."""
        return reduced(self._self(), np.maximum, axis, None, out, **options)

    @calls.named
    def min(self, axis: Axes = None, out: None = None, **options: Any) -> Any:
        """The least element. Collective."""
        return reduced(self._self(), np.minimum, axis, None, out, **options)

    @calls.named
    def any(self, axis: Axes = None, out: None = None, **options: Any) -> Any:
        """Whether any element is true. Collective."""
        return reduced(self._self(), np.logical_or, axis, None, out, **options)

    @calls.named
    def all(self, axis: Axes = None, out: None = None, **options: Any) -> Any:
        """Whether all elements are true. Collective."""
        return reduced(self._self(), np.logical_and, axis, None, out, **options)

    @calls.named
    def mean(
        self, axis: Axes = None, dtype: DTypeLike | None = None, out: None = None, *, keepdims: bool = False
    ) -> Any:
        """The mean. Collective."""
        axes = axes_of(axis, self._self().ndim)
        count = math.prod(self.geometry.shape[one] for one in axes)
        adding = reducing.type_of_mean(self.dtype, dtype)
        total = self.sum(axis, adding, out, keepdims=keepdims) / count
        return total.astype(np.float16) if self.dtype == np.float16 and dtype is None else total

    @calls.named
    def var(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: float = 0,
        *,
        keepdims: bool = False,
    ) -> Any:
        """The variance. Collective."""
        _refuse_out(out)
        return reducing.variance(self._self(), axis, dtype, ddof, bool(keepdims))

    @calls.named
    def std(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: float = 0,
        *,
        keepdims: bool = False,
    ) -> Any:
        """The standard deviation. Collective."""
        return np.sqrt(self.var(axis, dtype, out, ddof, keepdims=keepdims))

    @calls.named
    def argmax(self, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Any:
        """Where the greatest element is, the first of several, counted flat or along an axis. Collective."""
        _refuse_out(out)
        return reducing.extreme_index(self._self(), np.argmax, axis, bool(keepdims))

    @calls.named
    def argmin(self, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Any:
        """Where the least element is, the first of several, counted flat or along an axis. Collective."""
        _refuse_out(out)
        return reducing.extreme_index(self._self(), np.argmin, axis, bool(keepdims))

    @calls.named
    def cumsum(self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> DistributedArray:
        """The running sum along an axis. Collective."""
        _refuse_out(out)
        from weft.distributed.functions import running

        return cast("DistributedArray", running(np.cumsum, self._self(), axis, dtype))

    @calls.named
    def cumprod(self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> DistributedArray:
        """The running product along an axis. Collective."""
        _refuse_out(out)
        from weft.distributed.functions import running

        return cast("DistributedArray", running(np.cumprod, self._self(), axis, dtype))

    @calls.named
    def norm(self, ord: float = 2) -> float:
        """The norm of all elements as one vector: `ord` is 1, 2 or infinity. Collective.

        Raises
        ------
        UsageError
            For another one.
        """
        from weft.distributed.functions import sizes_of

        sizes: Any = sizes_of(self._self())
        if ord == 2:
            squares = np.asarray(sizes.local, np.result_type(sizes.dtype, np.float32)).ravel()
            return math.sqrt(combined_partials(self._self(), np.dot(squares, squares), np.add))
        if ord == 1:
            return float(sizes.sum())
        if ord == math.inf:
            return float(sizes.max())
        raise UsageError(f"the norm of order {ord!r} is not known; there are 1, 2 and infinity")

    @calls.named
    def dot(self, other: Any) -> Any:
        """The sum of products with another array of this geometry, `self` not conjugated. Collective."""
        return _product(self._self(), other, np.dot)

    @calls.named
    def vdot(self, other: Any) -> Any:
        """The sum of products with another array of this geometry, `self` conjugated. Collective."""
        return _product(self._self(), other, np.vdot)

    def astype(self, dtype: DTypeLike) -> DistributedArray:
        """A copy with elements of another type, without ghosts' values."""
        result = like(self._self(), np.dtype(dtype))
        result.local[...] = self.local.astype(dtype)
        return result

    @calls.named
    def redistribute(self, geometry: Geometry) -> DistributedArray:
        """The same array divided in another way, over the same ranks. Collective.

        Raises
        ------
        UsageError
            If the other geometry has another shape, or is over other ranks.
        """
        own = self._self()
        if geometry.shape != own.geometry.shape:
            raise UsageError(f"the array has shape {own.geometry.shape}, but the geometry has {geometry.shape}")
        moving.same_ranks(own.geometry, geometry)
        result = type(own)(geometry, own.dtype)
        result.local[...] = moving.moved(own, own.local, own.geometry.local_slices, geometry.local_slices, own.dtype)
        return result

    def _self(self) -> DistributedArray:
        from weft.distributed.array import DistributedArray

        assert isinstance(self, DistributedArray)
        return self


def _refuse_out(out: Any) -> None:
    if out is not None:
        raise UsageError("the result of a reduction of a distributed array is new: leave out away")


def like(array: DistributedArray, dtype: np.dtype[Any]) -> DistributedArray:
    """An array of the same geometry and ghosts."""
    return type(array)(array.geometry, dtype, array.halo)


def is_distributed(value: Any) -> bool:
    """Whether it is a distributed array."""
    return isinstance(value, ArrayOperations)


def _as_numpy(value: Any) -> Any:
    """Arguments with numpy's arrays in the place of distributed ones of one rank."""
    if is_distributed(value):
        return value.local
    if isinstance(value, (list, tuple)):
        return type(value)(map(_as_numpy, value))
    if isinstance(value, dict):
        return {name: _as_numpy(one) for name, one in value.items()}
    return value


def own_part(value: Any, like: DistributedArray, what: str) -> Any:
    """This rank's elements of an operand. Collective where that is a distributed array of another shape."""
    if is_distributed(value):
        if value.geometry is like.geometry or value.geometry == like.geometry:
            return value.local
        if value.shape != like.shape:
            if _broadcasts(value.shape, like.shape):
                return moving.broadcast_part(value, like.geometry)
            raise UsageError(_does_not_broadcast(what, value.shape, like.shape))
        raise UsageError(
            f"{what} has another geometry: {value.geometry}, not {like.geometry}; redistribute() one of them"
        )
    if np.ndim(value) == 0:
        return value
    whole = np.asarray(value)
    try:
        return np.broadcast_to(whole, like.geometry.shape)[like.geometry.local_slices()]
    except ValueError:
        raise UsageError(_does_not_broadcast(what, whole.shape, like.shape)) from None


def _does_not_broadcast(what: str, shape: tuple[int, ...], target: tuple[int, ...]) -> str:
    # The result of a reduction along another axis than the first.
    would = len(shape) < len(target) and shape == target[: len(shape)]
    hint = "; a reduction with keepdims=True does" if would else ""
    return f"{what} of shape {shape} does not broadcast to the distributed array's, {target}{hint}"


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def _leading(inputs: Sequence[Any], out: Sequence[Any], where: Any) -> DistributedArray:
    """The array whose geometry the result has: of the arguments one that has the result's shape, or a new one."""
    from weft.distributed.geometry import Geometry

    targets: list[DistributedArray] = [one for one in out if is_distributed(one)]
    if targets:
        return targets[0]
    several: list[DistributedArray] = [one for one in [*inputs, where] if is_distributed(one)]
    try:
        shape = np.broadcast_shapes(*(np.shape(one) for one in [*inputs, where]))
    except ValueError:
        # The operand that does not fit is named where its part is taken.
        return max(several, key=lambda one: int(one.size))
    for one in several:
        if one.shape == shape:
            return one
    return type(several[0])(Geometry(shape, comm=several[0].geometry.communicator), np.bool_)


def of_elements(ufunc: Any, inputs: Sequence[Any], out: Sequence[Any], options: dict[str, Any]) -> Any:
    """A function of elements.

    Raises
    ------
    UsageError
        For arrays of one shape that are divided differently, and a target that is no distributed array.
    """
    if any(not (target is None or is_distributed(target)) for target in out):
        raise UsageError("the result of a distributed array is one: out must be a DistributedArray")
    leading = _leading(inputs, out, options.get("where", True))
    own = [own_part(value, leading, f"operand {number}") for number, value in enumerate(inputs)]
    if "where" in options:
        options = {**options, "where": own_part(options["where"], leading, "where")}
    targets = tuple(None if target is None else own_part(target, leading, "out") for target in out)
    results = ufunc(*own, **options, **({"out": targets} if any(t is not None for t in targets) else {}))
    several = results if isinstance(results, tuple) else (results,)
    wrapped = []
    for number, result in enumerate(several):
        target = out[number] if number < len(out) else None
        if target is None:
            target = like(leading, np.asarray(result).dtype)
            target.local[...] = result
        wrapped.append(target)
    return tuple(wrapped) if isinstance(results, tuple) else wrapped[0]


def _product(array: DistributedArray, other: Any, product: Callable[..., Any]) -> Any:
    own = own_part(other, array, "the other array")
    if np.ndim(own) == 0:
        raise UsageError("a product of a distributed array is with another array")
    if np.shape(own) != array.local.shape:
        raise UsageError(f"a product of arrays of {array.shape} is with one of the same shape, not {np.shape(other)}")
    return combined_partials(array, product(array.local.ravel(), np.ravel(own)), np.add)


def matrix_product(a: Any, b: Any) -> Any:
    """The product of two matrices, or of a matrix and a vector, of which one at least is distributed. Collective.

    Each rank has the rows and the columns sent to it that its block of the result is made of.

    Raises
    ------
    UsageError
        For other numbers of axes, and extents that do not meet.
    """
    from weft.distributed.geometry import Geometry

    first = a if is_distributed(a) else b
    left, right = (one if is_distributed(one) else np.asarray(one) for one in (a, b))
    if not {left.ndim, right.ndim} <= {1, 2} or left.shape[-1] != right.shape[0]:
        raise UsageError(f"a product of matrices or vectors of shapes {left.shape} and {right.shape} is not possible")
    if left.ndim == right.ndim == 1:
        return first.dot(right if first is left else left)
    kind = np.result_type(left.dtype, right.dtype)
    result = type(first)(Geometry(left.shape[:-1] + right.shape[1:], comm=first.geometry.communicator), kind)

    def rows(rank: int) -> moving.Slices:
        return (*(result.geometry.local_slices(rank)[:1] if left.ndim == 2 else ()), slice(0, left.shape[-1]))

    def columns(rank: int) -> moving.Slices:
        return (slice(0, right.shape[0]), *(result.geometry.local_slices(rank)[-1:] if right.ndim == 2 else ()))

    result.local[...] = _box(left, rows, result) @ _box(right, columns, result)
    return result


def _box(matrix: Any, wanted: moving.Boxes, result: DistributedArray) -> NDArray[Any]:
    if not is_distributed(matrix):
        own: NDArray[Any] = matrix[wanted(result.geometry.rank)]
        return own
    moving.same_ranks(matrix.geometry, result.geometry)
    return moving.moved(matrix, matrix.local, matrix.geometry.local_slices, wanted, matrix.dtype)


def _transposed(array: DistributedArray, axes: tuple[Any, ...]) -> DistributedArray:
    from weft.distributed.geometry import Geometry

    source = array.geometry
    order = [axes_of(axis, source.ndim)[0] for axis in axes]
    if sorted(order) != list(range(source.ndim)):
        raise UsageError(f"axes {axes!r} are not the {source.ndim} of the array, each once")
    shape, grid = [source.shape[axis] for axis in order], [source.grid[axis] for axis in order]
    geometry = Geometry(shape, comm=source.communicator, grid=grid)

    def had(rank: int) -> moving.Slices:
        slices = source.local_slices(rank)
        return tuple(slices[axis] for axis in order)

    result = type(array)(geometry, array.dtype, [array.halo[axis] for axis in order])
    result.local[...] = moving.moved(array, array.local.transpose(order), had, geometry.local_slices, array.dtype)
    return result


def shifted(array: DistributedArray, by: Any, axis: Any, boundary: Any, out: Any) -> DistributedArray:
    """`weft.arrays.cshift` and `weft.arrays.eoshift`, whose result is divided as the array is. Collective.

    Plans are kept for further calls, but those with a boundary array.
    """
    ranks, geometry = array.geometry.communicator, array.geometry
    shift = (by, axis) if boundary is None else (by, axis, boundary)
    if np.ndim(boundary) > 0:
        with geometry.polyshift(array.dtype, shifts=[shift], halo=array.halo) as plan:
            return _first(plan(array, out=None if out is None else [out]))
    key = (geometry, array.dtype, array.halo, int(by), int(axis), repr(boundary))
    kept = ranks.shifts
    if key not in kept:
        if len(kept) >= KEPT_SHIFTS:
            kept.pop(next(iter(kept))).release()
        kept[key] = geometry.polyshift(array.dtype, shifts=[shift], halo=array.halo)
    return _first(kept[key](array, out=None if out is None else [out]))


def _first(results: Sequence[DistributedArray]) -> DistributedArray:
    return results[0]

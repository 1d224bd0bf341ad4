"""What a stencil is, and calls of it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from weft._core import UsageError
from weft.array_input import own_array, refuse_masked
from weft.cuda.through_jax import is_jax
from weft.stencils import boundaries, elsewhere
from weft.stencils.extended import ExtendedStencilPlan
from weft.stencils.plan import StencilPlan

MAX_AXES = 16
"""Axes that a stencil may have; beyond four numpy computes, not the kernels."""

MAX_DISTANCE = 1 << 62
"""How far offsets reach at most: indices are 64-bit integers."""

KEPT_PLANS = 16
"""Plans of earlier calls that a stencil keeps."""

Offset = int | tuple[int, ...]

_Scalar = TypeVar("_Scalar", bound=np.generic)
_Array = TypeVar("_Array")


def stencil(points: Mapping[Offset, Any], *, boundary: Any = boundaries.CIRCULAR, site_rank: int = 0) -> Stencil:
    """A weighted sum of neighbours: `result[i] = sum of coefficient * x[i + offset]` over the points.

    `points` maps offsets to coefficients. An offset is a tuple with a distance along each of 1 to 4 axes (an int where
    there is one axis). A coefficient is a number, or an array that broadcasts to the grid by numpy's rules: one value
    for each point of the grid, or, with extents of 1, one for each index along some axes.

    Offset `d` along an axis is `cshift(x, d, axis)`, as in Fortran's CSHIFT and EOSHIFT; `numpy.roll` has the opposite
    sign. An offset along several axes is the shift along axis 0, of that the shift along axis 1, and so on.

    `boundary` says what lies beyond the ends. One for all axes, or a tuple with one for each, in which a pair
    `(low, high)` gives each end of an axis its own:

    - "circular": the array begins again; "antiperiodic": with the other sign;
    - a number, or an array of one rank less (the grid without that axis), as in EOSHIFT;
    - "reflect" and "symmetric": the elements of that end backwards, without and with the last one, as `numpy.pad` has
      them (Neumann conditions, with the end at an element and between two), at any distance;
    - a function of position: called with an array of indices for each axis of the grid (they broadcast) when a plan is
      made; indices lie beyond the ends of its axis, and of others where nothing continues the array;
    - "none": sites that would need what lies beyond are not computed: the result there is `x`.

    A place beyond the ends of several axes is what `numpy.pad` would put there, the axes taken one after another: the
    boundary of the last of them that is a number, an array or a function, else the array continued along each. Where
    all axes are circular or have a number or an array for both ends, the order is that of shifts: the array of an axis
    is indexed by the place of the result along earlier axes, and of the neighbour along later ones. Otherwise it is
    indexed by the place of the neighbour along all other axes; where that lies beyond their ends too, by the one that
    the array continues with there, or the nearest.

    Arrays of coefficients and boundaries are read at each call, whatever their type, as the boundaries of
    `weft.arrays.eoshift` and `weft.arrays.polyshift` are: a change is seen by the next call, of a plan and of what is
    bound too. An array of the array's own (real) type whose elements lie together along the last axis is read where it
    lies; others, and those of a site of several elements, are converted at each call. Numbers, coefficients of rank 0
    and lists are taken over when the stencil is made or planned. Masked arrays are refused.

    `site_rank` is the rank of what each grid point holds: 0 for a number, 1 for a vector, 2 for a (3, 2) spinor. These
    axes come last in an array, and all of a site's elements have the same coefficient. Axes before the grid's are
    right-hand sides, each computed alike. An array's axes are thus: right-hand sides, grid, site.

    Raises UsageError for offsets, coefficients or boundaries that cannot be meant.

    >>> import numpy as np
    >>> heat = stencil({(0, 0): 0.6, (1, 0): 0.1, (-1, 0): 0.1, (0, 1): 0.1, (0, -1): 0.1}, boundary=0)
    >>> u = np.zeros((5, 5)); u[2, 2] = 1
    >>> heat(u)[1:4, 1:4].round(2)
    array([[0. , 0.1, 0. ],
           [0.1, 0.6, 0.1],
           [0. , 0.1, 0. ]])
    """
    return Stencil(points, boundary=boundary, site_rank=site_rank)


class Stencil:
    """A weighted sum of neighbours; see `weft.arrays.stencil`, which makes one."""

    def __init__(
        self, points: Mapping[Offset, Any], *, boundary: Any = boundaries.CIRCULAR, site_rank: int = 0
    ) -> None:
        if not isinstance(points, Mapping) or not points:
            raise UsageError(
                "a stencil is a mapping of offsets to coefficients with at least one point, such as {-1: 1.0, 1: 1.0}"
            )
        self._points = {offset_of(offset): coefficient for offset, coefficient in points.items()}
        ranks = {len(offset) for offset in self._points}
        if len(ranks) > 1:
            raise UsageError(f"offsets have different numbers of axes: {', '.join(map(str, self._points))}")
        self._rank = ranks.pop()
        if not 1 <= self._rank <= MAX_AXES:
            raise UsageError(f"a stencil has 1 to {MAX_AXES} axes, not {self._rank}")
        if len(self._points) < len(points):
            raise UsageError("an offset is there twice")
        if not isinstance(site_rank, int) or isinstance(site_rank, bool) or site_rank < 0:
            raise UsageError(f"site_rank is {site_rank!r}: expected 0 or a positive number of axes")
        for offset, coefficient in self._points.items():
            check_coefficient(offset, coefficient, self._rank)
        self._site_rank = site_rank
        self._boundary = boundaries.for_axes(boundary, self._rank)
        self._plans: dict[Any, Any] = {}

    @property
    def rank(self) -> int:
        """Axes of the grid."""
        return self._rank

    @property
    def site_rank(self) -> int:
        """Axes of what a grid point holds."""
        return self._site_rank

    @property
    def points(self) -> dict[tuple[int, ...], Any]:
        """Coefficients by offset."""
        return dict(self._points)

    @property
    def boundary(self) -> tuple[Any, ...]:
        """What lies beyond the ends of each axis: one, as `weft.arrays.stencil` takes it, or (low, high)."""
        return self._boundary

    @property
    def reach(self) -> tuple[tuple[int, int], ...]:
        """How far it reaches below and above along each axis: the halo that a block of a distributed array needs."""
        return tuple((max(0, -min(distances)), max(0, *distances, 0)) for distances in zip(*self._points, strict=True))

    @overload
    def __call__(
        self, x: NDArray[_Scalar], out: NDArray[_Scalar] | None = None, *, steps: int = 1, threads: int | None = None
    ) -> NDArray[_Scalar]: ...
    @overload
    def __call__(
        self, x: Sequence[Any], out: NDArray[Any] | None = None, *, steps: int = 1, threads: int | None = None
    ) -> NDArray[Any]: ...
    @overload
    def __call__(
        self,
        x: _Array,
        out: _Array | None = None,
        *,
        steps: int = 1,
        threads: int | None = None,
        mesh_axes: Mapping[int, str] | None = None,
    ) -> _Array: ...
    def __call__(
        self,
        x: Any,
        out: Any = None,
        *,
        steps: int = 1,
        threads: int | None = None,
        mesh_axes: Mapping[int, str] | None = None,
    ) -> Any:
        """Applies the stencil to `x`, `steps` times, each to the result of the one before.

        `x` is a numpy array of float32, float64, complex64 or complex128 with the axes that `weft.arrays.stencil`
        describes; or, computed by numpy and slower, of integers, which wrap around and take whole coefficients, float16
        or long double. Any strides and alignment (an array that is not contiguous along a row, or not aligned, is
        copied first). Of a subclass of numpy's arrays the elements are taken, and the result is a plain array. The
        result goes into `out` where given (one that shares memory with `x` is allowed: `x` is copied first). Several
        steps share sweeps through memory where that pays. `threads` share the work; None chooses by size: one for small
        arrays, else all processors that this process may use. Plans are kept for further calls.

        An array of another library that follows the array API standard (JAX, CuPy, PyTorch, Dask, which stays lazy)
        gives an array of that library; under JAX the call can be jitted, differentiated and sharded. On a CUDA device
        arrays of CuPy, and those of JAX that are not traced where CuPy is installed, are computed by a kernel made for
        their shape. Within `jax.shard_map`, where `x` is a shard, `mesh_axes` has for each axis of the grid that is
        divided the axis of the mesh that it is divided along, as in `{0: "rows"}`: shards exchange what lies next to
        their edges. Boundaries are "circular" or numbers there. An array that has a method
        `__weft_stencil__(stencil, out=, steps=, threads=)`, as a distributed one does, is handed to it: there every
        rank calls, and `threads` are those of this rank, one where None.

        Ctrl-C, or another signal whose handler raises, ends a long call; `out` holds anything then.

        Raises UsageError; also for masked arrays, and for arrays of other libraries, such as pandas, which numpy would
        convert without a word.
        """
        if mesh_axes and not is_jax(x):
            raise UsageError(f"mesh_axes are for arrays of JAX within jax.shard_map, not for {type(x).__name__}")
        own = getattr(x, "__weft_stencil__", None)
        if own is not None:
            return own(self, out=out, steps=steps, threads=threads)
        if elsewhere.is_elsewhere(x):
            return elsewhere.apply(self, x, out=out, steps=steps, mesh_axes=mesh_axes)
        x = own_array("x", x)
        key = (x.shape, x.dtype, steps, threads)
        plan = self.kept(key, lambda: self.plan(x.shape, x.dtype, steps=steps, threads=threads))
        return plan(x, out)

    def kept(self, key: Any, prepare: Callable[[], Any]) -> Any:
        """What was prepared for calls of one kind, kept with the stencil; the oldest makes way for a new one."""
        plan = self._plans.get(key)
        if plan is None:
            plan = prepare()
            if len(self._plans) >= KEPT_PLANS:
                self._plans.pop(next(iter(self._plans)))
            self._plans[key] = plan
        return plan

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles have: plans belong to this object, and to its process."""
        return {**self.__dict__, "_plans": {}}

    def plan(
        self, shape: tuple[int, ...], dtype: Any = np.float64, *, steps: int = 1, threads: int | None = None
    ) -> StencilPlan:
        """Prepares the stencil for arrays of this shape and type: set up once, called often.

        Coefficient and boundary arrays are read at each call (see `weft.arrays.stencil`). Raises UsageError.
        """
        if all(map(boundaries.is_of_both_ends, self._boundary)):
            return StencilPlan(self, shape, dtype, steps=steps, threads=threads)
        return ExtendedStencilPlan(self, shape, dtype, steps=steps, threads=threads)

    def __repr__(self) -> str:
        return f"<stencil of {len(self._points)} points over {self._rank} axes>"


def offset_of(offset: Any) -> tuple[int, ...]:
    """An offset as a tuple of ints. Raises UsageError."""
    try:
        distances = tuple(map(operator.index, offset if isinstance(offset, tuple) else (offset,)))
    except TypeError:
        raise UsageError(f"offset {offset!r} is not a whole number along each axis, such as (1, 0)") from None
    if any(abs(distance) > MAX_DISTANCE for distance in distances):
        raise UsageError(f"offset {offset!r} is longer than any axis: expected distances of at most {MAX_DISTANCE}")
    return distances


def check_coefficient(offset: tuple[int, ...], coefficient: Any, rank: int) -> None:
    """Refuses what is no number and no array of numbers. Raises UsageError."""
    refuse_masked(f"the coefficient at {offset}", coefficient)
    if hasattr(coefficient, "dtype") and hasattr(coefficient, "ndim"):
        numeric, axes = not str(coefficient.dtype).startswith(("bool", "object", "str", "<U")), coefficient.ndim
    else:
        values = np.asarray(coefficient)
        numeric, axes = values.dtype.kind in "iufc", values.ndim
    if not numeric:
        raise UsageError(f"the coefficient at {offset} is {coefficient!r}: expected a number or an array of numbers")
    if axes > rank:
        raise UsageError(f"the coefficient at {offset} has {axes} axes, the grid has {rank}")

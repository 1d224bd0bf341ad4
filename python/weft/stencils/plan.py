"""A stencil prepared for numpy arrays of one shape and type."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import _core
from weft._core import UsageError
from weft.array_input import own_array, refuse_masked
from weft.releasing import Releasable
from weft.stencils import boundaries
from weft.stencils.by_numpy import MAX_KERNEL_AXES, Sums
from weft.stencils.live import Live, coefficients, is_alike

if TYPE_CHECKING:
    from weft.stencils.description import Stencil

Array = np.ndarray[Any, Any]
Points = list[tuple[tuple[int, ...], Any]]

REAL_OF = {"float32": "float32", "float64": "float64", "complex64": "float32", "complex128": "float64"}
"""The type of the parts of a number, for every type that a stencil computes in."""

SHARED_FROM = 8 << 20
"""Bytes of an array from which threads share the work: below, starting them costs more than they save."""

ALIGNMENT = 64
"""Bytes of a cache line."""


class StencilPlan(Releasable):
    """A stencil prepared for arrays of one shape and type; `Stencil.plan` makes one.

    Call it with an array, or bind it to two arrays once and call that. A context manager: it is released at the end.
    Coefficient and boundary arrays are read at each call, also of what is bound (see `weft.arrays.stencil`).
    """

    def __init__(self, stencil: Stencil, shape: Any, dtype: Any, *, steps: int, threads: int | None) -> None:
        self._dtype = dtype_of(dtype)
        self._steps = counted("steps", steps)
        shape = shape_of(shape)
        rank, site_rank = stencil.rank, stencil.site_rank
        if len(shape) < rank + site_rank:
            raise UsageError(
                f"an array of shape {shape} has {len(shape)} axes; this stencil needs {rank} for the grid"
                + (f" and {site_rank} for a site" if site_rank else "")
            )
        self._tail: tuple[int, ...] = shape[len(shape) - rank - site_rank :]
        self._grid, self._site = self._tail[:rank], self._tail[rank:]
        self._threads = threads_for(shape, self._dtype) if threads is None else counted("threads", threads)
        self._complex = self._dtype.kind == "c"
        self._real = real_of(self._dtype)
        self._components = math.prod(self._site) * (2 if self._complex else 1)
        self._copies: list[Live] = []
        points, imaginary = self._split(stencil.points)
        self._boundary = stencil.boundary
        self._beyond = [self._native_boundary(axis) for axis in range(rank)]
        # A complex coefficient takes a plan for each part, and steps one at a time: the parts mix in between.
        self._native: _core.StencilPlan | Sums | None = self._prepare(points, 1 if imaginary else self._steps)
        self._imaginary = self._prepare(imaginary, 1) if imaginary else None

    def _prepare(self, points: list[tuple[tuple[int, ...], Any]], steps: int) -> _core.StencilPlan | Sums:
        if not has_kernel(self._dtype, len(self._grid)):
            return Sums(self._grid, self._real, points, self._beyond, components=self._components, steps=steps)
        return _core.StencilPlan(
            self._grid,
            self._real == np.float32,
            points,
            self._beyond,
            components=self._components,
            steps=steps,
            threads=self._threads,
        )

    def _native_boundary(self, axis: int) -> Any:
        """As the extension module takes it: None, a number or a contiguous array of parts."""
        boundary = self._boundary[axis]
        if boundaries.is_circular(boundary):
            return None
        if not boundaries.is_array(boundary) and not self._complex:
            if np.iscomplexobj(boundary):
                raise UsageError(f"the boundary of axis {axis} is complex, the array is {self._dtype.name}")
            return number(boundary, f"the boundary of axis {axis}", self._dtype)
        live = Live(
            np.asarray(boundary), lambda values: boundaries.full(values, axis, self._grid, self._site, self._dtype)
        )
        return self._kept(live).reshape(-1).view(self._real)

    def _split(self, points: dict[tuple[int, ...], Any]) -> tuple[Points, Points]:
        """Points with the real parts of their coefficients, and with the imaginary parts where any is complex."""
        fitted = {offset: fit(offset, coefficient, self._grid, self._dtype) for offset, coefficient in points.items()}
        real = [(offset, self._coefficient(coefficient, np.real)) for offset, coefficient in fitted.items()]
        if not any(np.iscomplexobj(coefficient) for coefficient in fitted.values()):
            return real, []
        return real, [(offset, self._coefficient(coefficient, np.imag)) for offset, coefficient in fitted.items()]

    def _coefficient(self, coefficient: Any, part: Callable[[Any], Any]) -> Any:
        """As the extension module takes it."""
        if np.ndim(coefficient) == 0:
            return number(part(coefficient), "a coefficient", self._dtype)
        if part is np.imag and not np.iscomplexobj(coefficient):
            return 0.0
        live, taken = coefficients(coefficient, is_alike(coefficient), part, self._real, self._components)
        self._kept(live)
        return taken

    def _kept(self, live: Live) -> Array:
        if live.is_copy:
            self._copies.append(live)
        return live.own

    def _refresh(self) -> None:
        """Takes over what arrays hold that the kernels cannot read where they lie."""
        for live in self._copies:
            live.refresh()

    @property
    def shape(self) -> tuple[int, ...]:
        """Grid and site of the arrays it is for; axes of right-hand sides may come before."""
        return self._tail

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the arrays it is for."""
        return self._dtype

    @property
    def steps(self) -> int:
        """Times that a call applies the stencil."""
        return self._steps

    def __call__(self, x: Any, out: Array | None = None) -> Array:
        """The result for `x`, in `out` where given.

        `x` is copied first where its rows are not contiguous, where it is not aligned, and where it shares memory with
        `out`. Ctrl-C, or another signal whose handler raises, ends a long call; `out` holds anything then. Raises
        UsageError for another shape or type, for what is no array of numpy, and after `release`.
        """
        native = self._live()
        x = self._source_of(x)
        self._refresh()
        if out is None:
            out = empty(x.shape, self._dtype)
        else:
            self._check_out(x, out)
            if np.may_share_memory(x, out):
                x = x.copy()
        if not x.size:
            return out
        if self._imaginary is None:
            into = self._flat(out)
            if into is None:
                into = empty(out.shape, self._dtype)
                native.apply(self._source(x), self._flat(into))
                out[...] = into
            else:
                native.apply(self._source(x), into)
            return out
        part = empty(x.shape, self._dtype)
        for _ in range(self._steps):
            self._imaginary.apply(self._source(x), self._flat(part))
            part *= 1j
            real = empty(x.shape, self._dtype)
            native.apply(self._source(x), self._flat(real))
            np.add(real, part, out=out)
            x = out.copy() if self._steps > 1 else x
        return out

    def _source_of(self, x: Any) -> Array:
        self._live()
        array: Array = own_array("x", x)
        self._check("x", array)
        return array

    def apply_region(self, x: Array, out: Array, region: Sequence[tuple[int, int]]) -> None:
        """One step at some sites: `region` is the first and one past the last along each axis of the grid.

        `x` has the plan's shape, with at most one axis of right-hand sides before, and rows that lie together; `out`
        has the extents of the region instead and shares no memory with it. What the stencil reaches of `x` is read, and
        its boundary comes in beyond its ends. Raises UsageError where they do not fit.
        """
        native, ranges = self._live(), list(region)
        self._refresh()
        source, target = self._parts_of(x), self._parts_of(out)
        native.apply_region(source, target, ranges)
        if self._imaginary is not None:
            part = np.empty(out.shape, self._dtype)
            self._imaginary.apply_region(source, self._parts_of(part), ranges)
            part *= 1j
            out += part

    def reads(self, x: Array) -> bool:
        """Whether `apply_region` reads this array as it lies."""
        return self._flat(x) is not None

    def _parts_of(self, array: Array) -> Array:
        """The array as real numbers: a view."""
        if not self._complex:
            return array
        return array.reshape(*array.shape[: array.ndim - len(self._site) - 1], -1).view(self._real)

    def bind(self, x: Array, out: Array) -> Callable[[], None]:
        """A call without arguments that computes `out` from what `x` then holds: checked now, cheap each time.

        Raises UsageError where a copy would be needed: rows that are not contiguous, elements that are not aligned,
        shared memory.
        """
        native = self._live()
        if not isinstance(x, np.ndarray):
            raise UsageError(f"a plan is bound to numpy arrays, not to {type(x).__name__}")
        refuse_masked("x", x)
        self._check("x", x)
        self._check_out(x, out)
        if self._imaginary is not None or not x.size:
            if np.may_share_memory(x, out):
                raise UsageError("x and out share memory: results would overwrite what is still needed")

            def call() -> None:
                self(x, out)

            return call
        source, target = self._flat(x), self._flat(out)
        if source is None or target is None:
            raise UsageError("rows of a bound array must be contiguous and aligned: bind a copy (x.copy())")
        bound = native.bind(source, target)
        if not self._copies:
            return bound

        def refreshed() -> None:
            self._refresh()
            bound()

        return refreshed

    def explain(self) -> str:
        """What will be done, and what it moves, in words."""
        text = self._live().explain()
        return text if self._imaginary is None else text + "and once more for the imaginary part of the coefficients\n"

    def bytes(self) -> int:
        """Bytes that one step moves at least: the array and coefficient arrays read once, the result written once."""
        return self._live().bytes()

    def release(self) -> None:
        """Gives its memory back; arrays that were bound stay bound."""
        self._native = self._imaginary = None

    def __repr__(self) -> str:
        state = "released " if self._native is None else ""
        return f"<{state}stencil plan for {self._dtype.name} arrays of {self._tail}>"

    def _live(self) -> _core.StencilPlan | Sums:
        if self._native is None:
            raise UsageError("this plan was released: make a new one with Stencil.plan")
        return self._native

    def _check(self, name: str, array: Array) -> None:
        if array.dtype != self._dtype:
            raise UsageError(
                f"{name} is {array.dtype.name}, the plan is for {self._dtype.name}: convert it with astype"
            )
        if array.shape[max(0, array.ndim - len(self._tail)) :] != self._tail:
            raise UsageError(f"{name} has shape {array.shape}, the plan is for {self._tail}, after right-hand sides")

    def _check_out(self, x: Array, out: Any) -> None:
        if not isinstance(out, np.ndarray):
            raise UsageError(f"out must be a numpy array, not {type(out).__name__}")
        refuse_masked("out", out)
        self._check("out", out)
        if out.shape != x.shape:
            raise UsageError(f"out has shape {out.shape}, x has {x.shape}")
        if not out.flags.writeable:
            raise UsageError("out cannot be written: it is read-only")

    def _flat(self, array: Array) -> Array | None:
        """The array as real numbers with at most one axis of right-hand sides, if that needs no copy."""
        rank = len(self._grid)
        if not array.flags.aligned or any(stride % self._real.itemsize for stride in array.strides):
            return None
        expected = array.itemsize
        for axis in reversed(range(array.ndim - len(self._tail) + rank - 1, array.ndim)):
            if array.shape[axis] > 1 and array.strides[axis] != expected:
                return None
            expected *= array.shape[axis]
        if array.ndim > len(self._tail) + 1:
            try:
                array = array.view()
                array.shape = (-1, *self._tail) if array.size else (0, *self._tail)
            except (AttributeError, ValueError):
                return None
        if self._complex:
            row = array.reshape(*array.shape[: array.ndim - len(self._site) - 1], -1)
            return row.view(self._real)
        return array

    def _source(self, x: Array) -> Array:
        flat = self._flat(x)
        if flat is None:
            flat = self._flat(np.array(x, order="C"))
        assert flat is not None  # a contiguous array needs no copy
        return flat


def fit(offset: tuple[int, ...], coefficient: Any, grid: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A coefficient as a number, or an array with the grid's shape. Raises UsageError."""
    refuse_masked(f"the coefficient at {offset}", coefficient)
    values = np.asarray(coefficient)
    if np.iscomplexobj(values) and dtype.kind != "c":
        raise UsageError(f"the coefficient at {offset} is complex, the array is {dtype.name}")
    if dtype.kind in "iu" and values.dtype.kind == "f" and values.ndim:
        raise UsageError(f"the coefficient at {offset} is of {values.dtype}, the array is {dtype.name}: give integers")
    if values.ndim == 0:
        return values[()]
    try:
        return np.broadcast_to(values, grid)
    except ValueError:
        raise UsageError(
            f"the coefficients at {offset} have shape {values.shape}, which does not broadcast to the grid {grid}"
        ) from None


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A new array whose first element begins a cache line: results can then be written by non-temporal stores of whole
    lines."""
    length = math.prod(shape) * dtype.itemsize
    held = np.empty(length + ALIGNMENT, np.uint8)
    start = -held.ctypes.data % ALIGNMENT
    return held[start : start + length].view(dtype).reshape(shape)


def dtype_of(dtype: Any) -> np.dtype[Any]:
    """A type that a stencil computes in. Raises UsageError."""
    try:
        checked: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise UsageError(f"{dtype!r} is no type of an array") from None
    if checked.kind not in "iufc" or not checked.isnative:
        raise UsageError(
            "a stencil computes in integers, floats and complex numbers of this machine's byte order, not in "
            f"{checked}: convert the array, for instance with x.astype(float)"
        )
    return checked


def real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of the parts of a number."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def has_kernel(dtype: np.dtype[Any], axes: int) -> bool:
    """Whether the kernels compute in a type over a grid of so many axes; else numpy does."""
    return dtype.name in REAL_OF and axes <= MAX_KERNEL_AXES


def coefficient_type(values: Array, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which a part of a coefficient array is held, for arrays of a type."""
    return values.dtype if dtype.kind in "iu" else np.result_type(values.dtype, np.float32)


def number(value: Any, what: str, dtype: np.dtype[Any]) -> Any:
    """A number as kernels take it, whole for integers. Raises UsageError."""
    if dtype.kind not in "iu":
        return float(value)
    limits = np.iinfo(dtype)
    # Also of what is not finite, whose `int` is an error.
    if not (limits.min <= value <= limits.max and value == int(value)):
        raise UsageError(f"{what} is {value}, the array is {dtype.name}: expected a whole number that it holds")
    return int(value)


def counted(name: str, value: Any) -> int:
    """A positive number. Raises UsageError."""
    try:
        count = operator.index(value)
    except TypeError:
        count = 0
    if count < 1 or isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}: expected a whole number, at least 1")
    return count


def threads_for(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Threads for arrays of a shape where nobody says otherwise: all processors this process may use, or one."""
    if math.prod(shape) * dtype.itemsize < SHARED_FROM:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shape_of(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple. Raises UsageError."""
    try:
        extents = (
            (operator.index(shape),) if not isinstance(shape, (tuple, list)) else tuple(map(operator.index, shape))
        )
    except TypeError:
        extents = (-1,)
    if any(extent < 0 for extent in extents):
        raise UsageError(f"{shape!r} is no shape: expected extents such as (256, 256)")
    return extents

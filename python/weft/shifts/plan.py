"""Many shifts, planned once and done at once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import _core
from weft._core import UsageError
from weft.array_input import own_array
from weft.shifts import on_device
from weft.shifts.array_api import dtype_name, namespace, shifted, stored
from weft.shifts.description import (
    Shift,
    checked_axis,
    checked_dtype,
    constant,
    described,
    is_number,
    whole_number,
    within_extent,
)
from weft.shifts.explanation import explanation

if TYPE_CHECKING:
    from weft.shifts.estimates import ShiftEstimate


def polyshift(
    shape: int | Sequence[int], dtype: Any, shifts: Iterable[Any], *, threads: int | None = None
) -> ShiftPlan:
    """Plans shifts of arrays of one shape and dtype; the plan does all of them in one pass over the arrays.

    A shift is `(by, axis)` for a circular one, `(by, axis, boundary)` for an end-off one, or a `weft.shifts.Shift`,
    whose `source` says which array is shifted where a plan has several. There may be any number of them, along any
    axes.

    >>> import numpy as np
    >>> plan = polyshift((2, 3), int, [(1, 0), (-1, 1, 9)])
    >>> down, right = plan(np.arange(6).reshape(2, 3))
    >>> print(right)
    [[9 0 1]
     [9 3 4]]

    Args:
        shape: extents of the arrays.
        dtype: any of numbers or booleans, or other elements that hold no Python objects.
        shifts: the shifts; the outputs are in their order.
        threads: how many threads a call may use; None chooses by size.

    Raises:
        UsageError: where these do not fit each other.
    """
    return ShiftPlan(shape, dtype, shifts, threads=threads)


class ShiftPlan(_core.ShiftPlan):
    """Shifts planned for arrays of one shape and dtype, as often as wanted: made by `weft.arrays.polyshift`.

    `plan(x)` returns a tuple with a new array for each shift, `plan(x, out=[...])` writes given ones; a plan of several
    sources is called with all of them. Arrays may have any strides. An output may overlap a source or a boundary array,
    which is then copied first, as PSHIFT does (George, Brickner, Johnsson 1994, section 3); outputs may not overlap
    each other. Boundary arrays are read at each call, also of what is bound. Arrays of other libraries with
    the array API are shifted by those libraries, into `out` only if they can be written; `jax.jit(plan)` and `jax.grad`
    of what uses it work.

    New arrays of a MiB or more lie in memory that the plan keeps until `release()`, and uses again when nobody has the
    array, or a view of it, any more: twice that of its outputs. They do not own their memory, so `resize` refuses them.

    `plan.bind(x, out=[...])` checks the arrays once and returns a callable without arguments: the fastest way for small
    arrays. While it exists numpy refuses to resize them in place.

    Ctrl-C, or another signal whose handler raises, ends a long call; outputs hold anything then.

    A plan is a context manager that ends with `release()`. Attributes: `shape`, `dtype`, `shifts`, `released`.

    Examples
    --------
    >>> import numpy as np, weft
    >>> x, out = np.arange(4), [np.empty(4, int)]
    >>> with weft.arrays.polyshift(4, int, [(1, 0)]) as plan:
    ...     call = plan.bind(x, out=out)
    ...     _ = call()
    >>> out
    [array([1, 2, 3, 0])]
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    shifts: tuple[Shift, ...]

    def __new__(
        cls, shape: int | Sequence[int], dtype: Any, shifts: Iterable[Any], *, threads: int | None = None
    ) -> ShiftPlan:
        extents = _checked_shape(shape)
        element = checked_dtype(dtype)
        if element.shape:
            raise UsageError(f"dtype {element} is an array itself: put its extents at the end of the shape")
        checked = tuple(_checked(number, shift, extents, element) for number, shift in enumerate(described(shifts)))
        if threads is not None and whole_number(threads, "threads") < 1:
            raise UsageError(f"threads must be at least 1, got {threads}")
        native = [_native(shift, extents, element) for shift in checked]
        plan = super().__new__(cls, extents, element, native, threads, any(map(_is_elsewhere, checked)))
        plan.shape, plan.dtype, plan.shifts = extents, element, checked
        return plan

    def explain(self, bytes_per_second: float | None = None) -> str:
        """What a call with C-ordered arrays will do and what it costs, as text.

        Args:
            bytes_per_second: what STREAM's copy moves here (see `weft measure stream`), reads and writes counted; with
                it, seconds are estimated.

        Raises:
            UsageError: when the plan has been released.
        """
        return explanation(self.shape, self.dtype, self.shifts, json.loads(self.summary()), bytes_per_second)

    def estimate(self, machine: str | os.PathLike[str]) -> ShiftEstimate:
        """What one call takes on a described machine: cm200, cm2-8k, hgx-h100, tpu-v4, or a machine file.

        Args:
            machine: its name, or the path of a file. Arrays are laid out over all its nodes.

        Raises:
            UsageError: when the machine has neither `[shifts]` nor `[parallel]`, or there is nothing to shift.
            MachineError: when there is no such machine.

        Examples
        --------
        >>> import weft
        >>> both = [(1, 0), (-1, 0), (1, 1), (-1, 1)]
        >>> estimated = weft.arrays.polyshift((1024, 512), float, both).estimate("cm200")
        >>> estimated.subgrid, estimated.planned_s < estimated.single_s
        ((16, 16), True)
        """
        from weft.shifts.estimates import estimate

        return estimate(self.shape, self.dtype, self.shifts, machine)

    def __repr__(self) -> str:
        state = ", released" if self.released else ""
        return f"<ShiftPlan: {len(self.shifts)} shifts of {self.dtype} arrays of shape {self.shape}{state}>"

    def __enter__(self) -> ShiftPlan:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    def _elsewhere(self, sources: tuple[Any, ...], out: Any) -> tuple[Any, ...]:
        """A call in which some source or boundary is not exactly a numpy array."""
        if any(isinstance(source, np.ma.MaskedArray) for source in sources):
            raise UsageError("masked arrays: shift the data and the mask, each by itself")
        boundaries = [shift.boundary for shift in self.shifts if _is_elsewhere(shift)]
        if not boundaries and all(isinstance(source, (np.ndarray, list, tuple)) for source in sources):
            return self(*(np.asarray(source) for source in sources), out=out)
        for number, source in enumerate(sources):
            if namespace([source]) is None:
                own_array(f"source {number}", source)
        xp = namespace([*sources, *boundaries])
        wanted = 1 + max(shift.source for shift in self.shifts)
        if len(sources) != wanted:
            raise UsageError(f"the plan shifts {wanted} arrays, {len(sources)} were given")
        for number, source in enumerate(sources):
            if tuple(source.shape) != self.shape:
                raise UsageError(f"source {number} has shape {tuple(source.shape)}, expected {self.shape}")
            if dtype_name(source) != self.dtype.name:
                raise UsageError(f"source {number} has dtype {dtype_name(source)}, expected {self.dtype}")
        launched = on_device.shift_all(sources, self.shifts, out)
        if launched is not None:
            return tuple(stored(launched, out))
        results = [
            shifted(
                xp,
                sources[shift.source],
                within_extent(shift.by, self.shape[shift.axis], circular=shift.boundary is None),
                shift.axis,
                shift.boundary,
            )
            for shift in self.shifts
        ]
        return tuple(stored(results, out))


def _checked_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    extents = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    checked = tuple(whole_number(extent, "an extent") for extent in extents)
    if any(extent < 0 for extent in checked):
        raise UsageError(f"shape {checked}: extents cannot be negative")
    return checked


def _checked(number: int, shift: Shift, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Shift:
    """The shift with its axis from 0 on and a constant boundary as an element of the dtype."""
    by = whole_number(shift.by, f"shift {number}: by")
    axis = checked_axis(shift.axis, len(shape), f"shift {number}: axis")
    source = whole_number(shift.source, f"shift {number}: source")
    if source < 0:
        raise UsageError(f"shift {number}: source {source}: sources are counted from 0")
    boundary = shift.boundary
    if boundary is None:
        return Shift(by, axis, None, source)
    try:
        if is_number(boundary):
            return Shift(by, axis, constant(boundary, dtype)[()], source)
        _check_boundary_array(boundary, shape, axis, dtype)
    except UsageError as error:
        raise UsageError(f"shift {number}: {error}") from error
    return Shift(by, axis, boundary, source)


def _check_boundary_array(boundary: Any, shape: tuple[int, ...], axis: int, dtype: np.dtype[Any]) -> None:
    if not hasattr(boundary, "shape") or not hasattr(boundary, "dtype"):
        raise UsageError(f"boundary: expected a number or an array, got {boundary!r}")
    if isinstance(boundary, np.ma.MaskedArray):
        raise UsageError("boundary: a masked array has no element where it is masked")
    face = shape[:axis] + shape[axis + 1 :]
    if tuple(boundary.shape) not in {(), face}:
        raise UsageError(f"boundary array has shape {tuple(boundary.shape)}, expected {face}")
    if (boundary.dtype != dtype) if isinstance(boundary, np.ndarray) else (dtype_name(boundary) != dtype.name):
        raise UsageError(f"boundary array has dtype {boundary.dtype}, expected {dtype}: convert it with .astype")


def _native(shift: Shift, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, int, Any, int]:
    """Axis, distance, edge and source, as the extension module takes them."""
    circular = shift.boundary is None
    by = within_extent(shift.by, shape[shift.axis], circular)
    if circular:
        return shift.axis, by, None, shift.source
    if is_number(shift.boundary):
        return shift.axis, by, constant(shift.boundary, dtype).tobytes(), shift.source
    if _is_elsewhere(shift):
        return shift.axis, by, None, shift.source  # for the summary only: the extension module never does it
    face = shape[: shift.axis] + shape[shift.axis + 1 :]
    return shift.axis, by, np.broadcast_to(shift.boundary, face), shift.source


def _is_elsewhere(shift: Shift) -> bool:
    """Whether the boundary is an array of another library than numpy."""
    return shift.boundary is not None and not is_number(shift.boundary) and not isinstance(shift.boundary, np.ndarray)

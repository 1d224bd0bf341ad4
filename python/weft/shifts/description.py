"""What a shift is, and the checks that its parts fit an array."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from weft._core import UsageError


@dataclass(frozen=True)
class Shift:
    """One shift of a plan.

    Element `i` of the output along `axis` is element `i + by` of the source. With `boundary=None` the shift is
    circular: `i + by` is taken modulo the extent. Otherwise it is end-off, and where `i + by` is outside the array the
    boundary comes in: a number, or an array of the source's shape without `axis`, which is read at each call.

    Args:
        by: distance, of either sign and any size.
        axis: the axis, from 0; negative ones count from the last.
        boundary: None (circular), a number, or an array of rank one less (a rank-0 array is read at each call too).
        source: which of the plan's arrays is shifted.

    Examples
    --------
    >>> import numpy as np, weft
    >>> (pushed,) = weft.arrays.polyshift(4, int, [Shift(by=-1, axis=0, boundary=9)])(np.arange(4))
    >>> pushed
    array([9, 0, 1, 2])
    """

    by: int
    axis: int
    boundary: Any = None
    source: int = 0


_WORDS = {field.name for field in fields(Shift)}


def described(shifts: Iterable[Any]) -> list[Shift]:
    """The shifts of a list of Shift, tuples of what a Shift is made of, or mappings of the same words. Raises
    UsageError."""
    if isinstance(shifts, (Shift, Mapping, str)) or not isinstance(shifts, Iterable):
        raise UsageError("shifts: expected a list, such as [(1, 0), (-1, 0)] for both directions along axis 0")
    return [_described(number, shift) for number, shift in enumerate(shifts)]


def _described(number: int, shift: Any) -> Shift:
    if isinstance(shift, Shift):
        return shift
    if isinstance(shift, Mapping):
        unknown = sorted(set(shift) - _WORDS)
        if unknown or not {"by", "axis"} <= set(shift):
            what = f"'{unknown[0]}' is none of a shift's words" if unknown else "'by' and 'axis' are needed"
            raise UsageError(f"shift {number}: {what}: expected by, axis and perhaps boundary, source")
        return Shift(**shift)
    if isinstance(shift, Sequence) and not isinstance(shift, str) and 2 <= len(shift) <= len(_WORDS):
        return Shift(*shift)
    raise UsageError(f"shift {number}: expected (by, axis), (by, axis, boundary) or weft.shifts.Shift, got {shift!r}")


def whole_number(value: Any, what: str) -> int:
    """An integer. Raises UsageError, also for values that are only known when a traced function runs."""
    try:
        return operator.index(value)
    except Exception as error:  # JAX raises errors of its own for traced values
        raise UsageError(f"{what} must be an integer that is known now, got {value!r}") from error


def checked_axis(axis: Any, rank: int, what: str = "axis") -> int:
    """An axis from 0 on. Raises UsageError."""
    number = whole_number(axis, what)
    if not -rank <= number < rank:
        if rank == 0:
            raise UsageError("an array of rank 0 has no axis to shift along")
        raise UsageError(f"{what} {number} is none of an array of rank {rank}: expected {-rank} to {rank - 1}")
    return number % rank


def within_extent(by: int, extent: int, circular: bool) -> int:
    """The distance within the extent that does the same."""
    if circular:
        return by % extent if extent else 0
    return max(-extent, min(extent, by))


def checked_dtype(dtype: Any) -> np.dtype[Any]:
    """A dtype whose elements are bytes of their own. Raises UsageError."""
    try:
        checked: np.dtype[Any] = np.dtype(dtype)
    except TypeError as error:
        raise UsageError(f"{dtype!r} is no dtype: {error}") from error
    if checked.hasobject:
        raise UsageError(f"dtype {checked} holds Python objects: shifts move numbers, booleans and records of them")
    if checked.itemsize == 0:
        raise UsageError(f"dtype {checked} has elements of no bytes")
    return checked


def constant(boundary: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A boundary that is one number, as an array of rank 0. Raises UsageError where the dtype cannot hold it."""
    if isinstance(boundary, (int, float)) and boundary == 0:
        # Of any dtype, records too; floats have two of them.
        zero = np.zeros((), dtype)
        if dtype.kind in "fc":
            zero[()] = boundary
        return zero
    try:
        if not _fits(boundary, dtype):
            raise UsageError(f"boundary {boundary!r} does not fit dtype {dtype}")
        array = np.empty((), dtype)
        array[()] = boundary
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"boundary {boundary!r} does not fit dtype {dtype}: {error}") from error
    return array


def _fits(boundary: Any, dtype: np.dtype[Any]) -> bool:
    """Whether numpy would keep the dtype when an array of it meets the value, or loses no more than precision."""
    if isinstance(boundary, np.generic):
        return bool(np.can_cast(boundary.dtype, dtype, "same_kind"))
    if isinstance(boundary, (bool, int, float, complex)) and dtype.kind in "biufc":
        return (dtype.kind == "b" and boundary in (0, 1)) or np.result_type(dtype, boundary) == dtype.newbyteorder("=")
    return True


def is_number(boundary: Any) -> bool:
    """Whether a boundary is a single value and no array."""
    return isinstance(boundary, (bool, int, float, complex, np.generic, str, bytes, tuple))

"""What lies beyond the ends of an array: a boundary for each end of each axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from weft._core import UsageError
from weft.array_input import refuse_masked

CIRCULAR = "circular"
ANTIPERIODIC = "antiperiodic"
REFLECT = "reflect"
SYMMETRIC = "symmetric"
NONE = "none"

WORDS = (CIRCULAR, ANTIPERIODIC, REFLECT, SYMMETRIC, NONE)
"""Boundaries that have a name."""

CONTINUED = (CIRCULAR, ANTIPERIODIC, REFLECT, SYMMETRIC)
"""Those whose values are elements of the array itself, perhaps with the other sign."""

EXPECTED = (
    "expected 'circular', 'antiperiodic', 'reflect', 'symmetric', 'none', a number, an array, a function of position, "
    "or a pair of these for both ends"
)


class Ends(NamedTuple):
    """The boundaries of both ends of an axis."""

    low: Any
    high: Any


def for_axes(boundary: Any, rank: int) -> tuple[Any, ...]:
    """One boundary for each axis, from one for all or a sequence; `Ends` where both ends differ. Raises UsageError."""
    if isinstance(boundary, (tuple, list)):
        if len(boundary) != rank:
            pair = ", such as ((low, high),)" if rank == 1 else ""
            raise UsageError(
                f"{len(boundary)} boundaries for a stencil of {rank} axes: give one for each, or one for all; the two "
                f"ends of an axis are a pair within{pair}"
            )
        return tuple(of_axis(one, f"the boundary of axis {axis}") for axis, one in enumerate(boundary))
    one = checked(boundary, "the boundary")
    if rank > 1 and is_array(one):
        raise UsageError(
            f"a boundary array belongs to one axis, and this stencil has {rank}: give a boundary for each axis, "
            "such as boundary=(array, 'circular')"
        )
    return (one,) * rank


def of_axis(boundary: Any, what: str) -> Any:
    """The boundary of an axis: one for both ends, or `Ends` from a pair. Raises UsageError."""
    if not isinstance(boundary, tuple):
        return checked(boundary, what)
    if len(boundary) != 2:
        raise UsageError(f"{what} is a tuple of {len(boundary)}: expected a pair, for the low and the high end")
    low, high = (checked(one, f"{what}, {end} end") for one, end in zip(boundary, ("low", "high"), strict=True))
    return low if is_same(low, high) else Ends(low, high)


def is_same(low: Any, high: Any) -> bool:
    """Whether the boundaries of two ends are one."""
    if low is high:
        return True
    if isinstance(low, str) or isinstance(high, str):
        return isinstance(low, str) and isinstance(high, str) and low == high
    if callable(low) or callable(high) or is_array(low) or is_array(high):
        return False
    return bool(low == high)


def checked(boundary: Any, what: str) -> Any:
    """A boundary as it is, if it is one. Raises UsageError."""
    if isinstance(boundary, str):
        if boundary not in WORDS:
            raise UsageError(f"{what} is '{boundary}': {EXPECTED}")
        return boundary
    if boundary is None or isinstance(boundary, (bool, tuple)):
        raise UsageError(f"{what} is {boundary}: {EXPECTED}")
    refuse_masked(what, boundary)
    return boundary


def both(boundary: Any) -> Ends:
    """The boundaries of both ends of an axis."""
    return boundary if isinstance(boundary, Ends) else Ends(boundary, boundary)


def is_circular(boundary: Any) -> bool:
    """Whether the axis begins again."""
    return isinstance(boundary, str) and boundary == CIRCULAR


def is_word(boundary: Any, *words: str) -> bool:
    """Whether the boundary is one of these names."""
    return isinstance(boundary, str) and boundary in words


def is_function(boundary: Any) -> bool:
    """Whether the boundary is a function of position."""
    return callable(boundary) and not hasattr(boundary, "__array__")


def is_array(boundary: Any) -> bool:
    """Whether the boundary has a value for each index of the other axes, or is an array of rank 0."""
    if isinstance(boundary, (str, Ends)) or is_function(boundary):
        return False
    return isinstance(boundary, np.ndarray) or getattr(boundary, "ndim", np.ndim(boundary)) > 0


def is_value(boundary: Any) -> bool:
    """Whether what lies beyond is no element of the array: a number, an array or a function of position."""
    return not isinstance(boundary, str)


def is_of_both_ends(boundary: Any) -> bool:
    """Whether it is a boundary that the kernels know: CSHIFT's or EOSHIFT's, the same at both ends."""
    return is_circular(boundary) or not (isinstance(boundary, (str, Ends)) or is_function(boundary))


def is_indexed_by_result(boundary: Sequence[Any], offsets: Iterable[tuple[int, ...]]) -> bool:
    """Whether a boundary array is indexed by the result's position along an earlier axis, as by EOSHIFT, where points
    are elsewhere along it: what lies beyond then depends on the point."""
    if not all(map(is_of_both_ends, boundary)):
        return False
    arrays = [axis for axis, one in enumerate(boundary) if is_array(one) and np.ndim(one)]
    return any(offset[axis] and any(offset[:axis]) for offset in offsets for axis in arrays)


def shape_of(axis: int, grid: tuple[int, ...], site: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a boundary array of an axis: one rank less than the array."""
    return grid[:axis] + grid[axis + 1 :] + site


def fitted(boundary: Any, axis: int, grid: tuple[int, ...], site: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """A boundary array as one that broadcasts to `shape_of`: one value for a site stands for all of its elements.

    Raises UsageError when it does not fit.
    """
    values = np.asarray(boundary)
    if np.iscomplexobj(values) and not np.issubdtype(dtype, np.complexfloating):
        raise UsageError(f"the boundary of axis {axis} is complex, the array is {np.dtype(dtype).name}")
    if values.ndim and values.dtype.kind == "f" and np.dtype(dtype).kind in "iu":
        raise UsageError(
            f"the boundary of axis {axis} is of {values.dtype}, the array is {np.dtype(dtype).name}: give integers"
        )
    check_held(values, f"the boundary of axis {axis}", np.dtype(dtype))
    shape, others = shape_of(axis, grid, site), shape_of(axis, grid, ())
    if values.ndim == 0 or values.shape == shape:
        return values
    if values.shape == others:
        return values.reshape(others + (1,) * len(site))
    expected = f"{others}" if not site else f"{others} or {shape}"
    raise UsageError(
        f"the boundary array of axis {axis} has shape {values.shape}; for a grid of {grid} it must have "
        f"{expected}: the grid without that axis"
    )


def check_held(values: np.ndarray[Any, Any], what: str, dtype: np.dtype[Any]) -> None:
    """Refuses numbers that integers of a type do not hold: assigned, they would wrap around or lose their fractions.

    Raises UsageError.
    """
    if dtype.kind not in "iu" or not values.size:
        return
    limits = np.iinfo(dtype)
    low, high = values.min(), values.max()
    # Not all of what lies between two finite extremes need be whole.
    if not (limits.min <= low and high <= limits.max and (values.dtype.kind != "f" or (values % 1 == 0).all())):
        raise UsageError(f"{what} has values from {low} to {high}, not all of them whole numbers that {dtype} holds")


def full(boundary: Any, axis: int, grid: tuple[int, ...], site: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """A boundary array with a value for every element beyond an end. Raises UsageError when it does not fit."""
    values = np.broadcast_to(fitted(boundary, axis, grid, site, dtype), shape_of(axis, grid, site))
    return np.require(values, dtype, ["C_CONTIGUOUS", "ALIGNED"])


def elements(boundary: Any, indices: np.ndarray[Any, Any], extent: int) -> np.ndarray[Any, Any]:
    """The elements of an axis that are found at indices beyond an end, by a boundary that continues the array.

    As in `numpy.pad`: "reflect" leaves the last element out, "symmetric" begins with it; both reflect again at the
    other end, so that any width has an element. Antiperiodic values are those of a circular axis; see `signs`.
    """
    if boundary in (CIRCULAR, ANTIPERIODIC):
        return np.asarray(indices % extent)
    if boundary == SYMMETRIC:
        within = indices % (2 * extent)
        return np.asarray(np.minimum(within, 2 * extent - 1 - within))
    within = indices % max(1, 2 * extent - 2)
    return np.asarray(np.minimum(within, 2 * extent - 2 - within))


def is_negated(indices: np.ndarray[Any, Any], extent: int) -> np.ndarray[Any, Any]:
    """Where an antiperiodic axis has the other sign: an odd number of times around."""
    return np.asarray((indices // extent) % 2 == 1)


Function = Callable[..., Any]
"""A boundary that is a function of position: of an array of indices for each axis of the grid, which broadcast."""

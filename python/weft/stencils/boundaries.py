"""What lies beyond the ends of an array: one boundary for each axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft._core import UsageError
from weft.array_input import refuse_masked

CIRCULAR = "circular"


def for_axes(boundary: Any, rank: int) -> tuple[Any, ...]:
    """One boundary for each axis, from one for all or a sequence. Raises UsageError."""
    if isinstance(boundary, (tuple, list)):
        if len(boundary) != rank:
            raise UsageError(
                f"{len(boundary)} boundaries for a stencil of {rank} axes: give one for each, or one for all"
            )
        return tuple(checked(one, f"the boundary of axis {axis}") for axis, one in enumerate(boundary))
    one = checked(boundary, "the boundary")
    if rank > 1 and is_array(one):
        raise UsageError(
            f"a boundary array belongs to one axis, and this stencil has {rank}: give a boundary for each axis, "
            "such as boundary=(array, 'circular')"
        )
    return (one,) * rank


def checked(boundary: Any, what: str) -> Any:
    """A boundary as it is, if it is one. Raises UsageError."""
    if isinstance(boundary, str):
        if boundary != CIRCULAR:
            raise UsageError(f"{what} is '{boundary}': expected 'circular', a number, or an array")
        return boundary
    if boundary is None or isinstance(boundary, bool):
        raise UsageError(f"{what} is {boundary}: expected 'circular', a number, or an array")
    refuse_masked(what, boundary)
    return boundary


def is_circular(boundary: Any) -> bool:
    """Whether the axis begins again."""
    return isinstance(boundary, str)


def is_array(boundary: Any) -> bool:
    """Whether the boundary has a value for each index of the other axes, or is an array of rank 0."""
    if is_circular(boundary):
        return False
    return isinstance(boundary, np.ndarray) or getattr(boundary, "ndim", np.ndim(boundary)) > 0


def shape_of(axis: int, grid: tuple[int, ...], site: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a boundary array of an axis: one rank less than the array."""
    return grid[:axis] + grid[axis + 1 :] + site


def full(boundary: Any, axis: int, grid: tuple[int, ...], site: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """A boundary array with a value for every element beyond an end; one value for a site stands for all of its
    elements.

    Raises UsageError when it does not fit.
    """
    values = np.asarray(boundary)
    if np.iscomplexobj(values) and not np.issubdtype(dtype, np.complexfloating):
        raise UsageError(f"the boundary of axis {axis} is complex, the array is {np.dtype(dtype).name}")
    shape, others = shape_of(axis, grid, site), shape_of(axis, grid, ())
    if values.ndim == 0 or values.shape == shape:
        fitted = values
    elif values.shape == others:
        fitted = values.reshape(others + (1,) * len(site))
    else:
        expected = f"{others}" if not site else f"{others} or {shape}"
        raise UsageError(
            f"the boundary array of axis {axis} has shape {values.shape}; for a grid of {grid} it must have "
            f"{expected}: the grid without that axis"
        )
    return np.require(np.broadcast_to(fitted, shape), dtype, ["C_CONTIGUOUS", "ALIGNED"])

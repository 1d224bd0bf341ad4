"""Stencils of CuPy's arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from weft.cuda.launching import launch, resident_blocks, second_level_cache
from weft.cuda.stencil_source import TYPES, Grid, stencil_kernel, vector_width
from weft.cuda.stencil_tuning import tuned


def apply(
    x: Any,
    grid: Grid,
    points: Mapping[tuple[int, ...], Any],
    boundary: Sequence[tuple[Any, Any]],
    steps: int,
    out: Any = None,
) -> Any:
    """`steps` applications of a stencil, each to the result of the one before.

    Parameters
    ----------
    x
        An array of CuPy of float32 or float64 in C order, with at least one element.
    grid
        Its axes: right-hand sides, grid, site.
    points
        Coefficients by offset: a float, or an array of CuPy in C order, of the shape of the grid and the type of `x`.
    boundary
        What lies beyond both ends of each axis: a word that `weft.cuda.stencil_source.Boundary` names, or a float.
    steps
        At least one.
    out
        An array in C order for the result, which does not overlap `x`; None makes one.
    """
    import cupy

    coefficients = tuple((offset, None if is_array(value) else float(value)) for offset, value in points.items())
    arrays = [value for value in points.values() if is_array(value)]
    with x.device:
        result = cupy.empty_like(x) if out is None else out
        other = cupy.empty_like(x) if steps > 1 else result
        addresses = [array.data.ptr for array in (x, result, other, *arrays)]
        width = vector_width(grid, x.itemsize, addresses)
        kernel = _prepared(grid, np.dtype(x.dtype).name, coefficients, tuple(boundary), width, x.device.id)
        # The last step writes into the result.
        targets = [result if (steps - step) % 2 else other for step in range(steps)]
        for target in targets:
            launch(kernel.source, "stencil", kernel.blocks, kernel.threads, [x, target, kernel.planes, *arrays])
            x = target
    return x


def is_array(coefficient: Any) -> bool:
    """Whether a coefficient differs from point to point."""
    return getattr(coefficient, "ndim", 0) > 0


def has_kernel(dtype: Any) -> bool:
    """Whether arrays of this type have a kernel.

    >>> has_kernel("float32"), has_kernel("int32")
    (True, False)
    """
    return np.dtype(dtype).name in TYPES


class _Prepared(NamedTuple):
    """A kernel with what it is launched with."""

    source: str
    blocks: int
    threads: tuple[int, int]
    planes: np.int32


@lru_cache(maxsize=256)
def _prepared(
    grid: Grid,
    dtype: str,
    coefficients: tuple[tuple[tuple[int, ...], float | None], ...],
    boundary: tuple[tuple[Any, Any], ...],
    width: int,
    device: int,
) -> _Prepared:
    points = dict(coefficients)
    tuning = tuned(grid, points, np.dtype(dtype).itemsize, width, second_level_cache(device))
    kernel = stencil_kernel(grid, dtype, points, boundary, tuning)
    across, down = kernel.threads
    planes = kernel.planes(resident_blocks(kernel.source, "stencil", across * down, device))
    return _Prepared(kernel.source, kernel.blocks(planes), kernel.threads, np.int32(planes))

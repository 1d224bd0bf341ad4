"""Launches of stencils."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from weft.cuda.launching import Argument, Launch, Parameter, Result, resident_blocks, second_level_cache, shared_memory
from weft.cuda.stencil_source import TYPES, Grid, stencil_kernel
from weft.cuda.stencil_tuning import Memory, tuned

Coefficients: TypeAlias = tuple[tuple[tuple[int, ...], float | None], ...]
"""Coefficients by offset; None for an array of coefficients."""

Ends: TypeAlias = tuple[tuple[Any, Any], ...]
"""What lies beyond both ends of each axis: a word that `weft.cuda.boundary_source.Boundary` names, or a float."""


def has_kernel(dtype: Any) -> bool:
    """Whether arrays of this type have a kernel.

    >>> has_kernel("float32"), has_kernel("int32")
    (True, False)
    """
    return np.dtype(dtype).name in TYPES


@lru_cache(maxsize=256)
def stencil_launch(
    grid: Grid, dtype: str, coefficients: Coefficients, boundary: Ends, width: int, device: int
) -> Launch:
    """The launch of one application of a stencil, whose arguments are the array and then the arrays of coefficients.

    Parameters
    ----------
    grid
        The axes of the array: right-hand sides, grid, site.
    dtype
        A key of `weft.cuda.stencil_source.TYPES`.
    coefficients
        As they are, but for arrays of them, which have the shape of the grid and the type of the array.
    boundary
        What lies beyond both ends of each axis.
    width
        Elements that a thread computes at once: see `weft.cuda.stencil_source.vector_width`.
    device
        The device that the work is divided for.
    """
    points = dict(coefficients)
    values = any(not isinstance(end, str) for both in boundary for end in both)
    memory = Memory(second_level_cache(device), shared_memory(device))
    tuning = tuned(grid, points, np.dtype(dtype).itemsize, width, memory, values)
    kernel = stencil_kernel(grid, dtype, points, boundary, tuning)
    across, down = kernel.threads
    planes = kernel.planes(resident_blocks(kernel.source, "stencil", across * down, device, kernel.shared))
    arrays = [Argument(1 + number) for number in range(sum(value is None for value in points.values()))]
    parameters: tuple[Parameter, ...] = (Argument(0), Result(0), np.int32(planes), *arrays)
    return Launch(kernel.source, "stencil", kernel.blocks(planes), kernel.threads, parameters, kernel.shared, device)

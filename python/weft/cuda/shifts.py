"""Shifts of CuPy's arrays: all of a plan's from one array in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from weft.cuda.launching import launch
from weft.cuda.shift_source import WORDS, ShiftKernel, ShiftOf, shift_kernel, vector_width

_kernel = lru_cache(maxsize=256)(shift_kernel)


def shift_all(x: Any, shifts: Sequence[tuple[int, int, Any]], outputs: Sequence[Any]) -> None:
    """Shifts one array into several.

    Parameters
    ----------
    x
        An array of CuPy with elements of 1, 2, 4, 8 or 16 bytes (`shiftable`).
    shifts
        `(by, axis, boundary)` of each, `by` within the extent; the boundary is None (circular), a numpy scalar of the
        array's dtype, or an array of CuPy of that dtype and the shape without the axis.
    outputs
        An array of CuPy in C order for each shift, which overlaps neither `x` nor a boundary.
    """
    import cupy

    if x.size == 0:
        return
    with x.device:
        x = cupy.ascontiguousarray(x)
        edges = [None if edge is None else _edge(edge) for _, _, edge in shifts]
        wanted = tuple(
            ShiftOf(by, axis, edge is None, edge is not None and not isinstance(edge, np.generic))
            for (by, axis, _), edge in zip(shifts, edges, strict=True)
        )
        arrays = [x, *outputs, *(edge for edge in edges if edge is not None and not isinstance(edge, np.generic))]
        width = vector_width(x.shape, x.itemsize, tuple(array.data.ptr for array in arrays), wanted)
        kernel: ShiftKernel = _kernel(tuple(x.shape), x.itemsize, width, wanted)
        arguments = [x, *outputs, *(edge for edge in edges if edge is not None)]
        launch(kernel.source, "shifts", kernel.blocks, (kernel.threads,), arguments)


def shiftable(dtype: Any) -> bool:
    """Whether elements are as long as something that a thread moves.

    >>> shiftable("float32"), shiftable("S3")
    (True, False)
    """
    return np.dtype(dtype).itemsize in WORDS


def _edge(edge: Any) -> Any:
    """A boundary as an argument: an array in C order, or the bytes of an element as a number of as many bytes."""
    if not isinstance(edge, np.generic):
        import cupy

        return cupy.ascontiguousarray(edge)
    if edge.dtype.itemsize == 16:
        return np.complex128(np.frombuffer(edge.tobytes(), np.complex128)[0])
    return np.frombuffer(edge.tobytes(), f"u{edge.dtype.itemsize}")[0]

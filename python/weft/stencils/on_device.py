"""Stencils on arrays of a CUDA device, where there is a kernel for them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.cuda import borrowing, stencils
from weft.cuda.launching import is_output
from weft.cuda.stencil_source import Grid
from weft.stencils import boundaries

if TYPE_CHECKING:
    from weft.stencils.description import Stencil

Points = dict[tuple[int, ...], Any]
"""Coefficients by offset: numbers, or arrays of CuPy."""

Ends = list[tuple[Any, Any]]
"""What lies beyond both ends of each axis."""

MAX_ELEMENTS = 2**40
"""Elements of an array: far more than any device holds, and blocks are still counted in 32 bits."""


def apply(stencil: Stencil, x: Any, *, out: Any, steps: int) -> Any | None:
    """`steps` applications by a kernel; None where there is none for this array, stencil or output.

    Kernels are of float32 and float64 (complex arrays are pairs of those), with real coefficients, and with numbers or
    continued boundaries at each end. Results are those of numpy's arrays up to rounding: a device multiplies and adds
    in one operation.
    """
    source = borrowing.as_cupy(x)
    if source is None or steps < 1 or not 0 < source.size < MAX_ELEMENTS:
        return None
    if source.ndim < stencil.rank + stencil.site_rank:
        return None
    import cupy

    kind = np.dtype(source.dtype)
    pairs = kind.kind == "c"
    real = np.dtype(f"f{kind.itemsize // 2}") if pairs else kind
    described = _described(stencil, source, pairs, real)
    if described is None or not stencils.has_kernel(real):
        return None
    points, ends = described
    if out is not None and not is_output(out, source):
        return None
    grid = _grid(stencil, source, pairs)
    if max(grid.extents) * grid.site >= 2**31:
        return None
    with source.device:
        borrowing.wait()
        whole = cupy.ascontiguousarray(source)
        if out is not None and cupy.may_share_memory(out, whole):
            whole = whole.copy()
        flat = whole.reshape(-1).view(real)
        target = None if out is None else out.reshape(-1).view(real)
        result = stencils.apply(flat, grid, points, ends, steps, target)
        shaped = out if out is not None else result.view(kind).reshape(source.shape)
        borrowing.keep([x, *stencil.points.values()])
        return borrowing.back(shaped, x)


def _grid(stencil: Stencil, source: Any, pairs: bool) -> Grid:
    """The axes of an array: right-hand sides, grid, site, of which the parts of a complex number are elements."""
    first = source.ndim - stencil.rank - stencil.site_rank
    last = source.ndim - stencil.site_rank
    shape = tuple(map(int, source.shape))
    return Grid(math.prod(shape[:first]), shape[first:last], math.prod(shape[last:]) * (2 if pairs else 1))


def _described(stencil: Stencil, source: Any, pairs: bool, real: Any) -> tuple[Points, Ends] | None:
    """Coefficients and what lies beyond the ends; None where a kernel has nothing for it. Numbers alone are kept."""

    def describe() -> tuple[Points, Ends] | None:
        ends, points = _ends(stencil, pairs), _points(stencil, source, real)
        return None if ends is None or points is None else (points, ends)

    if all(isinstance(value, (int, float, np.generic)) for value in stencil.points.values()):
        described: tuple[Points, Ends] | None = stencil.kept(("cuda", real.name, pairs), describe)
        return described
    return describe()


def _ends(stencil: Stencil, pairs: bool) -> Ends | None:
    """What lies beyond both ends of each axis; None where a kernel has nothing for it."""
    checked = []
    for boundary in stencil.boundary:
        both = [_end(end, pairs) for end in boundaries.both(boundary)]
        if None in both:
            return None
        checked.append((both[0], both[1]))
    return checked


def _end(end: Any, pairs: bool) -> Any | None:
    """A boundary as the kernels have it. A number that is not zero is not the same for both parts of a complex one."""
    if boundaries.is_word(end, *boundaries.CONTINUED):
        return end
    if isinstance(end, str) or boundaries.is_array(end) or boundaries.is_function(end):
        return None
    number = complex(end)
    return None if number.imag or (pairs and number) else number.real


def _points(stencil: Stencil, source: Any, real: Any) -> Points | None:
    """Coefficients as the kernels have them; None where one is complex, or known only to whom traces it."""
    import cupy

    first = source.ndim - stencil.rank - stencil.site_rank
    extents = source.shape[first : first + stencil.rank]
    points: Points = {}
    for offset, coefficient in stencil.points.items():
        if getattr(coefficient, "ndim", np.ndim(coefficient) if isinstance(coefficient, (list, tuple)) else 0) == 0:
            try:
                value = complex(coefficient)
            except Exception:  # JAX raises errors of its own for traced values
                return None
            if value.imag:
                return None
            # The arrays of numpy take a coefficient in their own precision.
            points[offset] = float(real.type(value.real))
            continue
        array = borrowing.as_cupy(coefficient)
        if array is None:
            if not isinstance(coefficient, (np.ndarray, list, tuple)):
                return None
            array = np.asarray(coefficient)
        if array.dtype.kind == "c" or not _broadcasts(array.shape, extents):
            return None
        with source.device:
            expanded = cupy.broadcast_to(cupy.asarray(array, dtype=real), extents)
            points[offset] = cupy.ascontiguousarray(expanded)
    return points


def _broadcasts(shape: tuple[int, ...], extents: tuple[int, ...]) -> bool:
    """Whether an array can stand for one of the extents of the grid."""
    aligned = zip(reversed(shape), reversed(extents), strict=False)
    return len(shape) <= len(extents) and all(own in (1, extent) for own, extent in aligned)

"""Stencils on arrays of other libraries: by a kernel of weft's on a CUDA device, else through the array API standard.

By the standard the array is extended once by what lies beyond its ends, and the sum is taken over slices of that:
compilers such as XLA turn it into one pass, shards of a sharded array exchange only faces, and the result is
differentiable where it is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from weft._core import UsageError
from weft.cuda.launching import is_cupy
from weft.cuda.through_jax import is_jax
from weft.stencils import boundaries, by_shards, on_device
from weft.stencils.plan import counted

if TYPE_CHECKING:
    from weft.stencils.description import Stencil


def is_elsewhere(x: Any) -> bool:
    """Whether an array belongs to another library than numpy, one whose arrays follow the array API standard."""
    if isinstance(x, (np.ndarray, np.generic)):
        return False
    from array_api_compat import is_array_api_obj

    return bool(is_array_api_obj(x))


def apply(stencil: Stencil, x: Any, *, out: Any, steps: int, mesh_axes: Mapping[int, str] | None = None) -> Any:
    """`steps` applications; `mesh_axes` has the axes of the mesh that axes of the grid are divided along, within
    `jax.shard_map`. Raises UsageError."""
    if out is not None and not is_cupy(x):
        raise UsageError(f"out is for arrays of numpy and CuPy: the result for {type(x).__name__} is a new array")
    steps = counted("steps", steps)
    if mesh_axes:
        return by_shards.apply(stencil, x, steps, mesh_axes)
    launched = on_device.apply(stencil, x, out=out, steps=steps)
    if launched is not None:
        return launched
    xp = _namespace(x)
    if not xp.isdtype(x.dtype, ("real floating", "complex floating")):
        raise UsageError(f"a stencil computes in floating point, not in {x.dtype}: convert the array")
    rank, site_rank = stencil.rank, stencil.site_rank
    if x.ndim < rank + site_rank:
        raise UsageError(f"an array of shape {x.shape} has {x.ndim} axes; this stencil needs {rank + site_rank}")
    once = _step(stencil, x)
    for _ in range(steps):
        x = once(xp, stencil, x)
    if out is None:
        return x
    out[...] = x
    return out


Step = Callable[[Any, Any, Any], Any]
"""One application: of the array's namespace, the stencil and the array."""


def _step(stencil: Stencil, x: Any) -> Step:
    """The formulation for an array."""
    if not all(map(boundaries.is_of_both_ends, stencil.boundary)):
        return by_padding
    if boundaries.is_indexed_by_result(stencil.boundary, stencil.points):
        return by_shifts
    if not is_jax(x):
        return by_slices
    return _compiled(stencil, by_shifts if _fuses(stencil, x) else by_slices)


MAX_FUSED = 13
"""Points of a stencil that XLA makes a good kernel of."""


def _fuses(stencil: Stencil, x: Any) -> bool:
    """Whether XLA makes one good kernel of a stencil, on a GPU (docs/decisions/kernels-for-devices.md).

    It does of shifts along one axis each, where it makes several of slices of an array that it extends first; of shifts
    along several axes it makes kernels that read more than slices do, and of many points slow ones.
    """
    if len(stencil.points) > MAX_FUSED or any(sum(map(bool, offset)) > 1 for offset in stencil.points):
        return False
    if not is_jax(x) or not all(map(boundaries.is_of_both_ends, stencil.boundary)):
        return False
    import jax

    return jax.default_backend() in ("gpu", "cuda")


def _compiled(stencil: Stencil, step: Step) -> Step:
    """A step that JAX compiles as a whole and keeps with the stencil, where nothing of it may change between calls."""
    values = [*stencil.points.values(), *stencil.boundary]
    if not all(isinstance(value, (str, int, float, complex, np.generic)) for value in values):
        return step
    import jax

    def keep() -> Step:
        compiled = jax.jit(lambda x: step(_namespace(x), stencil, x))
        return lambda _xp, _stencil, x: compiled(x)

    kept: Step = stencil.kept(("jax", step.__name__), keep)
    return kept


def _namespace(x: Any) -> Any:
    from array_api_compat import array_namespace

    return array_namespace(x)


def first_axis(stencil: Stencil, x: Any) -> int:
    """The first axis of the grid."""
    return int(x.ndim) - stencil.rank - stencil.site_rank


def coefficient_of(xp: Any, stencil: Stencil, x: Any, coefficient: Any) -> Any:
    """A coefficient that broadcasts to the array."""
    if isinstance(coefficient, (int, float, complex)):
        return coefficient
    # Arrays of the library itself stay as they are: they may be differentiated with respect to.
    array = coefficient if is_elsewhere(coefficient) else None
    if array is None:
        values = np.asarray(coefficient)
        complex_in_real = values.dtype.kind == "c" and not xp.isdtype(x.dtype, "complex floating")
        if complex_in_real:
            raise UsageError(f"a coefficient is complex, the array is {x.dtype}")
        array = xp.asarray(values.astype(values.dtype if values.dtype.kind == "c" else np.float64), dtype=x.dtype)
    return xp.reshape(array, tuple(array.shape) + (1,) * stencil.site_rank) if array.ndim else array


def is_numpy(value: Any) -> bool:
    """Whether a value is numpy's."""
    return isinstance(value, (np.ndarray, np.generic))


def beyond(xp: Any, stencil: Stencil, x: Any, axis: int, length: int) -> Any:
    """`length` planes of what lies beyond an end of an axis that is not circular."""
    at = first_axis(stencil, x) + axis
    boundary = stencil.boundary[axis]
    shape = (*x.shape[:at], length, *x.shape[at + 1 :])
    if not boundaries.is_array(boundary):
        return xp.full(shape, boundary, dtype=x.dtype)
    start = first_axis(stencil, x)
    grid, site = tuple(x.shape[start : start + stencil.rank]), tuple(x.shape[start + stencil.rank :])
    values = xp.asarray(boundary, dtype=x.dtype)
    shapes = boundaries.shape_of(axis, grid, site), boundaries.shape_of(axis, grid, ())
    if tuple(values.shape) not in shapes:
        raise UsageError(f"the boundary array of axis {axis} has shape {tuple(values.shape)}; expected {shapes[1]}")
    if tuple(values.shape) == shapes[1]:
        values = xp.reshape(values, shapes[1] + (1,) * len(site))
    return xp.broadcast_to(xp.expand_dims(values, axis=axis), shape)


def cut(x: Any, axis: int, start: int, stop: int) -> Any:
    """Part of an axis."""
    return x[(slice(None),) * axis + (slice(start, stop),)]


def by_shifts(xp: Any, stencil: Stencil, x: Any) -> Any:
    """Each point as a chain of shifts."""
    total: Any = None
    for offset, coefficient in stencil.points.items():
        moved = x
        for axis, by in enumerate(offset):
            moved = shifted(xp, stencil, moved, axis, by) if by else moved
        term = coefficient_of(xp, stencil, x, coefficient) * moved
        total = term if total is None else total + term
    return total


def shifted(xp: Any, stencil: Stencil, x: Any, axis: int, by: int) -> Any:
    """CSHIFT or EOSHIFT along an axis of the grid."""
    at = first_axis(stencil, x) + axis
    extent = x.shape[at]
    if boundaries.is_circular(stencil.boundary[axis]):
        return xp.roll(x, -by, axis=at)
    kept = max(0, extent - abs(by))
    rest = beyond(xp, stencil, x, axis, extent - kept)
    parts = [cut(x, at, extent - kept, extent), rest] if by > 0 else [rest, cut(x, at, 0, kept)]
    return xp.concat(parts, axis=at)


def by_slices(xp: Any, stencil: Stencil, x: Any) -> Any:
    """All points as slices of the array extended once along each axis."""
    extended = x
    for axis, (low, high) in enumerate(stencil.reach):
        if low or high:
            extended = extend(xp, stencil, x, extended, axis, low, high)
    return of_windows(xp, stencil, x, extended)


def of_windows(xp: Any, stencil: Stencil, x: Any, extended: Any) -> Any:
    """The sum over slices of the extended array."""
    start = first_axis(stencil, x)
    total: Any = None
    for offset, coefficient in stencil.points.items():
        window = tuple(
            slice(low + by, low + by + x.shape[start + axis])
            for axis, (by, (low, _)) in enumerate(zip(offset, stencil.reach, strict=True))
        )
        term = coefficient_of(xp, stencil, x, coefficient) * extended[(slice(None),) * start + window]
        total = term if total is None else total + term
    return total


def by_padding(xp: Any, stencil: Stencil, x: Any) -> Any:
    """All points as slices of the array extended along one axis after the other, by the boundary of each end."""
    extended = x
    for axis, boundary in enumerate(stencil.boundary):
        low, high = stencil.reach[axis]
        at, extent = first_axis(stencil, x) + axis, x.shape[first_axis(stencil, x) + axis]
        parts = [extended]
        for end, indices in zip(boundaries.both(boundary), ((-low, 0), (extent, extent + high)), strict=True):
            if indices[0] < indices[1]:
                planes = end_planes(xp, stencil, x, extended, axis, end, np.arange(*indices))
                parts = [planes, *parts] if indices[0] < 0 else [*parts, planes]
        extended = xp.concat(parts, axis=at) if len(parts) > 1 else extended
    return of_windows(xp, stencil, x, extended)


def end_planes(xp: Any, stencil: Stencil, x: Any, extended: Any, axis: int, end: Any, indices: Any) -> Any:
    """What lies at indices beyond an end, as wide as the array extended along earlier axes."""
    start = first_axis(stencil, x)
    at, grid = start + axis, tuple(x.shape[start : start + stencil.rank])
    if boundaries.is_word(end, boundaries.NONE):
        raise UsageError(
            f"the boundary of axis {axis} is 'none', which is for numpy arrays and distributed ones: "
            f"for {type(x).__name__} compute the inner part of the array"
        )
    if boundaries.is_word(end, *boundaries.CONTINUED):
        planes = xp.take(extended, xp.asarray(boundaries.elements(end, indices, grid[axis])), axis=at)
        if not boundaries.is_word(end, boundaries.ANTIPERIODIC):
            return planes
        signs = np.where(boundaries.is_negated(indices, grid[axis]), -1.0, 1.0)
        signs = signs.reshape((-1,) + (1,) * (x.ndim - at - 1))
        return planes * xp.asarray(signs, dtype=x.dtype)
    shape = (*extended.shape[:at], len(indices), *extended.shape[at + 1 :])
    if not boundaries.is_array(end) and not boundaries.is_function(end):
        return xp.full(shape, end, dtype=x.dtype)
    lines = [line_of(stencil, other, axis, grid) for other in range(stencil.rank)]
    if boundaries.is_function(end):
        lines[axis] = indices
        values = np.broadcast_to(end(*np.ix_(*lines)), tuple(map(len, lines)))
        planes = xp.asarray(np.array(values), dtype=x.dtype)
    else:
        planes = xp.asarray(end, dtype=x.dtype)
        sites = boundaries.shape_of(axis, grid, tuple(x.shape[start + stencil.rank :]))
        if tuple(planes.shape) not in (sites, boundaries.shape_of(axis, grid, ())):
            raise UsageError(f"the boundary array of axis {axis} has shape {tuple(planes.shape)}; expected {sites}")
        planes = xp.expand_dims(planes, axis=axis)
        for other in range(axis):
            planes = xp.take(planes, xp.asarray(np.clip(lines[other], 0, grid[other] - 1)), axis=other)
    if planes.ndim == stencil.rank:
        planes = xp.reshape(planes, tuple(planes.shape) + (1,) * stencil.site_rank)
    return xp.broadcast_to(planes, shape)


def line_of(stencil: Stencil, axis: int, last: int, grid: tuple[int, ...]) -> Any:
    """The index of each plane of an axis, extended where it comes before `last`: that of the element where the array
    continues."""
    extent, (low, high) = grid[axis], stencil.reach[axis] if axis < last else (0, 0)
    indices = np.arange(-low, extent + high)
    for end, outside in zip(boundaries.both(stencil.boundary[axis]), (indices < 0, indices >= extent), strict=True):
        if boundaries.is_word(end, *boundaries.CONTINUED):
            indices[outside] = boundaries.elements(end, indices[outside], extent)
    return indices


def extend(xp: Any, stencil: Stencil, x: Any, extended: Any, axis: int, low: int, high: int) -> Any:
    """What lies beyond both ends of an axis, put before and after it; earlier axes are extended already."""
    at = first_axis(stencil, x) + axis
    extent = extended.shape[at]
    if boundaries.is_circular(stencil.boundary[axis]):
        if max(low, high) > extent:
            return xp.take(extended, xp.asarray(np.arange(-low, extent + high) % extent), axis=at)
        parts = [cut(extended, at, extent - low, extent), extended, cut(extended, at, 0, high)]
        return xp.concat([part for part, length in zip(parts, (low, 1, high), strict=True) if length], axis=at)
    parts = [extended]
    for length, before in ((low, True), (high, False)):
        if length:
            planes = widened(xp, stencil, x, beyond(xp, stencil, x, axis, length), axis)
            parts = [planes, *parts] if before else [*parts, planes]
    return xp.concat(parts, axis=at)


def widened(xp: Any, stencil: Stencil, x: Any, planes: Any, axis: int) -> Any:
    """Planes beyond an end, as wide as the array extended along earlier axes. A number is the same there; a boundary
    array is only looked at by points that are not off along earlier axes, so that anything will do."""
    start = first_axis(stencil, x)
    for earlier, (low, high) in enumerate(stencil.reach[:axis]):
        if low or high:
            at = start + earlier
            first = cut(planes, at, 0, 1)
            parts = [first] * low + [planes] + [first] * high
            planes = xp.concat(parts, axis=at)
    return planes

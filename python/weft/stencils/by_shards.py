"""Stencils of arrays that `jax.shard_map` has divided: shards exchange what lies next to their edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from weft._core import UsageError
from weft.mesh_axes import count, moved
from weft.stencils import boundaries

if TYPE_CHECKING:
    from weft.stencils.description import Stencil


def apply(stencil: Stencil, x: Any, steps: int, mesh_axes: Mapping[int, str]) -> Any:
    """`steps` applications to a shard.

    Parameters
    ----------
    stencil
        One whose boundaries are circular or numbers. Arrays of coefficients are those of the shard.
    x
        The shard.
    steps
        How often.
    mesh_axes
        For each axis of the grid that is divided, the axis of the mesh that it is divided along.

    Raises
    ------
    UsageError
        Where there is no such axis, a point reaches further than a shard, or a boundary is another.
    """
    import jax.numpy as jnp

    _check(stencil, x, mesh_axes)
    for _ in range(steps):
        x = _once(jnp, stencil, x, mesh_axes)
    return x


def _check(stencil: Stencil, x: Any, mesh_axes: Mapping[int, str]) -> None:
    from weft.stencils.elsewhere import first_axis

    for axis in mesh_axes:
        if axis not in range(stencil.rank):
            raise UsageError(f"mesh_axes has an axis {axis!r}: the axes of the grid are 0 to {stencil.rank - 1}")
    for axis, boundary in enumerate(stencil.boundary):
        if not boundaries.is_circular(boundary) and not isinstance(boundary, (int, float, complex)):
            raise UsageError(
                f"the boundary of axis {axis} is {boundary!r}: within jax.shard_map it is 'circular' or a number"
            )
    if x.ndim < stencil.rank + stencil.site_rank:
        raise UsageError(
            f"an array of shape {x.shape} has {x.ndim} axes; this stencil needs {stencil.rank + stencil.site_rank}"
        )
    for axis, mesh_axis in mesh_axes.items():
        local = x.shape[first_axis(stencil, x) + axis]
        if max(stencil.reach[axis]) > local:
            raise UsageError(
                f"points reach {max(stencil.reach[axis])} along axis {axis}, further than a shard of {local} along "
                f"'{mesh_axis}': divide it among fewer shards"
            )


def _once(xp: Any, stencil: Stencil, x: Any, mesh_axes: Mapping[int, str]) -> Any:
    """One application: the shard extended along one axis after the other, and the sum over slices of that."""
    from weft.stencils import elsewhere

    extended = x
    for axis, (low, high) in enumerate(stencil.reach):
        if axis in mesh_axes:
            extended = _extend(xp, stencil, x, extended, axis, mesh_axes[axis])
        elif low or high:
            extended = elsewhere.extend(xp, stencil, x, extended, axis, low, high)
    return elsewhere.of_windows(xp, stencil, x, extended)


def _extend(xp: Any, stencil: Stencil, x: Any, extended: Any, axis: int, mesh_axis: str) -> Any:
    """What lies beyond both ends of a shard, put before and after it."""
    import jax

    from weft.stencils.elsewhere import cut, first_axis

    at, boundary = first_axis(stencil, x) + axis, stencil.boundary[axis]
    (low, high), local = stencil.reach[axis], x.shape[at]
    circular, number_of_shards = boundaries.is_circular(boundary), count(mesh_axis)
    parts = [extended]
    for length, planes, by in ((low, (local - low, local), -1), (high, (0, high), 1)):
        if not length:
            continue
        beyond = moved(cut(extended, at, *planes), mesh_axis, number_of_shards, by, circular)
        if not circular:
            here = jax.lax.axis_index(mesh_axis)
            is_inside = (here + by >= 0) & (here + by < number_of_shards)
            beyond = xp.where(is_inside, beyond, xp.full(beyond.shape, boundary, dtype=x.dtype))
        parts = [beyond, *parts] if by < 0 else [*parts, beyond]
    return xp.concat(parts, axis=at) if len(parts) > 1 else extended

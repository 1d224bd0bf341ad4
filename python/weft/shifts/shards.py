"""Shifts of arrays that `jax.shard_map` has divided: what leaves a shard goes to the shard that it belongs to.

Within `jax.shard_map` a function sees its own shard only, and a shift of that would begin again at the shard's own end.
Elements that cross are sent with `jax.lax.ppermute`, which is differentiable and becomes a collective permute: two of
them for a shift, whatever its distance.
"""

from __future__ import annotations

from typing import Any

from weft.mesh_axes import count, moved


def shifted(x: Any, by: int, axis: int, boundary: Any, mesh_axis: str) -> Any:
    """One shift of an array whose axis is divided along an axis of the mesh.

    Parameters
    ----------
    x
        The shard.
    by
        The distance, of either sign and any size, in elements of the whole array.
    axis
        The axis, from 0.
    boundary
        None for a circular shift; a number; or an array of the shape of the shard without the axis.
    mesh_axis
        The mesh axis that the axis is divided along.

    Raises
    ------
    UsageError
        Where there is no such mesh axis.
    """
    import jax
    import jax.numpy as jnp

    shards, local = count(mesh_axis), x.shape[axis]
    extent = shards * local
    if extent == 0:
        return x
    by = by % extent if boundary is None else max(-extent, min(extent, by))
    further, rest = divmod(by, local)
    here = jax.lax.axis_index(mesh_axis)

    def part(start: int, stop: int, shard: int) -> Any:
        own = jax.lax.slice_in_dim(x, start, stop, axis=axis)
        other = moved(own, mesh_axis, shards, shard, boundary is None)
        if boundary is None:
            return other
        edge = jnp.asarray(boundary, x.dtype)
        edge = jnp.expand_dims(edge, axis) if edge.ndim else edge
        is_inside = (here + shard >= 0) & (here + shard < shards)
        return jnp.where(is_inside, other, jnp.broadcast_to(edge, other.shape))

    if rest == 0:
        return part(0, local, further)
    return jnp.concatenate([part(rest, local, further), part(0, rest, further + 1)], axis=axis)

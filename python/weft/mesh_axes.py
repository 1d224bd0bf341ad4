"""The axes of a mesh of JAX devices, as a function within `jax.shard_map` sees them."""

from __future__ import annotations

from typing import Any

from weft._core import UsageError


def count(mesh_axis: str) -> int:
    """Shards along an axis of the mesh. Raises UsageError outside of `jax.shard_map`, or for a name that is none."""
    import jax

    try:
        return int(jax.lax.psum(1, mesh_axis))
    except NameError as error:
        raise UsageError(
            f"there is no mesh axis '{mesh_axis}' here: name one of the mesh that jax.shard_map was called with, "
            "within the function that it calls"
        ) from error


def moved(x: Any, mesh_axis: str, shards: int, by: int, circular: bool) -> Any:
    """The value of the shard that is `by` further along the mesh; zeros where there is none."""
    import jax

    if by == 0 or (circular and by % shards == 0):
        return x
    pairs = [(source, source - by) for source in range(shards)]
    if circular:
        pairs = [(source, target % shards) for source, target in pairs]
    return jax.lax.ppermute(x, mesh_axis, [(source, target) for source, target in pairs if 0 <= target < shards])

"""Boxes of elements that go from the ranks that have them to those that want them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from weft._core import UsageError
from weft.distributed import calls

if TYPE_CHECKING:
    from weft.distributed.array import DistributedArray
    from weft.distributed.geometry import Geometry
    from weft.distributed.ranks import Ranks

Slices = tuple[slice, ...]
Boxes = Callable[[int], Slices]
"""A box of the whole array for each rank."""


def exchanged(array: DistributedArray, parts: Sequence[bytes], what: str, key: str = "") -> list[bytes]:
    """What every rank has for this one. Collective.

    Ranks compare the calls that they are in, `what` and `key`, and are refused together where these differ.
    """
    ranks = array.geometry.communicator
    if ranks.size == 1:
        return list(parts)
    call = calls.current()
    words = f"{what} of {array.geometry.shape} over {array.geometry.grid}{' in ' if call else ''}{call}"
    return list(ranks.native.exchange(parts, calls.remembered(f"{words} {array.dtype.str} {key}", words)))


def to_all(array: DistributedArray, part: NDArray[Any], what: str) -> list[NDArray[Any]]:
    """A flat array of every rank, on every rank. Collective."""
    arrived = exchanged(array, [np.ascontiguousarray(part).tobytes()] * array.geometry.ranks, what)
    return [np.frombuffer(one, part.dtype) for one in arrived]


def lengths(box: Slices) -> list[int]:
    """The extents of a box."""
    return [max(0, one.stop - one.start) for one in box]


def common(one: Slices, other: Slices) -> Slices | None:
    """What two boxes have in common."""
    both = tuple(slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(one, other, strict=True))
    return None if any(part.start >= part.stop for part in both) else both


def within(part: Slices, box: Slices) -> Slices:
    """A part of the whole array as one of a box."""
    return tuple(slice(p.start - b.start, p.stop - b.start) for p, b in zip(part, box, strict=True))


def moved(
    array: DistributedArray, block: NDArray[Any] | None, had: Boxes, wanted: Boxes, dtype: Any, ufunc: Any = None
) -> NDArray[Any]:
    """The box that this rank wants, from those that have parts of it; parts that meet are combined. Collective.

    Parameters
    ----------
    array
        Whose ranks take part.
    block
        What this rank has of the box `had(rank)`; None for nothing.
    had, wanted
        The boxes that each rank has and wants, of one shape of the whole, the same on every rank.
    ufunc
        Combines elements of several ranks, in the order of ranks.
    """
    own, count = array.geometry.rank, array.geometry.ranks
    mine, parts, boxes = had(own), [], []
    for rank in range(count):
        target = wanted(rank)
        boxes.append((had(rank), target))
        both = common(mine, target)
        parts.append(
            b"" if block is None or both is None else np.ascontiguousarray(block[within(both, mine)]).tobytes()
        )
    what = "redistribution" if ufunc is None else f"reduction {ufunc.__name__}"
    arrived = exchanged(array, parts, what, f"{np.dtype(dtype).str} {boxes}")
    return _joined(arrived, had, wanted(own), np.dtype(dtype), ufunc)


def _joined(arrived: Sequence[bytes], had: Boxes, own: Slices, dtype: np.dtype[Any], ufunc: Any) -> NDArray[Any]:
    result = np.zeros(lengths(own), dtype)
    filled = np.zeros(result.shape, bool)
    for rank, content in enumerate(arrived):
        both = common(had(rank), own)
        if both is None:
            continue
        here = within(both, own)
        values = np.frombuffer(content, dtype).reshape(lengths(both))
        if ufunc is not None and filled[here].any():
            values = ufunc(result[here], values)
        result[here] = values
        filled[here] = True
    return result


def whole_lines(shape: Sequence[int], axis: int, ranks: int) -> Boxes:
    """Boxes in which an axis is whole: the longest other one is divided, and rank 0 has all where there is none."""
    others = [one for one in range(len(shape)) if one != axis]

    def box(rank: int) -> Slices:
        parts = [slice(0, extent) for extent in shape]
        if others:
            cut = max(others, key=lambda one: shape[one])
            block = -(-shape[cut] // ranks)
            parts[cut] = slice(min(rank * block, shape[cut]), min((rank + 1) * block, shape[cut]))
        elif rank:
            parts[axis] = slice(0, 0)
        return tuple(parts)

    return box


def same_ranks(source: Geometry, other: Geometry) -> Ranks:
    """The ranks of two geometries. Raises UsageError where they are not the same."""
    if not other.communicator.are(source.communicator):
        raise UsageError("the geometries are over different ranks")
    return source.communicator


def broadcast_part(value: DistributedArray, like: Geometry) -> NDArray[Any]:
    """What this rank needs of an array that broadcasts to a geometry's shape, from the ranks that have it. Collective.

    The axes of the result are those of `like`.
    """
    same_ranks(value.geometry, like)
    extra = like.ndim - value.ndim

    def wanted(rank: int) -> Slices:
        own = zip(like.local_slices(rank)[extra:], value.shape, strict=True)
        return tuple(slice(0, 1) if extent == 1 else one for one, extent in own)

    block = moved(value, value.local, value.geometry.local_slices, wanted, value.dtype)
    return block.reshape((1,) * extra + block.shape)

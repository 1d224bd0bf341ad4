"""Parts of distributed arrays by integers, slices, lists of indices and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from weft._core import UsageError
from weft.distributed.moving import Slices, exchanged, to_all

if TYPE_CHECKING:
    from weft.distributed.array import DistributedArray


def is_mask(key: Any) -> bool:
    """Whether a key is an array of booleans."""
    return getattr(key, "dtype", None) == np.bool_ and getattr(key, "ndim", 0) > 0


def _selection(array: DistributedArray, key: Any) -> tuple[list[NDArray[np.intp]], list[int], int]:
    """The indices that a key selects along each axis, and the axes that an integer takes away.

    The last is the axis of the part, without those, that comes first in the result, 0 for the order that they have.
    Raises UsageError.
    """
    words = list(key) if isinstance(key, tuple) else [key]
    is_apart = _is_apart(words)
    if any(word is None for word in words):
        raise UsageError("None adds no axis to a distributed array: gather() it, or use .local")
    if sum(word is Ellipsis for word in words) > 1:
        raise UsageError("an index has one ellipsis at most")
    if any(word is Ellipsis for word in words):
        at = next(number for number, word in enumerate(words) if word is Ellipsis)
        words[at : at + 1] = [slice(None)] * (array.ndim - len(words) + 1)
    words += [slice(None)] * (array.ndim - len(words))
    if len(words) > array.ndim:
        raise UsageError(f"an index of {len(words)} axes into an array of {array.ndim}")
    if sum(isinstance(word, (list, np.ndarray)) and np.ndim(word) > 0 for word in words) > 1:
        raise UsageError("one axis at a time is indexed by a list: gather() the array, or use .local")
    indices, away, leading = [], [], 0
    for axis, (word, extent) in enumerate(zip(words, array.geometry.shape, strict=True)):
        if isinstance(word, slice):
            indices.append(np.arange(*word.indices(extent)))
        elif isinstance(word, (int, np.integer)) and not isinstance(word, bool):
            indices.append(_within_extent(np.array([int(word)]), axis, extent))
            away.append(axis)
        else:
            indices.append(_listed(word, axis, extent))
            leading = (axis - len(away)) * is_apart
    return indices, away, leading


def _is_apart(words: Sequence[Any]) -> bool:
    """Whether slices are between integers and a list: numpy puts the axis of the list first then."""
    basic = [isinstance(word, slice) or word is Ellipsis for word in words]
    chosen = [number for number, one in enumerate(basic) if not one]
    return bool(chosen) and any(basic[chosen[0] : chosen[-1]])


def _within_extent(index: NDArray[Any], axis: int, extent: int) -> NDArray[np.intp]:
    wrong = index[(index < -extent) | (index >= extent)]
    if len(wrong):
        raise UsageError(f"index {wrong[0]} is out of bounds for axis {axis} of {extent} elements")
    return (index % extent).astype(np.intp)


def _listed(word: Any, axis: int, extent: int) -> NDArray[np.intp]:
    """The indices of a list or a flat array of whole numbers, or of booleans, along an axis."""
    try:
        index = np.asarray(word) if isinstance(word, (list, np.ndarray)) else None
    except ValueError:
        index = None
    if index is not None and index.ndim == 1:
        if index.dtype == np.bool_ and len(index) == extent:
            return np.flatnonzero(index)
        if index.dtype.kind in "iu" or not index.size:
            return _within_extent(index.astype(np.int64), axis, extent)
    raise UsageError(
        "a distributed array is indexed by integers, slices, ..., lists of integers and masks of its shape, not by "
        f"{type(word).__name__}{'' if index is None else f' of {index.dtype} with {index.ndim} axes'}: gather() it, "
        "or use .local"
    )


def _of_block(indices: Sequence[NDArray[np.intp]], block: Slices) -> list[NDArray[np.intp]]:
    """Which of the selected indices a block has."""
    return [np.flatnonzero((own >= part.start) & (own < part.stop)) for own, part in zip(indices, block, strict=True)]


def _index(positions: Sequence[NDArray[np.intp]]) -> Any:
    """For numpy: slices where positions follow one another, which copy faster."""
    if all(len(one) > 0 and (np.diff(one) == 1).all() for one in positions):
        return tuple(slice(int(one[0]), int(one[-1]) + 1) for one in positions)
    return np.ix_(*positions)


def _own_index(indices: Sequence[NDArray[np.intp]], chosen: Sequence[NDArray[np.intp]], block: Slices) -> Any:
    return _index([own[at] - part.start for own, at, part in zip(indices, chosen, block, strict=True)])


def part_of(array: DistributedArray, key: Any) -> Any:
    """The selected part on every rank. Collective."""
    if is_mask(key) and key.ndim == array.ndim:
        return _masked(array, key)
    geometry = array.geometry
    indices, away, leading = _selection(array, key)
    mine = geometry.local_slices()
    local = array.local[_own_index(indices, _of_block(indices, mine), mine)]
    whole = np.empty([len(own) for own in indices], array.dtype)
    arrived = exchanged(array, [np.ascontiguousarray(local).tobytes()] * geometry.ranks, "part")
    for rank, content in enumerate(arrived):
        there = _of_block(indices, geometry.local_slices(rank))
        whole[_index(there)] = np.frombuffer(content, array.dtype).reshape([len(one) for one in there])
    result = whole.reshape([n for axis, n in enumerate(whole.shape) if axis not in away])
    result = np.moveaxis(result, leading, 0) if leading else result
    return result[()] if not result.ndim else result


def put_part(array: DistributedArray, key: Any, value: Any) -> None:
    """Writes what this rank has of the selected part."""
    from weft.distributed.operations import is_distributed, own_part

    if is_mask(key) and key.ndim == array.ndim:
        _put_masked(array, key, value)
        return
    indices, away, leading = _selection(array, key)
    mine = array.geometry.local_slices()
    chosen = _of_block(indices, mine)
    if is_distributed(value):
        whole = all(len(own) == n and (own == np.arange(n)).all() for own, n in zip(indices, array.shape, strict=True))
        if not whole:
            raise UsageError("a part is written from a number or an array that every rank has, not a distributed one")
        array.local[...] = own_part(value, array, "the value")
        return
    extents = [len(own) for axis, own in enumerate(indices) if axis not in away]
    shape = tuple([extents.pop(leading), *extents] if leading else extents)
    values = np.asarray(value)
    try:
        values = np.broadcast_to(values, shape)
    except ValueError:
        raise UsageError(f"a value of shape {values.shape} does not broadcast to the part's, {shape}") from None
    values = np.moveaxis(values, 0, leading) if leading else values
    array.local[_own_index(indices, chosen, mine)] = values.reshape([len(own) for own in indices])[_index(chosen)]


def flat_indices(array: DistributedArray, own: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where elements of this rank's block that a mask selects are in the whole array, in C order."""
    at = [one + start for one, start in zip(np.nonzero(own), array.geometry.start(), strict=True)]
    return np.ravel_multi_index(tuple(at), array.geometry.shape).astype(np.int64).reshape(-1)


def _own_mask(array: DistributedArray, mask: Any) -> NDArray[np.bool_]:
    from weft.distributed.operations import own_part

    if tuple(mask.shape) != array.shape:
        raise UsageError(f"the mask has shape {tuple(mask.shape)}, but the array has {array.shape}")
    return np.asarray(own_part(mask, array, "the mask"))


def _masked(array: DistributedArray, mask: Any) -> NDArray[Any]:
    own = _own_mask(array, mask)
    indices = np.concatenate(to_all(array, flat_indices(array, own), "places of a mask"))
    values = np.concatenate(to_all(array, array.local[own], "elements of a mask"))
    result: NDArray[Any] = values[np.argsort(indices)]
    return result


def _put_masked(array: DistributedArray, mask: Any, value: Any) -> None:
    from weft.distributed.operations import is_distributed, own_part

    own = _own_mask(array, mask)
    if is_distributed(value):
        array.local[own] = np.broadcast_to(own_part(value, array, "the value"), own.shape)[own]
        return
    values = np.asarray(value)
    if values.size == 1:
        array.local[own] = values.reshape(())
        return
    mine = flat_indices(array, own)
    every = np.sort(np.concatenate(to_all(array, mine, "places of a mask")))
    if values.shape != every.shape:
        raise UsageError(f"the mask selects {len(every)} elements, but the value has shape {values.shape}")
    array.local[own] = values[np.searchsorted(every, mine)]


def indices_of(array: DistributedArray, mask: Any) -> tuple[NDArray[np.intp], ...]:
    """Where a distributed mask is true, on every rank, as of `numpy.nonzero`. Collective."""
    flat = np.sort(np.concatenate(to_all(array, flat_indices(array, np.asarray(mask)), "places of a mask")))
    return tuple(np.unravel_index(flat, array.shape))

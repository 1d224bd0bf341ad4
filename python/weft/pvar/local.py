"""Parallel variables of this process alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft._core import UsageError
from weft.pvar import combining, words
from weft.pvar.combining import Combiner
from weft.pvar.execution import Array, Scan, Send
from weft.pvar.memory import Pool
from weft.pvar.operators import UFUNCS, neutral
from weft.pvar.sort_keys import sort_keys


class Local:
    """See `weft.pvar.execution.Execution`."""

    ranks = 1
    communicator: Any = None

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.start = (0,) * len(shape)
        self.size = math.prod(shape)
        self.empty = Pool().empty

    def agree(self, error: str | None) -> None:
        """Of one process."""
        if error is not None:
            raise UsageError(error)

    def own(self, whole: Array) -> Array:
        """The whole."""
        return whole

    def whole(self, data: Array) -> Array:
        """The same."""
        return data

    def assign(self, data: Array, value: Any, mask: Array | None, word: int | None) -> None:
        """By numpy's rules of casting within a kind."""
        if word is not None:
            cast = np.empty(data.shape, data.dtype)
            np.copyto(cast, value)
            value = words.wrap(cast, word)
        if mask is None:
            np.copyto(data, value)
        else:
            np.copyto(data, value, where=mask)

    def read(self, data: Array, index: tuple[int, ...]) -> Any:
        """From memory."""
        return data[index].item()

    def write(self, data: Array, index: tuple[int, ...], value: Any) -> None:
        """To memory."""
        data[index] = value

    def part(self, data: Array, key: Any) -> Any:
        """Copied."""
        return np.array(data[key])

    def put(self, data: Array, key: Any, value: Any) -> None:
        """To memory."""
        data[key] = value

    def count(self, mask: Array) -> int:
        """Of all."""
        return int(np.count_nonzero(mask))

    def elementwise(self, name: str, operands: list[Any]) -> Array | None:
        """None: numpy does."""
        return None

    def reduce(self, data: Array, operator: str, mask: Array | None) -> Any:
        """Sums of integers in 64 bits, as numpy's."""
        chosen = data if mask is None else data[mask]
        if not chosen.size:
            return None if operator in ("max", "min") else neutral(operator, data.dtype).item()
        return UFUNCS[operator].reduce(chosen, axis=None).item()

    def reduce_axis(
        self, data: Array, operator: str, axis: int, mask: Array | None, initial: Any = None
    ) -> Array | None:
        """Of each line what the selected come to, at all of its elements; None leaves it to a scan."""
        return None

    def combine(
        self, data: Array, combiner: Combiner, axes: list[int], mask: Array | None, word: int | None
    ) -> tuple[Array, Array]:
        """See `combining.combined_axes`."""
        return combining.combined_axes(combiner, data, axes, mask, word)

    def spread(self, data: Array, axis: int, index: int) -> Array:
        """Copied."""
        line = data[(slice(None),) * axis + (slice(index, index + 1),)]
        result = self.empty(data.shape, data.dtype)
        result[...] = line
        return result

    def shift(self, data: Array, distance: int, axis: int, boundary: Any) -> Array:
        """Two pieces, each copied whole."""
        extent = data.shape[axis]
        before = (slice(None),) * axis
        if boundary is None and data.size:
            by = distance % extent
            moved: Array = np.concatenate((data[(*before, slice(by, extent))], data[(*before, slice(0, by))]), axis)
            return moved
        result = self.empty(data.shape, data.dtype)
        if not data.size:
            return result
        by = max(-extent, min(extent, distance))
        if by >= 0:
            result[(*before, slice(0, extent - by))] = data[(*before, slice(by, extent))]
            result[(*before, slice(extent - by, extent))] = boundary
        else:
            result[(*before, slice(-by, extent))] = data[(*before, slice(0, extent + by))]
            result[(*before, slice(0, -by))] = boundary
        return result

    def scan(self, data: Array, how: Scan) -> Array:
        """See `scanned`."""
        result = scanned(data, how)
        return result if how.word is None else words.wrap(result, how.word)

    def rank(self, data: Array, descending: bool, mask: Array | None, dtype: Any) -> tuple[Array, int]:
        """By a stable sort."""
        keys = sort_keys(data, descending, mask)
        ranks = np.empty(keys.size, dtype)
        ranks[np.argsort(keys, kind="stable")] = np.arange(keys.size)
        return placed(ranks, data.shape, mask), 0

    def is_with(self, other: Any) -> bool:
        """Those of one process."""
        return isinstance(other, Local)

    def is_alike(self, other: Any) -> bool:
        """Those of one shape."""
        return isinstance(other, Local) and other.shape == self.shape

    def get(self, data: Array, addresses: Array, mask: Array | None, source: Any = None) -> Array:
        """By numpy's indexing; the elements of any source are all here."""
        if mask is None:
            check_addresses(addresses, data.size, "get")
            return data.reshape(-1)[addresses]
        chosen = addresses[mask]
        check_addresses(chosen, data.size, "get")
        result = np.zeros(addresses.shape, data.dtype)
        result[mask] = data.reshape(-1)[chosen]
        return result

    def send(self, data: Array, addresses: Array, into: Array, how: Send, target: Any = None) -> None:
        """Messages in the order of their senders."""
        to, values = how.messages(data, addresses)
        check_addresses(to, into.size, "send")
        if how.operator is None and (collided := collision(to)) is not None:
            raise UsageError(refusal(*collided))
        deliver(to, values, into, how)


def placed(chosen: Array, shape: tuple[int, ...], mask: Array | None) -> Array:
    """Elements of the selected in the grid's shape, zero elsewhere."""
    if mask is None:
        return chosen.reshape(shape)
    result = np.zeros(shape, chosen.dtype)
    result[mask] = chosen
    return result


def check_addresses(addresses: Array, size: int, what: str) -> None:
    """Refuse addresses of no processor.

    Raises
    ------
    UsageError
        With the first of them.
    """
    if (wrong := outside(addresses, size, what)) is not None:
        raise UsageError(wrong)


def outside(addresses: Array, size: int, what: str) -> str | None:
    """What is wrong with addresses of no processor; None where there are none."""
    if not addresses.size or (addresses.min() >= 0 and addresses.max() < size):
        return None
    wrong = addresses[(addresses < 0) | (addresses >= size)].flat[0]
    if not size:
        return f"{what}: there is no processor {wrong}: the VP set has none"
    return f"{what}: there is no processor {wrong}: addresses are 0 to {size - 1}"


def collision(to: Array) -> tuple[int, int] | None:
    """The most messages of one place and that place, where a place gets several."""
    if not to.size:
        return None
    arrived = np.bincount(to)
    most = int(arrived.max())
    return (most, int(arrived.argmax())) if most > 1 else None


def refusal(most: int, processor: int) -> str:
    """What is said of a collision in a send that does not combine."""
    return (
        f"send: {most} processors send to processor {processor}; say how they combine "
        "(combine='add', 'max', 'min', 'logand', 'logior', 'overwrite')"
    )


def deliver(to: Array, values: Array, into: Array, how: Send) -> None:
    """Puts values to places, combined in order with what is there, unless that is fresh."""
    flat = into.reshape(-1)
    if isinstance(how.operator, Combiner):
        combining.delivered(how.operator, to, values, into, how.fresh, how.word)
    elif how.operator is None or how.operator == "overwrite":
        flat[to] = values
    else:
        if how.fresh:
            flat[to] = neutral(how.operator, into.dtype)
        UFUNCS[how.operator].at(flat, to, values)
    if how.word is not None:
        into[...] = words.wrap(into, how.word)


def scanned(data: Array, how: Scan) -> Array:
    """A scan of a whole array along an axis.

    Segments begin where `segments` is true (and at 0), whoever is selected; downwards the same segments are scanned
    from their ends. Those who are not selected add nothing and get zero.
    """
    operator, axis, mask, segments, exclusive, down, word = how
    starts = segments
    if segments is not None and down:
        # From above, a segment begins where the one after it did.
        starts = np.ones_like(segments)
        before = (slice(None),) * axis
        starts[(*before, slice(0, -1))] = segments[(*before, slice(1, None))]
    x, chosen, begins = (turned(one, axis, down) for one in (data, mask, starts))
    if isinstance(operator, Combiner):
        result = combining.scanned(operator, x, how._replace(mask=chosen), begins)
    elif operator == "copy":
        result, _ = copied(x, chosen, begins)
    else:
        nothing = neutral(operator, data.dtype, word)
        if chosen is not None:
            x = np.where(chosen, x, nothing)
        result = running(UFUNCS[operator], x, begins)
        if exclusive:
            result = delayed(result, nothing, begins, nothing)
    return settled(result, chosen, axis, down)


def turned(array: Any, axis: int, down: bool) -> Any:
    """An array (or None) with an axis last and the scan's direction up."""
    if array is None:
        return None
    last = np.moveaxis(array, axis, -1)
    return last[..., ::-1] if down else last


def settled(result: Array, chosen: Array | None, axis: int, down: bool) -> Array:
    """The inverse of `turned`, with zero where nobody is selected."""
    if chosen is not None:
        result = np.where(chosen, result, result.dtype.type(0))
    if down:
        result = result[..., ::-1]
    return np.ascontiguousarray(np.moveaxis(result, -1, axis))


def delayed(result: Array, first: Any, starts: Array | None, nothing: Any) -> Array:
    """Each what its neighbour before has; `first` comes in, and at the start of a segment `nothing`."""
    before = np.empty_like(result)
    before[..., 1:] = result[..., :-1]
    before[..., :1] = np.asarray(first)[..., None] if np.ndim(first) else first
    if starts is not None:
        before[starts] = nothing
    return before


def running(combine: np.ufunc, x: Array, starts: Array | None) -> Array:
    """Inclusive, along the last axis. Sums of floats begin with 0, as the kernels' do, so that none is -0.0."""
    if combine is np.add and x.dtype.kind in "fc":
        x = x + x.dtype.type(0)
    if starts is None:
        result: Array = combine.accumulate(x, axis=-1, dtype=x.dtype)
        return result
    # By doubling (Hillis and Steele 1986, section "partial sums"): each element takes what its neighbour 1, 2, 4, ...
    # before it has, unless a segment has begun since. A sum over all minus one before the segment would cancel.
    result, begun = x.copy(), starts.copy()
    begun[..., :1] = True
    by = 1
    while by < x.shape[-1]:
        earlier, later = result[..., :-by], result[..., by:]
        result[..., by:] = np.where(begun[..., by:], later, combine(earlier, later))
        begun[..., by:] |= begun[..., :-by].copy()
        by *= 2
    return result


def copied(x: Array, chosen: Array | None, starts: Array | None) -> tuple[Array, Array]:
    """The first selected element of the segment, and whether there is one up to here."""
    extent = x.shape[-1]
    indices = np.broadcast_to(np.arange(extent), x.shape)
    if chosen is not None:
        indices = np.where(chosen, indices, extent)
    first = running(np.minimum, indices, starts)
    if not extent:
        return x, first < extent
    return np.take_along_axis(x, np.minimum(first, extent - 1), axis=-1), first < extent

"""Parallel variables divided over the ranks of a run.

Each rank has a block (`weft.arrays.Geometry`) and runs the same program; what is said to the front end is the same on
all. Shifts are plans of shifts of distributed arrays; the rest is an exchange or a few.
Messages of sends are combined in the order of their senders' addresses, as on one rank.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from weft import _core
from weft._core import UsageError
from weft.distributed import DistributedArray, Geometry, Polyshift
from weft.distributed.calls import digest
from weft.pvar import combining, local, sample_sort, words
from weft.pvar.combining import Combiner
from weft.pvar.execution import Array, Scan, Send
from weft.pvar.native import Native, indices
from weft.pvar.operators import UFUNCS, beyond_kernels, is_by_numpy, name_of, neutral
from weft.pvar.sort_keys import sort_keys

_Result = TypeVar("_Result")

_PLANS = 64
"""Plans of shifts that are kept; the oldest is released for another."""


class OverRanks:
    """See `weft.pvar.execution.Execution`."""

    def __init__(self, shape: tuple[int, ...], order: tuple[str | None, ...], comm: Any, grid: Any) -> None:
        # Left to the geometry, an axis is in NEWS order wherever the number of ranks allows that.
        orders: Any = tuple("send" if one == "send" else None for one in order)
        self.geometry = Geometry(shape, comm=comm, order=orders, grid=grid)
        self.communicator = self._run = self.geometry.communicator
        self.ranks = self._run.size
        self.shape = self.geometry.local_shape()
        self.start = self.geometry.start()
        self._local = Native(self.shape)
        self._whole = shape
        self._size = math.prod(shape)
        self._plans: dict[Any, Polyshift] = {}
        positions = list(np.ndindex(*self.geometry.grid))
        self._rank_of = np.array([self.geometry.rank_of(position) for position in positions]).reshape(
            self.geometry.grid
        )
        ranks = [int(rank) for rank in self._rank_of.flat]
        extents = [extent for rank in range(self.ranks) for extent in self.geometry.local_shape(rank)]
        self._division = _core.Division(shape, self.geometry.block, self.geometry.grid, ranks, extents)
        self._is_in_order = ranks == sorted(ranks) and self.geometry.grid[0] == self.ranks
        """Whether addresses of a rank's processors are below those of the next rank's."""

    def agree(self, error: str | None, what: str = "addresses") -> None:
        """Collective."""
        self._run.native.agree(error, digest("{} on {}", what, self._whole), 0, "an operation on parallel variables")

    def own(self, whole: Array) -> Array:
        """A view."""
        part: Array = whole[self.geometry.local_slices()]
        return part

    def whole(self, data: Array) -> Array:
        """Gathered. Collective."""
        gathered: Array | None = self._distributed(data).gather(None)
        assert gathered is not None  # every rank is a root
        return gathered

    def assign(self, data: Array, value: Any, mask: Array | None, word: int | None) -> None:
        """Of the block."""
        self._local.assign(data, value, mask, word)

    def read(self, data: Array, index: tuple[int, ...]) -> Any:
        """From the rank that has it. Collective."""
        owner, at = self.geometry.owner(index)
        self._run.native.meet(digest("read of element {} of {} on {}", index, data.dtype, self._whole))
        element = np.empty(1, data.dtype)
        if owner == self._run.rank:
            element[0] = data[at]
        self._run.native.broadcast(owner, _core.Memory(element))
        return element[0].item()

    def write(self, data: Array, index: tuple[int, ...], value: Any) -> None:
        """On the rank that has it."""
        owner, at = self.geometry.owner(index)
        if owner == self._run.rank:
            data[at] = value

    def part(self, data: Array, key: Any) -> Any:
        """On every rank. Collective."""
        return self._distributed(data)[key]

    def put(self, data: Array, key: Any, value: Any) -> None:
        """What this rank has of it."""
        array = self._distributed(data)
        array[key] = value
        data[...] = array.local

    def count(self, mask: Array) -> int:
        """Collective."""
        own = np.array([np.count_nonzero(mask)], dtype=np.int64)
        return int(np.concatenate(self._from_all(own, digest("count of the selected on {}", self._whole))).sum())

    def elementwise(self, name: str, operands: list[Any]) -> Array | None:
        """Of the block."""
        return self._local.elementwise(name, operands)

    def reduce_axis(
        self, data: Array, operator: str, axis: int, mask: Array | None, initial: Any = None
    ) -> Array | None:
        """By a scan: a line may go through several blocks."""
        return None

    def reduce(self, data: Array, operator: str, mask: Array | None) -> Any:
        """Of each block, then of what they come to, in the order of ranks. Collective."""
        part = self._local.reduce(data, operator, mask)
        dtype = data.dtype
        call = digest("reduce {} of {}, {}, on {}", operator, dtype, _who(mask), self._whole)
        if operator in ("add", "multiply") and dtype.kind in "iu":
            dtype = np.dtype(np.int64 if dtype.kind == "i" else np.uint64)
        parts = np.concatenate(self._from_all(np.array([] if part is None else [part], dtype=dtype), call))
        return UFUNCS[operator].reduce(parts).item() if parts.size else None

    def combine(
        self, data: Array, combiner: Combiner, axes: list[int], mask: Array | None, word: int | None
    ) -> tuple[Array, Array]:
        """Axis by axis, the last first: each block's lines, then what the blocks of a line come to. Collective."""
        what = f"reduce by {combiner.name} of {data.dtype}, {_who(mask)}"
        value, has = data, mask
        for axis in sorted(axes, reverse=True):

            def along(x: Array, chosen: Array | None, axis: int = axis) -> tuple[Array, Array]:
                return self._agreed(lambda: combining.combined_axes(combiner, x, [axis], chosen, word), what)

            value, has = along(value, has)
            parts = [b""] * self.ranks
            for rank in self._beside(axis):
                parts[rank] = value.tobytes() + has.tobytes()
            came = self._run.native.exchange(parts, digest("{} on {}", what, self._whole))
            blocks = [_value_and_flags(came[rank], value.dtype, value.shape, 1) for rank in self._beside(axis)]
            value = np.concatenate([one for one, _ in blocks], axis)
            value, has = along(value, np.concatenate([flags[0] for _, flags in blocks], axis))
        assert has is not None  # there is an axis
        return value, has

    def _agreed(self, compute: Callable[[], _Result], what: str) -> _Result:
        """What calls of the program's function give; an exception on one rank ends the operation on all. Collective."""
        try:
            result = compute()
        except Exception as error:
            with contextlib.suppress(UsageError):
                self.agree(f"{what}: {type(error).__name__}: {error}", what)
            raise
        self.agree(None, what)
        return result

    def spread(self, data: Array, axis: int, index: int) -> Array:
        """From the ranks that have the place to those beside them along the axis. Collective."""
        block = self.geometry.block[axis]
        own = self.geometry.coordinates()
        parts = [b""] * self.ranks
        if own[axis] == index // block:
            at = index % block
            line = data[(slice(None),) * axis + (slice(at, at + 1),)]
            for rank in self._beside(axis):
                parts[rank] = line.tobytes()
        call = digest("spread of place {} of axis {} of {} on {}", index, axis, data.dtype, self._whole)
        came = self._run.native.exchange(parts, call)
        source = self._beside(axis)[index // block]
        shape = (*self.shape[:axis], 1, *self.shape[axis + 1 :])
        result = np.empty(self.shape, data.dtype)
        if result.size:
            result[...] = np.frombuffer(came[source], data.dtype).reshape(shape)
        return result

    def shift(self, data: Array, distance: int, axis: int, boundary: Any) -> Array:
        """By a plan, made the first time. Collective."""
        key = (data.dtype, distance, axis, None if boundary is None else np.asarray(boundary, data.dtype).tobytes())
        plan = self._plans.pop(key, None)
        if plan is None:
            if len(self._plans) >= _PLANS:
                self._plans.pop(next(iter(self._plans))).release()
            edge = None if boundary is None else data.dtype.type(boundary)
            plan = self.geometry.polyshift(data.dtype, shifts=[(distance, axis, edge)])
        self._plans[key] = plan
        (result,) = plan(self._distributed(data))
        return np.ascontiguousarray(result.local)

    def scan(self, data: Array, how: Scan) -> Array:
        """Blocks by themselves; then each rank combines what the blocks before it come to. Collective."""
        operator, axis, mask, segments, exclusive, down, word = how
        starts = segments
        if segments is not None and down:
            # From above, a segment begins where the one after it did.
            starts = self.shift(segments, 1, axis, True)
        form = "down" * down + " exclusive" * exclusive + " segmented" * (segments is not None)
        what = "scan {} along axis {}{} of {}{}, {}".format(
            *(name_of(operator), axis, form, data.dtype, "" if word is None else f" of {word} bits", _who(mask))
        )
        if isinstance(operator, Combiner):
            return self._scanned(operator, data, how, starts, what)
        nothing = data.dtype.type(0) if operator == "copy" else neutral(operator, data.dtype, word)
        # Where the least number is a word's own, or the dtype is not the kernels', numpy does it.
        by_kernel = not is_by_numpy(operator, data.dtype) and (word is None or operator not in ("max", "min"))
        block = _by_kernel(data, how, nothing) if by_kernel else _by_numpy(data, how, starts, nothing)
        result, chosen, begins = block.result, *(local.turned(one, axis, down) for one in (mask, starts))
        begun = None if starts is None else local.turned(_any_so_far(starts, axis, down), axis, down)
        ended = np.zeros(result.shape[:-1], bool) if begun is None or not result.size else begun[..., -1]
        carried, carrying = self._carried(operator, axis, down, block, ended, nothing, what)
        if operator == "copy":
            continues = carrying[..., None] if begun is None else ~begun & carrying[..., None]
            result = np.where(continues, carried[..., None], result)
        else:
            with_carried = UFUNCS[operator](carried[..., None], result)
            result = with_carried if begun is None else np.where(begun, result, with_carried)
            if exclusive and not by_kernel:
                result = local.delayed(result, carried, begins, nothing)
        result = local.settled(result.astype(data.dtype, copy=False), chosen, axis, down)
        return result if word is None else words.wrap(result, word)

    def _carried(
        self, operator: str, axis: int, down: bool, block: _Block, ended: Array, nothing: Any, what: str
    ) -> tuple[Array, Array]:
        """What comes in from the blocks before, for each line along the axis, and whether there is anything."""
        result, value, has = block
        lines = result.shape[:-1]
        carried, carrying = np.full(lines, nothing, result.dtype), np.zeros(lines, dtype=bool)
        for values, flags in self._before(axis, down, value, has, ended, what):
            if operator == "copy":
                # The first of the segment stays the first, unless the segment began anew in that block.
                new = flags[1] | ~carrying
                carried, carrying = np.where(new, values, carried), np.where(new, flags[0], carrying)
            else:
                carried = np.where(flags[1], values, UFUNCS[operator](carried, values))
        return carried.astype(result.dtype, copy=False), carrying

    def _scanned(self, combiner: Combiner, data: Array, how: Scan, starts: Array | None, what: str) -> Array:
        """A scan by a function of the program's: what the blocks before come to is as an element before the first."""
        axis, down, word = how.axis, how.down, how.word
        x, chosen, begins = (local.turned(one, axis, down) for one in (data, how.mask, starts))
        value, has = self._agreed(lambda: combining.last_segments(combiner, x, chosen, begins, word), what)
        ended = np.zeros(has.shape, bool) if begins is None else begins.any(axis=-1)
        before = self._before(axis, down, value, has, ended, what)

        def finish() -> Array:
            carried = np.zeros(value.shape, value.dtype), np.zeros(has.shape, bool)
            for values, flags in before:
                kept = carried[0], carried[1] & ~flags[1]
                carried = combining.joined(combiner, kept, (values, flags[0]), word)
            return combining.scanned(combiner, x, how._replace(mask=chosen), begins, carried)

        return local.settled(self._agreed(finish, what), chosen, axis, down)

    def _before(
        self, axis: int, down: bool, value: Array, has: Array, ended: Array, what: str
    ) -> list[tuple[Array, Array]]:
        """Of each block before this one what its lines come to, whether that is anything, and whether a segment began
        there. Collective."""
        beside = self._beside(axis)
        if down:
            beside.reverse()
        position = beside.index(self._run.rank)
        parts = [b""] * self.ranks
        for rank in beside[position + 1 :]:
            parts[rank] = value.tobytes() + has.tobytes() + ended.tobytes()
        came = self._run.native.exchange(parts, digest("{} on {}", what, self._whole))
        return [_value_and_flags(came[rank], value.dtype, value.shape, 2) for rank in beside[:position]]

    def rank(self, data: Array, descending: bool, mask: Array | None, dtype: Any) -> tuple[Array, int]:
        """By a sample sort. Collective."""
        addresses = self._own_addresses() if mask is None else self._own_addresses()[mask.reshape(-1)]
        call = digest("rank of {} on {}", _who(mask), self._whole)
        ranks = sample_sort.ranks(
            sort_keys(data, descending, mask),
            addresses,
            self.ranks,
            self._run.rank,
            lambda parts, counts: self._exchanged(parts, counts, call),
            lambda part: self._from_all(part, call),
        )
        return local.placed(ranks.astype(dtype, copy=False), self.shape, mask), 0

    def is_with(self, other: Any) -> bool:
        """Those of the same communicator."""
        return isinstance(other, OverRanks | WithoutElements) and other._run is self._run

    def is_alike(self, other: Any) -> bool:
        """Those of the same blocks, too."""
        return isinstance(other, OverRanks) and self.is_with(other) and bool(other.geometry == self.geometry)

    def get(
        self, data: Array, addresses: Array, mask: Array | None, source: OverRanks | WithoutElements | None = None
    ) -> Array:
        """Offsets to the ranks that have them, elements back. Collective."""
        source = source or self
        wanted = addresses.reshape(-1) if mask is None else addresses[mask]
        what = f"get of {data.dtype} from {source._whole}, {_who(mask)}"
        self.agree(local.outside(wanted, source._size, "get"), what)
        if isinstance(source, WithoutElements):
            return np.zeros(addresses.shape, data.dtype)
        call = digest("{} on {}", what, self._whole)
        asking = source._sorted(wanted)
        asked, lengths = self._exchanged(asking.offsets, asking.counts, call)
        came, _ = self._exchanged(_taken(data, asked), lengths, call)
        if mask is None:
            return _put(came, asking.elements, self._local.empty(self.shape, data.dtype))
        result = np.zeros(self.shape, data.dtype)
        result[mask] = _put(came, asking.elements, np.empty(wanted.shape, data.dtype))
        return result

    def send(
        self, data: Array, addresses: Array, into: Array, how: Send, target: OverRanks | WithoutElements | None = None
    ) -> None:
        """Elements with offset and sender to the ranks that have the offsets. Collective."""
        target = target or self
        to, values = how.messages(data, addresses)
        word = "" if how.word is None else f" of {how.word} bits"
        combined = "without combining" if how.operator is None else name_of(how.operator)
        what = f"send {combined} of {data.dtype}{word} to {target._whole}, {_who(how.mask)}"
        self.agree(local.outside(to, target._size, "send"), what)
        if isinstance(target, WithoutElements):
            return
        call = digest("{} on {}", what, self._whole)
        sending = target._sorted(to)
        offsets, _ = self._exchanged(sending.offsets, sending.counts, call)
        came, _ = self._exchanged(_taken(values, sending.elements), sending.counts, call)
        if not self._is_in_order:
            senders = self._own_addresses() if how.mask is None else self._own_addresses()[how.mask.reshape(-1)]
            arrived, _ = self._exchanged(senders[sending.elements], sending.counts, call)
            order = np.argsort(arrived, kind="stable")
            offsets, came = offsets[order], came[order]
        if how.operator is None:
            collided = local.collision(offsets)
            self.agree(
                None if collided is None else local.refusal(collided[0], int(target._own_addresses()[collided[1]])),
                what,
            )
            how = how._replace(operator="overwrite")
        how = how._replace(mask=None)
        if isinstance(how.operator, Combiner):
            self._agreed(lambda: target._local.send(came, offsets, into, how), what)
        else:
            target._local.send(came, offsets, into, how)

    def _sorted(self, addresses: Array) -> _Sorted:
        """Addresses of these processors, by the ranks that have them."""
        index = np.ascontiguousarray(indices(addresses.reshape(-1)))
        offsets, elements = np.empty(index.size, np.int64), np.empty(index.size, np.int64)
        return _Sorted(offsets, elements, _core.array_partition(index, self._division, offsets, elements))

    def _exchanged(self, parts: Array, counts: list[int], call: int) -> tuple[Array, list[int]]:
        """What ranks have for this one of arrays in the order of ranks, and of how many elements. Collective."""
        size = parts.dtype.itemsize
        came, lengths = self._run.native.exchange_sorted(_core.Memory(parts), [n * size for n in counts], call)
        return np.frombuffer(came, parts.dtype), [length // size for length in lengths]

    def _distributed(self, data: Array) -> DistributedArray:
        array = self.geometry.zeros(data.dtype)
        array.local[...] = data
        return array

    def _from_all(self, part: Array, call: int) -> list[Array]:
        """A small array of every rank, on every rank."""
        arrived = self._run.native.exchange([part.tobytes()] * self.ranks, call)
        return [np.frombuffer(one, part.dtype) for one in arrived]

    def _beside(self, axis: int) -> list[int]:
        """The ranks along an axis through this one, in the order of their blocks."""
        own = list(self.geometry.coordinates())
        return [int(rank) for rank in self._rank_of[tuple(slice(None) if a == axis else c for a, c in enumerate(own))]]

    def _own_addresses(self) -> Array:
        """The addresses of this rank's processors."""
        total: Any = np.zeros((1,) * len(self.shape), dtype=np.int64)
        for axis, (start, length) in enumerate(zip(self.start, self.shape, strict=True)):
            along = np.arange(start, start + length, dtype=np.int64)
            along = along.reshape([-1 if a == axis else 1 for a in range(len(self.shape))])
            total = total * self._whole[axis] + along
        return np.broadcast_to(total, self.shape).reshape(-1)


class WithoutElements(Native):
    """Variables without elements, of which every rank has all; geometries have at least one element."""

    def __init__(self, shape: tuple[int, ...], comm: Any) -> None:
        super().__init__(shape)
        self.communicator = self._run = Geometry((1,), comm=comm).communicator
        self.ranks = self._run.size
        self._whole, self._size = shape, 0

    def is_with(self, other: Any) -> bool:
        """Those of the same communicator."""
        return isinstance(other, OverRanks | WithoutElements) and other._run is self._run

    def is_alike(self, other: Any) -> bool:
        """Those of the same shape, too."""
        return isinstance(other, WithoutElements) and self.is_with(other) and other.shape == self.shape

    def get(self, data: Array, addresses: Array, mask: Array | None, source: Any = None) -> Array:
        """Nobody asks."""
        return np.zeros(addresses.shape, data.dtype)

    def send(self, data: Array, addresses: Array, into: Array, how: Send, target: Any = None) -> None:
        """Nobody sends."""


class _Sorted(NamedTuple):
    """Addresses by the ranks that have them, those of a rank in order."""

    offsets: Array
    """In the blocks of these ranks."""
    elements: Array
    """The numbers of the elements that had the addresses."""
    counts: list[int]
    """How many each rank has."""


class _Block(NamedTuple):
    """A rank's block, scanned by itself, with the axis last and the direction up."""

    result: Array
    value: Array
    """Of each line, what its last segment comes to in the block."""
    has: Array
    """Whether that has an element."""


def _value_and_flags(came: bytes, dtype: np.dtype[Any], shape: tuple[int, ...], flags: int) -> tuple[Array, Array]:
    """An array, and some of booleans of its shape after it."""
    count = math.prod(shape)
    values = np.frombuffer(came, dtype, count).reshape(shape)
    return values, np.frombuffer(came, bool, flags * count, count * dtype.itemsize).reshape(flags, *shape)


def _who(mask: Array | None) -> str:
    return "all" if mask is None else "the selected"


def _by_kernel(data: Array, how: Scan, nothing: Any) -> _Block:
    """Exclusive scans are exclusive already."""
    _, axis, mask, segments, exclusive, down, _ = how
    operator = name_of(how.operator)
    if operator == "copy":
        return _copied(data, how)
    masked = data if mask is None else np.where(mask, data, nothing)
    out = np.empty(data.shape, data.dtype)
    _core.array_scan(masked, out, operator, axis, segments, None, exclusive, down)
    result = local.turned(out, axis, down)
    lines = result.shape[:-1]
    if not result.shape[-1]:
        return _Block(result, np.full(lines, nothing, data.dtype), np.zeros(lines, bool))
    value = result[..., -1]
    if exclusive:
        value = UFUNCS[operator](value, local.turned(masked, axis, down)[..., -1])
    return _Block(result, value.astype(data.dtype), np.ones(lines, bool))


def _copied(data: Array, how: Scan) -> _Block:
    _, axis, mask, segments, _, down, _ = how
    out = np.zeros(data.shape, data.dtype)
    _core.array_scan(data, out, "copy", axis, segments, mask, False, down)
    result = local.turned(out, axis, down)
    lines, extent = result.shape[:-1], result.shape[-1]
    if not extent or mask is None:
        value = result[..., -1] if extent else np.zeros(lines, data.dtype)
        return _Block(result, value, np.full(lines, extent > 0))
    there = np.empty(data.shape, bool)
    _core.array_scan(mask, there, "or", axis, segments, None, False, down)
    # Where the last segment has a selected element, the last selected one of the line is of it.
    last = extent - 1 - np.argmax(local.turned(mask, axis, down)[..., ::-1], axis=-1)
    value = np.take_along_axis(result, last[..., None], axis=-1)[..., 0]
    return _Block(result, value, local.turned(there, axis, down)[..., -1])


def _by_numpy(data: Array, how: Scan, starts: Array | None, nothing: Any) -> _Block:
    """Inclusive, whatever is asked for."""
    x, chosen, begins = (local.turned(one, how.axis, how.down) for one in (data, how.mask, starts))
    if how.operator == "copy":
        result, there = local.copied(x, chosen, begins)
    else:
        result = local.running(
            UFUNCS[name_of(how.operator)], x if chosen is None else np.where(chosen, x, nothing), begins
        )
        there = np.ones(result.shape, dtype=bool)
    lines = result.shape[:-1]
    if not result.shape[-1]:
        return _Block(result, np.full(lines, nothing, result.dtype), np.zeros(lines, bool))
    return _Block(result, result[..., -1], there[..., -1])


def _any_so_far(starts: Array, axis: int, down: bool) -> Array:
    """Whether a segment has begun up to here, in the block."""
    begun = np.empty(starts.shape, bool)
    _core.array_scan(np.ascontiguousarray(starts), begun, "or", axis, None, None, False, down)
    return begun


def _taken(data: Array, index: Array) -> Array:
    """Elements by their flat indices, which there are."""
    flat = data.reshape(-1)
    if beyond_kernels(data.dtype):
        return flat[index]
    taken = np.empty(index.shape, data.dtype)
    _core.array_gather(np.ascontiguousarray(flat), index, taken, clobber=True)
    return taken


def _put(values: Array, index: Array, into: Array) -> Array:
    """The array, all elements of which have been given these, each to the flat index that it has."""
    if beyond_kernels(into.dtype):
        into.reshape(-1)[index] = values
    else:
        _core.array_send(values, index, into, "overwrite")
    return into

"""Where ranks keep what messages carry: what executions and exports have in common.

Messages name elements of the whole buffer, which every rank has. Those of an all-to-all name elements of the buffers
that all ranks have in the beginning, one after another; a rank keeps its own first, then what it has in the end, by
source, and after that what it passes on."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from weft.conset.collective_rounds import Range, shard

if TYPE_CHECKING:
    from weft._core import CollectiveSchedule


class Memory:
    """The memory of one rank, in elements.

    Examples
    --------
    >>> from weft.conset import collectives
    >>> memory = Memory(collectives.compile("all-to-all", "hgx-h100", 4 * 24).schedule, 3)
    >>> memory.positions((Range(24 * 5 + 9, 3), Range(24 * 3, 3)))
    (Range(first=39, length=3), Range(first=0, length=3))
    >>> memory.result, memory.elements
    (Range(first=24, length=24), 48)
    """

    def __init__(self, schedule: CollectiveSchedule, rank: int) -> None:
        own = schedule.bytes // schedule.element_bytes
        all_lengths = lengths(schedule) if schedule.collective == "all-to-all" else []
        self._own = own
        self._rank = rank
        # The block for this rank in the buffer of every rank, and where it is in the end.
        self._blocks = [Range(sum(row[:rank]), row[rank]) for row in all_lengths]
        self._starts = [own + before for before in itertools.accumulate((row[rank] for row in all_lengths), initial=0)]
        self._passed_on: dict[int, int] = {}
        self.elements = self._starts[-1]
        """How many elements the rank keeps, with all whose position was asked for so far."""
        self.result = Range(own, self.elements - own) if all_lengths else Range(0, own)
        """Where the rank has in the end what it has then; of a reduce-scatter all of which its shard is a part."""
        self.input = sum(all_lengths[rank]) if all_lengths else own
        """How many elements it has in the beginning; of an allgather all, of which its shard is a part."""

    def kept(self) -> tuple[Range, int]:
        """The block of the rank for itself, and where it has that in the end; nothing where there are no blocks."""
        return (self._blocks[self._rank], self._starts[self._rank]) if self._blocks else (Range(0, 0), 0)

    def positions(self, ranges: tuple[Range, ...]) -> tuple[Range, ...]:
        """Where the rank keeps ranges, each part of one block: the same whenever it is asked for."""
        if not self._blocks:
            return ranges
        return tuple(Range(self._position(each), each.length) for each in ranges)

    def _position(self, each: Range) -> int:
        source, first = divmod(each.first, self._own)
        if source == self._rank:
            return first
        block = self._blocks[source]
        if block.first <= first < block.first + block.length:
            return self._starts[source] + first - block.first
        if each.first not in self._passed_on:
            self._passed_on[each.first] = self.elements
            self.elements += each.length
        return self._passed_on[each.first]


def lengths(schedule: CollectiveSchedule) -> list[list[int]]:
    """Elements of the block of every rank for every rank, of an all-to-all.

    Examples
    --------
    >>> from weft.conset import collectives
    >>> lengths(collectives.compile("all-to-all", "hgx-h100", 4 * 12).schedule)[3]
    [2, 2, 2, 2, 1, 1, 1, 1]
    """
    if schedule.blocks is not None:
        return [[length // schedule.element_bytes for length in row] for row in schedule.blocks]
    return [[shard(schedule, rank).length for rank in range(schedule.ranks)]] * schedule.ranks

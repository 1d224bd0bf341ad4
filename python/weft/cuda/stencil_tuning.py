"""How the kernel of a stencil divides its work among threads.

All numbers were measured on an H100, with kernels of one to four axes that reach up to four elements: see
docs/decisions/kernels-for-devices.md. Two things matter most. Blocks that are at work together should lie side by side
in memory, since what one has read its neighbours then find in the second-level cache: blocks go along a few planes
only. And a thread should have several reads under way, of several rows or of the plane that comes next, without so
many registers that few threads are left.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from weft.cuda.launching import VECTOR_BYTES, WARP
from weft.cuda.staged_writer import Reach, Tile
from weft.cuda.stencil_source import Grid, Points, Tuning

ROW_THREADS = 128
"""Threads of a block of one row, at most."""

ELEMENTS = 8
"""Elements of several rows that a thread computes in one plane where it reads whole vectors."""

NEAR, FAR, FARTHEST = 2, 4, 8
"""Planes from the first to the last point of stencils that reach to the next plane, to the one after it, and as far as
any that were measured with planes staged; of more, threads have too few registers for what they keep."""

MANY_COLUMNS = 3
"""Columns along the marched axis from which on sums need fewer registers than what is read."""

LONG_MARCH = 25
"""Planes that a block goes along where neighbours along the axes before are at work first."""

CACHE_SHARE = 8
"""How often the part of an array at one index of an axis fits into the second-level cache where neighbours along that
axis find what they share, though whole such parts are read and written between them."""


STAGED_WIDTH = 2
"""Elements of a row that a thread of blocks that stage planes computes at once, at most."""

STAGED_BYTES = 32
"""Bytes that such a thread computes in a plane, in rows of `STAGED_ROWS` at most."""

STAGED_ROWS = 4

AHEAD_BYTES = 16
"""Planes that such blocks copy ahead, at most, times the bytes of an element."""

MAX_IDLE = 0.25
"""The share of a tile's points that may lie beyond the array, on average, for planes to be staged."""


class Memory(NamedTuple):
    """Bytes of a device's second-level cache, and of the shared memory of a block: 0 where it cannot be copied to."""

    cache: int
    shared: int = 0


def tuned(grid: Grid, points: Points, itemsize: int, width: int, memory: Memory, values: bool = False) -> Tuning:
    """A division of the work that is fast.

    Parameters
    ----------
    grid, points
        As `weft.cuda.stencil_source.stencil_kernel` has them.
    itemsize
        Bytes of an element.
    width
        Elements that a thread can read at once: see `weft.cuda.stencil_source.vector_width`.
    memory
        The device's.
    values
        Whether values lie beyond some end, not what the array continues by.

    Examples
    --------
    >>> tuned(Grid(1, (512, 512, 512), 1), {(1, 0, 0): 0.5, (-1, 0, 0): 0.5}, 4, 4, Memory(50 << 20))[:4]
    ((32, 8), 4, 2, 1)
    """
    rank = len(grid.extents)
    if rank == 1:
        return Tuning((min(ROW_THREADS, max(WARP, _across(grid, width, ROW_THREADS))), 1), width)
    if rank == 2:
        return _of_rows(grid, points, width)
    staged = _staged(grid, points, itemsize, width, memory.shared)
    return staged or _of_planes(grid, points, itemsize, width, memory.cache, values)


def _staged(grid: Grid, points: Points, itemsize: int, width: int, shared: int) -> Tuning | None:
    """Kernels of three axes whose points reach far, of arrays that are large in each; None of others."""
    if len(grid.extents) != 3 or grid.site != 1 or any(value is None for value in points.values()):
        return None
    along = [offset[0] for offset in points]
    if not FAR < max(along) - min(along) <= FARTHEST:
        return None
    width, reach = min(width, STAGED_WIDTH), Reach.of(points)
    rows = min(STAGED_ROWS, STAGED_BYTES // itemsize // width)
    tuning = Tuning((WARP, WARP // 2), width, rows)
    tile = Tile.of(reach, tuning)
    whole = 1.0
    for extent, own in zip(grid.extents[1:], (tile.down, tile.across), strict=True):
        whole *= extent / (-(-extent // own) * own)
    fitting = shared // (tile.size * itemsize)
    if whole < 1.0 - MAX_IDLE or fitting <= reach.planes or grid.extents[0] < WARP:
        return None
    return tuning._replace(stages=min(fitting, reach.planes + AHEAD_BYTES // itemsize))


def _of_rows(grid: Grid, points: Points, width: int) -> Tuning:
    """Kernels of two axes: nothing is marched."""
    if max(abs(offset[0]) for offset in points) <= NEAR:
        width = min(width, 2)
        return Tuning(_threads(grid, width, 2 * WARP, 4), width, rows=_rows(grid, 8))
    return Tuning(_threads(grid, width, WARP, 4), width, rows=_rows(grid, 4))


def _of_planes(grid: Grid, points: Points, itemsize: int, width: int, cache: int, values: bool) -> Tuning:
    """Kernels of three axes and more."""
    marched, whole = len(grid.extents) - 3, width * itemsize == VECTOR_BYTES
    columns = defaultdict(set)
    for offset in points:
        columns[offset[:marched], offset[marched + 1 :]].add(offset[marched])
    depth = max(max(along) for along in columns.values()) - min(min(along) for along in columns.values())
    planes = min(12, max(4, 2 * depth))
    rows = _rows(grid, ELEMENTS // width if whole else 3 if itemsize == 4 else 2)
    small, large = _threads(grid, width, WARP, 4), _threads(grid, width, WARP, 8)
    if len(grid.extents) > 3:
        near = grid.stride(marched - 1) * itemsize * CACHE_SHARE <= cache
        return Tuning(
            small, width, ahead=not near, streaming=near, planes=4 if near else LONG_MARCH, planes_first=near
        )  # fmt: skip
    if sum(len(along) > 1 for along in columns.values()) >= MANY_COLUMNS:
        return Tuning(small, width, rows, sums=True, planes=4)
    if not whole:
        return Tuning(small, width, rows, ahead=1, streaming=True, planes=max(planes, 24 // itemsize))
    if depth <= NEAR and values and itemsize == 8:
        # Four rows of pairs, and whether each is beyond an end, take registers of half of all threads.
        return Tuning(large, width, _rows(grid, 2), ahead=1, streaming=True, planes=2 * planes)
    if depth <= NEAR:
        return Tuning(large, width, rows, ahead=1, planes=planes)
    if depth <= FAR:
        return Tuning(large, width, ahead=1, planes=planes) if itemsize == 4 else (
            Tuning(small, width, rows, planes=planes)
        )  # fmt: skip
    return Tuning(small, width, _rows(grid, 2), ahead=1, streaming=True, planes=planes)


def _rows(grid: Grid, wanted: int) -> int:
    """Rows of a thread, of which there are no more than the array has."""
    return max(1, min(wanted, grid.extents[-2]))


def _across(grid: Grid, width: int, most: int) -> int:
    """Threads along the last axis: a power of two, for all its vectors or as many as there may be."""
    vectors = -(-grid.lanes // width)
    return min(most, 1 << max(0, (vectors - 1).bit_length()))


def _threads(grid: Grid, width: int, most: int, down: int) -> tuple[int, int]:
    """Threads of a block: `down` rows of `most`, or more rows where these are short."""
    across = _across(grid, width, most)
    return across, most * down // across

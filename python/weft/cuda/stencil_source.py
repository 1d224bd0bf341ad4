"""The source of a CUDA kernel that applies a stencil of constant or variable coefficients.

Threads of a block lie along the last two axes, and each computes vectors of points along the last, in one row or in
several that follow each other. It goes along the axis before those two, which is marched, and keeps in registers what
it has read there, so that a point along that axis is read once (P. Micikevicius, 3D finite difference computation on
GPUs using CUDA, GPGPU-2, 2009). A thread whose neighbours all lie within the array reads them at constant distances
from one address. Others know for each row what it stands for: a row of the array, perhaps with the other sign, or a
value. Or blocks stage the planes that they need in shared memory: see `weft.cuda.staged_writer`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from weft.cuda.boundary_source import Boundary
from weft.cuda.launching import VECTOR_BYTES
from weft.cuda.staged_writer import StagedWriter
from weft.cuda.stencil_writer import StencilWriter

TYPES = {"float32": "float", "float64": "double"}
"""The types of elements, in C."""


class Grid(NamedTuple):
    """An array in C order: right-hand sides, extents of the grid, elements of a site."""

    batch: int
    extents: tuple[int, ...]
    site: int

    @property
    def lanes(self) -> int:
        """Elements of a row."""
        return self.extents[-1] * self.site

    @property
    def marched(self) -> int | None:
        """The axis that threads march along: the one before the last two, if there is one."""
        return len(self.extents) - 3 if len(self.extents) >= 3 else None

    def stride(self, axis: int) -> int:
        """Elements between neighbours along an axis."""
        return math.prod(self.extents[axis + 1 :]) * self.site


Points = Mapping[tuple[int, ...], float | None]
"""Coefficients by offset; None for an array of coefficients, of the shape of the grid."""

Ends = Sequence[tuple[Boundary, Boundary]]
"""For each axis what lies beyond its low and its high end."""


class Tuning(NamedTuple):
    """How the work of a kernel is divided among threads."""

    threads: tuple[int, int]
    """Threads of a block along the last axis, and along the axis before it."""

    width: int = 1
    """Elements of a row that a thread computes at once: see `vector_width`."""

    rows: int = 1
    """Rows that a thread computes, one after the other along the axis before the last; of three axes and more."""

    ahead: int = 0
    """Planes that a thread reads before it needs them, of what it keeps while it marches."""

    sums: bool = False
    """Whether a thread keeps sums of planes while it marches, not what it has read."""

    streaming: bool = False
    """Whether caches need not keep what is written."""

    planes: int = 1
    """Planes that a block marches along, where that gives all multiprocessors work."""

    planes_first: bool = True
    """Whether neighbours along the marched axis are at work before those along the axes before it."""

    stages: int = 0
    """Planes that a block has in shared memory, of three axes; 0 where none does. The rest of the division, but for
    threads, width and rows, then means nothing."""


class StencilKernel(NamedTuple):
    """The source of a kernel named `stencil`, and the threads that it is launched with.

    Its arguments are the array, the output, the planes that a block marches along (an int), then for each point with
    an array of coefficients its address. Blocks have one index: those along the last axis come first, then those along
    the axis before, the planes, the other axes and the right-hand sides.
    """

    source: str
    tuning: Tuning
    grid: Grid
    shared: int = 0
    """Bytes of shared memory of a block."""

    depth: int = 0
    """Planes that a block reads beside those that it computes, where it stages them."""

    @property
    def threads(self) -> tuple[int, int]:
        """Threads of a block along the last axis, and along the axis before it."""
        return self.tuning.threads

    def blocks(self, planes: int) -> int:
        """Blocks of a launch in which each marches along so many planes."""
        across, down = self.threads
        extents, rank = self.grid.extents, len(self.grid.extents)
        along = -(-self.grid.lanes // (across * self.tuning.width))
        rows = -(-extents[-2] // (down * self.tuning.rows)) if rank >= 2 else 1
        marched = self.grid.marched
        chunks = 1 if marched is None else -(-extents[marched] // planes)
        others = math.prod(extents[:-3]) if rank > 3 else 1
        return along * rows * chunks * others * self.grid.batch

    def planes(self, resident: int) -> int:
        """Planes that a block should march along on a device that has so many blocks at work at once.

        They are those of the tuning, made even, or fewer where that gives all multiprocessors work. Of blocks that
        stage planes they are as many as make the time shortest, if each plane that a block reads takes as long.
        """
        if self.grid.marched is None:
            return 1
        extent = self.grid.extents[self.grid.marched]
        if self.tuning.stages:
            counts = (-(-extent // chunks) for chunks in range(1, extent + 1))
            return min(
                counts, key=lambda planes: (-(-self.blocks(planes) // resident) * (planes + self.depth), -planes)
            )
        wanted = min(extent, self.tuning.planes)
        while wanted > 1 and self.blocks(wanted) < resident:
            wanted = -(-wanted // 2)
        return -(-extent // -(-extent // wanted))


def vector_width(grid: Grid, itemsize: int, addresses: Sequence[int]) -> int:
    """Points that a thread computes at once: rows are a whole number of vectors, and all addresses one of vectors.

    >>> vector_width(Grid(1, (8, 8), 1), 4, [512]), vector_width(Grid(1, (8, 7), 1), 4, [512])
    (4, 1)
    """
    width = VECTOR_BYTES // itemsize
    while width > 1 and (grid.lanes % width or any(address % (width * itemsize) for address in addresses)):
        width //= 2
    return width


def stencil_kernel(
    grid: Grid,
    dtype: str,
    points: Points,
    boundary: Ends,
    tuning: Tuning,
) -> StencilKernel:
    """The kernel of a stencil.

    Parameters
    ----------
    grid
        The array, with at least one element.
    dtype
        A key of `TYPES`.
    points
        Coefficients by offset; None for an array of coefficients, of the shape of the grid.
    boundary
        For each axis of the grid what lies beyond its low and its high end. A place beyond the ends of several axes is
        what the last of them says, of the array extended along those before.
    tuning
        How the work is divided: `weft.cuda.stencil_tuning.tuned` has one that is fast.

    Examples
    --------
    >>> points = {(1, 0): 0.5, (-1, 0): 0.5}
    >>> kernel = stencil_kernel(Grid(1, (512, 512), 1), "float32", points, [(0.0, 0.0)] * 2, Tuning((128, 1)))
    >>> kernel.blocks(planes=1)
    2048
    """
    if not tuning.stages:
        return StencilKernel(StencilWriter(grid, TYPES[dtype], points, boundary, tuning).source(), tuning, grid)
    writer = StagedWriter(grid, TYPES[dtype], points, boundary, tuning)
    shared = tuning.stages * writer.tile.size * np.dtype(dtype).itemsize
    return StencilKernel(writer.source(), tuning, grid, shared, writer.reach.newest - writer.reach.first)

"""Compiled sweeps of updates: with the sums taken in the same loop, or of sums that are there."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.stencils import boundaries
from weft.stencils.compiled import Kernel, Prepared, Shifts, Span, dense
from weft.stencils.extended import Region, is_empty, split
from weft.stencils.ghosts import Box

if TYPE_CHECKING:
    from weft.stencils.description import Stencil
    from weft.stencils.update import Partial

Array = np.ndarray[Any, Any]
Sums = Mapping[str, tuple["Stencil", str]]

WHOLE_BYTES = 1 << 20
"""Bytes of a field up to which all of it is copied with what lies around it: quicker than its rim piece by piece."""

CHUNK_BYTES = 1 << 20
"""Bytes of what is reduced, or a sixteenth of those of a field, that are computed at a time: reductions are taken while
it is in a cache, and signals are handled in between."""


class Operands:
    """The arrays of one call of an update.

    Parameters
    ----------
    kernel
        What is computed.
    fields, whole, numbers
        Arguments by name: fields, other arrays in the fields' shape, Python's numbers.
    results, reductions
        Their names.
    mask
        Where.
    """

    def __init__(
        self,
        kernel: Kernel,
        fields: Mapping[str, Array],
        whole: Mapping[str, Array],
        numbers: Mapping[str, Any],
        results: Sequence[str],
        reductions: Sequence[str],
        mask: Array | None,
    ) -> None:
        self.kernel, self._numbers, self._reductions, self._mask = kernel, numbers, reductions, mask
        self.shape = next(iter(fields.values())).shape
        read = {name: array for name, array in {**fields, **whole}.items() if name in kernel.arguments}
        if mask is not None:
            read["mask"] = mask
        self._results = {name: Span.of(fields[name]) or dense(fields[name]) for name in results}
        self._arrays = {name: self._results.get(name) or Span.of(one) or dense(one) for name, one in read.items()}
        self._reduced = kernel.result_dtypes()[len(results) :]

    def run(self, starts: Sequence[int], shape: Sequence[int], sums: Mapping[str, Span], partial: Partial) -> None:
        """Computes the sites from an index on, whose sums (or the arrays that they are of) are there."""
        reduced = [np.empty(shape, dtype) for dtype in self._reduced]
        self.prepare(starts, shape, sums, reduced).run(self._numbers)
        index = tuple(slice(start, start + extent) for start, extent in zip(starts, shape, strict=True))
        shown = None if self._mask is None else self._mask[index]
        for name, values in zip(self._reductions, reduced, strict=True):
            partial.add(name, values if shown is None else values[shown])

    def prepare(
        self, starts: Sequence[int], shape: Sequence[int], sums: Mapping[str, Span], reduced: Sequence[Array] = ()
    ) -> Prepared:
        """What computes the sites from an index on, and what is reduced."""
        arrays = {name: span.begin(starts) for name, span in self._arrays.items()}
        # A result that is read is the same parameter of the loop.
        results = [arrays.get(name) or span.begin(starts) for name, span in self._results.items()]
        arrays |= {name: span for name, span in sums.items() if name in self.kernel.arguments}
        return self.kernel.prepare(shape, arrays, [*results, *map(dense, reduced)])


class Repeated:
    """A step of small fields as it is taken again and again: all of it is known but numbers and what arrays hold.

    Holds the arrays.

    Parameters
    ----------
    layout
        All of which is in boxes.
    parts
        Of each region what is copied into its boxes, and what computes it.
    """

    def __init__(self, layout: Layout, parts: Sequence[tuple[Sequence[tuple[_Boxed, Array]], Prepared]]) -> None:
        self._layout, self._parts = layout, parts

    def run(self, numbers: Mapping[str, Any]) -> None:
        """Takes the step."""
        with self._layout.in_use:
            for boxes, prepared in self._parts:
                for boxed, field in boxes:
                    boxed.of(field)
                prepared.run(numbers)


def repeated(operands: Operands, layout: Layout, sums: Sums, fields: Mapping[str, Array]) -> Repeated | None:
    """A step to be taken again; None where not all of the fields is in boxes."""
    if not is_empty(layout.interior):
        return None
    parts = []
    for region, boxes in layout.rim:
        spans = {name: boxed.span for name, boxed in boxes.items()}
        prepared = operands.prepare(layout.starts(region), layout.extents(region), spans)
        parts.append(([(boxed, fields[sums[name][1]]) for name, boxed in boxes.items()], prepared))
    return Repeated(layout, parts)


class Layout:
    """The parts of a grid whose sums a loop takes itself: where the fields lie, and near the ends of boxes.

    A box is a copy of a part of the field with what lies around it, so that all sites are computed by one loop and have
    the same bits wherever the ends are.

    Parameters
    ----------
    sums
        Stencils, all coefficients of which are numbers.
    shape, dtype
        Of fields.
    axis
        Which of their axes is the grid's first.
    """

    def __init__(self, sums: Sums, shape: tuple[int, ...], dtype: np.dtype[Any], axis: int) -> None:
        stencils = {name: stencil for name, (stencil, _) in sums.items()}
        rank = next(iter(stencils.values())).rank
        self.in_use = threading.Lock()
        """Held while boxes are filled and read."""
        self._lead, self._site = shape[:axis], shape[axis + rank :]
        grid = shape[axis : axis + rank]
        self.shifts = shifts_of(sums, axis)
        whole: Region = [(0, extent) for extent in grid]
        reaches = [stencil.reach for stencil in stencils.values()]
        inner = [
            (max(reach[a][0] for reach in reaches), grid[a] - max(reach[a][1] for reach in reaches))
            for a in range(rank)
        ]
        if math.prod(shape) * dtype.itemsize <= WHOLE_BYTES:
            inner = [(0, 0)] * rank
        self.interior, rim = split(whole, inner)
        self.rim = [(region, self._boxes(stencils, grid, dtype, region)) for region in rim]

    def _boxes(
        self, stencils: Mapping[str, Stencil], grid: tuple[int, ...], dtype: np.dtype[Any], region: Region
    ) -> dict[str, _Boxed]:
        return {name: _Boxed(one, grid, self._lead, self._site, dtype, region) for name, one in stencils.items()}

    def starts(self, region: Region) -> tuple[int, ...]:
        """The index of a region's first site."""
        return (0,) * len(self._lead) + tuple(start for start, _ in region) + (0,) * len(self._site)

    def extents(self, region: Region) -> tuple[int, ...]:
        """The shape of a region, of all right-hand sides and components."""
        return self._lead + tuple(stop - start for start, stop in region) + self._site

    def chunks(self, itemsize: int, is_reduced: bool) -> Iterator[Region]:
        """The interior, some rows at a time."""
        if is_empty(self.interior):
            return
        (first, last), *others = self.interior
        row = math.prod(self.extents([(0, 1), *others])) * itemsize
        length = max(1, CHUNK_BYTES * (1 if is_reduced else 16) // row)
        for at in range(first, last, length):
            yield [(at, min(at + length, last)), *others]


def shifts_of(sums: Sums, axis: int) -> Shifts:
    """The points of sums, by offsets along all axes of arrays whose grid begins at some axis."""
    return Shifts(
        {
            name: tuple(
                ((0,) * axis + offset + (0,) * stencil.site_rank, np.asarray(coefficient)[()].item())
                for offset, coefficient in stencil.points.items()
            )
            for name, (stencil, _) in sums.items()
        }
    )


class _Boxed:
    """A part of a field with what lies around it, for one stencil."""

    def __init__(
        self,
        stencil: Stencil,
        grid: tuple[int, ...],
        lead: tuple[int, ...],
        site: tuple[int, ...],
        dtype: np.dtype[Any],
        region: Region,
    ) -> None:
        ranges = [(start - low, stop + high) for (start, stop), (low, high) in zip(region, stencil.reach, strict=True)]
        self._box = Box(grid, site, [boundaries.both(one) for one in stencil.boundary], ranges, dtype)
        self._copies = self._box.copies()
        self._memory = np.zeros((*lead, *self._box.extents, *site), dtype)
        inside = (0,) * len(lead) + tuple(low for low, _ in stencil.reach) + (0,) * len(site)
        self.span = dense(self._memory).begin(inside)
        """From the region's first site on."""

    def of(self, field: Array) -> Span:
        """`span`, of what is copied now."""
        for into, source in self._copies:
            self._memory[into] = field[source]
        self._box.finish(self._memory)
        return self.span


def is_fusible(sums: Sums, dtype: np.dtype[Any]) -> bool:
    """Whether a loop can take the sums itself: coefficients are numbers, and no boundary is an array that is indexed as
    EOSHIFT does at corners."""
    for stencil, _ in sums.values():
        values = [np.asarray(one) for one in stencil.points.values()]
        if any(one.ndim or (one.dtype.kind == "c" and dtype.kind != "c") for one in values):
            return False
        if dtype.kind in "iu" and any(one != np.trunc(one) for one in values):
            return False
        if all(map(boundaries.is_of_both_ends, stencil.boundary)) and any(map(boundaries.is_array, stencil.boundary)):
            return False
    return True


def surrounded(operands: Operands, arrays: Mapping[str, Span], axis: int, itemsize: int, partial: Partial) -> None:
    """All sites of blocks, sums and function in one loop; `arrays` are by name of a sum, from a block's first site."""
    shape = operands.shape
    row = max(1, math.prod(shape) // shape[axis]) * itemsize
    length = max(1, CHUNK_BYTES // row)
    for at in range(0, shape[axis], length):
        starts = [at if one == axis else 0 for one in range(len(shape))]
        chunk = [min(length, extent - at) if one == axis else extent for one, extent in enumerate(shape)]
        operands.run(starts, chunk, {name: one.begin(starts) for name, one in arrays.items()}, partial)


def fused(operands: Operands, layout: Layout, sums: Sums, fields: Mapping[str, Array], partial: Partial) -> None:
    """All sites, sums and function in one loop."""
    spans = {name: Span.of(fields[field]) or dense(fields[field]) for name, (_, field) in sums.items()}
    itemsize = next(iter(fields.values())).itemsize
    with layout.in_use:
        for region, boxes in layout.rim:
            of_boxes = {name: boxed.of(fields[sums[name][1]]) for name, boxed in boxes.items()}
            operands.run(layout.starts(region), layout.extents(region), of_boxes, partial)
    for region in layout.chunks(itemsize, bool(operands.kernel.result_dtypes()[len(operands._results) :])):
        starts = layout.starts(region)
        operands.run(starts, layout.extents(region), {name: one.begin(starts) for name, one in spans.items()}, partial)

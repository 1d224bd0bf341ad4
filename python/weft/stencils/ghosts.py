"""What lies beyond the ends of an array, put in memory around a part of it.

The array is extended as `numpy.pad` would: along its first axis, then along the next, and so on. What lies beyond the
ends of several axes is thus decided by the last of them that has values of its own (a number, an array, a function);
the others continue the array, and what earlier axes have put there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from weft._core import UsageError
from weft.stencils import boundaries
from weft.stencils.boundaries import Ends

Array = np.ndarray[Any, Any]
Index = tuple[Any, ...]
Range = tuple[int, int]
"""First index and one past the last, counted in the whole array: negative before it."""


class Run(NamedTuple):
    """Indices that follow one another in a box, and in the array, perhaps backwards."""

    at: int
    source: int
    length: int
    step: int

    @property
    def into(self) -> slice:
        """Where they lie in the box."""
        return slice(self.at, self.at + self.length)

    @property
    def out_of(self) -> slice:
        """Where they lie in the array."""
        end = self.source + self.length * self.step
        return slice(self.source, None if end < 0 else end, self.step)


def positions(ends: Ends, extent: int, wanted: Range) -> Array:
    """The elements of an axis that are the sources at a range of indices; -1 where there is none."""
    indices = np.arange(*wanted)
    sources = np.where((indices >= 0) & (indices < extent), indices, -1)
    for end, beyond in ((ends.low, indices < 0), (ends.high, indices >= extent)):
        if extent and boundaries.is_word(end, *boundaries.CONTINUED):
            sources[beyond] = boundaries.elements(end, indices[beyond], extent)
    return sources


def runs(sources: Array) -> list[Run]:
    """Positions as runs of them."""
    result, at = [], 0
    steps = np.diff(sources)
    while at < len(sources):
        if sources[at] < 0:
            at += 1
            continue
        step, length = 1, 1
        if at < len(steps) and steps[at] in (1, -1) and sources[at + 1] >= 0:
            step = int(steps[at])
            other = np.flatnonzero((steps[at:] != step) | (sources[at + 1 :] < 0))
            length = 1 + (int(other[0]) if len(other) else len(steps) - at)
        result.append(Run(at, int(sources[at]), length, step))
        at += length
    return result


class Box:
    """A part of an array with what lies around it, in memory of its own.

    Parameters
    ----------
    grid, site
        Extents of the whole array. Axes before them are right-hand sides.
    ends
        The boundaries of each axis of the grid.
    ranges
        What the box holds along each axis, as indices of the whole array; it may begin before and end after it.
    dtype
        Of the elements.
    faces
        What is filled along the axes on which an index does not lie beyond the end; all of the box where None.
    """

    def __init__(
        self,
        grid: Sequence[int],
        site: Sequence[int],
        ends: Sequence[Ends],
        ranges: Sequence[Range],
        dtype: np.dtype[Any],
        *,
        faces: Sequence[Range] | None = None,
    ) -> None:
        self.grid, self.site, self.ranges, self.dtype = tuple(grid), tuple(site), list(ranges), dtype
        self.ends = list(ends)
        self._faces = list(faces or ranges)
        self._sources = [positions(*axis) for axis in zip(self.ends, self.grid, self.ranges, strict=True)]
        self._fills: list[Callable[[Array], None]] = []
        for axis, end in itertools.product(range(len(self.grid)), (0, 1)):
            self._plan_fill(axis, end)

    @property
    def extents(self) -> tuple[int, ...]:
        """Sites along each axis."""
        return tuple(stop - start for start, stop in self.ranges)

    def copies(self) -> list[tuple[Index, Index]]:
        """Where the elements of the array come to lie in the box, and from where."""
        along = [runs(sources) for sources in self._sources]
        return [
            (self._index([run.into for run in chosen]), self._index([run.out_of for run in chosen]))
            for chosen in itertools.product(*along)
        ]

    def finish(self, box: Array) -> None:
        """Put in what is no element of the array, and turn signs, where the elements are there."""
        for fill in self._fills:
            fill(box)

    def _index(self, slices: Sequence[slice]) -> Index:
        return (..., *slices, *[slice(None)] * len(self.site))

    def _plan_fill(self, axis: int, end: int) -> None:
        beyond = self._beyond(axis, end)
        boundary = self.ends[axis][end]
        slices = [self._kept(other) for other in range(len(self.grid))]
        slices[axis] = beyond
        if any(part.start >= part.stop for part in slices) or boundaries.is_word(
            boundary, boundaries.CIRCULAR, boundaries.REFLECT, boundaries.SYMMETRIC, boundaries.NONE
        ):
            return
        if boundaries.is_word(boundary, boundaries.ANTIPERIODIC):
            self._plan_negation(axis, slices)
        elif boundaries.is_function(boundary):
            self._plan_copy(slices, self._of_function(boundary, axis, slices))
        elif boundaries.is_array(boundary):
            self._plan_array(np.asarray(boundary), axis, slices)
        else:
            self._plan_copy(slices, boundaries.fitted(boundary, axis, self.grid, self.site, self.dtype))

    def _beyond(self, axis: int, end: int) -> slice:
        """What of the box lies beyond an end."""
        (start, stop), extent = self.ranges[axis], self.grid[axis]
        if end == 0:
            return slice(0, max(0, min(0, stop) - start))
        return slice(max(0, max(extent, start) - start), stop - start)

    def _kept(self, other: int) -> slice:
        """What of the box along another axis is filled: not what lies beyond an end that has no boundary."""
        start, (low, high) = self.ranges[other][0], self.ends[other]
        first, last = self._faces[other]
        first = max(first, 0) if boundaries.is_word(low, boundaries.NONE) else first
        last = min(last, self.grid[other]) if boundaries.is_word(high, boundaries.NONE) else last
        return slice(first - start, max(first, last) - start)

    def _plan_negation(self, axis: int, slices: list[slice]) -> None:
        indices = np.arange(*self.ranges[axis])[slices[axis]]
        odd = np.flatnonzero(boundaries.is_negated(indices, self.grid[axis])) + slices[axis].start
        for part in np.split(odd, np.flatnonzero(np.diff(odd) > 1) + 1):
            if len(part):
                chosen = [*slices]
                chosen[axis] = slice(int(part[0]), int(part[-1]) + 1)
                index = self._index(chosen)

                def negate(box: Array, index: Index = index) -> None:
                    # Not in place: with some strides numpy's vectors read what they have written (seen with 2.4.6).
                    box[index] = -box[index]

                self._fills.append(negate)

    def _plan_copy(self, slices: list[slice], values: Array) -> None:
        index = self._index(slices)
        values = np.array(values, self.dtype)

        def put(box: Array) -> None:
            box[index] = values

        self._fills.append(put)

    def _plan_array(self, source: Array, axis: int, slices: list[slice]) -> None:
        """A boundary array, read at each call, at the line of every site: the nearest beyond ends of other axes."""
        boundaries.fitted(source, axis, self.grid, self.site, self.dtype)
        index = self._index(slices)
        if source.ndim == 0:
            lines: Index = ()
        else:
            others = [other for other in range(len(self.grid)) if other != axis]
            lines = np.ix_(*(self._lines(other)[slices[other]] for other in others)) if others else ()
        # Not `self`, which has this function: what belongs to one thread and refers to a box would be in a cycle, and
        # ended by whichever thread collects garbage.
        grid, site, dtype = self.grid, self.site, self.dtype

        def put(box: Array) -> None:
            values = boundaries.fitted(source, axis, grid, site, dtype)
            if values.ndim:
                values = np.expand_dims(values[lines], axis)
            box[index] = values

        self._fills.append(put)

    def _lines(self, axis: int) -> Array:
        """The element of an axis for each index of the box: the nearest where the array does not continue."""
        indices = np.clip(np.arange(*self.ranges[axis]), 0, self.grid[axis] - 1)
        return np.where(self._sources[axis] >= 0, self._sources[axis], indices)

    def _of_function(self, function: boundaries.Function, axis: int, slices: list[slice]) -> Array:
        """A function's values. Where the array continues along another axis, its position is that of the element."""
        here = [np.arange(*one) for one in self.ranges]
        indices = [np.where(sources >= 0, sources, own) for sources, own in zip(self._sources, here, strict=True)]
        indices[axis] = here[axis]
        chosen = [index[part] for index, part in zip(indices, slices, strict=True)]
        shape = tuple(len(index) for index in chosen)
        values = np.asarray(function(*np.ix_(*chosen)))
        if np.iscomplexobj(values) and self.dtype.kind != "c":
            raise UsageError(f"the boundary of axis {axis} is complex, the array is {self.dtype.name}")
        if values.dtype.kind not in "biufc":
            raise UsageError(f"the boundary function of axis {axis} returns {values.dtype}, not numbers")
        boundaries.check_held(values, f"the boundary function of axis {axis}", self.dtype)
        try:
            return np.broadcast_to(values, shape).reshape(shape + (1,) * len(self.site))
        except ValueError:
            raise UsageError(
                f"the boundary function of axis {axis} returns an array of shape {values.shape}, which does not "
                f"broadcast to the positions, of {shape}"
            ) from None

"""Stencils with boundaries that the kernels do not know: other ones at both ends of an axis, mirrors, functions.

What needs nothing from beyond the ends is computed where the array lies. The rest is thin: it is copied with what lies
around it, and computed there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weft._core import UsageError
from weft.stencils import boundaries
from weft.stencils.ghosts import Box, Range
from weft.stencils.plan import Array, StencilPlan, coefficient_type, counted, empty, fit

if TYPE_CHECKING:
    from weft.stencils.description import Stencil

WHOLE_BYTES = 128 << 10
"""Bytes of an array up to which all of it is copied with what lies around it: quicker than its rim piece by piece."""

Region = list[Range]
"""First site and one past the last along each axis."""


def split(computed: Sequence[Range], inner: Sequence[Range]) -> tuple[Region, list[Region]]:
    """The sites of `computed` that are within `inner`, and the others in pieces that do not overlap."""
    ranges = list(computed)
    rim: list[Region] = []
    for axis, ((first, last), wanted) in enumerate(zip(computed, inner, strict=True)):
        start = min(max(wanted[0], first), last)
        stop = max(min(wanted[1], last), start)
        pieces = [piece for piece in ((first, start), (stop, last)) if piece[0] < piece[1]]
        rim.extend([*ranges[:axis], piece, *ranges[axis + 1 :]] for piece in pieces)
        ranges[axis] = (start, stop)
    return ranges, [region for region in rim if not is_empty(region)]


def check(stencil: Stencil, grid: tuple[int, ...], site: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuses numbers and arrays beyond ends that do not fit, whether the stencil reaches there or not."""
    for axis, boundary in enumerate(stencil.boundary):
        for end in boundaries.both(boundary):
            if boundaries.is_value(end) and not boundaries.is_function(end):
                boundaries.fitted(end, axis, grid, site, dtype)


def is_empty(region: Region) -> bool:
    """Whether it has no sites."""
    return any(start >= stop for start, stop in region)


def within(stencil: Stencil, grid: Sequence[int]) -> tuple[Region, Region]:
    """The sites that are computed, which are not those that would need what lies beyond an end without a boundary; and
    those that need nothing from beyond the ends of an axis that is not circular."""
    computed: Region = []
    inner: Region = []
    for extent, boundary, (low, high) in zip(grid, stencil.boundary, stencil.reach, strict=True):
        ends = boundaries.both(boundary)
        first = low if boundaries.is_word(ends.low, boundaries.NONE) else 0
        last = extent - high if boundaries.is_word(ends.high, boundaries.NONE) else extent
        first = min(first, extent)
        computed.append((first, max(first, last)))
        inner.append((0, extent) if boundaries.is_circular(boundary) else (low, extent - high))
    return computed, inner


def slices(region: Region, site: Sequence[int], origin: Sequence[int] | None = None) -> tuple[Any, ...]:
    """An index of an array for the sites of a region, which are counted from `origin`."""
    starts = origin or [0] * len(region)
    return (
        ...,
        *(slice(start - o, stop - o) for (start, stop), o in zip(region, starts, strict=True)),
        *[slice(None)] * len(site),
    )


class Part:
    """Sites that are computed in a box: a part of the array with what lies around it.

    Parameters
    ----------
    stencil, grid, site, dtype
        Of the whole array.
    region
        The sites, counted in the whole array.
    """

    def __init__(
        self, stencil: Stencil, grid: tuple[int, ...], site: tuple[int, ...], dtype: np.dtype[Any], region: Region
    ) -> None:
        circular = [boundaries.is_circular(boundary) for boundary in stencil.boundary]
        ranges = [
            (0, extent) if wraps else (start - low, stop + high)
            for extent, wraps, (start, stop), (low, high) in zip(grid, circular, region, stencil.reach, strict=True)
        ]
        self.region = region
        self._box = Box(grid, site, [boundaries.both(one) for one in stencil.boundary], ranges, dtype)
        self._copies = self._box.copies()
        self._extents = self._box.extents
        self._into = slices(region, site)
        starts = [start for start, _ in ranges]
        self._inside = [(start - o, stop - o) for (start, stop), o in zip(region, starts, strict=True)]
        self._site, self._dtype = site, dtype
        self._refreshed: list[tuple[Array, Array]] = []
        points: dict[Any, Any] = {
            offset: self._coefficient(one, offset, grid) for offset, one in stencil.points.items()
        }
        plain = [boundaries.CIRCULAR if wraps else 0 for wraps in circular]
        local = type(stencil)(points, boundary=plain, site_rank=stencil.site_rank)
        self._plan = StencilPlan(local, self._box.extents + site, dtype, steps=1, threads=1)
        self._memory: dict[tuple[int, ...], Array] = {}

    def _coefficient(self, coefficient: Any, offset: tuple[int, ...], grid: tuple[int, ...]) -> Any:
        """A number as it is; of an array the part of the region, read at each call, in one of the box's extents."""
        values = fit(offset, coefficient, grid, self._dtype)
        if np.ndim(values) == 0:
            return values
        held = np.zeros(self._box.extents, coefficient_type(values, self._dtype))
        self._refreshed.append((held[slices(self._inside, ())], values[slices(self.region, ())]))
        return held

    def apply(self, x: Array, out: Array) -> None:
        """Computes the region's sites of `out`; both are whole arrays with at most one axis of right-hand sides."""
        sides = x.shape[: x.ndim - len(self._extents) - len(self._site)]
        # Taken out while it is in use: another thread that calls the plan meanwhile makes a box of its own.
        box = self._memory.pop(sides, None)
        if box is None:
            self._memory.clear()
            box = np.zeros(sides + self._extents + self._site, self._dtype)
        for into, source in self._copies:
            box[into] = x[source]
        self._box.finish(box)
        for held, values in self._refreshed:
            np.copyto(held, values)
        self._plan.apply_region(box, out[self._into], self._inside)
        self._memory[sides] = box


class ExtendedStencilPlan(StencilPlan):
    """A stencil with boundaries of its own at each end, prepared for arrays of one shape and type.

    As `StencilPlan`, with a step at a time. Functions of position are called once, when the plan is made.
    """

    def __init__(self, stencil: Stencil, shape: Any, dtype: Any, *, steps: int, threads: int | None) -> None:
        # Nothing of what is computed with it comes from beyond an end that is not circular.
        plain = [one if boundaries.is_circular(one) else 0 for one in stencil.boundary]
        points: dict[Any, Any] = {**stencil.points}
        inner = type(stencil)(points, boundary=plain, site_rank=stencil.site_rank)
        super().__init__(inner, shape, dtype, steps=1, threads=threads)
        self._steps = counted("steps", steps)
        check(stencil, self._grid, self._site, self._dtype)
        computed, within_ends = within(stencil, self._grid)
        if math.prod(self._tail) * self._dtype.itemsize <= WHOLE_BYTES:
            within_ends = [(0, 0)] * len(computed)
        self._interior, rim = split(computed, within_ends)
        self._parts: list[Part] = []
        if 0 not in self._grid:
            self._parts = [Part(stencil, self._grid, self._site, self._dtype, piece) for piece in rim]
        whole = [(0, extent) for extent in self._grid]
        self._kept_as_they_are = [] if is_empty(whole) else split(whole, computed)[1]

    def __call__(self, x: Any, out: Array | None = None) -> Array:
        """The result for `x`, in `out` where given; see `StencilPlan`.

        A site that would need what lies beyond an end without a boundary ("none") has the value of `x`.
        """
        x = self._source_of(x)
        if out is None:
            out = empty(x.shape, self._dtype)
        else:
            self._check_out(x, out)
        if x.size:
            self._take(x, out)
        return out

    def _take(self, x: Array, out: Array) -> None:
        source, into = self._sides(x), self._sides(out)
        # A copy is aligned, too, as an array whose rows lie together need not be.
        source = np.array(x, order="C").reshape(-1, *self._tail) if source is None else source
        if np.may_share_memory(source, out):
            source = source.copy()
        direct = into is not None and self._flat(into) is not None
        target = into if direct and into is not None else empty(source.shape, self._dtype)
        between = [empty(source.shape, self._dtype) for _ in range(min(2, self._steps - 1))]
        for step in range(self._steps):
            last = step == self._steps - 1
            result = target if last else between[step % 2]
            self._step(source, result)
            source = result
        if not direct:
            out[...] = target.reshape(out.shape)

    def _step(self, source: Array, target: Array) -> None:
        for region in self._kept_as_they_are:
            index = slices(region, self._site)
            target[index] = source[index]
        if not is_empty(self._interior):
            self.apply_region(source, target[slices(self._interior, self._site)], self._interior)
        for part in self._parts:
            part.apply(source, target)

    def _sides(self, array: Array) -> Array | None:
        """The array with one axis of right-hand sides and rows that the kernels read, if that needs no copy."""
        view = array.view()
        try:
            view.shape = (-1, *self._tail)
        except (AttributeError, ValueError):
            return None
        return view if self._flat(view) is not None else None

    def bind(self, x: Array, out: Array) -> Callable[[], None]:
        """A call without arguments that computes `out` from what `x` then holds; see `StencilPlan.bind`."""
        self._live()
        if not isinstance(x, np.ndarray):
            raise UsageError(f"a plan is bound to numpy arrays, not to {type(x).__name__}")
        self._source_of(x)
        self._check_out(x, out)
        if np.may_share_memory(x, out):
            raise UsageError("x and out share memory: results would overwrite what is still needed")
        if x.size and (self._sides(x) is None or self._sides(out) is None):
            raise UsageError("rows of a bound array must be contiguous and aligned: bind a copy (x.copy())")

        def call() -> None:
            if x.size:
                self._take(x, out)

        return call

    def explain(self) -> str:
        """What will be done, and what it moves, in words."""
        sites = [np.prod([stop - start for start, stop in part.region]) for part in self._parts]
        return super().explain() + (
            f"{int(sum(sites))} sites near the ends are copied with what lies beyond, in {len(sites)} parts, "
            "and computed there\n"
        )

    def release(self) -> None:
        """Gives its memory back."""
        super().release()
        self._parts = []

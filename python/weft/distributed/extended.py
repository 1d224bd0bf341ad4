"""Stencils of distributed arrays with boundaries of their own at each end.

Ghosts lie around the whole block, beyond the ends of the array too, and the exchange fills all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft._core import Machine, UsageError
from weft.distributed.array import DistributedArray, Halo
from weft.distributed.by_shifts import ShiftedStencilPlan
from weft.distributed.geometry import Geometry
from weft.distributed.plans import HaloExchange
from weft.distributed.stencils import DistributedStencilPlan, check_grid, is_enough, own_coefficient, own_halo
from weft.stencils import Stencil, boundaries
from weft.stencils.extended import Region, check, is_empty, slices, split, within
from weft.stencils.plan import StencilPlan, coefficient_type, counted, dtype_of, has_kernel, number


class ExtendedDistributedStencilPlan(DistributedStencilPlan):
    """As `DistributedStencilPlan`, for a stencil whose boundaries are not those of shifts. A step for each exchange.

    Functions of position are called once, when the plan is made, on every rank for its own ghosts.
    """

    def __init__(
        self,
        geometry: Geometry,
        stencil: Stencil,
        dtype: DTypeLike = np.float64,
        *,
        halo: Halo | None = None,
        threads: int | None = None,
        steps_per_exchange: int | Machine = 1,
    ) -> None:
        self.geometry, self.stencil = geometry, stencil
        self.steps_per_exchange = 1
        self._held: dict[str, DistributedArray] = {}
        self._released = False

        def prepare() -> tuple[object, Local]:
            if steps_per_exchange != 1:
                raise UsageError(
                    "several steps per exchange are for boundaries that are circular, a number or an array, the same "
                    "at both ends, of types and up to four axes that the kernels have; this stencil has others: give "
                    "steps_per_exchange=1"
                )
            count = 1 if threads is None else counted("threads", threads)
            local = Local(geometry, stencil, dtype_of(dtype), halo, count)
            return (geometry.shape, geometry.grid, local.dtype.str, local.halo, repr(list(stencil.points))), local

        self._local = geometry.communicator.agreed("stencil", prepare)
        self.dtype, self.halo = self._local.dtype, self._local.halo
        self._exchange = HaloExchange(
            geometry, self.dtype, halo=self.halo, boundary=self._local.boundary(), corners=self._local.corners
        )

    def bind(self, x: DistributedArray, out: DistributedArray, *, steps: int = 1) -> Callable[[], None]:
        """A call without arguments that computes `out` from what `x` then holds; see `DistributedStencilPlan`."""
        self._check_uncopied(x, out)
        count = counted("steps", steps)
        return lambda: self._run(x, out, count)

    def _run(self, x: DistributedArray, out: DistributedArray, steps: int) -> None:
        x = self._readable(x, out)
        for step in range(steps):
            result = out if step == steps - 1 else self._array(("even", "odd")[step % 2])
            self._exchange.begin(x)
            try:
                self._local.interior(x, result)
            finally:
                self._exchange.end()
            self._local.rim(x, result)
            x = result

    def explain(self) -> str:
        """What is done at each step, and what it costs."""
        self._live()
        sites = self._local.sites()
        return "\n".join(
            [f"{self.stencil!r} on {self.geometry}", self._exchange.explain(), f"{sites} sites of it need ghosts"]
        )

    def release(self) -> None:
        """Give back its messages and arrays."""
        if not self._released:
            self._released = True
            self._exchange.release()
            self._held = {}


class Local:
    """What one rank computes."""

    def __init__(
        self, geometry: Geometry, stencil: Stencil, dtype: np.dtype[Any], halo: Halo | None, threads: int
    ) -> None:
        self.geometry, self.stencil, self.dtype = geometry, stencil, dtype
        self.first = check_grid(geometry, stencil)
        axes = slice(self.first, self.first + stencil.rank)
        self.grid, self.site = geometry.shape[axes], geometry.shape[axes.stop :]
        self._ranks = geometry.grid[axes]
        check(stencil, self.grid, self.site, dtype)
        needed = self._needed()
        self.halo = needed if halo is None else own_halo(geometry, stencil, halo)
        if not is_enough(self.halo, needed):
            raise UsageError(f"a halo of {self.halo} is too narrow: the stencil reaches {needed}")
        self._own = geometry.local_slices()[axes]
        self._sides = [before for before, _ in self.halo[axes]]
        around = self.halo[axes]
        self._extents = tuple(s.stop - s.start + b + a for s, (b, a) in zip(self._own, around, strict=True))
        self._inside = [(b, b + s.stop - s.start) for s, (b, _) in zip(self._own, around, strict=True)]
        self._refreshed: list[tuple[NDArray[Any], NDArray[Any]]] = []
        points: dict[Any, Any] = {offset: self._coefficient(offset, value) for offset, value in stencil.points.items()}
        self._plan: StencilPlan | None = None
        self._interior: Region = [(0, 0)]
        self._rim: list[Region] = []
        self._as_they_are: list[Region] = []
        if 0 in geometry.local_shape():
            return
        plain = [boundaries.CIRCULAR if self._wraps(axis) else 0 for axis in range(stencil.rank)]
        local = type(stencil)(points, boundary=plain, site_rank=stencil.site_rank)
        self._plan = StencilPlan(local, self._extents + self.site, dtype, steps=1, threads=threads)
        self._cut()

    def _wraps(self, axis: int) -> bool:
        """Whether the axis begins again within the block."""
        return boundaries.is_circular(self.stencil.boundary[axis]) and self._ranks[axis] == 1

    def _needed(self) -> tuple[tuple[int, int], ...]:
        """Ghosts of every axis that the stencil reaches along, but those that begin again within the block."""
        needed = [(0, 0)] * self.geometry.ndim
        for axis, (low, high) in enumerate(self.stencil.reach):
            if not self._wraps(axis):
                needed[self.first + axis] = (low, high)
        return tuple(needed)

    @property
    def corners(self) -> Any:
        """Whether ghosts beyond several sides are needed."""
        diagonal = any(sum(map(bool, offset)) > 1 for offset in self.stencil.points)
        return "at once" if diagonal else "none"

    def boundary(self) -> list[Any]:
        """What ghosts hold, by axis of the geometry."""
        ndim = self.geometry.ndim
        ends: list[Any] = ["keep"] * ndim
        for axis, boundary in enumerate(self.stencil.boundary):
            pair = boundaries.both(boundary)
            ends[self.first + axis] = tuple(self._end(end, axis) for end in pair)
        return ends

    def _end(self, end: Any, axis: int) -> Any:
        """An end of the stencil's boundary as one of the whole array, whose axes are more."""
        if boundaries.is_function(end):
            return lambda *indices: self._of_positions(end, indices)
        if not boundaries.is_array(end):
            if self.dtype.kind in "iu" and boundaries.is_value(end):
                return number(end, f"the boundary of axis {axis}", self.dtype)
            return end
        values = boundaries.fitted(end, axis, self.grid, self.site, self.dtype)
        at = self.first + axis
        return np.broadcast_to(values, self.geometry.shape[:at] + self.geometry.shape[at + 1 :])

    def _of_positions(self, function: boundaries.Function, indices: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """A function's values at positions of the grid, for all right-hand sides and elements of a site."""
        grid = indices[self.first : self.first + self.stencil.rank]
        chosen = [index.reshape(index.shape[self.first : self.first + self.stencil.rank]) for index in grid]
        values = np.asarray(function(*chosen))
        shape = np.broadcast_shapes(*(index.shape for index in chosen))
        try:
            whole = np.broadcast_to(values, shape)
        except ValueError:
            raise UsageError(
                f"a boundary function returns an array of shape {values.shape}, which does not broadcast to the "
                f"positions, of {shape}"
            ) from None
        return whole.reshape(shape + (1,) * len(self.site))

    def _coefficient(self, offset: tuple[int, ...], coefficient: Any) -> Any:
        """A number as it is; an array's part of this rank, read at each call, within one of the block's extents."""
        values = own_coefficient(self.geometry, self.stencil, offset, coefficient, self.dtype)
        if np.ndim(values) == 0:
            return values
        held = np.zeros(self._extents, coefficient_type(values, self.dtype))
        self._refreshed.append((held[slices(self._inside, ())], values))
        return held

    def _cut(self) -> None:
        """The block's sites that need no ghosts, the others, and those that are not computed; counted in the block."""

        def here(axis: int, site: int) -> int:
            own = self._own[axis]
            return int(min(max(site, own.start), own.stop) - own.start)

        computed, inner = within(self.stencil, self.grid)
        own_computed = [
            (here(a, first), max(here(a, first), here(a, last))) for a, (first, last) in enumerate(computed)
        ]
        own_inner = []
        for axis, ((low, high), own) in enumerate(zip(self.stencil.reach, self._own, strict=True)):
            length = own.stop - own.start
            divided = self._ranks[axis] > 1
            first, last = (low, length - high) if divided else inner[axis]
            own_inner.append((first, last))
        whole = [(0, own.stop - own.start) for own in self._own]
        self._interior, self._rim = split(own_computed, own_inner)
        self._as_they_are = split(whole, own_computed)[1]

    def sites(self) -> int:
        """How many sites need ghosts."""
        return int(sum(np.prod([stop - start for start, stop in region]) for region in self._rim))

    def interior(self, x: DistributedArray, out: DistributedArray) -> None:
        """Computes what needs no ghosts."""
        if self._plan is None:
            return
        self.refresh()
        for region in self._as_they_are:
            index = slices(region, self.site)
            out.local[index] = x.local[index]
        self._compute(x, out, self._interior)

    def rim(self, x: DistributedArray, out: DistributedArray) -> None:
        """Computes the rest, when the ghosts are there."""
        for region in self._rim:
            self._compute(x, out, region)

    def _compute(self, x: DistributedArray, out: DistributedArray, region: Region) -> None:
        if self._plan is None or is_empty(region):
            return
        ranges = [(b + start, b + stop) for b, (start, stop) in zip(self._sides, region, strict=True)]
        index = slices(region, self.site)
        for side in np.ndindex(*x.local.shape[: self.first]):
            self._plan.apply_region(x.local_with_halo[side], out.local[side][index], ranges)

    def sums(self, x: DistributedArray, rows: slice) -> NDArray[Any]:
        """The stencil's sums at some rows of the block along the grid's first axis, whose ghosts are there."""
        lengths = [own.stop - own.start for own in self._own]
        region = [(rows.start, rows.stop), *((0, length) for length in lengths[1:])]
        ranges = [(b + start, b + stop) for b, (start, stop) in zip(self._sides, region, strict=True)]
        sides = x.local.shape[: self.first]
        part = np.empty((*sides, rows.stop - rows.start, *x.local.shape[self.first + 1 :]), self.dtype)
        assert self._plan is not None  # a block without sites has no rows
        for side in np.ndindex(*sides):
            self._plan.apply_region(x.local_with_halo[side], part[side], ranges)
        return part

    def refresh(self) -> None:
        """Takes over what coefficient arrays hold."""
        for held, values in self._refreshed:
            np.copyto(held, values)


def ends_are_those_of_shifts(stencil: Any, dtype: DTypeLike) -> bool:
    """Whether boundaries, type and axes are ones that `DistributedStencilPlan` takes itself, with the kernels."""
    try:
        known = has_kernel(dtype_of(dtype), stencil.rank)
    except UsageError:
        # The plan refuses it too, on all ranks together.
        known = True
    return known and all(map(boundaries.is_of_both_ends, stencil.boundary))


def plan(geometry: Geometry, stencil: Stencil, dtype: DTypeLike, **options: Any) -> DistributedStencilPlan:
    """The plan of a stencil, whatever its boundaries."""
    if isinstance(stencil, Stencil) and not ends_are_those_of_shifts(stencil, dtype):
        if boundaries.is_indexed_by_result(stencil.boundary, stencil.points):
            return ShiftedStencilPlan(geometry, stencil, dtype, **options)
        return ExtendedDistributedStencilPlan(geometry, stencil, dtype, **options)
    return DistributedStencilPlan(geometry, stencil, dtype, **options)


__all__ = ["ExtendedDistributedStencilPlan", "ends_are_those_of_shifts", "plan"]

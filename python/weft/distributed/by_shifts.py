"""Stencils of distributed arrays as sums of shifts, for types and numbers of axes that have no kernel.

Only where boundary arrays are indexed as EOSHIFT does at corners: what lies beyond two ends then depends on the point
of the stencil that reaches there, and no ghost can hold it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft._core import Machine, UsageError
from weft.distributed.array import DistributedArray, Halo
from weft.distributed.geometry import Geometry
from weft.distributed.plans import Polyshift
from weft.distributed.stencils import DistributedStencilPlan, check_grid, own_coefficient, own_halo
from weft.stencils import Stencil, boundaries
from weft.stencils.by_numpy import adding_type
from weft.stencils.extended import check
from weft.stencils.live import Live
from weft.stencils.plan import counted, dtype_of, number, real_of

Coefficients = dict[tuple[int, ...], Any]


class ShiftedStencilPlan(DistributedStencilPlan):
    """As `DistributedStencilPlan`, a step at a time: each point is a shift along one axis after another."""

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
        self._copies: list[Live] = []
        self._released = False

        def prepare() -> tuple[object, Coefficients]:
            if steps_per_exchange != 1:
                raise UsageError("several steps per exchange are for types and up to four axes that the kernels have")
            if threads is not None:
                counted("threads", threads)
            self.dtype = dtype_of(dtype)
            self.halo = own_halo(geometry, stencil, 0 if halo is None else halo)
            coefficients = self._prepared()
            return (geometry.shape, geometry.grid, self.dtype.str, self.halo, repr(list(coefficients))), coefficients

        self._coefficients = geometry.communicator.agreed("stencil", prepare)
        ends = [self._end(axis) for axis in range(stencil.rank)]
        self._shifts = {
            offset: [
                Polyshift(geometry, self.dtype, shifts=[(by, self._first + axis, *ends[axis])], halo=self.halo)
                for axis, by in enumerate(offset)
                if by
            ]
            for offset in self._coefficients
        }

    def _prepared(self) -> Coefficients:
        """Numbers, and this rank's parts of arrays with an axis for what a site holds; checks boundaries too."""
        geometry, stencil = self.geometry, self.stencil
        self._first = check_grid(geometry, stencil)
        axes = slice(self._first, self._first + stencil.rank)
        self._grid, self._site = geometry.shape[axes], geometry.shape[axes.stop :]
        check(stencil, self._grid, self._site, self.dtype)
        prepared: Coefficients = {}
        for offset, value in stencil.points.items():
            own = own_coefficient(geometry, stencil, offset, value, self.dtype)
            prepared[offset] = own[..., np.newaxis] if np.ndim(own) else self._number(own)
        return prepared

    def _number(self, value: Any) -> Any:
        return value if np.iscomplexobj(value) else number(value, "a coefficient", self.dtype)

    def _end(self, axis: int) -> tuple[Any, ...]:
        """The boundary of an axis as shifts take it."""
        boundary = self.stencil.boundary[axis]
        if boundaries.is_circular(boundary):
            return ()
        if not boundaries.is_array(boundary):
            return (number(boundary, f"the boundary of axis {axis}", self.dtype),)
        at, shape = self._first + axis, self.geometry.shape
        # Not `self`, which will have this function: a plan of this thread would be in a cycle with it.
        grid, site, dtype = self._grid, self._site, self.dtype

        def face(values: NDArray[Any]) -> NDArray[Any]:
            full = boundaries.full(values, axis, grid, site, dtype)
            return np.array(np.broadcast_to(full, shape[:at] + shape[at + 1 :]))

        self._copies.append(Live(np.asarray(boundary), face))
        return (self._copies[-1].own,)

    def _run(self, x: DistributedArray, out: DistributedArray, steps: int) -> None:
        self._refresh()
        source = DistributedArray(self.geometry, self.dtype, self.halo)
        source.local[...] = x.local
        for _ in range(steps):
            source.local[...] = self._step(source)
        out.local[...] = source.local

    def bind(self, x: DistributedArray, out: DistributedArray, *, steps: int = 1) -> Callable[[], None]:
        """A call without arguments that computes `out` from what `x` then holds; see `DistributedStencilPlan`."""
        self._check_bound(x, out)
        count = counted("steps", steps)

        def call() -> None:
            self(x, out, steps=count)

        return call

    def _step(self, source: DistributedArray) -> NDArray[Any]:
        """This rank's block of the result."""
        shifted: dict[tuple[int, ...], NDArray[Any]] = {}
        for offset, plans in self._shifts.items():
            part = source
            for plan in plans:
                (part,) = plan(part)
            shifted[offset] = part.local
        total = self._sum(shifted, np.real)
        if any(map(np.iscomplexobj, self._coefficients.values())):
            total += 1j * self._sum(shifted, np.imag)
        return total

    def _sum(self, shifted: dict[tuple[int, ...], NDArray[Any]], part: Callable[[Any], Any]) -> NDArray[Any]:
        """The sum with one part of the coefficients, as `weft.stencils.by_numpy` takes it."""
        block, real = self.geometry.local_shape(), real_of(self.dtype)
        adding = adding_type(real)
        axes = self._first + self.stencil.rank
        total = np.zeros((*block[:axes], *np.empty(block[axes:], self.dtype).reshape(-1).view(real).shape), adding)
        for offset, local in shifted.items():
            terms = np.ascontiguousarray(local).view(real).reshape(total.shape).astype(adding)
            coefficient = part(self._coefficients[offset])
            with np.errstate(over="ignore", invalid="ignore"):
                total += terms * np.asarray(coefficient).astype(adding)
        with np.errstate(over="ignore"):
            return total.astype(real, copy=False).view(self.dtype).reshape(block)

    def explain(self) -> str:
        """What is done at each step, and what it costs."""
        self._live()
        count = sum(map(len, self._shifts.values()))
        return f"{self.stencil!r} on {self.geometry}\n{count} shifts, one after the other, and a sum by numpy"

    def release(self) -> None:
        """Give back its messages and arrays."""
        if not self._released:
            self._released = True
            for plan in [plan for plans in self._shifts.values() for plan in plans]:
                plan.release()


__all__ = ["ShiftedStencilPlan"]

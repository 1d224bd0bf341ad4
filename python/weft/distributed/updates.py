"""Steps of several distributed fields: faces travel, then each rank goes through its block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from weft._core import UsageError
from weft.distributed.array import DistributedArray
from weft.distributed.extended import Local
from weft.distributed.geometry import Geometry
from weft.distributed.operations import own_part
from weft.distributed.plans import HaloExchange
from weft.distributed.reducing import combined_partials
from weft.distributed.stencils import DistributedStencilPlan
from weft.stencils import Stencil, boundaries
from weft.stencils.compiled import Span
from weft.stencils.update import KEPT_PLANS, REDUCTIONS, Partial, Update


class _Source:
    """A sum's field with the ghosts that the sum needs."""

    def __init__(self, geometry: Geometry, local: Local, is_only_reader: bool) -> None:
        self.local = local
        self._is_only_reader = is_only_reader
        self._own = DistributedArray(geometry, local.dtype, local.halo)
        self._exchange = HaloExchange(
            geometry, local.dtype, halo=local.halo, boundary=local.boundary(), corners=local.corners
        )
        self.array = self._own

    def begin(self, field: DistributedArray) -> None:
        """Starts to fill the ghosts, of the field itself where it has these and no other sum fills them."""
        self.array = field if self._is_only_reader and field.halo == self.local.halo else self._own
        if self.array is not field:
            self._own.local[...] = field.local
        self.local.refresh()
        self._exchange.begin(self.array)

    def end(self) -> None:
        """Completes it."""
        self._exchange.end()

    def span(self) -> Span:
        """The block's first site, within its ghosts."""
        whole = Span.of(self.array.local_with_halo)
        assert whole is not None  # rows of blocks lie together
        return whole.begin([before for before, _ in self.array.halo])

    def sums(self, rows: slice) -> NDArray[Any]:
        """The sums at some rows."""
        return self.local.sums(self.array, rows)


class _Summed:
    """A sum that is taken of the whole field first: ghosts cannot hold what lies beyond its ends."""

    def __init__(self, plan: DistributedStencilPlan) -> None:
        self._plan = plan
        self._result: DistributedArray | None = None

    def begin(self, field: DistributedArray) -> None:
        """Takes it. Collective."""
        self._result = self._plan(field, self._result)

    def end(self) -> None:
        """Nothing travels any more."""

    def span(self) -> Span:
        """Compiled loops do not take such sums themselves."""
        raise NotImplementedError

    def sums(self, rows: slice) -> NDArray[Any]:
        """The sums at some rows."""
        assert self._result is not None  # `begin` comes first
        before = (slice(None),) * (self._result.ndim - self._plan.stencil.rank - self._plan.stencil.site_rank)
        return self._result.local[(*before, rows)]


def updated(update: Update, values: dict[str, Any], mask: Any) -> dict[str, Any]:
    """A step of `weft.arrays.Update`, whose fields are distributed. Collective.

    Raises
    ------
    UsageError
        For fields that are not divided alike.
    """
    fields = {name: values[name] for name in update.fields}
    first = fields[update.fields[0]]
    _check(update, fields, first)
    if update.is_fusible(first.dtype) and first.geometry.communicator.size == 1:
        # One rank has all: the compiled loop takes the sums itself.
        parts = {name: own_part(one, first, name) for name, one in values.items()}
        return update(**parts, mask=None if mask is None else own_part(mask, first, "the mask"))
    sources = _sources(update, first)
    for name, source in sources.items():
        source.begin(fields[update.sums[name][1]])
    for source in sources.values():
        source.end()
    partial: Partial | None = Partial(update.reductions)
    if 0 not in first.local.shape:
        others = {name: own_part(one, first, name) for name, one in values.items() if name not in fields}
        shown = None if mask is None else own_part(mask, first, "the mask")
        blocks = {name: field.local for name, field in fields.items()}
        partial = None
        if update.is_fusible(first.dtype):
            ghosts = {name: source.span() for name, source in sources.items()}
            partial = update.surrounded(blocks, others, ghosts, shown)
        if partial is None:
            sums: dict[str, Callable[[slice], NDArray[Any]]] = {name: one.sums for name, one in sources.items()}
            partial = update.sweep(blocks, others, sums, first.local.shape, shown)
    assert partial is not None
    every = {
        name: combined_partials(first, value, REDUCTIONS[update.reductions[name]])
        for name, value in partial.values.items()
    }
    return update.finished(every)


def _check(update: Update, fields: dict[str, Any], first: DistributedArray) -> None:
    for name, field in fields.items():
        if not isinstance(field, DistributedArray):
            raise UsageError(
                f"{name} is a {type(field).__name__}, {update.fields[0]} a DistributedArray: all fields are"
            )
        if field.geometry != first.geometry:
            raise UsageError(f"{name} has another geometry: {field.geometry}, not {first.geometry}")
        if name not in update.results and field.dtype != first.dtype:
            raise UsageError(f"{name} is of {field.dtype}, {update.fields[0]} of {first.dtype}: fields are alike")
        if any(other != name and fields[other] is field for other in fields if name in update.results):
            raise UsageError(f"{name} is another field too: a result needs an array of its own")


def _sources(update: Update, first: DistributedArray) -> dict[str, _Source | _Summed]:
    geometry = first.geometry
    key = ("distributed", id(geometry.communicator), geometry, first.dtype)
    kept: dict[Any, Any] = update._plans
    if key not in kept:
        if len(kept) >= KEPT_PLANS:
            kept.pop(next(iter(kept)))
        # The compiled loop looks for neighbours in ghosts, also where an axis begins again within the block.
        every_side = update.is_fusible(first.dtype)
        readers = [field for _, field in update.sums.values()]

        def source(stencil: Stencil, field: str) -> _Source | _Summed:
            if boundaries.is_indexed_by_result(stencil.boundary, stencil.points):
                return _Summed(geometry.stencil(stencil, first.dtype))
            halo = _reach(geometry, stencil) if every_side else None
            return _Source(geometry, Local(geometry, stencil, first.dtype, halo, 1), readers.count(field) == 1)

        kept[key] = {name: source(*one) for name, one in update.sums.items()}
    sources: dict[str, _Source | _Summed] = kept[key]
    return sources


def _reach(geometry: Geometry, stencil: Stencil) -> tuple[tuple[int, int], ...]:
    """Ghosts on every side that a stencil reaches beyond."""
    before = geometry.ndim - stencil.rank - stencil.site_rank
    return (((0, 0),) * before) + stencil.reach + (((0, 0),) * stencil.site_rank)

"""Stencils of distributed arrays: only faces move, and they travel while the interior is computed."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft import _core
from weft._core import Machine, UsageError
from weft.catalogue import operation_time
from weft.distributed import calls
from weft.distributed.array import DistributedArray, Halo, widths
from weft.distributed.geometry import Geometry
from weft.releasing import Releasable
from weft.stencils import Stencil, boundaries
from weft.stencils.live import Live, coefficients, is_alike, spread
from weft.stencils.plan import counted, dtype_of, fit, has_kernel, real_of

KEPT_PLANS = 16
"""Plans of earlier calls that a stencil keeps."""

Points = list[tuple[tuple[int, ...], Any]]


class DistributedStencilPlan(Releasable):
    """A stencil prepared for distributed arrays of one geometry and type; `Geometry.stencil` makes one.

    A call gives what the local stencil gives for the gathered array. The faces that other ranks need leave first; sites
    that need no ghosts are computed while they travel, the others afterwards. With several steps this is done for each.

    Parameters
    ----------
    geometry
        That of the arrays, whose axes are right-hand sides (any number), the stencil's grid, and those of a site.
    stencil
        From `weft.arrays.stencil`. A coefficient array is one that every rank has as a whole (of which each uses its
        part), or a `DistributedArray` whose geometry divides the grid alike. Boundary arrays are whole on every rank.
        All of them are read at each call, as `weft.arrays.stencil` says.
    dtype
        float32, float64, complex64 or complex128.
    halo
        The ghosts of arrays that are to be read where they lie. Default: what the stencil reaches across divided axes.
        An array with others is copied first.
    threads
        Of this rank. Default: one.
    steps_per_exchange
        Time steps between two exchanges: ghosts are as many times as wide, and what later steps need of them is
        computed on both sides, in one sweep through memory where that pays. Results are the same bits. Coefficient
        arrays are then copied at each call, with what ghosts need, and cannot be distributed arrays. A machine
        (`weft.machine`) whose file has the time of `float64_sum_of_products`: as many as a model of it finds fastest
        (`weft.model.best_steps_per_exchange`). Default: 1.

    Raises
    ------
    UsageError
        On every rank, if something does not fit on any of them, or if the ranks ask for different stencils.

    Examples
    --------
    >>> import numpy as np, weft
    >>> geometry = weft.arrays.Geometry((8, 8))      # over the ranks of this run
    >>> mean = weft.arrays.stencil({(1, 0): 0.25, (-1, 0): 0.25, (0, 1): 0.25, (0, -1): 0.25})
    >>> with geometry.stencil(mean) as plan:
    ...     x = geometry.distribute(np.arange(64.0).reshape(8, 8), halo=plan.halo)
    ...     float(plan(x, steps=3).gather()[3, 3])
    27.0
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
        self.geometry = geometry
        self.stencil = stencil
        self._released = False
        ranks = geometry.communicator

        def prepare() -> tuple[object, _Parts]:
            parts = _Parts(geometry, stencil, dtype, halo, steps_per_exchange)
            count = 1 if threads is None else counted("threads", threads)
            return parts.description, parts.with_threads(count)

        parts = ranks.agreed("stencil", prepare)
        number = ranks.number()
        words = (
            f"stencil {number} of {stencil.rank} axes on {parts.dtype} of {geometry.shape}, planned at {calls.caller()}"
        )
        self.dtype = parts.dtype
        self.halo = parts.halo
        """Ghosts of arrays that are read where they lie."""
        self.steps_per_exchange = parts.steps_per_exchange
        """Time steps that an exchange serves."""
        self._kept, self._copies = parts.kept, parts.copies
        self._native: _core.DistributedStencil | None = _core.DistributedStencil(
            ranks.native,
            geometry.blocks,
            DistributedArray(geometry, self.dtype, self.halo).storage,
            parts.first,
            parts.real == np.float32,
            parts.points,
            parts.imaginary,
            parts.boundaries,
            list(stencil.reach),
            [boundaries.is_circular(boundary) for boundary in stencil.boundary],
            parts.components,
            parts.threads,
            parts.steps_per_exchange,
            number,
            calls.remembered(f"stencil {number}", words),
        )
        self._layouts = {self.halo: 0}
        self._held: dict[str, DistributedArray] = {}

    def __call__(self, x: DistributedArray, out: DistributedArray | None = None, *, steps: int = 1) -> DistributedArray:
        """The result for `x`, in `out` where given.

        The ghosts of `x` are filled; those of `out` hold nothing of meaning. `x` is copied first where it is `out`, or
        has other ghosts than the plan was made for.

        Raises
        ------
        UsageError
            For another geometry or type, and after `release`.
        RunError
            If the exchange fails.
        """
        self._live()
        self._check("x", x)
        if out is None:
            out = DistributedArray(self.geometry, self.dtype, x.halo)
        else:
            self._check("out", out)
        self._run(x, out, counted("steps", steps))
        return out

    def bind(self, x: DistributedArray, out: DistributedArray, *, steps: int = 1) -> Callable[[], None]:
        """A call without arguments that computes `out` from what `x` then holds: checked now, cheap each time.

        Raises
        ------
        UsageError
            Where a copy would be needed: `x` is `out`, or has other ghosts than the plan was made for.
        """
        run = self._plan().run
        self._check_uncopied(x, out)
        count = counted("steps", steps)
        arguments = (x.memory, self._between(out, count), out.memory, self._layout(out), count)
        held = (self, x, out)

        def call() -> None:
            if self._copies:
                self._refresh()
            run(*arguments)

        call.__dict__["held"] = held
        return call

    def explain(self) -> str:
        """What is done at each step, and what it costs."""
        live, ranks = self._plan(), self.geometry.communicator
        lines = [f"{self.stencil!r} on {self.geometry}", f"rank {ranks.rank} of {ranks.size}, each step:"]
        lines += [f"  {line}" for line in live.summary.splitlines()]
        lines += ["its block, ghosts counted:", *(f"  {line}" for line in live.explain().splitlines())]
        return "\n".join(lines)

    @property
    def released(self) -> bool:
        """Whether it was released."""
        return self._released

    def release(self) -> None:
        """Give back its messages and arrays. Memory that ranks of a node share is given back at the end of the run."""
        self._released, self._native = True, None
        self._kept, self._copies, self._held = [], [], {}

    def __repr__(self) -> str:
        state = "released " if self.released else ""
        return f"<{state}stencil plan for {self.dtype.name} arrays of {self.geometry}>"

    def _live(self) -> object:
        if self._released:
            raise UsageError("this stencil plan was released and cannot be used again; make a new one")
        return self

    def _plan(self) -> _core.DistributedStencil:
        self._live()
        assert self._native is not None, "it is there until the plan is released"
        return self._native

    def _check_bound(self, x: DistributedArray, out: DistributedArray) -> None:
        """Refuses arrays that no call can be bound to."""
        self._live()
        self._check("x", x)
        self._check("out", out)
        if x is out:
            raise UsageError("x and out are one array: results would overwrite what is still needed")

    def _check_uncopied(self, x: DistributedArray, out: DistributedArray) -> None:
        """As `_check_bound`, where a bound `x` is read where it lies."""
        self._check_bound(x, out)
        if x.halo != self.halo:
            raise UsageError(
                f"x has a halo of {x.halo}, the plan was made for {self.halo}: a bound array is not copied"
            )

    def _check(self, name: str, array: Any) -> None:
        if not isinstance(array, DistributedArray):
            raise UsageError(
                f"{name} is a {type(array).__name__}; expected a DistributedArray (geometry.scatter or "
                "geometry.distribute make one)"
            )
        if array.geometry is not self.geometry and array.geometry != self.geometry:
            raise UsageError(f"{name} has another geometry than the stencil: {array.geometry}, not {self.geometry}")
        if array.dtype != self.dtype:
            raise UsageError(f"{name} is of {array.dtype}, but the stencil was planned for {self.dtype}")

    def _run(self, x: DistributedArray, out: DistributedArray, steps: int) -> None:
        self._refresh()
        x = self._readable(x, out)
        self._plan().run(x.memory, self._between(out, steps), out.memory, self._layout(out), steps)

    def _refresh(self) -> None:
        """Takes over what arrays hold that the kernels cannot read where they lie."""
        for live in self._copies:
            live.refresh()

    def _readable(self, x: DistributedArray, out: DistributedArray) -> DistributedArray:
        """`x`, or a copy of it with the ghosts of the plan where `x` cannot be read where it lies."""
        if x is not out and x.halo == self.halo:
            return x
        copied = self._array("copied")
        copied.local[...] = x.local
        return copied

    def _array(self, name: str) -> DistributedArray:
        if name not in self._held:
            self._held[name] = DistributedArray(self.geometry, self.dtype, self.halo)
        return self._held[name]

    def _between(self, out: DistributedArray, steps: int) -> tuple[_core.Memory | None, _core.Memory | None]:
        """Where the results of earlier steps go: every other one into `out` itself where it lies as the source does."""
        even = None
        if steps > 2:
            even = out.memory if out.halo == self.halo else self._array("even").memory
        return even, self._array("odd").memory if steps > 1 else None

    def _layout(self, out: DistributedArray) -> int:
        if out.halo not in self._layouts:
            if any(out.halo[self.geometry.ndim - self.stencil.site_rank :]) and self.stencil.site_rank:
                _refuse_site_halo(out.halo, self.stencil)
            self._layouts[out.halo] = self._plan().layout(out.storage)
        return self._layouts[out.halo]


class _Parts:
    """What a plan is made of, on one rank."""

    threads: int

    def __init__(
        self,
        geometry: Geometry,
        stencil: Stencil,
        dtype: DTypeLike,
        halo: Halo | None,
        steps_per_exchange: int | Machine,
    ) -> None:
        if not isinstance(stencil, Stencil):
            raise UsageError(f"stencil is a {type(stencil).__name__}; expected what weft.arrays.stencil makes")
        self.geometry, self.stencil = geometry, stencil
        self.dtype = dtype_of(dtype)
        self.real = real_of(self.dtype)
        rank, site_rank = stencil.rank, stencil.site_rank
        if not all(map(boundaries.is_of_both_ends, stencil.boundary)):
            raise UsageError("this stencil has other boundaries than shifts have: plan it with geometry.stencil")
        self.first = check_grid(geometry, stencil)
        self.axes = range(self.first, self.first + rank)
        self.grid = geometry.shape[self.first : self.first + rank]
        self.site = geometry.shape[self.first + rank :]
        self.components = math.prod(self.site) * (2 if self.dtype.kind == "c" else 1)
        if isinstance(steps_per_exchange, Machine):
            self.steps_per_exchange = _fastest(geometry, stencil, self.dtype, steps_per_exchange)
        else:
            self.steps_per_exchange = counted("steps_per_exchange", steps_per_exchange)
        self.halo = self._halo(halo)
        reach = [(low * self.steps_per_exchange, high * self.steps_per_exchange) for low, high in stencil.reach]
        circular = [boundaries.is_circular(boundary) for boundary in stencil.boundary]
        self.ghosts = _core.stencil_ghosts(geometry.blocks, geometry.rank, self.first, reach, circular)
        self.kept: list[Any] = []
        self.copies: list[Live] = []
        self.points, self.imaginary = self._points()
        self.boundaries = [self._boundary(axis) for axis in range(rank)]
        self.description = (
            *(geometry.shape, geometry.grid, geometry.order, self.dtype.str, self.halo, site_rank),
            self.steps_per_exchange,
            [(offset, _described(coefficient)) for offset, coefficient in stencil.points.items()],
            [_described(boundary) for boundary in stencil.boundary],
        )

    def with_threads(self, threads: int) -> _Parts:
        """The same, for so many threads of this rank."""
        self.threads = threads
        return self

    def _halo(self, halo: Halo | None) -> tuple[tuple[int, int], ...]:
        needed = needed_halo(self.geometry, self.stencil, self.steps_per_exchange)
        if halo is None:
            return needed
        ghosts = own_halo(self.geometry, self.stencil, halo)
        if not is_enough(ghosts, needed):
            steps = f" in {self.steps_per_exchange} steps" if self.steps_per_exchange > 1 else ""
            raise UsageError(
                f"a halo of {ghosts} is too narrow: the stencil reaches {needed}{steps} across the axes that are "
                "divided"
            )
        return ghosts

    def _points(self) -> tuple[Points, Points]:
        fitted = {offset: self._own(offset, value) for offset, value in self.stencil.points.items()}
        real = [(offset, self._native(value, np.real)) for offset, value in fitted.items()]
        values = (value[0] if isinstance(value, tuple) else value for value in fitted.values())
        if not any(map(np.iscomplexobj, values)):
            return real, []
        return real, [(offset, self._native(value, np.imag)) for offset, value in fitted.items()]

    def _own(self, offset: tuple[int, ...], coefficient: Any) -> Any:
        """A number, or an array with whether it is one for a row: this rank's part, and for several steps per exchange
        the whole."""
        if not isinstance(coefficient, DistributedArray):
            fitted = fit(offset, coefficient, self.grid, self.dtype)
            if np.ndim(fitted) == 0:
                return fitted
            if self.steps_per_exchange > 1:
                return fitted, is_alike(fitted)
            return own_coefficient(self.geometry, self.stencil, offset, fitted, self.dtype), is_alike(fitted)
        if self.steps_per_exchange > 1:
            raise UsageError(
                f"the coefficients at {offset} are a distributed array, which has no values for the ghosts that "
                "several steps per exchange compute; give the whole array on every rank, or steps_per_exchange=1"
            )
        return own_coefficient(self.geometry, self.stencil, offset, coefficient, self.dtype), False

    def _native(self, coefficient: Any, part: Callable[[Any], Any]) -> Any:
        """As the Rust core takes it: a number, or the memory of an array, its strides in elements, and whether each
        element of a site has a value of its own."""
        if not isinstance(coefficient, tuple):
            return float(part(coefficient))
        values, alike = coefficient
        if part is np.imag and not np.iscomplexobj(values):
            return 0.0
        if self.steps_per_exchange == 1:
            live, taken = coefficients(values, alike, part, self.real, self.components)
        else:
            live, taken = self._with_ghosts(values, alike, part)
        self._keep(live)
        strides = [stride // taken.itemsize for stride in taken.strides[: len(self.grid)]]
        return _core.Memory(taken), strides, taken.ndim > len(self.grid)

    def _with_ghosts(self, whole: NDArray[Any], alike: bool, part: Callable[[Any], Any]) -> tuple[Live, NDArray[Any]]:
        """This rank's part of an array within a copy of what its ghosts have too."""
        # What is one coefficient for a row stays so.
        held = whole[..., :1] if alike else whole
        sites = [self._sites(axis) for axis in range(len(self.grid) - alike)]
        # Not `self`, which will have this function: a plan of this thread would be in a cycle with it.
        real, repeats = self.real, 1 if alike else self.components

        def make(values: NDArray[Any]) -> NDArray[Any]:
            around = part(values)
            for axis, along in enumerate(sites):
                around = np.take(around, along, axis=axis)
            around = np.array(around, real, order="C")
            return np.repeat(around[..., np.newaxis], repeats, axis=-1) if repeats > 1 else around

        live = Live(held, make)
        around = live.own
        if alike:
            around = spread(around, (*around.shape[:-1], len(self._sites(len(self.grid) - 1))), alike)
        # A strided view of the copy finds the ghosts' values around it.
        sides = zip(around.shape, self.ghosts, strict=False)
        return live, around[tuple(slice(before, n - after) for n, (before, after) in sides)]

    def _keep(self, live: Live) -> None:
        self.kept.append(live.own)
        if live.is_copy:
            self.copies.append(live)

    def _boundary(self, axis: int) -> Any:
        """As the Rust core takes it: None, a number, or an array for the block and its ghosts that lies together."""
        boundary = self.stencil.boundary[axis]
        if boundaries.is_circular(boundary):
            return None
        if not boundaries.is_array(boundary) and self.dtype.kind != "c":
            if np.iscomplexobj(boundary):
                raise UsageError(f"the boundary of axis {axis} is complex, the array is {self.dtype.name}")
            return float(boundary)

        sites = [self._sites(other) for other in range(len(self.grid)) if other != axis]
        grid, site, dtype = self.grid, self.site, self.dtype

        def make(values: NDArray[Any]) -> NDArray[Any]:
            face = boundaries.full(values, axis, grid, site, dtype)
            for dimension, along in enumerate(sites):
                face = np.take(face, along, axis=dimension)
            return np.ascontiguousarray(face)

        live = Live(np.asarray(boundary), make)
        self._keep(live)
        return live.own.reshape(-1).view(self.real)

    def _sites(self, axis: int) -> NDArray[np.intp]:
        """The sites of the whole array that the block and its ghosts hold along an axis of the grid."""
        here = self.geometry.local_slices()[self.first + axis]
        before, after = self.ghosts[axis]
        return np.arange(here.start - before, here.stop + after) % self.grid[axis]


def check_grid(geometry: Geometry, stencil: Stencil) -> int:
    """The first axis of a geometry that is one of a stencil's grid. Raises UsageError where it has too few axes, or
    divides a site."""
    rank, site_rank = stencil.rank, stencil.site_rank
    first = geometry.ndim - rank - site_rank
    if first < 0:
        raise UsageError(
            f"an array of shape {geometry.shape} has {geometry.ndim} axes; this stencil needs {rank} for the grid"
            + (f" and {site_rank} for a site" if site_rank else "")
        )
    for axis in range(first + rank, geometry.ndim):
        if geometry.grid[axis] > 1:
            raise UsageError(
                f"axis {axis} is of a site, but the geometry divides it over {geometry.grid[axis]} ranks; make the "
                f"geometry with serial={list(range(first + rank, geometry.ndim))}"
            )
    return first


def own_coefficient(
    geometry: Geometry, stencil: Stencil, offset: tuple[int, ...], coefficient: Any, dtype: np.dtype[Any]
) -> Any:
    """A coefficient as a number, or this rank's part of an array. Raises UsageError."""
    first = geometry.ndim - stencil.rank - stencil.site_rank
    grid = slice(first, first + stencil.rank)
    if not isinstance(coefficient, DistributedArray):
        fitted = fit(offset, coefficient, geometry.shape[grid], dtype)
        return fitted if np.ndim(fitted) == 0 else fitted[geometry.local_slices()[grid]]
    if np.iscomplexobj(coefficient.local) and dtype.kind != "c":
        raise UsageError(f"the coefficient at {offset} is complex, the array is {dtype.name}")
    other = coefficient.geometry
    alike = other.shape == geometry.shape[grid] and other.ranks == geometry.ranks
    if not alike or any(other.local_slices(rank) != geometry.local_slices(rank)[grid] for rank in range(other.ranks)):
        raise UsageError(
            f"the coefficients at {offset} are divided as {other}; expected the grid {geometry.shape[grid]} divided as "
            f"the arrays are: {geometry}"
        )
    return coefficient.local


def own_halo(geometry: Geometry, stencil: Stencil, halo: Halo) -> tuple[tuple[int, int], ...]:
    """The ghosts of arrays that a stencil reads. Raises UsageError for ghosts within a site."""
    ghosts = widths(halo, geometry.ndim)
    _refuse_site_halo(ghosts, stencil)
    return ghosts


def needed_halo(geometry: Geometry, stencil: Stencil, steps: int = 1) -> tuple[tuple[int, int], ...]:
    """What a stencil reaches in so many steps across the axes that a geometry divides."""
    first = geometry.ndim - stencil.rank - stencil.site_rank
    needed = [(0, 0)] * geometry.ndim
    for axis, (low, high) in enumerate(stencil.reach):
        if first + axis >= 0 and geometry.grid[first + axis] > 1:
            needed[first + axis] = (low * steps, high * steps)
    return tuple(needed)


def is_enough(halo: Sequence[tuple[int, int]], needed: Sequence[tuple[int, int]]) -> bool:
    """Whether ghosts are as many as are needed on every side."""
    return all(there[side] >= wanted[side] for there, wanted in zip(halo, needed, strict=True) for side in (0, 1))


def applied(
    stencil: Stencil, x: DistributedArray, *, out: DistributedArray | None, steps: int, threads: int | None
) -> DistributedArray:
    """A call of a stencil with a distributed array: plans it, or takes an earlier plan. Collective the first time."""
    geometry = x.geometry
    needed = needed_halo(geometry, stencil)
    halo: Halo | None = x.halo if is_enough(x.halo, needed) else needed
    if not (has_kernel(x.dtype, stencil.rank) and all(map(boundaries.is_of_both_ends, stencil.boundary))):
        halo = None
    key = ("distributed", id(geometry.communicator), geometry, x.dtype, halo, threads)
    plans = stencil._plans
    plan = plans.get(key)
    if plan is None:
        # Of a copy, which has no plans: in a cycle with its stencil, a plan would be ended by whichever thread collects
        # garbage, and the exchanges of a rank belong to one thread.
        plan = geometry.stencil(copy.copy(stencil), x.dtype, halo=halo, threads=threads)
        if len(plans) >= KEPT_PLANS:
            plans.pop(next(iter(plans)))
        plans[key] = plan
    return plan(x, out, steps=steps)


def _fastest(geometry: Geometry, stencil: Stencil, dtype: np.dtype[Any], machine: Machine) -> int:
    """The steps per exchange that a model of the machine finds fastest."""
    # With scipy, a second of a rank's start.
    from weft.model.depth import best_steps_per_exchange

    operation = operation_time(machine, "float64_sum_of_products")
    if operation is None:
        raise UsageError(
            f"the file of {machine.name} gives no time of float64_sum_of_products, without which no steps_per_exchange "
            "can be modelled; give a number"
        )
    if any(isinstance(value, DistributedArray) for value in stencil.points.values()):
        return 1
    first = geometry.ndim - stencil.rank - stencil.site_rank
    grid = slice(first, first + stencil.rank)
    elements = math.prod(geometry.block) // max(1, math.prod(geometry.block[grid]))
    return best_steps_per_exchange(
        machine,
        geometry.block[grid],
        geometry.grid[grid],
        stencil.reach,
        site=(2 * len(stencil.points) - 1) * operation * elements,
        bytes_per_site=dtype.itemsize * elements,
    )


def _refuse_site_halo(halo: Sequence[tuple[int, int]], stencil: Stencil) -> None:
    site = halo[len(halo) - stencil.site_rank :]
    if any(width for pair in site for width in pair):
        raise UsageError(f"a halo of {tuple(halo)} has ghosts along the axes of a site, whose elements lie together")


def _described(value: Any) -> object:
    """What must be the same on all ranks of a coefficient or a boundary: numbers, and of arrays what they are."""
    if isinstance(value, str):
        return value
    if np.ndim(value) == 0 and not isinstance(value, DistributedArray):
        return repr(np.asarray(value)[()])
    return ("array", tuple(value.shape) if hasattr(value, "shape") else np.shape(value))

"""Steps of several fields at once: sums over neighbours, then a function of what is at each site.

>>> import numpy as np, weft
>>> laplace = weft.arrays.stencil({-1: 1.0, 0: -2.0, 1: 1.0}, boundary="reflect")
>>> def leapfrog(u, before, around):
...     return 2 * u - before + 0.5 * around
>>> wave = weft.arrays.Update(leapfrog, {"around": (laplace, "u")}, "before")
>>> u, before = np.array([0.0, 1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0, 0.0])
>>> wave(u=u, before=before)                                   # leapfrog: the next u where the one before was
{}
>>> before
array([1. , 0. , 0.5, 0. ])
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from weft._core import UsageError
from weft.array_input import own_array
from weft.stencils import boundaries, symbolic
from weft.stencils.compiled import NO_SHIFTS, CompiledFunction, Kernel, Shifts, Span, dense
from weft.stencils.description import Stencil
from weft.stencils.plan import StencilPlan, empty
from weft.stencils.sweeping import Layout, Operands, Repeated, fused, is_fusible, repeated, shifts_of, surrounded
from weft.stencils.tracing import WEAK

Array = np.ndarray[Any, Any]

TILE_BYTES = 512 << 10
"""Bytes of all arrays that a tile of rows has, at most: they stay in a cache of the second level from the sums until
the results are written."""

KEPT_PLANS = 8
"""Shapes for which an update keeps its plans."""

KEPT_STEPS = 4
"""Steps of small fields that an update has ready, with their arrays: two or three are taken in turns."""

REDUCTIONS: dict[str, Any] = {"sum": np.add, "max": np.maximum, "min": np.minimum}


class Update:
    """A step of coupled fields in one sweep: sums by stencils, a function of them at each site, results, reductions.

    The array is gone through in tiles of rows that stay in the cache: the sums of a tile are computed by the kernels of
    `weft.arrays.stencil`, the function is called with the tile of every array, and its results are written. The
    function is thus any function of numpy's arrays that works element by element, nonlinear or with `numpy.where`; it
    is called once for each tile. Compiled, it is called once with symbols, and what it does with them becomes one loop
    over the sites of a tile.

    Parameters
    ----------
    function
        Its parameters are names of fields and sums, and of values that a call gives. It returns an array for each
        result and, after them, one for each reduction: one array, or a tuple. Or an expression of sympy's, or a tuple
        of them, whose free symbols are these names.
    sums
        By name a stencil and the field that it is applied to. Boundaries are the stencil's, but not "none".
    results
        The fields that are written: a name, or several in the order in which the function returns them. One that no sum
        reads may be read by the function too, and is overwritten: `u_next` where `u_before` was, or `y += sum`.
    reductions
        By name "sum", "max" or "min", of what the function returns after its results: a residual, an energy. Over all
        sites, or those of the mask.
    compiled
        Whether the function is compiled (by numba, of the extra `compile`), at the first call with fields of a type.
        It then has to be made of operators, of numpy's elementary functions, and of `numpy.where`, `select` and `clip`;
        what depends on Python's numbers (`if order == 2`) is compiled for each. Fields may be of integers, float32,
        float64, complex64 and complex128; results are those of numpy but for the last bits of functions such as `exp`,
        of powers and of complex divisions. Where it cannot be compiled numpy computes, with a warning that says why;
        `explain` says it too.

    Raises
    ------
    UsageError
        If names do not fit each other.

    Examples
    --------
    A Jacobi step with its residual:

    >>> import numpy as np, weft
    >>> mean = weft.arrays.stencil({-1: 0.5, 1: 0.5}, boundary=((1.0, 0.0),))
    >>> jacobi = weft.arrays.Update(lambda x, m: (m, abs(m - x)), {"m": (mean, "x")}, "new", {"residual": "max"})
    >>> x, new = np.zeros(4), np.zeros(4)
    >>> float(jacobi(x=x, new=new)["residual"]), new.tolist()
    (0.5, [0.5, 0.0, 0.0, 0.0])
    """

    def __init__(
        self,
        function: Callable[..., Any],
        sums: Mapping[str, tuple[Stencil, str]],
        results: str | Sequence[str],
        reductions: Mapping[str, str] | None = None,
        *,
        compiled: bool = False,
    ) -> None:
        function = symbolic.as_function(function)
        self._function = function
        self._compiled = CompiledFunction(function) if compiled else None
        self._warned = False
        self.sums = {name: _sum(name, one) for name, one in dict(sums).items()}
        self.results = (results,) if isinstance(results, str) else tuple(results)
        self.reductions = dict(reductions or {})
        self._parameters = _parameters(function)
        self._check()
        self._plans: dict[Any, Any] = {}
        self._steps: dict[Any, tuple[Repeated, tuple[Array, ...]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles have: plans and compiled loops belong to this object, and to its process."""
        compiled = None if self._compiled is None else CompiledFunction(self._function)
        return {**self.__dict__, "_plans": {}, "_steps": {}, "_compiled": compiled}

    def _check(self) -> None:
        if not self.sums or not (self.results or self.reductions):
            raise UsageError("an update has at least one sum, and one result or reduction")
        for name, kind in self.reductions.items():
            if kind not in REDUCTIONS:
                raise UsageError(f"the reduction {name} is {kind!r}; there are {', '.join(REDUCTIONS)}")
        read = {field for _, field in self.sums.values()}
        for name in self.results:
            if name in read:
                raise UsageError(
                    f"{name} is a result and sums read it: its neighbours would be read when they are new already; "
                    "name another array for the result"
                )
            if name in self.sums:
                raise UsageError(f"{name} is a sum, which is computed and not written; name a field for the result")
        ranks = {(stencil.rank, stencil.site_rank) for stencil, _ in self.sums.values()}
        if len(ranks) > 1:
            raise UsageError(f"the stencils of an update have one number of axes; these have {sorted(ranks)}")
        self.rank, self.site_rank = ranks.pop()

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of arrays that a call must give, all of one shape and divided alike."""
        return tuple(dict.fromkeys([*(field for _, field in self.sums.values()), *self.results]))

    def __call__(self, *, mask: Any = None, **values: Any) -> dict[str, Any]:
        """Takes a step; returns the reductions by name.

        Parameters
        ----------
        mask
            Where results are written and reductions taken: an array of booleans that broadcasts to the fields. Default:
            everywhere.
        values
            Every field by name, a numpy array or a `DistributedArray` (all of them then; the call is collective). What
            else the function's parameters name: numbers, or arrays that broadcast to the fields.

        Raises
        ------
        UsageError
            For names that are missing or too many, and arrays that do not fit.
        """
        again = self._again(values, mask)
        if again is not None and (known := self._steps.get(again)) is not None:
            known[0].run(values)
            return {}
        self._check_names(values)
        own = getattr(values[self.fields[0]], "__weft_update__", None)
        if own is not None:
            return dict(own(self, values, mask))
        fields = {name: own_array(name, values[name]) for name in self.fields}
        first = fields[self.fields[0]]
        self._check_arrays(fields, values, first)
        if not first.size:
            raise UsageError("the fields have no elements")
        plans = self._planned(first.shape, first.dtype)
        others = {name: one for name, one in values.items() if name not in fields}
        partial = self._fused(fields, others, mask, again)
        if partial is not None:
            return self.finished(partial.values)
        sums: dict[str, Callable[[slice], Array]] = {}
        for name, (_, field) in self.sums.items():
            sums[name] = _sum_of_rows(plans[name], fields[field], self.rank, self.site_rank)
        return self.finished(self.sweep(fields, others, sums, first.shape, mask).values)

    def sweep(
        self,
        fields: Mapping[str, Array],
        others: Mapping[str, Any],
        sums: Mapping[str, Callable[[slice], Array]],
        shape: tuple[int, ...],
        mask: Any,
    ) -> Partial:
        """Goes through arrays of a shape, whose sums of some rows of the grid's first axis functions give."""
        axis = len(shape) - self.rank - self.site_rank
        numbers, whole, shown = _sorted(others, mask, shape)
        partial = Partial(self.reductions)
        itemsize = max(array.itemsize for array in fields.values())
        tiles = _tiles(shape, axis, itemsize * (len(fields) + 2 * len(sums) + len(self.results) + 1))
        kernel = self._kernel(fields, whole, numbers, NO_SHIFTS)
        if kernel is not None:
            operands = Operands(kernel, fields, whole, numbers, self.results, tuple(self.reductions), shown)
            for rows in tiles:
                starts = [rows.start if at == axis else 0 for at in range(len(shape))]
                tile = [rows.stop - rows.start if at == axis else extent for at, extent in enumerate(shape)]
                operands.run(starts, tile, {name: dense(sum_of(rows)) for name, sum_of in sums.items()}, partial)
            return partial
        for rows in tiles:
            index = (slice(None),) * axis + (rows,)
            arguments = {name: array[index] for name, array in {**fields, **whole}.items() if name in self._parameters}
            arguments |= {name: sum_of(rows) for name, sum_of in sums.items()}
            known = {name: one for name, one in arguments.items() if name in self._parameters}
            returned = self._function(**known, **numbers)
            parts = returned if isinstance(returned, tuple) else (returned,)
            self._write(parts, fields, index, None if shown is None else shown[index], partial)
        return partial

    def _kernel(
        self, fields: Mapping[str, Array], whole: Mapping[str, Any], numbers: Mapping[str, Any], shifts: Shifts
    ) -> Kernel | None:
        """What computes the function in one loop; None where numpy does, which is said where a kernel was asked for."""
        if self._compiled is None:
            return None
        types: dict[str, Any] = {name: array.dtype for name, array in {**fields, **whole}.items()}
        types |= {name: fields[field].dtype for name, (_, field) in self.sums.items()}
        types |= numbers
        arguments = {name: types[name] for name in sorted(self._parameters)}
        targets = [*(fields[name].dtype for name in self.results), *(None for _ in self.reductions)]
        kernel, reason = self._compiled.kernel(arguments, targets, shifts), self._compiled.reason
        if kernel is not None and all(Span.of(fields[name]) is not None for name in self.results):
            return kernel
        if kernel is not None:
            reason = "elements of a row of a result do not lie together"
        if not self._warned:
            self._warned = True
            warnings.warn(f"numpy computes an update that was to be compiled: {reason}", stacklevel=4)
        return None

    def _again(self, values: Mapping[str, Any], mask: Any) -> Any:
        """What is equal for the same arrays and other numbers; None for a step that is not kept ready."""
        if self._compiled is None or self.reductions or mask is not None:
            return None
        key: list[Any] = []
        for name, one in values.items():
            if one.__class__ is np.ndarray:
                # Arrays that are held are no others, but what they are can be changed.
                key.append((name, id(one), one.shape, one.strides, one.dtype, one.flags.writeable))
            elif one.__class__ is float:
                key.append(name)
            else:
                return None
        return tuple(key)

    def _keep_ready(self, again: Any, operands: Operands, layout: Layout, fields: Mapping[str, Array]) -> None:
        """Next time the step is taken at once, where the loop reads the arrays that were given and no copies."""
        whole = all(array.flags.c_contiguous and array.flags.aligned for array in fields.values())
        step = repeated(operands, layout, self.sums, fields) if whole else None
        if step is not None:
            if len(self._steps) >= KEPT_STEPS:
                self._steps.pop(next(iter(self._steps)))
            self._steps[again] = step, tuple(fields.values())

    def _fused(
        self, fields: Mapping[str, Array], others: Mapping[str, Any], mask: Any, again: Any = None
    ) -> Partial | None:
        """A step whose sums the compiled loop takes itself, where it can."""
        first = fields[self.fields[0]]
        if self._compiled is None:
            return None
        key = ("fused", first.shape, first.dtype)
        if key not in self._plans:
            axis = first.ndim - self.rank - self.site_rank
            can = is_fusible(self.sums, first.dtype)
            self._keep(key, Layout(self.sums, first.shape, first.dtype, axis) if can else None)
        layout: Any = self._plans[key]
        if layout is None:
            return None
        numbers, whole, shown = _sorted(others, mask, first.shape)
        kernel = self._kernel(fields, whole, numbers, layout.shifts)
        if kernel is None:
            return None
        operands = Operands(kernel, fields, whole, numbers, self.results, tuple(self.reductions), shown)
        partial = Partial(self.reductions)
        fused(operands, layout, self.sums, fields, partial)
        # Numbers that the function decides by are part of the loop, and none of its parameters.
        if again is not None and not whole and set(numbers) <= set(kernel.arguments):
            self._keep_ready(again, operands, layout, fields)
        return partial

    def surrounded(
        self, fields: Mapping[str, Array], others: Mapping[str, Any], ghosts: Mapping[str, Span], mask: Any
    ) -> Partial | None:
        """A step of blocks whose sums read ghosts, by name of the sum; None where there is no compiled loop."""
        first = fields[self.fields[0]]
        axis = first.ndim - self.rank - self.site_rank
        numbers, whole, shown = _sorted(others, mask, first.shape)
        kernel = self._kernel(fields, whole, numbers, shifts_of(self.sums, axis))
        if kernel is None:
            return None
        operands = Operands(kernel, fields, whole, numbers, self.results, tuple(self.reductions), shown)
        partial = Partial(self.reductions)
        surrounded(operands, ghosts, axis, first.itemsize, partial)
        return partial

    def is_fusible(self, dtype: np.dtype[Any]) -> bool:
        """Whether the compiled loop can take the sums of fields of a type."""
        return self._compiled is not None and is_fusible(self.sums, dtype)

    def _keep(self, key: Any, plans: Any) -> None:
        if len(self._plans) >= KEPT_PLANS:
            self._plans.pop(next(iter(self._plans)))
        self._plans[key] = plans

    def explain(self) -> str:
        """What is computed and by what, in words."""
        by = "numpy, a tile at a time"
        if self._compiled is not None:
            by = "a compiled loop" if self._compiled.reason is None else f"numpy: {self._compiled.reason}"
        return f"{len(self.sums)} sums by stencils; {', '.join((*self.results, *self.reductions))} by {by}\n"

    def finished(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Reductions by name; of no sites a sum is 0. Raises UsageError for the extremes of none."""
        for name, value in values.items():
            if value is None and self.reductions[name] != "sum":
                raise UsageError(f"the {self.reductions[name]} {name} is over no sites: the mask is false everywhere")
        return {name: 0.0 if value is None else value for name, value in values.items()}

    def _write(
        self, parts: tuple[Any, ...], fields: Mapping[str, Array], index: Any, mask: Array | None, partial: Partial
    ) -> None:
        if len(parts) != len(self.results) + len(self.reductions):
            raise UsageError(
                f"the function of the update returned {len(parts)} arrays; expected {len(self.results)} results and "
                f"{len(self.reductions)} reductions"
            )
        for name, part in zip(self.results, parts, strict=False):
            target = fields[name][index]
            try:
                np.copyto(target, part, casting="same_kind", where=True if mask is None else mask)
            except (TypeError, ValueError) as error:
                raise UsageError(f"what the function returned for {name} does not fit: {error}") from None
        for name, part in zip(self.reductions, parts[len(self.results) :], strict=True):
            shape = fields[self.fields[0]][index].shape
            values = np.broadcast_to(part, shape)
            partial.add(name, values if mask is None else values[mask])

    def _check_names(self, values: Mapping[str, Any]) -> None:
        needed = set(self.fields) | (self._parameters - set(self.sums))
        missing, unknown = needed - set(values), set(values) - needed
        if missing:
            raise UsageError(f"the update needs {', '.join(sorted(missing))}: give them by name")
        if unknown:
            raise UsageError(f"the update has no {', '.join(sorted(unknown))}; it has {', '.join(sorted(needed))}")

    def _check_arrays(self, fields: Mapping[str, Array], values: Mapping[str, Any], first: Array) -> None:
        for name, array in fields.items():
            if array.shape != first.shape or (name not in self.results and array.dtype != first.dtype):
                raise UsageError(
                    f"{name} is of {array.dtype} with shape {array.shape}, {self.fields[0]} of {first.dtype} with "
                    f"{first.shape}: fields are alike"
                )
        for name in self.results:
            if not isinstance(values[name], np.ndarray) or not values[name].flags.writeable:
                raise UsageError(f"{name} is a result: it must be a numpy array that can be written")
            for other in self.fields:
                if other != name and np.may_share_memory(fields[name], fields[other]):
                    raise UsageError(f"{name} and {other} share memory: a result needs an array of its own")

    def _planned(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> dict[str, StencilPlan]:
        key = (shape, dtype)
        if key not in self._plans:
            self._keep(key, {name: one.plan(shape, dtype, threads=1) for name, (one, _) in self.sums.items()})
        plans: dict[str, StencilPlan] = self._plans[key]
        return plans

    def __repr__(self) -> str:
        return f"<update of {', '.join(self.results)} from {len(self.sums)} sums>"


class Partial:
    """Reductions of what was seen so far."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._kinds = dict(kinds)
        self.values: dict[str, Any] = dict.fromkeys(kinds)

    def add(self, name: str, values: Array) -> None:
        """Takes more values in."""
        if values.size:
            reduction, before = REDUCTIONS[self._kinds[name]], self.values[name]
            value = reduction.reduce(values, axis=None)
            self.values[name] = value if before is None else reduction(before, value)


def _parameters(function: Any) -> set[str]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise UsageError(f"the function of an update is {function!r}; expected one of Python's") from None
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    if kinds - {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}:
        raise UsageError("the function of an update names its parameters, which are fields, sums and values")
    if "mask" in signature.parameters:
        raise UsageError("a parameter of an update's function cannot be called mask, which a call gives")
    return set(signature.parameters)


def _sum(name: str, one: Any) -> tuple[Stencil, str]:
    if not isinstance(one, tuple) or len(one) != 2 or not isinstance(one[0], Stencil) or not isinstance(one[1], str):
        raise UsageError(f"the sum {name} is {one!r}; expected a stencil and the name of a field")
    stencil, field = one
    if any(boundaries.is_word(end, boundaries.NONE) for b in stencil.boundary for end in boundaries.both(b)):
        raise UsageError(
            f"the sum {name} has no boundary at an end; give it one, and a mask for the sites it is not for"
        )
    return stencil, field


def _sum_of_rows(plan: StencilPlan, x: Array, rank: int, site_rank: int) -> Callable[[slice], Array]:
    """The sums at rows of the first axis of the grid: of a tile alone where the kernels can, else of all at once."""
    axis = x.ndim - rank - site_rank
    if type(plan) is not StencilPlan or axis > 1 or not plan.reads(x):
        whole = plan(x)
        return lambda rows: whole[(slice(None),) * axis + (rows,)]
    grid = x.shape[axis : axis + rank]

    def of(rows: slice) -> Array:
        part = empty((*x.shape[:axis], rows.stop - rows.start, *x.shape[axis + 1 :]), x.dtype)
        plan.apply_region(x, part, [(rows.start, rows.stop), *((0, extent) for extent in grid[1:])])
        return part

    return of


def _tiles(shape: tuple[int, ...], axis: int, bytes_of_site: int) -> Iterator[slice]:
    row = max(1, math.prod(shape) // shape[axis]) * bytes_of_site
    length = max(1, TILE_BYTES // row)
    return (slice(at, min(at + length, shape[axis])) for at in range(0, shape[axis], length))


def _sorted(
    others: Mapping[str, Any], mask: Any, shape: tuple[int, ...]
) -> tuple[dict[str, Any], dict[str, Array], Array | None]:
    """Numbers as they are, for Python's take the fields' type; arrays in the fields' shape; the mask."""
    numbers = {
        name: value for name, value in others.items() if value.__class__ in WEAK or isinstance(value, np.generic)
    }
    whole = {name: _broadcast(name, value, shape) for name, value in others.items() if name not in numbers}
    return numbers, whole, None if mask is None else _broadcast("mask", mask, shape)


def _broadcast(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    array = np.asarray(value)
    if name == "mask" and array.dtype != np.bool_:
        raise UsageError(f"the mask is of {array.dtype}; expected booleans")
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise UsageError(f"{name} of shape {array.shape} does not broadcast to the fields', {shape}") from None

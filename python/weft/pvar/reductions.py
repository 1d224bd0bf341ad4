"""Reductions of parallel variables: to the front end, and along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from weft._core import UsageError
from weft.pvar import operators
from weft.pvar.combining import Combiner
from weft.pvar.execution import Scan
from weft.pvar.primitives import variable_set
from weft.pvar.variable import ParallelVariable

if TYPE_CHECKING:
    from weft.pvar.vpset import VPSet


Axis = int | Sequence[int]

Combining = str | np.ufunc | Combiner | Callable[[Any, Any], Any]
"""What combines elements, as it is given: by name, or by a function."""

EXACT_IN_FLOAT32 = 1 << 24
"""Whole numbers below this are float32: to divide by one of them in float32 or in float64 is the same."""

STATISTICS = ("count", "mean", "var", "std", "argmax", "argmin")
"""What `reduce` knows beside operators."""


@overload
def reduce(x: ParallelVariable, operator: Combining, *, axis: None = None, initial: Any = None) -> Any: ...


@overload
def reduce(x: ParallelVariable, operator: Combining, *, axis: Axis, initial: Any = None) -> ParallelVariable: ...


def reduce(x: ParallelVariable, operator: Combining, *, axis: Axis | None = None, initial: Any = None) -> Any:
    """The elements of all selected processors in one, on the front end, or those along an axis in one for each line.

    Parameters
    ----------
    x
        A parallel variable.
    operator
        "sum" (of integers in 64 bits, as numpy's; of booleans how many are true), "multiply" or "product" (likewise in
        64 bits, and of float32 rounded once), "max", "min", "logand", "logior" and "logxor" (bit by bit, of integers
        and booleans), "and", "or" and "xor" (of booleans), or numpy's function (`np.add`). A function of two arrays,
        Python's or compiled, or a `weft.pvar.Combiner` of one, which combines elements in the order of addresses and
        has to be associative. Further "count" (of those that are not zero), "mean", "var", "std", and "argmax" and
        "argmin": the coordinates of the first such element, or its index along the axis.
    axis
        The axis, or several, whose elements are combined, line by line. Default: all elements.
    initial
        The maximum or minimum of nobody, or what nobody comes to by a function without identity; else that is an error.
        Others have a neutral element: 0, 1 (multiply), -1 (logand), False, True.

    Returns
    -------
    int, float, bool or ParallelVariable
        Without an axis one number, the same on every rank. A sum of floats over several ranks may differ from one over
        one rank by rounding. With an axis a variable that has, at every place of a line, what the selected of the line
        come to (on a Connection Machine a scan to its end, and a spread back).

    Raises
    ------
    UsageError
        For an operator that there is not, or not for this dtype; an axis that there is not; for max and min where no
        processor, or none of a line, is selected; for an initial value of a mean and the like.

    Examples
    --------
    >>> import numpy as np, weft
    >>> vp = weft.pvar.VPSet((2, 2))
    >>> x = vp.array(np.array([[3, 1], [4, 1]]))
    >>> reduce(x, "sum")
    9
    >>> reduce(x, "max", axis=1).data
    array([[3, 3],
           [4, 4]])
    """
    vp = variable_set(x, "reduce")
    if operator in STATISTICS:
        if initial is not None:
            raise UsageError(f"reduce: initial is for max, min and functions, not for {operator}")
        return _statistic(x, str(operator), axis)
    if x.data.dtype.kind == "b" and operator in ("sum", "add", np.add):
        x = x.astype(np.int64)
    operator = operators.check(operator, x.data.dtype, "reduce", listed=STATISTICS)
    if isinstance(operator, Combiner):
        return _by_function(vp, x, operator, axis, initial)
    if isinstance(axis, tuple | list):
        return _along_several(vp, x, operator, axis, initial)
    if axis is not None:
        return _along(vp, x, operator, vp.axis(axis, "reduce"), initial)
    value = vp.execution.reduce(x.data, operator, vp.mask)
    if vp.meter is not None:
        vp.meter.record(
            vp, f"reduce {operator}", _kind(vp, operator), x.bits, arrays=(x.data,), dtype=x.data.dtype.name
        )
    if value is None:
        if initial is None:
            raise UsageError(
                f"reduce: no processor is selected, so there is no {operator}; "
                "reduce(…, initial=…) says what it shall be"
            )
        return initial
    return value


def _by_function(vp: VPSet, x: ParallelVariable, combiner: Combiner, axis: Any, initial: Any) -> Any:
    """In the order of addresses, of all or of those along axes."""
    axes = list(range(vp.ndim)) if axis is None else _axes(vp, axis, "reduce")
    if axis is not None and not vp.size:
        return x.copy()
    begin = 0.0 if vp.meter is None else perf_counter()
    value, has = vp.execution.combine(x.data, combiner, axes, vp.mask, x.word)
    if vp.meter is not None:
        name, dtype, spent = f"reduce {combiner.name}", x.data.dtype.name, perf_counter() - begin
        vp.meter.record(vp, name, "reduce_function", x.bits, arrays=(x.data,), dtype=dtype, spent=spent)
    if not vp.execution.reduce(has, "and", None):
        value = np.where(has, value, _of_none(combiner, x, initial))
    if axis is None:
        return value.item()
    return ParallelVariable(vp, np.broadcast_to(value, vp.execution.shape).copy(), x.word)


def _of_none(combiner: Combiner, x: ParallelVariable, initial: Any) -> Any:
    """What nobody comes to."""
    if initial is not None:
        return Combiner(combiner.function, identity=initial, name=combiner.name).neutral(x.dtype, x.word, "reduce")
    if combiner.identity is None:
        raise UsageError(
            f"reduce: no processor is selected, so there is no {combiner.name}; "
            "reduce(…, initial=…) says what it shall be"
        )
    return combiner.neutral(x.dtype, x.word, "reduce")


def _kind(vp: VPSet, operator: str) -> str:
    """The operation as cost models name it."""
    if operator in ("max", "min"):
        return "reduce_max" if vp.ndim == 1 else "reduce_max_grid"
    return "reduce_sum" if operator == "add" else f"reduce_{operator}"


def _along(vp: VPSet, x: ParallelVariable, operator: str, axis: int, initial: Any) -> ParallelVariable:
    """The last of a scan of the selected, who are all after those that are not count nothing, at every place."""
    if x.data.dtype == np.float16 and operator in ("add", "multiply"):
        # A running sum of halves stops growing at 2048.
        single = _along(vp, x.astype(np.float32), operator, axis, initial)
        return ParallelVariable(vp, single.data.astype(np.float16))
    if not vp.size:
        data = _widened(x.data, operator)
        return ParallelVariable(vp, data.copy(), x.word if data.dtype == x.data.dtype else None)
    total = None if x.word is not None else vp.execution.reduce_axis(x.data, operator, axis, vp.mask, initial)
    if total is None:
        total = _by_scan(vp, x, operator, axis, initial)
    if vp.meter is not None:
        kind = {"add": "scan_sum", "max": "scan_max", "min": "scan_max"}.get(operator, f"scan_{operator}")
        extent, dtype = vp.shape[axis], x.data.dtype.name
        vp.meter.record(
            vp, f"reduce {operator}", kind, x.bits, arrays=(x.data, total), axis=axis, extent=extent, dtype=dtype
        )
        vp.meter.record(vp, "spread", "spread", x.bits, axis=axis, extent=extent, included=True)
    return ParallelVariable(vp, total, x.word if total.dtype == x.data.dtype else None)


def _by_scan(vp: VPSet, x: ParallelVariable, operator: str, axis: int, initial: Any) -> Any:
    """The last of a scan, at all elements of a line; elements that are not selected are what changes nothing."""
    data, mask = _widened(x.data, operator), vp.mask
    nothing = operators.neutral(operator, data.dtype, x.word)
    if mask is not None:
        if operator in ("max", "min"):
            nothing = _of_nobody(vp, mask, operator, axis, initial, data.dtype, nothing)
        data = np.where(mask, data, nothing)
    word = x.word if data.dtype == x.data.dtype else None
    running = vp.execution.scan(data, Scan(operator, axis, None, None, False, False, word))
    return vp.execution.spread(running, axis, vp.shape[axis] - 1)


def _widened(data: Any, operator: str) -> Any:
    """Integers in 64 bits where they are added or multiplied, as a reduction to the front end has them."""
    if operator not in ("add", "multiply") or data.dtype.kind not in "iu":
        return data
    return data.astype(np.int64 if data.dtype.kind == "i" else np.uint64, copy=False)


def _of_nobody(vp: VPSet, mask: Any, operator: str, axis: int, initial: Any, dtype: np.dtype[Any], nothing: Any) -> Any:
    """What those count that are not selected: nothing, where their line has others, else `initial`."""
    anyone = vp.execution.scan(mask, Scan("or", axis))
    anyone = vp.execution.spread(anyone, axis, vp.shape[axis] - 1)
    empty = vp.size - vp.execution.count(anyone)
    if not empty:
        return nothing
    if initial is None:
        raise UsageError(
            f"reduce: no processor of {empty // vp.shape[axis]} lines along axis {axis} is selected, so they have no "
            f"{operator}; reduce(…, initial=…) says what it shall be"
        )
    return np.where(anyone, nothing, dtype.type(initial))


def count(vp: VPSet) -> int:
    """How many processors are selected. Collective."""
    mask = vp.mask
    return vp.size if mask is None else vp.execution.count(mask)


def _axes(vp: VPSet, axis: Any, what: str) -> list[int]:
    """Axes from 0. Raises UsageError."""
    axes = [vp.axis(one, what) for one in (axis if isinstance(axis, tuple | list) else [axis])]
    if not axes or len(set(axes)) < len(axes):
        raise UsageError(f"{what}: the axes are {axis!r}; expected one or more, each once")
    return axes


def _along_several(vp: VPSet, x: ParallelVariable, operator: str, axis: Any, initial: Any) -> ParallelVariable:
    """One axis after the other: after the first, all have what the selected of their line come to."""
    first, *others = _axes(vp, axis, "reduce")
    nothing = operators.neutral(operator, x.data.dtype, x.word) if operator in ("max", "min") else None
    total = _along(vp, x, operator, first, nothing)
    selected = vp.selected
    with vp.everywhere():
        for one in others:
            total = _along(vp, total, operator, one, None)
        if nothing is None:
            return total
        anyone = _along_several(vp, selected, "or", axis, None)
        if vp.execution.reduce(anyone.data, "and", None):
            return total
        if initial is None:
            raise UsageError(
                f"reduce: no processor of a part along axes {tuple(axis)} is selected, so it has no {operator}; "
                "reduce(…, initial=…) says what it shall be"
            )
        return ParallelVariable(vp, np.where(anyone.data, total.data, x.data.dtype.type(initial)), total.word)


def _statistic(x: ParallelVariable, name: str, axis: Any) -> Any:
    if name == "count":
        return count_nonzero(x, axis)
    if name == "mean":
        return mean(x, axis)
    if name in ("var", "std"):
        value = variance(x, axis)
        if name == "var":
            return value
        return value**0.5 if axis is None else ParallelVariable(value.vp, np.sqrt(value.data))
    return extreme(x, name[3:]) if axis is None else extreme_along(x, name[3:], axis)


def count_nonzero(x: ParallelVariable, axis: Any = None) -> Any:
    """How many of the selected are not zero, in all or in each line."""
    holds = x if x.data.dtype.kind == "b" else x != 0
    return reduce(holds.astype(np.int64), "sum", axis=axis)


def mean(x: ParallelVariable, axis: Any = None) -> Any:
    """The sum of the selected by how many they are, as floats.

    Raises
    ------
    UsageError
        If nobody is selected, in all or along a line.
    """
    vp = variable_set(x, "mean")
    dtype = x.data.dtype
    if dtype.kind in "biu":
        x = x.astype(np.float64)
    elif dtype == np.float16:
        x = x.astype(np.float32)
    if axis is None:
        number = count(vp)
        if not number:
            raise UsageError("mean: no processor is selected, so there is no mean")
        average = reduce(x, "sum") / number
        return float(np.float16(average)) if dtype == np.float16 else average
    extent = math.prod(vp.shape[one] for one in _axes(vp, axis, "mean"))
    if vp.mask is None and 0 < extent < EXACT_IN_FLOAT32 and x.data.dtype.kind == "f":
        average = reduce(x, "sum", axis=axis) / float(extent)
        return average.astype(dtype) if dtype == np.float16 else average
    ones = ParallelVariable(vp, np.ones(vp.execution.shape, np.int64))
    number = reduce(ones, "sum", axis=axis)
    if vp.execution.reduce(number.data, "min", None) == 0:
        raise UsageError(f"mean: no processor of a line along axis {axis} is selected, so it has no mean")
    total = reduce(x, "sum", axis=axis)
    average = total.data / number.data
    return ParallelVariable(vp, average.astype(dtype, copy=False) if dtype.kind in "fc" else average)


def variance(x: ParallelVariable, axis: Any = None) -> Any:
    """The mean square of the distance of the selected from their mean. Raises UsageError where nobody is selected."""
    variable_set(x, "var")
    floats = x if x.data.dtype.kind in "fc" else x.astype(np.float64)
    distance = abs(floats - mean(floats, axis))
    return mean(distance * distance, axis)


def extreme_along(x: ParallelVariable, operator: str, axis: Any) -> ParallelVariable:
    """The index along an axis of the first selected that has the largest or least element of its line (or a NaN).

    Raises
    ------
    UsageError
        If nobody of a line is selected, and for several axes.
    """
    vp = variable_set(x, f"arg{operator}")
    along = vp.axis(axis, f"arg{operator}")
    try:
        value = reduce(x, operator, axis=along)
    except UsageError:
        # Refused for its dtype, under this function's own name; or else for want of a selected processor.
        operators.check(operator, x.data.dtype, f"arg{operator}")
        raise UsageError(
            f"arg{operator}: no processor of a line along axis {axis} is selected, so it has no arg{operator}"
        ) from None
    with np.errstate(invalid="ignore"):
        has = x.data == value.data
        if x.data.dtype.kind == "f":
            has |= np.isnan(x.data) & np.isnan(value.data)
    with vp.where(ParallelVariable(vp, has)):
        return reduce(vp.coordinate(along), "min", axis=along)


def extreme(x: ParallelVariable, operator: str) -> tuple[int, ...]:
    """The coordinates of the first selected processor that has the largest or least element (a NaN, if there is one).

    Raises
    ------
    UsageError
        If nobody is selected.
    """
    vp = variable_set(x, f"arg{operator}")
    nobody = object()
    value = reduce(x, operator, initial=nobody)
    if value is nobody:
        raise UsageError(f"arg{operator}: no processor is selected, so there is no arg{operator}")
    with np.errstate(invalid="ignore"):
        has = x.data == x.data.dtype.type(value) if value == value else x.data != x.data
    if vp.mask is not None:
        has = has & vp.mask
    address = vp.execution.reduce(vp.address(np.int64).data, "min", has)
    return tuple(int(one) for one in np.unravel_index(address, vp.shape))

"""numpy's functions of elements, called with parallel variables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from weft._core import UsageError
from weft.array_input import refuse_layout
from weft.pvar import elementwise, operators, words
from weft.pvar.operations import FUNCTIONS
from weft.pvar.variable import ParallelVariable


def computed(ufunc: np.ufunc, method: str, operands: Sequence[Any], more: Mapping[str, Any]) -> Any:
    """What a function of numpy's gives for variables: the same as that of `weft.pvar`.

    Raises
    ------
    UsageError
        For functions that parallel variables do not have, for methods of them (`np.add.accumulate`), and for arguments
        other than `out`.
    """
    if method in ("reduce", "accumulate", "at") and ufunc in operators.BY_UFUNC:
        return _combined(operators.BY_UFUNC[ufunc], method, operands, more)
    if method != "__call__":
        raise UsageError(
            f"np.{ufunc.__name__}.{method} is not for parallel variables; see reduce, scan and send of weft.pvar"
        )
    function = _functions().get(ufunc)
    if function is None:
        function = _by_numpy(ufunc)
    out = more.get("out")
    refuse(ufunc.__name__, {name: value for name, value in more.items() if name != "out"})
    result = function(*operands)
    if out is None:
        return result
    (target,) = out
    if target.__class__ is not ParallelVariable:
        raise UsageError(f"np.{ufunc.__name__}: out is a {type(target).__name__}; expected a parallel variable")
    target.assign(result)
    return target


def _combined(operator: str, method: str, operands: Sequence[Any], more: Mapping[str, Any]) -> Any:
    """`np.add.reduce`, `np.add.accumulate` and `np.add.at`, as reduction, scan and send."""
    from weft.pvar.primitives import scan, send
    from weft.pvar.reductions import reduce

    x = operands[0]
    if x.__class__ is not ParallelVariable:
        raise UsageError(f"{method}: a {type(x).__name__} is no parallel variable; vp.array(…) makes one")
    if method == "at":
        if len(operands) < 3:
            raise UsageError("at: expected the variable, addresses and what is sent there")
        _, address, value = operands
        send(value, address, combine=operator, into=x)
        return None
    refuse(method, {name: value for name, value in more.items() if name != "axis"})
    axis = more.get("axis", operands[1] if len(operands) > 1 else 0)
    return reduce(x, operator, axis=axis) if method == "reduce" else scan(x, operator, axis)


def _by_numpy(ufunc: np.ufunc) -> Callable[..., Any]:
    """A function of numpy's whose cost is not known. Raises UsageError for one that is not of single elements."""
    if ufunc.signature is not None:
        raise UsageError(f"np.{ufunc.__name__} is not for parallel variables; weft.pvar lists what is")

    def compute(*operands: Any) -> Any:
        vp = next(one.vp for one in operands if one.__class__ is ParallelVariable)
        if vp.meter is not None:
            raise UsageError(f"np.{ufunc.__name__}: what it costs is not known; weft.pvar lists what has a cost")
        if any(getattr(one, "word", None) is not None for one in operands):
            raise UsageError(f"np.{ufunc.__name__} is not for words of other lengths than numpy's; convert with astype")
        arrays = [elementwise.operand(vp, one, ufunc.__name__) for one in operands]
        try:
            with np.errstate(all="ignore" if vp.mask is not None else None):
                results = ufunc(*arrays)
        except TypeError as error:
            raise UsageError(elementwise.refusal(ufunc.__name__, arrays, error)) from None
        several = results if isinstance(results, tuple) else (results,)
        variables = tuple(ParallelVariable(vp, one.astype(words.check_dtype(one.dtype), copy=False)) for one in several)
        return variables if isinstance(results, tuple) else variables[0]

    return compute


def called(function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a function of numpy's that is no ufunc gives: the same as that of `weft.pvar`, where there is one.

    Others are of the variable's elements as numpy's array, gathered on every rank.
    """
    known = _array_functions().get(function)
    if known is not None:
        return known(*arguments, **options)
    return function(*_gathered(arguments), **_gathered(options))


def _gathered(value: Any) -> Any:
    if value.__class__ is ParallelVariable:
        return value.numpy()
    if isinstance(value, list | tuple):
        return type(value)(map(_gathered, value))
    return {name: _gathered(one) for name, one in value.items()} if isinstance(value, dict) else value


def _clipped(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    low = a if a_min is None else elementwise.maximum(a, a_min)
    return low if a_max is None else elementwise.minimum(low, a_max)


def _rolled(a: Any, shift: Any, axis: Any = None) -> Any:
    from weft.pvar.primitives import shift as moved

    if axis is None and a.ndim > 1:
        raise UsageError("np.roll of a parallel variable is along axes: give axis=")
    along = 0 if axis is None else axis
    return moved(a, tuple(-int(one) for one in shift) if np.ndim(shift) else -int(shift), along)


def _summed(a: Any, axis: int | None = None) -> Any:
    from weft.pvar.primitives import scan

    if axis is None and a.ndim > 1:
        raise UsageError("np.cumsum of a parallel variable is along one axis: give axis=")
    return scan(a.astype(np.int64) if a.dtype.kind == "b" else a, "add", axis or 0)


def _constant(name: str, value: Any) -> Callable[..., ParallelVariable]:
    def like(a: Any, dtype: Any = None, order: str = "K", **more: Any) -> ParallelVariable:
        return _like(name, a, value, dtype, {"order": order, **more})

    return like


def _full(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", **more: Any) -> ParallelVariable:
    return _like("full_like", a, fill_value, dtype, {"order": order, **more})


def _like(name: str, a: Any, value: Any, dtype: Any, more: Mapping[str, Any]) -> ParallelVariable:
    if a.__class__ is not ParallelVariable:
        raise UsageError(f"np.{name}: a {type(a).__name__} is no parallel variable; vp.full(…) makes one")
    refuse_layout(f"np.{name}", "a parallel variable", more)
    variable: ParallelVariable = a.vp.full(value, a.dtype if dtype is None else dtype)
    return variable


def _chosen(condition: Any, *values: Any) -> Any:
    if not values:
        return np.nonzero(_gathered(condition))
    if any(isinstance(one, np.ndarray) and one.ndim for one in (condition, *values)):
        return np.where(*_gathered((condition, *values)))
    return elementwise.where(condition, *values)


@functools.cache
def _array_functions() -> dict[Any, Callable[..., Any]]:
    """Functions that are no ufuncs, by numpy's."""
    names = ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std")
    by_method: dict[Any, Callable[..., Any]] = {getattr(np, name): _method(name) for name in names}
    return by_method | {
        np.amax: _method("max"),
        np.amin: _method("min"),
        np.argmax: _first("argmax"),
        np.argmin: _first("argmin"),
        np.count_nonzero: lambda a, axis=None: a.count(axis),
        np.where: _chosen,
        np.clip: _clipped,
        np.roll: _rolled,
        np.cumsum: _summed,
        np.zeros_like: _constant("zeros_like", 0),
        np.ones_like: _constant("ones_like", 1),
        np.empty_like: _constant("empty_like", 0),
        np.full_like: _full,
        np.copy: lambda a: a.copy(),
        np.real: lambda a: a.real,
        np.imag: lambda a: a.imag,
        np.round: lambda a, decimals=0: elementwise.round(a) if not decimals else np.round(_gathered(a), decimals),
        np.shape: lambda a: a.shape,
        np.ndim: lambda a: a.ndim,
        np.size: lambda a: a.size,
    }


def _method(name: str) -> Callable[..., Any]:
    return lambda a, axis=None, **more: getattr(a, name)(axis=axis, **more)


def _first(name: str) -> Callable[..., Any]:
    """Where an extreme of the selected is, counted flat as numpy does where there is no axis."""

    def first(a: Any, axis: int | None = None, **more: Any) -> Any:
        index = getattr(a, name)(axis=axis, **more)
        return index if axis is not None else int(np.ravel_multi_index(index, a.shape))

    return first


@functools.cache
def _functions() -> dict[Any, Callable[..., ParallelVariable]]:
    """By numpy's function: the one that computes, and the one of the same name."""
    by_name = {getattr(np, name, None): getattr(elementwise, name) for name in FUNCTIONS}
    return by_name | {function.compute: getattr(elementwise, name) for name, function in FUNCTIONS.items()}


def refuse(name: str, more: Mapping[str, Any]) -> None:
    """Refuse arguments of numpy's functions that mean nothing here; what numpy itself hands on as not given is taken.

    Raises
    ------
    UsageError
        With the first of them.
    """
    for argument, value in more.items():
        if value is not None and value is not np._NoValue:
            raise UsageError(
                f"{name}: {argument} is not for parallel variables; select with vp.where, convert with astype"
            )

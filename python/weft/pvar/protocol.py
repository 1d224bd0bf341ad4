"""numpy's functions of elements, called with parallel variables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from weft._core import UsageError
from weft.pvar import elementwise
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
    if method != "__call__":
        raise UsageError(
            f"np.{ufunc.__name__}.{method} is not for parallel variables; see reduce, scan and send of weft.pvar"
        )
    function = _functions().get(ufunc)
    if function is None:
        raise UsageError(f"np.{ufunc.__name__} is not for parallel variables; weft.pvar lists what is")
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

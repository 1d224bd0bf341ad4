"""How elements are combined: by reductions, scans and sends."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft._core import UsageError
from weft.pvar.combining import Combiner

Operator = str | Combiner
"""An operator's own name, or a function of the program's."""

UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "multiply": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "logand": np.bitwise_and,
    "logior": np.bitwise_or,
    "logxor": np.bitwise_xor,
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}

BY_NUMPY = frozenset(("xor",))
"""Operators that the kernels do not have."""

ALIASES = {"sum": "add", "product": "multiply", "prod": "multiply"}
"""The reduction is a sum, the scan and the send add; each word is taken by all."""

BY_UFUNC: dict[Any, str] = {ufunc: name for name, ufunc in UFUNCS.items()}
"""numpy's functions stand for the operators that they are."""


def beyond_kernels(dtype: np.dtype[Any]) -> bool:
    """Whether the kernels have no such elements, so that numpy combines and moves them."""
    return dtype.kind == "c" or dtype.char == "e"


def is_by_numpy(operator: str | None, dtype: np.dtype[Any]) -> bool:
    """Whether the kernels do not combine such elements so."""
    return operator in BY_NUMPY or beyond_kernels(dtype)


def check(
    name: Any, dtype: np.dtype[Any], what: str, more: tuple[str, ...] = (), listed: tuple[str, ...] = ()
) -> Operator:
    """An operator's own name; of a function that is no operator's, a combiner.

    Raises
    ------
    UsageError
        If there is none, or not for elements of this dtype.
    """
    if isinstance(name, Combiner):
        return name
    operator = ALIASES.get(name, name) if isinstance(name, str) else _named(name)
    if callable(operator):
        return Combiner(operator)
    if operator in more:
        return str(operator)
    if operator not in UFUNCS:
        names = ", ".join(("sum" if what == "reduce" else "add", *list(UFUNCS)[1:], *more, *listed))
        raise UsageError(f"{what}: there is no operator {name!r}; there are {names}, and functions of two arrays")
    if operator in ("max", "min") and dtype.kind == "c":
        raise UsageError(f"{what}: complex numbers have no {operator}, because they have no order; take abs(x)")
    if operator in ("logand", "logior", "logxor") and dtype.kind in "fc":
        raise UsageError(f"{what}: {operator} is of integers and booleans, not of {dtype}")
    if operator in ("and", "or", "xor") and dtype.kind != "b":
        bitwise = {"and": "logand", "or": "logior", "xor": "logxor"}[operator]
        raise UsageError(
            f"{what}: {operator} is of booleans, not of {dtype}; compare with something (x != 0), or use {bitwise} "
            "for bits"
        )
    if operator == "add" and dtype.kind == "b":
        raise UsageError(f"{what}: booleans are not added; x.astype(int) counts them")
    if operator == "multiply" and dtype.kind == "b":
        raise UsageError(f"{what}: booleans are not multiplied; 'and' is what their product would be")
    return str(operator)


def name_of(operator: Operator) -> str:
    """How meters and ranks call it."""
    return operator.name if isinstance(operator, Combiner) else operator


def _named(name: Any) -> Any:
    return BY_UFUNC.get(name, name) if isinstance(name, np.ufunc) else name


def neutral(operator: Any, dtype: np.dtype[Any], word: int | None = None) -> Any:
    """What changes nothing when combined: a scalar of the dtype; of max and min the least and largest number."""
    if operator in ("max", "min"):
        sign = -1 if operator == "max" else 1
        if dtype.kind == "f":
            return dtype.type(sign * np.inf)
        if dtype.kind == "b":
            return np.bool_(operator == "min")
        from weft.pvar.words import limits

        return dtype.type(limits(dtype, word or dtype.itemsize * 8)[operator == "min"])
    if operator in ("logand", "and"):
        return ~dtype.type(0) if dtype.kind != "b" else np.bool_(True)
    return dtype.type(operator == "multiply")

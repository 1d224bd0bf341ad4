"""Elementwise functions that kernels compute of nearly all numbers, and numpy of the others.

numpy's loops of these functions branch at each element: they take 5 to 20 nanoseconds an element, and two or three
times as long where a processor cannot foresee the branches. The kernels have vectors, and take the same time for all
numbers. Remainders and quotients are numpy's, to the bit. Sines and cosines are within 0.8 units in the last place, and
differ from numpy's in a few per cent of them; `hypot` in fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft import _core
from weft.pvar.execution import Array

DTYPES = {"sin": "d", "cos": "d", "hypot": "fd", "remainder": "fd", "floor_divide": "fd"}
"""The functions, and numpy's codes of the dtypes that their kernels are of."""


def dtypes_of(name: str) -> tuple[str, ...]:
    """The dtypes of floating point that a function's kernel is of, where it has one at all."""
    return tuple(np.dtype(code).name for code in DTYPES.get(name, "fd"))


_NUMBERS = frozenset((bool, int, float))
"""Python's numbers take the dtype of the other operand."""


def one_element(number: Any, dtype: np.dtype[Any]) -> Array | None:
    """A number of Python's as an array of one element; None if the dtype does not hold it."""
    try:
        return np.array([number], dtype)
    except OverflowError:
        return None


def is_for_kernels(array: Array, other: Array) -> bool:
    """Whether kernels take an array as it is, beside another one (or itself) of the same dtype and shape."""
    alike = array.dtype == other.dtype and array.shape == other.shape
    return alike and array.dtype.isnative and array.flags.c_contiguous


def computed(name: str, operands: tuple[Any, ...], empty: Callable[..., Array] = np.empty) -> Array | None:
    """A function of arrays and Python's numbers, by its kernel.

    None where that does not compute it: of other types, of arrays that are not dense in C order, and where any number
    is beyond its domain. Sines and cosines are of angles up to 2^20; quotients must be below 2^51 (of float32 2^22);
    nothing may be infinite, NaN or divided by zero.
    """
    array = next((one for one in operands if one.__class__ is np.ndarray), None)
    if array is None or array.dtype.char not in DTYPES[name]:
        return None
    exact = []
    for one in operands:
        if one.__class__ in _NUMBERS:
            element = one_element(one, array.dtype)
            if element is None:
                return None
            exact.append(element)
        elif one.__class__ is np.ndarray and is_for_kernels(one, array):
            exact.append(one)
        else:
            return None
    out = empty(array.shape, array.dtype)
    return out if _core.array_elementwise(name, exact, out) else None


def of_one(name: str, others: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of one operand: of `others` numpy's, or whatever else computes those."""

    def compute(x: Any) -> Any:
        result = computed(name, (x,))
        return others(x) if result is None else result

    return compute


def of_two(name: str, others: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """As `of_one`, of two operands, and of numpy's `out`."""

    def compute(x: Any, y: Any, out: Array | None = None) -> Any:
        result = computed(name, (x, y))
        return kept(others(x, y) if result is None else result, out)

    return compute


def kept(result: Any, out: Array | None) -> Any:
    """A result, in numpy's `out` where there is one."""
    if out is None:
        return result
    np.copyto(out, result)
    return out

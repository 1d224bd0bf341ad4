"""Elementwise functions that numpy has no loop of vectors for, and weft's kernels have.

numpy takes the larger of each element and one number by a loop that goes from element to element, as it does booleans
and one boolean, bytes that are shifted, signs of floats and square roots: 3 to 24 times as long as vectors take.
Kernels compute the same, to the bit; but of a zero and one of the other sign, which are equal, either may be the
larger, as in numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft import _core
from weft.pvar.domains import is_for_kernels, kept, one_element
from weft.pvar.execution import Array

MIN_ELEMENTS = 1024
"""Elements from which a kernel is the faster: to call it takes somewhat longer."""

EXACT = {bool: "b", int: "iuf", float: "f"}
"""Which kinds of elements take Python's numbers as they are."""

MIN_ROOTS = 4096
"""The same of square roots: that none is of a negative number, of which numpy warns, is looked at first."""

_NARROW = "bhBH"
_KERNELS = {
    **dict.fromkeys(("maximum", "minimum"), "bhilqBHILQfd"),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "logical_and", "logical_or"), "?"),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), _NARROW),
    **dict.fromkeys(("sign", "sqrt"), "fd"),
}
"""The functions, and numpy's codes of the dtypes whose loops have no vectors."""

_WITH_ARRAYS = frozenset(("bitwise_left_shift", "bitwise_right_shift"))
"""Those that have none with two arrays either."""


def is_by_kernel(name: str, dtype: str, elements: int) -> bool:
    """Whether a kernel computes a function of so many elements of a dtype, of which numpy has nothing to warn."""
    return elements >= _min_elements(name) and np.dtype(dtype).char in _KERNELS.get(name, "")


def _min_elements(name: str) -> int:
    return MIN_ROOTS if name == "sqrt" else MIN_ELEMENTS


def of_two(name: str, others: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two operands, and of numpy's `out`: by its kernel where numpy has no loop of vectors, else by
    `others`."""
    codes, with_arrays = _KERNELS[name], name in _WITH_ARRAYS

    def compute(x: Any, y: Any, out: Array | None = None) -> Any:
        if x.__class__ is np.ndarray:
            if y.__class__ is np.ndarray and not with_arrays:
                return others(x, y, out=out)
            array = x
        else:
            array = y
        if array.__class__ is not np.ndarray or array.size < MIN_ELEMENTS or array.dtype.char not in codes:
            return others(x, y, out=out)
        first, second = _exact(x, array), _exact(y, array)
        if first is None or second is None or (out is not None and not is_for_kernels(out, array)):
            return others(x, y, out=out)
        return kept(_by_kernel(name, (first, second), array), out)

    return compute


def of_one(name: str, others: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """As `of_two`, of one operand; square roots of negative numbers are by `others`, which warn of them."""
    codes, fewest, is_root = _KERNELS[name], _min_elements(name), name == "sqrt"

    def compute(x: Any) -> Any:
        if x.__class__ is not np.ndarray or x.size < fewest or x.dtype.char not in codes or not is_for_kernels(x, x):
            return others(x)
        return others(x) if is_root and not x.min() >= 0 else _by_kernel(name, (x,), x)

    return compute


def _exact(operand: Any, array: Array) -> Array | None:
    """An operand as kernels take it, beside an array or itself that; None where numpy does."""
    if operand.__class__ is np.ndarray:
        return operand if is_for_kernels(operand, array) else None
    if array.dtype.kind not in EXACT.get(operand.__class__, "") and operand.__class__ is not array.dtype.type:
        return None
    return one_element(operand, array.dtype)


def _by_kernel(name: str, operands: tuple[Array, ...], array: Array) -> Array:
    out = np.empty(array.shape, array.dtype)
    _core.array_elementwise(name, operands, out)
    return out

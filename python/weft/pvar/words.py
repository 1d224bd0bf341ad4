"""Word lengths: integers of any number of bits to 64, kept in the next longer type of numpy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft._core import UsageError

KINDS = "biufc"


def check_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A dtype that parallel variables have, in this machine's byte order.

    Raises
    ------
    UsageError
        For others.
    """
    if dtype.kind not in KINDS or dtype.itemsize > (16 if dtype.kind == "c" else 8):
        raise UsageError(
            "parallel variables are integers of 8 to 64 bits, floats to 64 bits, complex numbers to 128 bits or "
            f"booleans, not {dtype}"
        )
    return dtype.newbyteorder("=")


def word_of(dtype: np.dtype[Any], bits: int | None) -> int | None:
    """The word length to keep: None where it is the dtype's own.

    Raises
    ------
    UsageError
        For word lengths that the dtype does not have.
    """
    if bits is None:
        return None
    whole = 1 if dtype.kind == "b" else dtype.itemsize * 8
    if bits == whole:
        return None
    if dtype.kind not in "iu":
        raise UsageError(f"{dtype} has words of {whole} bits; a word length can be set for integers")
    if not 1 <= bits <= whole:
        raise UsageError(f"a word of {bits} bits does not fit {dtype}; expected 1 to {whole}")
    return bits


def type_for(bits: int, signed: bool = True) -> np.dtype[Any]:
    """The shortest integer of numpy with so many bits.

    Raises
    ------
    UsageError
        Beyond 64 bits.
    """
    for whole in (8, 16, 32, 64):
        if 1 <= bits <= whole:
            return np.dtype(f"{'int' if signed else 'uint'}{whole}")
    raise UsageError(f"there are no words of {bits} bits; expected 1 to 64")


def limits(dtype: np.dtype[Any], bits: int) -> tuple[int, int]:
    """The smallest and largest number of a word."""
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if dtype.kind == "i" else (0, (1 << bits) - 1)


def element(value: Any, dtype: np.dtype[Any], bits: int) -> np.generic:
    """A number as an element of a dtype with words of so many bits.

    Raises
    ------
    UsageError
        For what is no number, is of another kind, or does not fit.
    """
    if value.__class__ is int and dtype.kind in "iu":
        low, high = limits(dtype, bits)
        if low <= value <= high:
            whole: np.generic = dtype.type(value)
            return whole
    try:
        new = np.asarray(value)
        fits = not new.ndim and new.dtype.kind != "O" and np.can_cast(new.dtype, dtype, "same_kind")
        # Python's integers have no sign of their own.
        if not fits and not (isinstance(value, int) and dtype.kind in "iufc"):
            raise TypeError
        one: np.generic = dtype.type(value)
        low, high = limits(dtype, bits) if dtype.kind in "iu" else (0, 0)
        if dtype.kind in "iu" and not low <= int(value) <= high:
            raise OverflowError
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"an element of {dtype} ({bits} bits) cannot be {value!r}") from None
    return one


def wrap(data: NDArray[Any], bits: int) -> NDArray[Any]:
    """The numbers as a word of so many bits has them: two's complement, wrapped around."""
    unused = data.dtype.itemsize * 8 - bits
    shift = data.dtype.type(unused)
    wrapped: NDArray[Any] = np.right_shift(np.left_shift(data, shift), shift)
    return wrapped


def longest(operands: Iterable[Any], dtype: np.dtype[Any]) -> int | None:
    """The word length of a result: that of the longest operand, None where it is the dtype's own."""
    if dtype.kind not in "iu":
        return None
    lengths = [one.bits for one in operands if hasattr(one, "bits") and one.dtype.kind in "iu"]
    if not lengths or max(lengths) >= dtype.itemsize * 8:
        return None
    # Without words of their own, operands of two dtypes (uint8 and int8) have results longer than both.
    if all(one.word is None for one in operands if hasattr(one, "bits")):
        return None
    return int(max(lengths))

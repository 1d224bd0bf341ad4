"""Launches of shifts: all of a plan's from one array in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from weft.cuda.launching import Argument, Launch, Parameter, Result
from weft.cuda.shift_source import WORDS, ShiftOf, shift_kernel, vector_width

Described: TypeAlias = tuple[int, int, bytes | bool | None]
"""A shift within the extent: distance, axis and boundary, which is None (circular), the bytes of an element, or True
for an array of the array's type and of the shape without the axis."""


def shiftable(dtype: Any) -> bool:
    """Whether elements are as long as something that a thread moves.

    >>> shiftable("float32"), shiftable("S3")
    (True, False)
    """
    return np.dtype(dtype).itemsize in WORDS


def shift_launch(
    shape: tuple[int, ...],
    itemsize: int,
    addresses: Sequence[int],
    shifts: Sequence[Described],
) -> Launch:
    """The launch of shifts of one array, whose arguments are the array and then those boundaries that are arrays.

    Parameters
    ----------
    shape, itemsize
        The extents of the array, in C order and with at least one element, and the bytes of one.
    addresses
        Those of the array, of each output and of each boundary that is an array.
    shifts
        At least one.
    """
    wanted = tuple(ShiftOf(by, axis, edge is None, edge is True) for by, axis, edge in shifts)
    width = vector_width(shape, itemsize, addresses, wanted)
    kernel = shift_kernel(shape, itemsize, width, wanted)
    parameters: list[Parameter] = [Argument(0), *map(Result, range(len(shifts)))]
    arrays = 0
    for _, _, edge in shifts:
        if edge is True:
            arrays += 1
            parameters.append(Argument(arrays))
        elif isinstance(edge, bytes):
            parameters.append(_number(edge))
    return Launch(kernel.source, "shifts", kernel.blocks, (kernel.threads,), tuple(parameters))


def _number(element: bytes) -> np.generic:
    """The bytes of an element as a number of as many bytes, as a kernel takes it by value."""
    number: np.generic = np.frombuffer(element, np.complex128 if len(element) == 16 else f"u{len(element)}")[0]
    return number

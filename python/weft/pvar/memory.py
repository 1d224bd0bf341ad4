"""Memory of large results, used again: to get fresh pages from the system costs as much as writing them once more."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGE = 8 << 20
"""Bytes from which arrays are kept; below, the allocator does so itself."""

_KEPT = 4
"""How many arrays are remembered: temporaries of an expression or two."""

_UNUSED = 3
"""References to a remembered array that nobody else has: the list's, the loop's, the count's argument."""


class Pool:
    """Arrays of which some are not in use any more."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[Any]] = []

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """An array with any elements."""
        if math.prod(shape) * dtype.itemsize < LARGE:
            return np.empty(shape, dtype)
        for array in self._arrays:
            if array.dtype == dtype and array.shape == shape and sys.getrefcount(array) <= _UNUSED:
                return array
        made = np.empty(shape, dtype)
        self._arrays = [*self._arrays[1 - _KEPT :], made]
        return made

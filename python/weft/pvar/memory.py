"""Memory of variables: asked for before it is taken, and used again where it is large.

To get fresh pages from the system costs as much as writing them once more.
"""

from __future__ import annotations

import functools
import math
import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft import units
from weft._core import UsageError

LARGE = 8 << 20
"""Bytes from which arrays are kept; below, the allocator does so itself."""

_KEEPING = (32 << 20) - (64 << 10)
"""Bytes of an array that is allocated and freed once: just below what glibc lets its threshold rise to."""

ASKED = 64 << 20
"""Bytes from which memory is asked for before it is taken: asking then costs nothing."""

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
        check(math.prod(shape) * dtype.itemsize, f"a result of {dtype} on {shape} virtual processors")
        fresh = np.empty(shape, dtype)
        self._arrays = [*self._arrays[1 - _KEPT :], fresh]
        return fresh


@functools.cache
def keep_freed_pages() -> None:
    """Makes the allocator keep what is freed, instead of giving its pages back and getting fresh ones each time.

    glibc gives memory back from the first 128 KiB on, until a larger piece of its own has been freed once (mallopt(3),
    M_MMAP_THRESHOLD: the threshold is dynamic). So one is, of which no page is touched: temporaries of up to 32 MiB are
    then made where the last were, whatever the program did before. Elsewhere this does nothing.
    """
    np.empty(_KEEPING, np.uint8)


def check(needed: int, what: str) -> None:
    """Refuse what this machine's memory does not hold now.

    Raises
    ------
    UsageError
        With what is needed and what there is.
    """
    if needed <= ASKED:
        return
    there = available()
    if there is not None and needed > there:
        raise UsageError(
            f"{what} takes {units.length(needed)}, and this machine has {units.length(there)} of memory left; take a "
            "smaller grid, or divide it over the ranks of several nodes (mpiexec)"
        )


def available() -> int | None:
    """Bytes that can be had without swapping; None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None

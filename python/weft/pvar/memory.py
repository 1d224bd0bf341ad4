"""Memory of variables: asked for before it is taken, and used again where it is large.

To get fresh pages from the system costs as much as writing them once more.
"""

from __future__ import annotations

import ctypes
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

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""glibc's numbers of what `mallopt` sets (malloc.h)."""

_IN_HEAP = 32 << 20
"""Bytes up to which memory is of the heap, the most that glibc takes; more has pages of its own, and is remembered
here."""

_FREED = 1 << 30
"""Bytes at the end of the heap that stay with the process when they are free: as much as programs have in use that one
node holds many of."""

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

    glibc gives memory back from the first 128 KiB on, and whatever is free at the end of its heap (mallopt(3),
    M_MMAP_THRESHOLD and M_TRIM_THRESHOLD): a program of 80 MiB got all of its pages anew in each run. Elsewhere this
    does nothing.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_THRESHOLD, _IN_HEAP)
    mallopt(_TRIM_THRESHOLD, _FREED)


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

"""Arrays on huge pages, so that a comparison of sizes is none of pages.

numpy asks for huge pages where an array has 4 MiB or more, and gets them where its memory is new and aligned; parts of
arrays in memory that was freed before have pages of 4 KiB. A star of radius 1 took up to twice as long where most of
one array had small pages, whatever its size.
"""

from __future__ import annotations

import contextlib
import mmap
from typing import Any

import numpy as np

HUGE = 2 << 20
"""Bytes of a huge page of x86-64, and of AArch64 with base pages of 4 KiB."""

HEADER = 16
"""Bytes that glibc's malloc puts before what it maps: where numpy's large arrays begin in a page."""

COLLAPSE = 25
"""MADV_COLLAPSE of Linux 6.1 (linux/mman.h), for which Python has no name: make what there is into huge pages."""


def on_huge_pages(array: np.ndarray[Any, Any], offset: int = HEADER) -> np.ndarray[Any, Any]:
    """A copy that begins so many bytes into a huge page, by default where numpy's large arrays begin in a small one."""
    mapped = mmap.mmap(-1, array.nbytes + offset + 2 * HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    first = -np.frombuffer(mapped, np.uint8).ctypes.data % HUGE
    if hasattr(mmap, "MADV_HUGEPAGE"):
        mapped.madvise(mmap.MADV_HUGEPAGE)
    copy: np.ndarray[Any, Any] = np.ndarray(array.shape, array.dtype, mapped, first + offset)
    copy[...] = array
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # An older Linux does not know it, and one without free memory cannot.
        with contextlib.suppress(OSError):
            mapped.madvise(COLLAPSE, first, -(-(array.nbytes + offset) // HUGE) * HUGE)
    return copy

"""Computation that a program declares instead of having it measured."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from weft._core import UsageError

__all__ = ["compute"]


def compute(*, flops: float = 0.0, bytes: float = 0.0) -> None:
    """Say what a rank computes here: in virtual time it takes what it takes on a node of the machine.

    Arithmetic and memory go on at one time, so that what takes longer counts: operations at the machine's time of one
    in a sum of products, bytes at half its time of a copied byte, which is read and written. Outside of a run in
    virtual time nothing happens: the program has computed, or will, itself. Compiled programs call
    `MPI_Pcontrol(2003134068, flops, bytes)`, with numbers of type double, which other libraries of MPI ignore.

    Parameters
    ----------
    flops
        Additions and multiplications of 64-bit numbers.
    bytes
        Bytes that are read from memory or written to it.

    Raises
    ------
    weft.UsageError
        For amounts that are negative or no numbers.

    Examples
    --------
    >>> compute(flops=2e9, bytes=16e6)  # no run in virtual time: nothing happens
    """
    if not (0.0 <= flops < 1e18 and 0.0 <= bytes < 1e18):
        raise UsageError(f"expected amounts from 0 to 1e18, found {flops} operations and {bytes} bytes")
    declare = _declare()
    if declare is not None:
        declare(flops, bytes)


@functools.cache
def _declare() -> Any:
    """The function of the library that stands in for MPI, where this process has it."""
    # Called with the interpreter's lock held: a rank that waits may give the interpreter to another.
    declare = getattr(ctypes.PyDLL(None), "weft_compute", None)
    if declare is not None:
        declare.argtypes = (ctypes.c_double, ctypes.c_double)
    return declare

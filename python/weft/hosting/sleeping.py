"""`time.sleep` of a program in virtual time: the clock of the rank's node moves on, and nobody waits here.

A rank that really slept would keep those that share its process from going on, and the run from ranks that have a
process each: what polls and sleeps in between would wait for what cannot happen meanwhile.

The run's environment offers this file to every interpreter of a rank too, where nothing else of weft may be imported.
"""

from __future__ import annotations

import ctypes
import numbers
import threading
import time
from collections.abc import Callable
from typing import Any

_really: Callable[[Any], None] = time.sleep


def _native() -> Callable[[float], int] | None:
    """The function of the library that stands in for MPI, once this process has it."""
    # Called with the interpreter's lock held: a rank that waits may give the interpreter to another.
    function = getattr(ctypes.PyDLL(None), "weft_sleep", None)
    if function is not None:
        function.argtypes = (ctypes.c_double,)
    return function


def install() -> None:
    """Replace `time.sleep`.

    It really sleeps before MPI is initialized and after it is finalized, and where the program has other threads, which
    may be what it waits for.
    """
    known: list[Callable[[float], int]] = []

    def sleep(seconds: Any, /) -> None:
        if not known and (native := _native()) is not None:
            known.append(native)
        is_time = isinstance(seconds, numbers.Real) and float(seconds) >= 0.0
        if not (known and is_time and threading.active_count() == 1 and known[0](float(seconds))):
            _really(seconds)

    sleep.__doc__ = time.sleep.__doc__
    time.sleep = sleep

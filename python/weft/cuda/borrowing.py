"""Arrays of other libraries that lie on a CUDA device, as arrays of CuPy without a copy."""

from __future__ import annotations

import importlib.util
import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from weft.cuda.launching import is_cupy


def as_cupy(x: Any) -> Any | None:
    """An array as one of CuPy, or None.

    It is None for arrays that do not lie on one CUDA device, for those that JAX is only tracing, and for types that
    DLPack does not carry. Kernels that read it must have ended before whoever owns it may reuse its memory: see `back`,
    whose callers let `wait` come before they ask for memory.

    >>> import numpy as np
    >>> as_cupy(np.zeros(3)) is None
    True
    """
    if is_cupy(x):
        return x
    if not is_jax_on_one_gpu(x) or importlib.util.find_spec("cupy") is None:
        return None
    import cupy

    try:
        return cupy.from_dlpack(x)
    except (BufferError, TypeError, RuntimeError, ValueError):
        return None


def back(result: Any, like: Any) -> Any:
    """An array of CuPy as one of the library of another, perhaps before the kernels that write it have ended.

    JAX waits for them on the device, not this call: see `keep` for what they read.
    """
    if is_cupy(like):
        return result
    import jax

    return jax.dlpack.from_dlpack(result)


def keep(arrays: Iterable[Any]) -> None:
    """Holds those of the arrays that are JAX's until all kernels that CuPy's current stream has now have ended.

    JAX keeps account of its own computations only, and would use the memory of what is borrowed again.
    """
    borrowed = tuple(filter(is_jax, arrays))
    if borrowed:
        _LOANS.keep(borrowed)


def wait() -> None:
    """Waits until all but the last of the calls whose arrays are held have ended, before there is one more.

    Without it a program that is far ahead of the device would fill its memory with results.
    """
    _LOANS.wait()


class Loans:
    """Arrays that kernels may still read, of `MAX_LOANS` calls at most.

    Calls let go what the device has ended with. After the last call a thread does, which looks now and then: one that
    waited for each call would take the interpreter from the caller each time.
    """

    def __init__(self) -> None:
        self.pending: deque[tuple[Any, tuple[Any, ...]]] = deque()
        self.lock = threading.Lock()
        self.watched = False

    def wait(self) -> None:
        """Waits until there is one call less than may hold arrays."""
        with self.lock:
            self._let_go()
            while len(self.pending) >= MAX_LOANS:
                self.pending[0][0].synchronize()
                self.pending.popleft()

    def keep(self, arrays: tuple[Any, ...]) -> None:
        """Holds arrays until an event on CuPy's current stream."""
        import cupy

        event = cupy.cuda.Event(disable_timing=True)
        event.record()
        with self.lock:
            self.pending.append((event, arrays))
            if not self.watched:
                self.watched = True
                threading.Thread(target=self._watch, name="weft-loans", daemon=True).start()

    def _let_go(self) -> None:
        while self.pending and self.pending[0][0].done:
            self.pending.popleft()

    def _watch(self) -> None:
        """Lets go what calls did not, until nothing is held."""
        while True:
            time.sleep(WATCH_SECONDS)
            with self.lock:
                self._let_go()
                if not self.pending:
                    self.watched = False
                    return


MAX_LOANS = 2
"""Calls whose arrays are held: one that runs on the device, and one that waits for its turn there."""

WATCH_SECONDS = 0.02
"""Time between two looks at what is held."""

_LOANS = Loans()
"""What this process has borrowed: a device has one memory for all who compute on it."""


def is_jax(x: Any) -> bool:
    """Whether an array is JAX's, which is not imported for the question: a concrete one, or one that is traced.

    >>> is_jax([1, 2])
    False
    """
    if type(x).__module__.split(".", 1)[0] not in ("jax", "jaxlib"):
        return False
    import jax

    return isinstance(x, jax.Array)


def is_jax_on_one_gpu(x: Any) -> bool:
    """Whether a concrete array of JAX lies on one CUDA device.

    >>> is_jax_on_one_gpu([1, 2])
    False
    """
    if not is_jax(x):
        return False
    import jax

    if isinstance(x, jax.core.Tracer):
        return False
    devices = list(x.devices())
    return len(devices) == 1 and devices[0].platform in ("gpu", "cuda")

"""Arrays of other libraries that lie on a CUDA device, as arrays of CuPy without a copy."""

from __future__ import annotations

import importlib.util
import threading
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
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

    JAX keeps account of its own computations only, and would use the memory of what it lent again.
    """
    lent = tuple(filter(is_jax, arrays))
    if lent:
        _LOANS.keep(lent)


def wait() -> None:
    """Waits until all but the last of the calls whose arrays are held have ended, before there is one more.

    Without it a program that is far ahead of the device would fill its memory with results.
    """
    _LOANS.wait()


class Loans:
    """Arrays that kernels may still read, of `MAX_LOANS` calls at most."""

    def __init__(self) -> None:
        self.pending: deque[Future[None]] = deque()
        self.keeper: ThreadPoolExecutor | None = None
        self.lock = threading.Lock()

    def wait(self) -> None:
        """Waits until there is one call less than may hold arrays."""
        with self.lock:
            while len(self.pending) >= MAX_LOANS:
                self.pending.popleft().result()

    def keep(self, arrays: tuple[Any, ...]) -> None:
        """Holds arrays until an event on CuPy's current stream, which a thread waits for."""
        import cupy

        event = cupy.cuda.Event(disable_timing=True)
        event.record()
        with self.lock:
            if self.keeper is None:
                self.keeper = ThreadPoolExecutor(1, thread_name_prefix="weft-loans")
            self.pending.append(self.keeper.submit(_hold, event, arrays))


def _hold(event: Any, arrays: tuple[Any, ...]) -> None:
    """Waits for an event while arrays are held."""
    event.synchronize()


MAX_LOANS = 2
"""Calls whose arrays are held: one that runs on the device, and one that waits for its turn there."""

_LOANS = Loans()
"""What this process has lent: a device has one memory for all who compute on it."""


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

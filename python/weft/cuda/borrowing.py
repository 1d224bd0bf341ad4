"""Arrays of other libraries that lie on a CUDA device, as arrays of CuPy without a copy."""

from __future__ import annotations

import importlib.util
from typing import Any

from weft.cuda.launching import is_cupy


def as_cupy(x: Any) -> Any | None:
    """An array as one of CuPy, or None.

    It is None for arrays that do not lie on one CUDA device, for those that JAX is only tracing, and for types that
    DLPack does not carry. Kernels that read it must have ended before whoever owns it may reuse its memory: see `back`.

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
    """An array of CuPy as one of the library of another, once the kernels that write it have ended.

    A library that keeps account of its own memory only, as JAX does, would use what it lent again while kernels of
    CuPy's stream still read it.
    """
    if is_cupy(like):
        return result
    import cupy
    import jax

    cupy.cuda.get_current_stream().synchronize()
    return jax.dlpack.from_dlpack(result)


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

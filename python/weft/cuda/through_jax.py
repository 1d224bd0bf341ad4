"""Kernels on arrays of JAX: launches that are part of JAX's own computations.

XLA, which JAX computes by, calls a function of the extension module with the addresses of the arrays and with its
stream (JAX's documentation, "Foreign function interface"). That function launches the kernel, which CuPy compiled. So
XLA knows who reads and writes which memory, and a call costs the processor what any call of a compiled function does.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from weft import _core
from weft.cuda.launching import Argument, Launch, Parameter, Result, compiled, is_cupy

PLATFORM = "CUDA"
"""What kernels are launched on, as XLA names it."""

TARGET = "weft_launch_kernel"
"""The name of the function as XLA knows it."""

PLATFORMS = ("gpu", "cuda")
"""CUDA devices as JAX names them."""

VALUE_BYTES = 16
"""Bytes of the longest parameter that is passed by value."""


def is_jax(x: Any) -> bool:
    """Whether an array is JAX's, which is not imported for the question: a concrete one, or one that is traced.

    >>> is_jax([1, 2])
    False
    """
    if type(x).__module__.partition(".")[0] not in ("jax", "jaxlib"):
        return False
    import jax

    return isinstance(x, jax.Array)


def device_of(x: Any) -> int | None:
    """The CUDA device that a concrete array of JAX lies on, where kernels can be launched on it; else None.

    It is None for arrays on several devices, for those that JAX is only tracing, and where CuPy is not installed.

    >>> device_of([1, 2]) is None
    True
    """
    if not is_jax(x):
        return None
    import jax

    if isinstance(x, jax.core.Tracer) or not _can_launch():
        return None
    devices = x.devices()
    if len(devices) != 1:
        return None
    (device,) = devices
    return int(device.local_hardware_id) if device.platform in PLATFORMS else None


def call(wanted: Launch, results: Sequence[tuple[tuple[int, ...], Any]], device: int) -> Callable[..., Sequence[Any]]:
    """A function of arrays of JAX that launches a kernel and returns its results, for use in a compiled function.

    Parameters
    ----------
    wanted
        The launch. The arrays that its parameters name by number are those that the function is called with.
    results
        Shape and type of each array that it writes.
    device
        The device that it is compiled for: see `device_of`.
    """
    import cupy
    import jax

    _register()
    kernel = compiled(wanted.source, wanted.name, wanted.shared, wanted.device)
    with cupy.cuda.Device(device):
        address = int(kernel.kernel.ptr)
    across, down = (*wanted.threads, 1)[:2]
    words = [_launcher(), address, wanted.blocks, across, down, wanted.shared, PLATFORM == "CUDA"]
    _, launch_words, parameter_words = _core.xla_kernel_launcher()
    assert len(words) == launch_words
    for parameter in wanted.parameters:
        described = _words(parameter)
        assert len(described) == parameter_words
        words += described
    shapes = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in results]
    launched = jax.ffi.ffi_call(TARGET, shapes)
    return partial(_launched, launched, np.array(words, np.uint64).view(np.int64), kernel)


def _launched(launched: Callable[..., Sequence[Any]], words: Any, _kernel: Any, *arrays: Any) -> Sequence[Any]:
    """The results of a launch. Who keeps the function keeps the kernel, which XLA knows by its address only."""
    return launched(*arrays, launch=words)


def jax_array(x: Any, device: int) -> Any | None:
    """An array of numpy, CuPy or JAX as one of JAX on a device; None for those on others and those that are traced."""
    import jax
    import jax.numpy as jnp

    if is_jax(x):
        return x if device_of(x) == device else None
    if is_cupy(x):
        return jax.dlpack.from_dlpack(x) if x.device.id == device else None
    return jnp.asarray(x) if isinstance(x, (np.ndarray, list, tuple)) else None


def cupy_copy(x: Any) -> Any | None:
    """An array of numpy, CuPy or JAX as one of CuPy on the current device; None for those that JAX traces.

    One of JAX is copied, and waited for: JAX does not know what CuPy reads, and would use its memory again.
    """
    import cupy

    if is_cupy(x) or isinstance(x, (np.ndarray, list, tuple)):
        return cupy.asarray(x)
    if device_of(x) is None:
        return None
    copied = cupy.from_dlpack(x).copy()
    cupy.cuda.get_current_stream().synchronize()
    return copied


def _words(parameter: Parameter) -> list[int]:
    """A parameter as the extension module has it: its kind, and its index or its value."""
    if isinstance(parameter, (Argument, Result)):
        return [0 if isinstance(parameter, Argument) else 1, parameter.number, 0]
    held = parameter.tobytes()
    assert len(held) <= VALUE_BYTES
    return [2, *map(int, np.frombuffer(held.ljust(VALUE_BYTES, b"\0"), np.uint64))]


@cache
def _can_launch() -> bool:
    """Whether JAX has its foreign function interface where it is looked for, and CuPy is installed to compile."""
    import jax

    return hasattr(jax, "ffi") and importlib.util.find_spec("cupy") is not None


@cache
def _launcher() -> int:
    """The address of `cuLaunchKernel`."""
    address = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuLaunchKernel, ctypes.c_void_p).value
    assert address is not None
    return address


@cache
def _register() -> None:
    """Makes the native function known to XLA, once."""
    import jax

    handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(_core.xla_kernel_launcher()[0])
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(handler), platform=PLATFORM)

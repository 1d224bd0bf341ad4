"""Launches of generated kernels on arrays of CuPy, on the stream that is current there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

WARP = 32
"""Threads that run together."""

VECTOR_BYTES = 16
"""Bytes that a thread can move at once."""

REGISTERS_AT_ONCE = 256
"""Registers that a warp is given at once (compute capability 3.0 and later)."""


def is_cupy(x: Any) -> bool:
    """Whether an array is CuPy's, which is not imported for the question.

    >>> is_cupy([1, 2])
    False
    """
    return type(x).__module__.split(".", 1)[0] == "cupy" and hasattr(x, "data")


def is_output(target: Any, like: Any) -> bool:
    """Whether a kernel can write what has the shape and type of an array of CuPy straight into another.

    >>> is_output([1, 2], [1, 2])
    False
    """
    return bool(
        is_cupy(target)
        and target.shape == like.shape
        and target.dtype == like.dtype
        and target.flags.c_contiguous
        and target.device == like.device
    )


@lru_cache(maxsize=256)
def compiled(source: str, name: str) -> Any:
    """The kernel of a source; CuPy compiles it for the current device when it is first launched, and keeps it."""
    import cupy

    return cupy.RawKernel(source, name)


def resident_blocks(source: str, name: str, threads: int, device: int) -> int:
    """Blocks of a kernel that a device has at work at once: as many as its registers and threads allow.

    NVIDIA, CUDA C++ Programming Guide, section Hardware Multithreading; a warp takes `REGISTERS_AT_ONCE` or a multiple.
    """
    import cupy

    attributes = cupy.cuda.Device(device).attributes
    warps = -(-threads // WARP)
    each = int(-(-compiled(source, name).num_regs * WARP // REGISTERS_AT_ONCE) * REGISTERS_AT_ONCE)
    by_registers = int(attributes["MaxRegistersPerMultiprocessor"]) // (each * warps)
    by_threads = int(attributes["MaxThreadsPerMultiProcessor"]) // (warps * WARP)
    return max(1, min(by_registers, by_threads)) * int(attributes["MultiProcessorCount"])


def second_level_cache(device: int) -> int:
    """Bytes of a device's second-level cache."""
    import cupy

    return int(cupy.cuda.Device(device).attributes["L2CacheSize"])


def launch(source: str, name: str, blocks: int, threads: tuple[int, ...], arguments: Sequence[Any]) -> None:
    """Starts a kernel; it runs when the stream comes to it."""
    compiled(source, name)((blocks,), threads, tuple(arguments))

"""Launches of generated kernels: what there is to launch, and launches on arrays of CuPy, on its current stream."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

WARP = 32
"""Threads that run together."""

VECTOR_BYTES = 16
"""Bytes that a thread can move at once."""

REGISTERS_AT_ONCE = 256
"""Registers that a warp is given at once (compute capability 3.0 and later)."""

RESERVED = 1024
"""Bytes of shared memory that the system takes of each block (compute capability 8.0 and later)."""

COPIES_SINCE = 80
"""The compute capability from which on copies to shared memory are asynchronous, as CuPy writes 8.0."""


class Argument(NamedTuple):
    """A parameter of a kernel that is the address of an array which it reads."""

    number: int


class Result(NamedTuple):
    """A parameter of a kernel that is the address of an array which it writes."""

    number: int


Parameter: TypeAlias = Argument | Result | np.generic
"""A parameter of a kernel; a numpy scalar is passed by value."""


class Launch(NamedTuple):
    """A kernel with all that it is launched with but its arrays."""

    source: str
    name: str
    blocks: int
    threads: tuple[int, ...]
    parameters: tuple[Parameter, ...]
    shared: int = 0
    """Bytes of shared memory of a block, beside what the source declares."""

    device: int | None = None
    """The device that it is for; needed where `shared` is not 0."""


def is_cupy(x: Any) -> bool:
    """Whether an array is CuPy's, which is not imported for the question.

    >>> is_cupy([1, 2])
    False
    """
    return type(x).__module__.partition(".")[0] == "cupy" and hasattr(x, "data")


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


def may_overlap(a: Any, b: Any) -> bool:
    """Whether two arrays of CuPy have bytes in common, or lie among each other's."""
    if not (a.flags.c_contiguous and b.flags.c_contiguous):
        import cupy

        return bool(cupy.may_share_memory(a, b))
    first, second = a.data.ptr, b.data.ptr
    return bool(first < second + b.size * b.itemsize and second < first + a.size * a.itemsize)


@lru_cache(maxsize=256)
def compiled(source: str, name: str, shared: int = 0, device: int | None = None) -> Any:
    """The kernel of a source; CuPy compiles it for the current device when it is first launched, and keeps it.

    Blocks of more than 48 KiB of shared memory are launched by a kernel that was told so on the device.

    Parameters
    ----------
    source, name
        Of the kernel.
    shared
        Bytes of shared memory of a block, beside what the source declares.
    device
        Where it is launched; needed where `shared` is not 0.
    """
    import cupy

    kernel = cupy.RawKernel(source, name)
    if shared:
        with cupy.cuda.Device(device):
            kernel.max_dynamic_shared_size_bytes = shared
    return kernel


def resident_blocks(source: str, name: str, threads: int, device: int, shared: int = 0) -> int:
    """Blocks of a kernel that a device has at work at once: as many as its registers, threads and memory allow.

    NVIDIA, CUDA C++ Programming Guide, section Hardware Multithreading; a warp takes `REGISTERS_AT_ONCE` or a multiple,
    and a block `RESERVED` bytes of shared memory beside its own.
    """
    import cupy

    attributes = cupy.cuda.Device(device).attributes
    warps = -(-threads // WARP)
    registers = compiled(source, name, shared, device).num_regs
    each = int(-(-registers * WARP // REGISTERS_AT_ONCE) * REGISTERS_AT_ONCE)
    by_registers = int(attributes["MaxRegistersPerMultiprocessor"]) // (each * warps)
    by_threads = int(attributes["MaxThreadsPerMultiProcessor"]) // (warps * WARP)
    resident = min(by_registers, by_threads)
    if shared:
        resident = min(resident, int(attributes["MaxSharedMemoryPerMultiprocessor"]) // (shared + RESERVED))
    return max(1, resident) * int(attributes["MultiProcessorCount"])


def shared_memory(device: int) -> int:
    """Bytes of shared memory that a block of a device may have, if it can copy to it asynchronously; else 0."""
    import cupy

    described = cupy.cuda.Device(device)
    copies = int(described.compute_capability) >= COPIES_SINCE
    return int(described.attributes["MaxSharedMemoryPerBlockOptin"]) if copies else 0


def second_level_cache(device: int) -> int:
    """Bytes of a device's second-level cache."""
    import cupy

    return int(cupy.cuda.Device(device).attributes["L2CacheSize"])


def launch(wanted: Launch, arguments: Sequence[Any], results: Sequence[Any]) -> None:
    """Starts a kernel on arrays of CuPy; it runs when the stream comes to it."""
    values = tuple(
        arguments[parameter.number] if isinstance(parameter, Argument)
        else results[parameter.number] if isinstance(parameter, Result)
        else parameter
        for parameter in wanted.parameters
    )  # fmt: skip
    kernel = compiled(wanted.source, wanted.name, wanted.shared, wanted.device)
    kernel((wanted.blocks,), wanted.threads, values, shared_mem=wanted.shared)

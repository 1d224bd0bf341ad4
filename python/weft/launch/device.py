"""The memory of a CUDA device that messages lie in, by CuPy: what a rank hands to the MPI library are its addresses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from weft._core import RunError

_LOCAL_RANKS = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PALS_LOCAL_RANKID")
"""Where launchers say which of the ranks of a node a process is."""


class DeviceMemory:
    """Buffers on the device of this rank. The extension module calls it; errors become its own.

    Raises
    ------
    weft.RunError
        If CuPy is not installed, or finds no device.
    """

    def __init__(self) -> None:
        self._cupy = _cupy()
        self._arrays: dict[int, Any] = {}
        self._device = self._cupy.cuda.Device(local_rank(os.environ) % _devices(self._cupy))
        self._device.use()

    def allocate(self, size: int) -> int:
        """The address of so many bytes."""
        array = self._cupy.empty(size, "u1")
        address = int(array.data.ptr)
        self._arrays[address] = array
        return address

    def free(self, address: int) -> None:
        """Let go of what was allocated."""
        del self._arrays[address]

    def write(self, address: int, content: bytes) -> None:
        """Copy bytes to the device; they are there when it returns, whatever stream the MPI library uses."""
        import numpy as np

        self._arrays[address].set(np.frombuffer(content, np.uint8))
        self._device.synchronize()

    def read(self, address: int, size: int) -> bytes:
        """Copy bytes from the device."""
        self._device.synchronize()
        content: bytes = self._arrays[address].get().tobytes()[:size]
        return content


def local_rank(environment: Mapping[str, str]) -> int:
    """Which of the ranks of its node this process is, by which it takes its device; 0 where no launcher says.

    Examples
    --------
    >>> local_rank({"SLURM_LOCALID": "3"}), local_rank({})
    (3, 0)
    """
    return next((int(environment[name]) for name in _LOCAL_RANKS if environment.get(name, "").isdecimal()), 0)


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise RunError(
            "buffers on the device need CuPy, which is not installed here: pip install cupy-cuda12x (or the one of "
            f"your CUDA), or leave --buffers out ({error})"
        ) from None
    return cupy


def _devices(cupy: Any) -> int:
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:
        raise RunError(f"buffers on the device need a CUDA device, and CuPy finds none: {error}") from None
    if count == 0:
        raise RunError("buffers on the device need a CUDA device, and CuPy finds none")
    return count

"""The same program on real MPI, on the processors of this machine: nothing is replaced."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence

from weft.hosting.waiting import wait
from weft.launch.mpiexec import command

__all__ = ["HERE", "launch"]

HERE = "here"
"""The name of this machine, beside those of the catalogue."""


def launch(program: Sequence[str], ranks: int) -> tuple[int, float]:
    """Run a program with the launcher that weft itself uses; its exit code and how long it took, in seconds."""
    start = time.perf_counter()
    with subprocess.Popen([*command(), "-n", str(ranks), *program]) as process:
        code, _ = wait(process)
    return (128 - code if code < 0 else code), time.perf_counter() - start

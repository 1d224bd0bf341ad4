"""Whether the system has space for a process a rank: asked before any is started."""

from __future__ import annotations

import resource
from pathlib import Path

from weft._core import UsageError

__all__ = ["check"]

_KEPT = 64
"""Processes that are left to others."""


def check(ranks: int) -> None:
    """Refuse more ranks than there may be processes.

    Raises
    ------
    weft.UsageError
        With the limit that is too low, and who sets it.
    """
    for limit, setter in _limits():
        if ranks + _KEPT > limit:
            raise UsageError(
                f"{ranks} ranks are as many processes, and only {max(limit - _KEPT, 0)} more may be started: {setter}; "
                "ask for fewer ranks, or run a script of Python with --no-isolate"
            )


def _limits() -> list[tuple[int, str]]:
    """How many processes may still be started, and what says so."""
    limits = []
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if soft != resource.RLIM_INFINITY:
        limits.append((soft - _own_processes(), "`ulimit -u` sets the limit"))
    for folder in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/pids")):
        most, now = _number(folder / "pids.max"), _number(folder / "pids.current")
        if most is not None and now is not None:
            limits.append((most - now, "the container or control group of this session sets the limit"))
    numbers = _number(Path("/proc/sys/kernel/pid_max"))
    if numbers is not None:
        limits.append((numbers, "the kernel has no more numbers for processes (kernel.pid_max)"))
    return limits


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _own_processes() -> int:
    """Processes on this system; those of others count too, which errs on the safe side."""
    return sum(entry.name.isdigit() for entry in Path("/proc").iterdir())

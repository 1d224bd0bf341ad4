"""Where and when a launch ran: processor, load, stolen time, and whether a launcher started this process."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


def now() -> str:
    """The time as UTC, ISO 8601, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def processor() -> str:
    """The processor's model name, or the architecture where the system does not say; and what WEFT_SIMD forces."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    forced = os.environ.get("WEFT_SIMD")
    return next(models, platform.machine()) + (f", WEFT_SIMD={forced}" if forced else "")


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0))


def host() -> str:
    """The name of this node."""
    return platform.node()


def numa_nodes() -> int:
    """Parts of the memory that are near to some cores and far from others; 1 where the system does not say."""
    return max(1, len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))))


def system() -> str:
    """Operating system and release."""
    return f"{platform.system()} {platform.release()}"


@dataclass(frozen=True)
class CpuTimes:
    """Ticks since boot, summed over processors."""

    total: int
    stolen: int

    @classmethod
    def read(cls, path: Path = Path("/proc/stat")) -> CpuTimes | None:
        """The counters now; `None` where the system has none.

        The first line of `/proc/stat` holds user, nice, system, idle, iowait, irq, softirq, steal, and then guest times
        that are counted in user and nice already (proc(5)).
        """
        try:
            fields = [int(field) for field in path.read_text().splitlines()[0].split()[1:9]]
        except (OSError, ValueError, IndexError):
            return None
        return cls(sum(fields), fields[7]) if len(fields) == 8 else None


class LaunchConditions:
    """What disturbed a launch: construct before it, ask after it."""

    def __init__(self) -> None:
        self.time = now()
        self.load = _load()
        self._before = CpuTimes.read()

    def stolen(self) -> float | None:
        """The share of processor time since construction that the hypervisor gave to others."""
        after = CpuTimes.read()
        if self._before is None or after is None or after.total <= self._before.total:
            return None
        return (after.stolen - self._before.stolen) / (after.total - self._before.total)


def _load() -> float | None:
    """The load average of the last minute."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


@dataclass(frozen=True)
class Launcher:
    """What a process learns from the launcher that started it."""

    name: str
    rank: int
    size: int


_LAUNCHERS = (
    ("Open MPI's mpiexec", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("mpiexec", "PMI_RANK", "PMI_SIZE"),
    ("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("a PALS launcher", "PALS_RANKID", "PALS_SIZE"),
)


def launcher(environment: Mapping[str, str] = os.environ) -> Launcher | None:
    """The launcher that made this process a rank, or `None`.

    A Slurm batch script has `SLURM_PROCID` too but no step's number of tasks: it is no rank.
    """
    for name, rank, size in _LAUNCHERS:
        if rank in environment and size in environment:
            return Launcher(name, int(environment[rank]), int(environment[size]))
    return None


def holds_all_ranks() -> bool:
    """Whether this process holds all ranks of a run in virtual time, in turn, as `weft run` has them for scripts."""
    # The library that stands in for MPI names its ranks' numbers in the environment where each has a process.
    return "WEFT_RUN_RANK" not in os.environ and hasattr(ctypes.CDLL(None), "weft_finished")

"""The processes of a launch: which there are, whether they are stopped, how they ended, and how they are ended.

What is known comes from Linux (`/proc`, `pidfd_open`); elsewhere only the process that was started itself is known.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

LIVES, STOPPED, GONE = "lives", "stopped", "gone"

_RANK_VARIABLES = (b"PMI_RANK", b"OMPI_COMM_WORLD_RANK", b"MV2_COMM_WORLD_RANK", b"PALS_RANKID")
_FIRST_NAMESPACE = 0xEFFFFFFC
"""The number of the namespace of processes that a system begins with (linux/proc_ns.h)."""

_STEP = 0.02
_AFTER_KILL = 5.0

_PIDFD_INFO = struct.Struct("=QQ11Ii")
"""`struct pidfd_info` of linux/pidfd.h, version 0: what is asked and told, control group, numbers, exit status."""
_PIDFD_INFO_EXIT = 1 << 3
_PIDFD_GET_INFO = 3 << 30 | _PIDFD_INFO.size << 16 | 0xFF << 8 | 11


@dataclass(frozen=True)
class Process:
    """A process. Numbers are given again; with the time of its start, in ticks since boot, it is the same one."""

    pid: int
    start: int

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """The process that has this number now; `None` where there is none or nothing is known of processes."""
        stat = _stat(pid)
        return None if stat is None or stat[0] in "ZX" else cls(pid, stat[2])

    def state(self) -> str:
        """`LIVES`, `STOPPED` (by a signal: one that a debugger holds lives) or `GONE`."""
        stat = _stat(self.pid)
        if stat is None or stat[2] != self.start or stat[0] in "ZX":
            return GONE
        return STOPPED if stat[0] == "T" else LIVES

    def name(self) -> str:
        """The name of what it runs, at most 15 characters; empty where it is not known, as of one that is gone."""
        try:
            return Path(f"/proc/{self.pid}/comm").read_text(errors="replace").strip()
        except OSError:
            return ""

    def rank(self) -> int | None:
        """The rank that a launcher has started it as; `None` for other processes and those of other users."""
        try:
            entries = Path(f"/proc/{self.pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return None
        variables = dict(entry.partition(b"=")[::2] for entry in entries)
        numbers = (variables.get(name, b"") for name in _RANK_VARIABLES)
        return next((int(number) for number in numbers if number.isdigit()), None)

    def below(self) -> list[Process]:
        """All that it has started and that those have started, as far as they are there now, outermost first."""
        descendants: list[Process] = []
        waiting = [self.pid]
        while waiting:
            started = [child for pid in waiting for child in children(pid)]
            descendants += started
            waiting = [child.pid for child in started]
        return descendants

    def open_files(self) -> set[str]:
        """The paths of the files that it has open or in its memory; none of the processes of other users."""
        paths = set()
        with contextlib.suppress(OSError):
            folder = f"/proc/{self.pid}/fd"
            for entry in os.listdir(folder):
                with contextlib.suppress(OSError):
                    paths.add(os.readlink(f"{folder}/{entry}"))
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{self.pid}/maps").read_text(errors="replace").splitlines()
            # proc(5): five fields, then the path, which may hold spaces.
            paths.update(fields[5] for line in lines if len(fields := line.split(maxsplit=5)) == 6)
        return paths

    def is_deserted(self) -> bool:
        """Whether it has waited for all that it has started, of which there was something, and is still there."""
        stat = _stat(self.pid)
        return stat is not None and self.state() != GONE and stat[3] > 0 and not _child_numbers(self.pid)

    def send(self, number: int) -> None:
        """Send it a signal, if it is still there and this user's."""
        if self.state() != GONE:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)


def _stat(pid: int) -> tuple[str, int, int, int] | None:
    """State, parent, start, and minor page faults of the children that it has waited for.

    They are fields 3, 4, 22 and 11 of proc(5); the name before them may hold anything.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return fields[0], int(fields[1]), int(fields[19]), int(fields[8])
    except (OSError, ValueError, IndexError):
        return None


def parent(pid: int) -> int:
    """The number of the process that started a process; 0 where that is not known."""
    stat = _stat(pid)
    return 0 if stat is None else stat[1]


def program(pid: int) -> Path | None:
    """The file that a process runs, as it was started; None where the system does not tell."""
    try:
        return Path(f"/proc/{pid}/exe").readlink()
    except OSError:
        return None


def children(pid: int) -> list[Process]:
    """The processes that a process has started and that are there now."""
    return [process for number in _child_numbers(pid) if (process := Process.of(number)) is not None]


def _child_numbers(pid: int) -> list[int]:
    """The numbers of the processes that a process has started and not waited for, whether they live or not."""
    numbers: list[str] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                numbers += Path(f"/proc/{pid}/task/{task}/children").read_text().split()
    return [int(number) for number in numbers]


def unawaited(pid: int) -> list[tuple[int, str, str]]:
    """The processes of `pid` that have ended and that it has not waited for: number, name, and how each ended.

    How it ended (proc(5), field 52) is told to whoever may trace the process; others are told that it ended well.
    """
    ended = []
    for number in _child_numbers(pid):
        with contextlib.suppress(OSError, ValueError, IndexError):
            text = Path(f"/proc/{number}/stat").read_text(errors="replace")
            fields = text.rpartition(")")[2].split()
            if fields[0] == "Z":
                name = text[text.index("(") + 1 : text.rindex(")")]
                ended.append((number, name, described(os.waitstatus_to_exitcode(int(fields[49])))))
    return ended


def sees_everyone() -> bool:
    """Whether this process sees all processes of the system, as one in a container does not."""
    try:
        return os.readlink("/proc/self/ns/pid") == f"pid:[{_FIRST_NAMESPACE}]"
    except OSError:
        return False


def held_by_anyone(path: str) -> bool:
    """Whether any process that is seen has a file open or in its memory."""
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return any(path in Process(number, 0).open_files() for number in numbers)


def open_end(process: Process) -> int | None:
    """A descriptor that can be read once the process has ended (Linux 5.3 and later)."""
    if sys.platform != "linux":
        return None
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return None
    if process.state() != GONE:
        return descriptor
    os.close(descriptor)
    return None


def how_it_ended(descriptor: int, patience: float = 0.5) -> str | None:
    """How the process of `open_end` ended, where the system tells others than its parent (Linux 6.15 and later).

    It tells once the parent knows, for which so many seconds are waited.

    Returns
    -------
    str or None
        `was killed by signal 9 (Killed)`, `ended with exit code 3`.
    """
    if sys.platform != "linux":
        return None
    import fcntl

    deadline = time.monotonic() + patience
    while True:
        info = bytearray(_PIDFD_INFO.pack(_PIDFD_INFO_EXIT, *[0] * 13))
        try:
            fcntl.ioctl(descriptor, _PIDFD_GET_INFO, info)
        except ProcessLookupError:
            info = bytearray(_PIDFD_INFO.size)
        except OSError:
            return None
        mask, *_, status = _PIDFD_INFO.unpack(info)
        if mask & _PIDFD_INFO_EXIT:
            return described(os.waitstatus_to_exitcode(status))
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.005)


def described(code: int) -> str:
    """An exit code in words; negative ones are signals, as `subprocess` has them.

    >>> described(3), described(-9)
    ('ended with exit code 3', 'was killed by signal 9 (Killed)')
    """
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.strsignal(-code)
    return f"was killed by signal {-code}" + (f" ({name})" if name else "")


def end(first: Process | None, known: Iterable[Process], grace: float) -> None:
    """End the processes of a launch: its first one is asked, so that it ends its ranks on every computer.

    Parameters
    ----------
    first
        What was started; `None` where nothing is known of processes.
    known
        Processes of the launch that may have lost their way to it.
    grace
        Seconds until those that are still there are killed.
    """
    everyone = set(known)
    if first is not None:
        everyone |= {first, *first.below()}
        first.send(signal.SIGTERM)
    if _gone(everyone, grace):
        return
    for process in list(everyone):
        everyone |= set(process.below())
    for process in everyone:
        process.send(signal.SIGKILL)
    _gone(everyone, _AFTER_KILL)


def _gone(everyone: Iterable[Process], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    left = list(everyone)
    while left := [process for process in left if process.state() != GONE]:
        if time.monotonic() >= deadline:
            return False
        time.sleep(_STEP)
    return True

"""What is done to a command: signals to one of its processes, and to the folders that it writes into."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass

MARK = "WEFT_FAULT_TRIAL"
"""The variable by which all processes of a trial are known, whoever started them."""

SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGSTOP)
TARGETS = ("first", "mpiexec", "proxy", "rank")
STORES = ("fill", "removed", "read-only")
WAIT = 3.0
"""Seconds for a process to come that is to be hit."""

CONTINUED = 2.0
"""Seconds after which the first process, where it is stopped, goes on: who stops weft itself must do that."""


@dataclass(frozen=True)
class Fault:
    """What happens, to whom, and when (as a share of what an undisturbed run takes)."""

    sort: str
    where: str
    moment: float

    @property
    def signal(self) -> signal.Signals | None:
        """The signal, if it is one."""
        return signal.Signals[self.sort] if self.sort.startswith("SIG") else None


def draw(chance: random.Random, has_ranks: bool, has_processes: bool, can_mount: bool) -> Fault:
    """A fault for a command."""
    moment = chance.uniform(0.0, 1.1)
    if can_mount and chance.random() < 0.3:
        sort = chance.choice(STORES)
        return Fault(sort, chance.choice(("output", "temporary")), moment)
    targets = TARGETS if has_ranks else ("first", "rank") if has_processes else ("first",)
    return Fault(chance.choice(SIGNALS).name, chance.choice(targets), moment)


def processes(trial: str) -> dict[int, tuple[str, int, bool]]:
    """Of the processes of a trial: name, parent, and whether a launcher has made it a rank."""
    by_pid = {}
    wanted = f"{MARK}={trial}".encode()
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            variables = (path / "environ").read_bytes().split(b"\0")
            if wanted not in variables:
                continue
            text = (path / "stat").read_text()
            fields = text.rpartition(")")[2].split()
            if fields[0] in "ZX":
                continue
            name = text[text.index("(") + 1 : text.rindex(")")]
            is_rank = any(one.startswith(b"PMI_RANK=") for one in variables)
            by_pid[int(path.name)] = name, int(fields[1]), is_rank
        except (OSError, ValueError):
            continue
    return by_pid


def targets(where: str, first: int, trial: str) -> list[int]:
    """The processes that may be hit and are there."""
    if where == "first":
        return [first]
    there = processes(trial)
    if where == "mpiexec":
        return [pid for pid, (name, _, _) in there.items() if name.startswith("mpiexec")]
    if where == "proxy":
        return [pid for pid, (name, _, _) in there.items() if name.startswith("hydra_pmi")]
    ranks = [pid for pid, (_, _, is_rank) in there.items() if is_rank]
    # What weft starts without mpiexec; its keeper is no part of a measurement.
    return ranks or [pid for pid, (_, parent, _) in there.items() if parent == first and is_launched(pid)]


def words(pid: int) -> list[bytes]:
    """The command of a process."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return []


def name(pid: int) -> str:
    """The name of what a process runs."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def is_command(pid: int) -> bool:
    """Whether a process is the command of a trial, and no longer what makes its folders."""
    return bool(words(pid)) and not any(words(pid)[0].endswith(one) for one in (b"unshare", b"sh"))


def is_launched(pid: int) -> bool:
    """Whether a process is of a launch without mpiexec."""
    return any(one in (b"weft.launch.node_process", b"weft.pvar.timing") for one in words(pid))


def hit(fault: Fault, running: subprocess.Popen[bytes], trial: str, chance: random.Random) -> bool:
    """Send the signal; whether there was anyone to get it."""
    deadline = time.monotonic() + WAIT
    assert fault.signal is not None
    while running.poll() is None and time.monotonic() < deadline:
        if pids := targets(fault.where, running.pid, trial):
            pid = chance.choice(sorted(pids))
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, fault.signal)
                if pid == running.pid and fault.signal == signal.SIGSTOP:
                    time.sleep(CONTINUED)
                    os.kill(pid, signal.SIGCONT)
                return True
        time.sleep(0.02)
    return False


class Store:
    """A folder that a trial writes into: small, so that it can be filled."""

    SIZE = "48m"

    def __init__(self, path: pathlib.Path, mounted: bool) -> None:
        self.path = path
        self._mounted = mounted
        path.mkdir(parents=True)
        if mounted:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", "weft-fault", path], check=True)

    def disturb(self, sort: str) -> None:
        """Fill it, remove all that is in it (or itself), or let nothing be written into it."""
        if sort == "fill":
            with contextlib.suppress(OSError), (self.path / "filler").open("wb", buffering=0) as file:
                while True:
                    file.write(b"\0" * 4096)
        elif sort == "removed":
            self._unmount()
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            subprocess.run(["chattr", "+i", self.path], check=True)

    def mend(self, sort: str) -> None:
        """Undo that."""
        if sort == "fill":
            (self.path / "filler").unlink(missing_ok=True)
        elif sort == "removed":
            self.path.mkdir(exist_ok=True)
        else:
            subprocess.run(["chattr", "-i", self.path], check=True)

    def _unmount(self) -> None:
        if self._mounted:
            subprocess.run(["umount", "-l", self.path], check=False, capture_output=True)
            self._mounted = False

    def remove(self) -> None:
        """For good."""
        self._unmount()
        shutil.rmtree(self.path, ignore_errors=True)


def can_mount() -> bool:
    """Whether this user may mount file systems and make files immutable."""
    if os.geteuid() != 0 or not all(shutil.which(name) for name in ("mount", "umount", "unshare", "chattr")):
        return False
    done = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "x", "/mnt"], check=False, capture_output=True)
    return done.returncode == 0

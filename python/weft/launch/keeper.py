"""Ends what weft has started when weft itself is gone: `python -m weft.launch.keeper`, which weft starts.

A process that is killed, or that crashes, cannot end its launches, nor remove their files. So one other process is told
of them, a line of JSON each on its standard input, and does it when that ends, as it does with the process that writes.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from weft.launch.processes import LIVES, Process, end

SHARED_MEMORY = "/dev/shm"
OF_LIBRARIES = (f"{SHARED_MEMORY}/mpich_shm_", f"{SHARED_MEMORY}/ucx_shm_posix_")
"""How the names of the shared memory begin that MPI's libraries make for one launch, and no other holds."""

_STEP = 0.5
_GRACE = 2.0


class Keeper:
    """The side of weft: what the other process is told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()

    def tell(self, **said: Any) -> None:
        """Tell it of a launch; it is started for that where it is not there. Without it, ranks end by themselves."""
        with self._lock, contextlib.suppress(OSError):
            if self._process is None or self._process.poll() is not None or self._owner != os.getpid():
                self._owner = os.getpid()
                self._process = self._start()
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(said).encode() + b"\n")
            self._process.stdin.flush()

    def _start(self) -> subprocess.Popen[bytes]:
        # A session of its own: what ends weft's does not end it.
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "weft.launch.keeper", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )


@functools.cache
def keeper() -> Keeper:
    """The keeper of this process."""
    return Keeper()


@dataclass
class _Launch:
    """What is known of a launch."""

    first: Process
    folder: str
    others: set[Process] = field(default_factory=set)
    files: dict[str, int] = field(default_factory=dict)

    def end(self) -> None:
        # Weft may have been killed before it could tell of a file.
        files = shared_memory(self._stopped_ranks()) | self.files
        end(self.first, self.others, _GRACE)
        remove_folder(self.folder)
        for path, inode in files.items():
            remove(path, inode)

    def _stopped_ranks(self) -> set[Process]:
        """Its ranks, all of them stopped: none makes or removes a file any more."""
        stopped: set[Process] = set()
        while new := self._ranks() - stopped:
            for process in new:
                process.send(signal.SIGSTOP)
            deadline = time.monotonic() + _STEP
            while any(process.state() == LIVES for process in new) and time.monotonic() < deadline:
                time.sleep(0.005)
            stopped |= new
        return stopped

    def _ranks(self) -> set[Process]:
        return {process for process in {*self.first.below(), *self.others} if process.rank() is not None}


def shared_memory(processes: Iterable[Process]) -> dict[str, int]:
    """The shared memory of MPI's libraries that any of the processes has open, with its inodes."""
    inodes = {}
    for path in {path for process in processes for path in process.open_files() if path.startswith(OF_LIBRARIES)}:
        with contextlib.suppress(OSError):
            inodes[path] = os.stat(path).st_ino
    return inodes


def remove_folder(path: str, patience: float = 3.0) -> None:
    """Remove a launch's folder of temporary files.

    A process that was killed, but has not got so far on a busy machine, may make another file in it meanwhile; so this
    is done again until the folder is gone or so many seconds have passed.
    """
    deadline = time.monotonic() + patience
    shutil.rmtree(path, ignore_errors=True)
    while os.path.lexists(path) and time.monotonic() < deadline:
        time.sleep(0.05)
        shutil.rmtree(path, ignore_errors=True)


def remove(path: str, inode: int) -> None:
    """Remove a file of memory that a launch has left, unless it is another one by now."""
    with contextlib.suppress(OSError):
        if os.stat(path).st_ino == inode:
            os.unlink(path)


def main(parent: int) -> None:
    """Listens until whoever writes is gone, and ends what is then still there."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    launches: dict[int, _Launch] = {}
    rest = b""
    # Children of weft may have the other end too; so its end is looked for as well.
    while os.getppid() == parent or select.select([0], [], [], 0.0)[0]:
        if not select.select([0], [], [], _STEP)[0]:
            continue
        more = os.read(0, 1 << 16)
        if not more:
            break
        *lines, rest = (rest + more).split(b"\n")
        for line in lines:
            _take(json.loads(line), launches)
    for launch in launches.values():
        launch.end()


def _take(said: dict[str, Any], launches: dict[int, _Launch]) -> None:
    number = said["launch"]
    if "start" in said:
        launches[number] = _Launch(Process(number, said["start"]), said["folder"])
    elif "over" in said:
        launches.pop(number, None)
    elif launch := launches.get(number):
        launch.others |= {Process(*process) for process in said.get("processes", ())}
        launch.files |= said.get("files", {})


if __name__ == "__main__":
    main(int(sys.argv[1]))

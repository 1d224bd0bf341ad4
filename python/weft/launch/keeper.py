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
from dataclasses import dataclass, field
from typing import Any

from weft.launch.processes import Process, end

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
        end(self.first, self.others, _GRACE)
        shutil.rmtree(self.folder, ignore_errors=True)
        for path, inode in self.files.items():
            remove(path, inode)


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

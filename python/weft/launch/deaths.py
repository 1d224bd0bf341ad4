"""Which rank's process ends first: what a launcher does not tell, but the system does on the same computer.

A rank keeps a named pipe open for as long as it lives, and whoever has the other end sees it close. Linux closes the
files of a process that dies from the highest number down, so with a high number the pipe closes before the launcher can
notice anything and kill the other ranks. (The system call for this, `pidfd_open`, tells only after that.)
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from weft.launch.rank import sign_of_life


class Deaths:
    """Watches the processes of ranks on this computer; elsewhere, and on systems other than Linux, it sees nothing.

    Parameters
    ----------
    folder
        Where ranks put their pipes.
    tell
        Called with the rank whenever a process ends, in the order in which they do, from a thread of its own.
    """

    def __init__(self, folder: str | os.PathLike[str], tell: Callable[[int], None]) -> None:
        self._folder = Path(folder)
        self._tell = tell
        self._seen: set[int] = set()
        self._ranks: dict[int, int] = {}
        self._thread: threading.Thread | None = None
        if sys.platform == "linux":
            self._epoll = select.epoll()
            self._stopped, self._stop = os.pipe()
            self._epoll.register(self._stopped, select.EPOLLIN)
            self._thread = threading.Thread(target=self._listen, daemon=True)
            self._thread.start()

    def watch(self, processes: Iterable[tuple[int, int, str]]) -> None:
        """Take those that are new of (rank, process number, host)."""
        for rank, process, host in processes:
            if rank not in self._seen:
                self._seen.add(rank)
                self._add(rank, self._folder / sign_of_life(process, host))

    def close(self) -> None:
        """Watch no longer."""
        if self._thread is None:
            return
        os.close(self._stop)
        self._thread.join()
        self._thread = None
        self._epoll.close()
        for descriptor in (self._stopped, *self._ranks):
            os.close(descriptor)

    def _add(self, rank: int, pipe: Path) -> None:
        if sys.platform != "linux":
            return
        # A rank of another computer, or one that has ended by now, has no open pipe here; so nothing is known of it.
        with contextlib.suppress(OSError):
            descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self._ranks[descriptor] = rank
            self._epoll.register(descriptor, select.EPOLLHUP)

    def _listen(self) -> None:
        if sys.platform != "linux":
            return
        while True:
            # The kernel lists descriptors in the order in which they became ready.
            for descriptor, _ in self._epoll.poll():
                if descriptor == self._stopped:
                    return
                self._epoll.unregister(descriptor)
                self._tell(self._ranks[descriptor])

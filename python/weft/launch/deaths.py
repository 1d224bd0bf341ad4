"""Which process of a launch ends first, and how: what a launcher does not tell, but the system does on this computer.

A rank keeps a named pipe open for as long as it lives, and whoever has the other end sees it close. Linux closes the
files of a process that dies from the highest number down, so with a high number the pipe closes before the launcher can
notice anything and kill the other ranks. The system call for this, `pidfd_open`, tells only after that; it is for ranks
that are not so far yet, for the launcher's own processes, and for how a process ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from weft.launch.keeper import keeper, remove
from weft.launch.processes import STOPPED, Process, children, held_by_anyone, how_it_ended, open_end, sees_everyone
from weft.launch.rank import sign_of_life

_SHARED_MEMORY = "/dev/shm"
_OF_LIBRARIES = (f"{_SHARED_MEMORY}/mpich_shm_", f"{_SHARED_MEMORY}/ucx_shm_posix_")
_IN_CREATE = 0x100
_EVENT = struct.Struct("=iIII")
_PATIENCE = 0.5


class Death(NamedTuple):
    """A process that has ended: a rank, or another one of the launch by its name and number; how, if that is known."""

    rank: int | None
    name: str
    how: str | None


class Deaths:
    """Watches the processes of a launch on this computer; elsewhere, and on systems other than Linux, it sees nothing.

    Parameters
    ----------
    folder
        Where ranks put their pipes.
    tell
        Called with the death whenever a process ends, in the order in which they do, from a thread of its own.
    first
        The process that was started, where it is known.
    """

    def __init__(
        self, folder: str | os.PathLike[str], tell: Callable[[Death], None], first: Process | None = None
    ) -> None:
        self._folder = Path(folder)
        self._tell = tell
        self._first = first
        self._seen: set[int] = set()
        self._pipes: dict[int, int] = {}
        self._ends: dict[int, Process] = {}
        self._known: dict[Process, tuple[int | None, str]] = {}
        self._end_of: dict[Process, int] = {}
        self._of_rank: dict[int, Process] = {}
        self._told: set[int] = set()
        self._helpers: set[Process] = set()
        self._files: dict[str, int] = {}
        self._created = -1
        self._thread: threading.Thread | None = None
        if sys.platform == "linux":
            self._epoll = select.epoll()
            self._stopped, self._stop = os.pipe()
            self._epoll.register(self._stopped, select.EPOLLIN)
            if first is not None:
                self._watch_memory()
            self._thread = threading.Thread(target=self._listen, daemon=True)
            self._thread.start()

    def watch(self, processes: Iterable[tuple[int, int, str]]) -> None:
        """Take those that are new of (rank, process number, host), which ranks have told."""
        for rank, process, host in processes:
            if rank not in self._seen:
                self._seen.add(rank)
                self._add_pipe(rank, self._folder / sign_of_life(process, host))

    def look(self) -> list[tuple[Process, int | None, str]]:
        """Find the processes that there are; those that are stopped, with their rank and their name."""
        if self._thread is None or self._first is None:
            return []
        everyone = self._first.below()
        new = [process for process in everyone if process not in self._known]
        # A launcher's own processes are its children; what these start are ranks, whatever they seem to be at first.
        self._helpers |= set(children(self._first.pid))
        for process in everyone:
            # One that was seen before it had become what it is has no rank yet.
            if self._known.get(process, (None, ""))[0] is None:
                self._learn(process)
        for process in new:
            self._add_end(process)
        if new:
            keeper().tell(launch=self._first.pid, processes=[(process.pid, process.start) for process in new])
        found = [process for process in (self._first, *everyone) if process.state() == STOPPED]
        return [(process, process.rank(), process.name()) for process in found]

    def processes(self) -> list[Process]:
        """All that were found."""
        return list(self._known)

    def close(self) -> None:
        """Watch no longer, and remove the shared memory that is left: for a launch that is over."""
        if self._thread is None:
            return
        os.close(self._stop)
        self._thread.join()
        self._thread = None
        self._epoll.close()
        for descriptor in (self._stopped, *self._pipes, *self._ends):
            os.close(descriptor)
        if self._created >= 0:
            os.close(self._created)
        for path, inode in self._files.items():
            remove(path, inode)

    def _add_pipe(self, rank: int, pipe: Path) -> None:
        if sys.platform != "linux":
            return
        # A rank of another computer, or one that has ended by now, has no open pipe here; so nothing is known of it.
        with contextlib.suppress(OSError):
            descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self._pipes[descriptor] = rank
            self._epoll.register(descriptor, select.EPOLLHUP)

    def _learn(self, process: Process) -> None:
        rank = process.rank()
        self._known[process] = rank, process.name()
        if rank is not None and rank not in self._of_rank:
            # What a rank has started itself has its variables too, and is found later.
            self._of_rank[rank] = process

    def _add_end(self, process: Process) -> None:
        if sys.platform != "linux":
            return
        descriptor = open_end(process)
        if descriptor is not None:
            self._ends[descriptor] = process
            self._end_of[process] = descriptor
            self._epoll.register(descriptor, select.EPOLLIN)

    def _listen(self) -> None:
        if sys.platform != "linux":
            return
        while True:
            # The kernel lists descriptors in the order in which they became ready.
            for descriptor, _ in self._epoll.poll():
                if descriptor == self._stopped:
                    if self._created >= 0:
                        self._look_at_memory()
                    return
                if descriptor == self._created:
                    self._look_at_memory()
                    continue
                self._epoll.unregister(descriptor)
                if descriptor in self._pipes:
                    self._rank_died(self._pipes[descriptor])
                else:
                    self._process_died(self._ends[descriptor], descriptor)

    def _rank_died(self, rank: int) -> None:
        if rank in self._told:
            return
        self._told.add(rank)
        process = self._of_rank.get(rank)
        descriptor = None if process is None else self._end_of.get(process)
        self._tell(Death(rank, "", None if descriptor is None else how_it_ended(descriptor, _PATIENCE)))

    def _process_died(self, process: Process, descriptor: int) -> None:
        rank, name = self._known[process]
        if rank is not None and self._of_rank[rank] == process:
            self._rank_died(rank)
        elif rank is None and process in self._helpers:
            self._tell(Death(None, name, how_it_ended(descriptor, _PATIENCE)))

    def _watch_memory(self) -> None:
        """Have the system tell of new files of shared memory: those that a process of this launch makes are its own."""
        if sys.platform != "linux":
            return
        library = ctypes.CDLL(None, use_errno=True)
        descriptor = library.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if descriptor < 0:
            return
        if library.inotify_add_watch(descriptor, _SHARED_MEMORY.encode(), _IN_CREATE) < 0:
            os.close(descriptor)
            return
        self._created = descriptor
        self._epoll.register(descriptor, select.EPOLLIN)

    def _look_at_memory(self) -> None:
        try:
            events = os.read(self._created, 1 << 16)
        except OSError:
            return
        names, at = [], 0
        while at < len(events):
            *_, length = _EVENT.unpack_from(events, at)
            at += _EVENT.size
            names.append(os.fsdecode(events[at : at + length].rstrip(b"\0")))
            at += length
        if self._first is None:
            return
        ours = self._first.below()
        found = {}
        for path in (f"{_SHARED_MEMORY}/{name}" for name in names):
            with contextlib.suppress(OSError):
                inode = os.stat(path).st_ino
                # One that nobody has any more is of a process that was killed within a moment: of this launch, for
                # others hold theirs.
                if any(process.has_open(path) for process in ours) or (
                    path.startswith(_OF_LIBRARIES) and sees_everyone() and not held_by_anyone(path)
                ):
                    found[path] = inode
        if found:
            self._files |= found
            keeper().tell(launch=self._first.pid, files=found)

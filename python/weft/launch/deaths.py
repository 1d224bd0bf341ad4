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
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from weft.launch import site
from weft.launch.keeper import OF_LIBRARIES, SHARED_MEMORY, keeper, remove
from weft.launch.processes import (
    STOPPED,
    Process,
    children,
    held_by_anyone,
    how_it_ended,
    open_end,
    program,
    sees_everyone,
    unawaited,
)
from weft.launch.rank import sign_of_life

_IN_CREATE = 0x100
_EVENT = struct.Struct("=iIII")
_PATIENCE = 0.5
_RENAMING = 0.01
"""Seconds between two looks at what a process that was just started has become."""
_MAX_RENAMING = 0.1
"""Seconds after which it is taken for what it seems: some launchers run as several processes of one name."""


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
        self._reported: set[int] = set()
        self._helpers: set[Process] = set()
        self._looks_at_ended: dict[int, int] = {}
        self._files: dict[str, int] = {}
        self._unexplained: set[str] = set()
        self._created = self._memory = -1
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        if sys.platform == "linux":
            self._epoll = select.epoll()
            self._stopped, self._stop = os.pipe()
            self._epoll.register(self._stopped, select.EPOLLIN)
            if first is not None:
                self._watch_folders()
            self._thread = threading.Thread(target=self._listen, daemon=True)
            self._thread.start()

    def watch(self, processes: Iterable[tuple[int, int, str]]) -> None:
        """Take those that are new of (rank, process number, host), which ranks have told."""
        for rank, process, host in processes:
            with self._lock:
                self._add_pipe(rank, self._folder / sign_of_life(process, host))

    def look(self) -> list[tuple[Process, int | None, str]]:
        """Find the processes that there are; those that are stopped, with their rank and their name."""
        if self._thread is None or self._first is None:
            return []
        everyone = self._find()
        self._look_at_ended()
        stopped = [process for process in (self._first, *everyone) if process.state() == STOPPED]
        return [(process, process.rank(), process.name() or "a process") for process in stopped]

    def is_deserted(self) -> bool:
        """Whether Hydra's launcher waits, though it has nothing more to wait for.

        It waits for ever for a proxy to connect that was killed before it could.
        """
        first = self._first
        return first is not None and first.is_deserted() and site.is_mpiexec_of_hydra(program(first.pid))

    def _find(self) -> list[Process]:
        """Learn of the processes that there are now."""
        assert self._first is not None
        # A launcher's own processes are its children; what these start are ranks, whatever they seem at first.
        helpers = children(self._first.pid)
        everyone = helpers + [process for helper in helpers for process in helper.below()]
        with self._lock:
            self._helpers |= set(helpers)
            new = [process for process in everyone if self._learn(process)]
            self._await_names([process for process in new if process in self._helpers])
        if new:
            keeper().tell(launch=self._first.pid, processes=[(process.pid, process.start) for process in new])
        return everyone

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
        self._look_at_memory(self._unexplained)
        for path, inode in self._files.items():
            remove(path, inode)

    def _look_at_ended(self) -> None:
        """Tell of a launcher's own processes that ended before a look found them alive, for which it may wait for ever.

        Hydra does so for a proxy that is killed before it has connected. One that is there at one look only is waited
        for.
        """
        assert self._first is not None
        with self._lock:
            known = {process.pid for process in self._end_of}
        for number, name, how in unawaited(self._first.pid):
            if number not in known:
                self._looks_at_ended[number] = self._looks_at_ended.get(number, 0) + 1
                if self._looks_at_ended[number] == 2:
                    self._tell(Death(None, name, how))

    def _learn(self, process: Process) -> bool:
        """What a process is; whether it is new. One that was seen before it had become what it is has no rank yet."""
        is_new = process not in self._known
        if is_new or self._known[process][0] is None:
            rank = process.rank()
            _, seen = self._known.get(process, (None, ""))
            self._known[process] = rank, process.name() or seen
            if rank is not None and rank not in self._of_rank:
                # What a rank has started itself has its variables too, and is found later.
                self._of_rank[rank] = process
        if is_new and (descriptor := open_end(process)) is not None:
            self._ends[descriptor] = process
            self._end_of[process] = descriptor
            self._epoll.register(descriptor, select.EPOLLIN)
        return is_new

    def _await_names(self, started: list[Process]) -> None:
        """What the launcher has just started has its name until it runs its own program, which comes in a moment."""
        assert self._first is not None
        launcher = self._first.name()
        deadline = time.monotonic() + _MAX_RENAMING
        while started := [process for process in started if self._known[process] == (None, launcher)]:
            if time.monotonic() >= deadline:
                return
            time.sleep(_RENAMING)
            for process in started:
                self._learn(process)

    def _add_pipe(self, rank: int, pipe: Path) -> None:
        if sys.platform != "linux" or rank in self._seen:
            return
        self._seen.add(rank)
        # A rank of another computer, or one that has ended by now, has no open pipe here; so nothing is known of it.
        with contextlib.suppress(OSError):
            descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self._pipes[descriptor] = rank
            self._epoll.register(descriptor, select.EPOLLHUP)

    def _look_at_folder(self, names: list[str]) -> None:
        """Ranks put their pipes there in their first moments: long before they tell of themselves."""
        # So all that the launcher has started is there: it is known before any of it can be heard to end.
        if names and self._first is not None:
            self._find()
        host = os.uname().nodename
        for name in names:
            process = Process.of(int(name.rpartition("-")[2])) if name.startswith(f"alive-{host}-") else None
            if process is None or (rank := process.rank()) is None:
                continue
            with self._lock:
                self._add_pipe(rank, self._folder / name)
                self._learn(process)

    def _listen(self) -> None:
        if sys.platform != "linux":
            return
        while True:
            # The kernel lists descriptors in the order in which they became ready.
            for descriptor, _ in self._epoll.poll():
                if descriptor == self._created:
                    self._look_at_created()
                    continue
                if descriptor == self._stopped:
                    if self._created >= 0:
                        self._look_at_created()
                    return
                self._epoll.unregister(descriptor)
                if descriptor in self._pipes:
                    self._rank_died(self._pipes[descriptor])
                else:
                    self._process_died(self._ends[descriptor], descriptor)

    def _rank_died(self, rank: int) -> None:
        if rank in self._reported:
            return
        self._reported.add(rank)
        with self._lock:
            process = self._of_rank.get(rank)
            descriptor = None if process is None else self._end_of.get(process)
        self._tell(Death(rank, "", None if descriptor is None else how_it_ended(descriptor, _PATIENCE)))

    def _process_died(self, process: Process, descriptor: int) -> None:
        with self._lock:
            rank, seen = self._known[process]
        # What was seen right after it was started had the name of what started it.
        name = process.name() or seen
        if rank is not None and self._of_rank[rank] == process:
            self._rank_died(rank)
        elif rank is None and process in self._helpers:
            self._tell(Death(None, name, how_it_ended(descriptor, _PATIENCE)))

    def _watch_folders(self) -> None:
        """Have the system tell of new files: of ranks' pipes, and of shared memory, of which some is this launch's."""
        if sys.platform != "linux":
            return
        library = ctypes.CDLL(None, use_errno=True)
        descriptor = library.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if descriptor < 0:
            return
        self._created = descriptor
        self._memory = library.inotify_add_watch(descriptor, SHARED_MEMORY.encode(), _IN_CREATE)
        library.inotify_add_watch(descriptor, os.fsencode(self._folder), _IN_CREATE)
        self._epoll.register(descriptor, select.EPOLLIN)

    def _look_at_created(self) -> None:
        try:
            events = os.read(self._created, 1 << 16)
        except OSError:
            return
        names: dict[bool, list[str]] = {True: [], False: []}
        at = 0
        while at < len(events):
            watch, _, _, length = _EVENT.unpack_from(events, at)
            at += _EVENT.size
            names[watch == self._memory].append(os.fsdecode(events[at : at + length].rstrip(b"\0")))
            at += length
        self._look_at_folder(names[False])
        self._look_at_memory({f"{SHARED_MEMORY}/{name}" for name in names[True]})

    def _look_at_memory(self, paths: set[str]) -> None:
        """Learn which of these files are of this launch, and which will be if nobody has them at its end."""
        if self._first is None or not paths:
            return
        # A rank whose proxy was killed is below the launcher no more.
        ours = {*self._first.below(), *self._known}
        inodes = {}
        for path in sorted(paths):
            with contextlib.suppress(OSError):
                inode = os.stat(path).st_ino
                # One that nobody has any more is of a process that was killed within a moment: of this launch, for
                # others hold theirs.
                if any(path in process.open_files() for process in ours) or (
                    path.startswith(OF_LIBRARIES) and sees_everyone() and not held_by_anyone(path)
                ):
                    inodes[path] = inode
                else:
                    self._unexplained.add(path)
        if inodes:
            self._files |= inodes
            keeper().tell(launch=self._first.pid, files=inodes)

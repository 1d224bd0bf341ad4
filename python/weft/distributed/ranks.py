"""The ranks that exchange: all of the run, those of an mpi4py communicator, or this process alone."""

from __future__ import annotations

import atexit
import functools
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from weft import _core
from weft._core import UsageError
from weft.distributed import calls
from weft.distributed.leaving import LAST_WORDS, watch
from weft.launch import environment, mpiexec

_Value = TypeVar("_Value")


class Ranks:
    """Ranks of this run, of which this process is one."""

    def __init__(self, native: _core.Ranks, comm: Any = None) -> None:
        self.native = native
        self._comm = comm
        self.rank = native.rank
        self.size = native.size
        self._exchanges = 0
        self.shifts: dict[Any, Any] = {}
        """Plans of earlier single shifts, the oldest first."""

    def agreed(self, what: str, prepare: Callable[[], tuple[object, _Value]]) -> _Value:
        """What `prepare` returns, once all ranks have come to the same.

        Parameters
        ----------
        what
            What is prepared, for messages: "plan".
        prepare
            Returns what must be the same on all ranks (its `repr` is compared) and a value. May raise UsageError.

        Raises
        ------
        UsageError
            On every rank, if `prepare` raised on any, if they differ, or if another rank is in another call.
        """
        call = calls.digest(what)
        try:
            description, value = prepare()
        except (UsageError, TypeError, ValueError) as error:
            self.native.agree(str(error), call, 0, what)
            raise
        self.native.agree(None, call, calls.asked(call, description), what)
        return value

    def are(self, other: Ranks) -> bool:
        """Whether the other ones are the same processes in the same order."""
        if self is other or self.size == other.size == 1:
            return True
        mpi4py = sys.modules.get("mpi4py.MPI")
        if mpi4py is None or self.size != other.size:
            return False
        one, two = (mpi4py.COMM_WORLD if ranks._comm is None else ranks._comm for ranks in (self, other))
        if mpi4py.COMM_NULL in (one, two):
            # A communicator that was freed since cannot be compared.
            return False
        return mpi4py.Comm.Compare(one, two) in (mpi4py.IDENT, mpi4py.CONGRUENT)

    def number(self) -> int:
        """A number for the next exchange, the same on all ranks."""
        self._exchanges += 1
        return self._exchanges


@functools.cache
def of_run() -> Ranks:
    """The ranks of this run: those that a launcher has started, or this process alone. Collective the first time."""
    _refuse_shared()
    mpi4py = sys.modules.get("mpi4py.MPI")
    if environment.launcher() is None and (mpi4py is None or mpi4py.COMM_WORLD.Get_size() == 1):
        return Ranks(_core.Ranks.alone())
    try:
        ranks = Ranks(_core.Ranks.launched(mpiexec.library(), calls.described))
        if ranks.size > 1:
            # Programs of mpi4py have their own conventions for errors (python -m mpi4py).
            how = _watch_leaving(ranks.rank, mpi4py is None)
            atexit.register(_end_together, ranks, how)
        return ranks
    except KeyboardInterrupt:
        # Python heard of it after MPI had started: what it does now must end the run, as it does later.
        launched = environment.launcher()
        if launched is not None and launched.size > 1:
            _watch_leaving(launched.rank, mpi4py is None)
        raise


def of_communicator(comm: Any) -> Ranks:
    """The ranks of an mpi4py communicator. Collective over it.

    Raises
    ------
    UsageError
        If it is no communicator, or if mpi4py and weft use two MPI libraries: the handles of one mean nothing to the
        other.
    """
    if isinstance(comm, Ranks):
        return comm
    _refuse_shared()
    mpi4py = sys.modules.get("mpi4py.MPI")
    if mpi4py is None or not isinstance(comm, mpi4py.Comm):
        raise UsageError(f"comm is a {type(comm).__name__}; expected a communicator of mpi4py, or None for all ranks")
    if comm == mpi4py.COMM_NULL:
        raise UsageError("comm is MPI.COMM_NULL: this rank is not in it")
    same_library()
    ranks = Ranks(_core.Ranks.of_handle(mpi4py._handleof(comm), mpiexec.library(), calls.described), comm)
    if environment.launcher() is not None:
        _watch_leaving(mpi4py.COMM_WORLD.Get_rank(), False)
    return ranks


def _refuse_shared() -> None:
    """Refuse to exchange where this process holds all ranks: weft keeps one rank's plans and buffers in a process.

    Raises
    ------
    UsageError
        With the option that gives every rank a process.
    """
    if environment.holds_all_ranks():
        raise UsageError(
            "the ranks of this run share one process, and weft's arrays need a process for each rank: "
            "start it with weft run --isolate"
        )


def same_library() -> None:
    """Refuse to go on where mpi4py, which is imported, and weft use two MPI libraries.

    Raises
    ------
    UsageError
        If they do.
    """
    mpi4py = sys.modules["mpi4py.MPI"]
    ours = json.loads(_core.mpi_version(mpiexec.library()))
    theirs = mpi4py.Get_library_version()
    if _name(ours["version"]) != _name(theirs):
        raise UsageError(
            f"mpi4py uses {_name(theirs)}, but weft has loaded {_name(ours['version'])} ({ours['path']}): two MPI "
            "libraries in one process do not know each other's communicators. Import mpi4py.MPI before weft uses MPI "
            "and leave WEFT_MPI_LIBRARY unset, or set it to the library of mpi4py"
        )


@functools.cache
def _watch_leaving(rank: int, ends_on_errors: bool) -> Callable[[], str]:
    return watch(rank, ends_on_errors)


def _name(version: str) -> str:
    return mpiexec.first_line(version.rstrip("\0"))


def _end_together(ranks: Ranks, how: Callable[[], str]) -> None:
    """The end of the program is a call too: a rank that comes to it while others wait in one has made fewer."""
    if ranks.native.is_broken:
        return
    try:
        ranks.native.meet(calls.remembered("the end of the program", f"the end of the program: {how()}"))
    except UsageError as error:
        print(f"weft: {error}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(LAST_WORDS)
        # The message above says what ended the run.
        _core.claim_end()
        os._exit(1)

"""Exchanges of programs with mpi4py in which ranks compare their calls, as those of weft's own plans do.

The call is numbered and has its digest (`calls.py`). Messages are the program's own bytes and carry none: a rank that
waits looks for what the others say, and one that receives looks at the length.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from weft._core import UsageError
from weft.distributed import calls
from weft.distributed.ranks import Ranks, of_communicator, of_run, same_library

_SPINS = 2000
"""Looks at a request before others may have the processor."""
_PATIENCE = 0.1
"""Seconds of waiting after which the others are told: `Calls::PATIENCE` of crates/mpi/src/calls.rs."""


class Matching:
    """The calls of one exchange on a communicator. Collective over it.

    Nothing is compared where mpi4py and weft use two MPI libraries.
    """

    def __init__(self, comm: Any) -> None:
        self._ranks = _ranks(comm)
        if self._ranks is None:
            return
        number = self._ranks.number()
        words = f"neighbor_alltoallv {number}, first called at {calls.caller()}"
        self._digest = calls.remembered(f"neighbor_alltoallv {number}", words)
        self._ranks.native.meet(self._digest)

    def of(self, sendbuf: Any, recvbuf: Any) -> Call:
        """A call with these buffers."""
        if self._ranks is None:
            return Call(None, 0, "")
        return Call(self._ranks, self._digest, f"sends {_described(sendbuf)}, receives {_described(recvbuf)}")

    def own(self, comm: Any, sendbuf: Any, recvbuf: Any) -> None:
        """The exchange by MPI's own collective."""
        if self._ranks is None:
            comm.Neighbor_alltoallv(sendbuf, recvbuf)
            return
        call = self.of(sendbuf, recvbuf)
        call.enter()
        call.awaiting(comm.Ineighbor_alltoallv(sendbuf, recvbuf), None)()


class Call:
    """What is done in a call beside the exchange."""

    def __init__(self, ranks: Ranks | None, digest: int, detail: str) -> None:
        self._native = None if ranks is None else ranks.native
        self._digest = digest
        self._detail = detail

    def enter(self) -> None:
        """Begins the call."""
        if self._native is not None:
            self._native.enter(self._digest)

    def awaiting(self, request: Any, received: int | None) -> Callable[[], None]:
        """A wait for a request, and how many bytes it is to receive, if it is a receive."""
        if self._native is None:
            wait: Callable[[], None] = request.Wait
            return wait
        from mpi4py import MPI

        if self._native.is_in_virtual_time:
            return self._awaiting_virtually(request, received)
        test = request.Test
        if received is None:
            wait_for = self._wait_for

            def sent() -> None:
                if not test():
                    wait_for(test)

            return sent
        status = MPI.Status()

        def come() -> None:
            try:
                if not test(status):
                    self._wait_for(lambda: test(status))
            except MPI.Exception as error:
                self._refuse_truncated(error)
            if status.count != received:
                self.refuse()

        return come

    def _awaiting_virtually(self, request: Any, received: int | None) -> Callable[[], None]:
        """As `awaiting` in virtual time, which knows when no rank can go on; a test would take time there."""
        from mpi4py import MPI

        assert self._native is not None
        native, status = self._native, MPI.Status()

        def come() -> None:
            calls.detail(self._digest, self._detail)
            native.await_request(MPI._handleof(request))
            try:
                request.Wait(status)
            except MPI.Exception as error:
                self._refuse_truncated(error)
            if received is not None and status.count != received:
                self.refuse()

        return come

    def refuse(self) -> None:
        """What has come shows that ranks are in different calls: an error on all of them, where they compare."""
        if self._native is not None:
            calls.detail(self._digest, self._detail)
            self._native.refuse()

    def _refuse_truncated(self, error: Any) -> None:
        from mpi4py import MPI

        if error.Get_error_class() == MPI.ERR_TRUNCATE:
            self.refuse()
        raise error

    def _wait_for(self, test: Callable[[], bool]) -> None:
        """Waits until it is done, and for what the others say meanwhile. Raises UsageError."""
        assert self._native is not None
        begin = time.monotonic()
        while True:
            for _ in range(_SPINS):
                if test():
                    return
            os.sched_yield()
            waited = time.monotonic() - begin
            if waited > _PATIENCE:
                calls.detail(self._digest, self._detail)
                self._native.look(waited)


def _ranks(comm: Any) -> Ranks | None:
    """The ranks of a communicator: those of the run where these are all, so that all their calls are in one order."""
    from mpi4py import MPI

    try:
        same_library()
        return of_run() if comm.Get_size() == MPI.COMM_WORLD.Get_size() else of_communicator(comm)
    except UsageError:
        return None


def _described(spec: Any) -> str:
    """Counts and type of a buffer."""
    counts = spec[1][0] if isinstance(spec[1], tuple) else spec[1]
    return f"{[int(count) for count in counts]} of {spec[0].dtype}"

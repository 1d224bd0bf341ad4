"""Event loops of asyncio: those of each rank, though ranks share a thread."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, NamedTuple

__all__ = ["Loops"]


class _State(NamedTuple):
    """What asyncio keeps of a thread, or of the process.

    Attributes
    ----------
    running
        The loop that runs.
    task
        The task that it is in, where that is not kept by loops.
    policy
        What has the loop that `asyncio.get_event_loop` gives where none runs; None before it is asked for.
    """

    running: asyncio.AbstractEventLoop | None = None
    task: asyncio.Task[Any] | None = None
    policy: Any = None


OF_THREADS = sys.version_info >= (3, 14)
"""Whether threads, and not loops, know of the task that is at work."""


class Loops:
    """Takes the state of one rank out and puts that of another in, by functions that asyncio has for its own loops."""

    def __init__(self) -> None:
        self._states: dict[int, _State] = {}

    def exchange(self, before: int | None, rank: int) -> None:
        """Go from one rank, or from none, to another."""
        state = self._taken()
        if before is not None:
            self._states[before] = state
        if rank not in self._states:
            # A package that all ranks share may have chosen the kind of policy.
            self._states[rank] = _State(policy=None if state.policy is None else type(state.policy)())
        self._put(self._states[rank])

    @staticmethod
    def _taken() -> _State:
        running = asyncio._get_running_loop()
        task = None
        if OF_THREADS and running is not None:
            task = asyncio.tasks._swap_current_task(running, None)  # type: ignore[attr-defined]
        return _State(running, task, getattr(asyncio.events, "_event_loop_policy", None))

    @staticmethod
    def _put(state: _State) -> None:
        asyncio._set_running_loop(state.running)
        if OF_THREADS and state.running is not None:
            asyncio.tasks._swap_current_task(state.running, state.task)  # type: ignore[attr-defined]
        if hasattr(asyncio.events, "_event_loop_policy"):
            asyncio.events._event_loop_policy = state.policy

"""What ranks that Python programs run on say when one leaves, and where they are when they wait.

A rank that leaves its program while others wait for it would leave them waiting, or have the launcher end them without
a word. So every path out of a program says first who leaves, how, and where; see `crates/mpi` for what the others do.
"""

from __future__ import annotations

import atexit
import faulthandler
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType

import weft
from weft import _core

_FOLDER = str(Path(weft.__file__).parent) + os.sep
LAST_WORDS = 0.3
"""Seconds that a rank which failed leaves the others to say why they do."""

_FIRST_SIGNAL = 11
"""After the first of those that no standard gives a meaning."""


def watch(rank: int, ends_on_errors: bool) -> Callable[[], str]:
    """Have this process say how it leaves, and where it waits. Once, after MPI has started.

    Parameters
    ----------
    rank
        This rank.
    ends_on_errors
        Whether an error that nobody catches ends the whole run, after its traceback.

    Returns
    -------
    Callable
        Says, at the end, how the program was left.
    """
    _locate_calls()
    how = _tell_of_exit()
    _tell_of_hard_exit(rank)
    if ends_on_errors:
        _end_the_run_on_errors(rank)
    return how


def _locate_calls() -> None:
    """Let the thread that watches find the caller of what this one waits in, at no cost until it asks."""
    if not hasattr(faulthandler, "register") or not hasattr(signal, "SIGRTMIN"):
        return
    for number in range(signal.SIGRTMIN + _FIRST_SIGNAL, signal.SIGRTMAX):
        if signal.getsignal(number) == signal.SIG_DFL:
            reading, writing = os.pipe()
            os.set_blocking(reading, False)
            os.set_blocking(writing, False)
            faulthandler.register(number, file=writing, all_threads=False)
            _core.locate_calls(_FOLDER, number, reading)
            return


def _caller(frame: FrameType | None) -> str:
    """File and line of the innermost frame that is not of weft."""
    while frame is not None and frame.f_code.co_filename.startswith(_FOLDER):
        frame = frame.f_back
    return "an unknown place" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _tell_of_exit() -> Callable[[], str]:
    """`sys.exit` goes on to end MPI in order, which waits for ranks that may wait for this one: they are told of it."""
    leave = sys.exit
    left: list[str] = []

    def exit(status: str | int | None = None, /) -> None:
        left[:] = [f"sys.exit({status!r}), {_caller(sys._getframe(1))}"]
        leave(status)

    def how() -> str:
        error = getattr(sys, "last_value", None)
        reached = "its end was reached" if error is None else f"{type(error).__name__}, which nothing caught"
        return left[0] if left else reached

    sys.exit = exit  # type: ignore[assignment]
    # Before MPI is ended, whose own entry is there already.
    atexit.register(lambda: _core.rank_left(how()))
    return how


def _tell_of_hard_exit(rank: int) -> None:
    """`os._exit` ends the process at once, and the launcher ends the others, whatever the code."""
    leave, process = os._exit, os.getpid()

    def exit(status: int) -> None:
        # Not of a child that was forked.
        if os.getpid() == process and _core.claim_end():
            _say(
                f"rank {rank}: the process ended with exit code {status} before the run was over: os._exit, "
                f"{_caller(sys._getframe(1))}; return from the program on every rank instead"
            )
            # The launcher kills the others for it, so the run has failed.
            leave(status or 1)
        leave(status)

    os._exit = exit  # type: ignore[assignment]


def _end_the_run_on_errors(rank: int) -> None:
    """A rank that fails would leave the others waiting: it ends the run instead, after its traceback."""
    before = sys.excepthook
    leave = os._exit

    def fail(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        try:
            before(kind, error, trace)
        except Exception:
            traceback.print_exception(kind, error, trace)
        if _core.claim_end():
            last = traceback.extract_tb(trace)
            frames = [frame for frame in last if not frame.filename.startswith(_FOLDER)] or last
            where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
            _say(f"rank {rank} ended the run with exit code 1: {kind.__name__}{where}; its traceback is above")
        sys.stdout.flush()
        sys.stderr.flush()
        # Ranks that were found in different calls have the same to say, each with its own traceback.
        time.sleep(LAST_WORDS)
        # Ordinary exit would finalise MPI, which waits for ranks that may wait for this one.
        leave(1)

    sys.excepthook = fail


def _say(text: str) -> None:
    """In one write, so that lines of several ranks do not mix."""
    sys.stderr.write(f"weft: {text}\n")
    sys.stderr.flush()

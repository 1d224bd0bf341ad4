"""Batch systems end jobs with SIGTERM, closed terminals with SIGHUP: what was measured is kept as after Ctrl-C.

A second Ctrl-C ends a command at once.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def terminating_is_interrupting() -> Iterator[None]:
    """Within it SIGTERM and SIGHUP raise KeyboardInterrupt; a SIGHUP that is ignored, as under nohup, stays so."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    wanted = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        wanted.append(signal.SIGHUP)
    before = [(number, signal.signal(number, interrupt)) for number in wanted]
    try:
        yield
    finally:
        for number, handler in before:
            # What a library in C had set, such as one of `LD_PRELOAD`, cannot be set again from Python: it is None.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


class _Signals:
    """Where Python writes the numbers of signals; open until the process ends."""

    written: Any = None


def interrupting_twice_is_leaving() -> None:
    """From now on the process ends soon after Ctrl-C has come twice.

    Also where Python's thread is not back in Python: it may be freeing gigabytes, or importing what a message needs.
    """
    import socket

    from weft import _core

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or _Signals.written is not None:
        return
    _Signals.written, read = socket.socketpair()
    _Signals.written.setblocking(False)
    signal.set_wakeup_fd(_Signals.written.fileno(), warn_on_full_buffer=False)
    _core.end_when_interrupted_twice(read)

"""Batch systems end jobs with SIGTERM, closed terminals with SIGHUP: what was measured is kept as after Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


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
            signal.signal(number, handler)

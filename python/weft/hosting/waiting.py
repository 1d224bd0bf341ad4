"""Waiting for the process of a run, and ending it where only this one is asked to end."""

from __future__ import annotations

import signal
import subprocess

__all__ = ["GRACE", "wait"]

GRACE = 2.0
"""How long an interrupted process has, in seconds, until the interruption is passed on to it."""


def wait(process: subprocess.Popen[bytes], grace: float = GRACE) -> tuple[int, bool]:
    """Wait until a process ends, whatever interrupts this one.

    Ctrl-C reaches all processes of a terminal: the other process ends by itself, and says where its ranks were.
    `kill` and what ends jobs may reach this process alone. Where the other one still runs after some time, it is
    interrupted from here; after that time again it is told to end, and then it is ended: processes that a shell has
    started in the background may ignore interruptions.

    Parameters
    ----------
    process
        The process that is waited for.
    grace
        How long it has until the interruption is passed on, and after each signal, in seconds.

    Returns
    -------
        Its exit code, as `subprocess.Popen.wait` tells it, and whether this process was interrupted meanwhile. An
        interruption at the moment of the process's end may cost its code, which is 0 then.

    Examples
    --------
    >>> wait(subprocess.Popen(["sh", "-c", "exit 3"]))
    (3, False)
    """
    timeout: float | None = None
    interrupted = False
    signals = iter((signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
    while True:
        try:
            return process.wait(timeout), interrupted
        except KeyboardInterrupt:
            timeout, interrupted = grace, True
        except subprocess.TimeoutExpired:
            process.send_signal(next(signals, signal.SIGKILL))

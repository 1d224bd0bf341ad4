"""Commands that may take so much processor time: what else the computer does at the time does not matter."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_TICKS = os.sysconf("SC_CLK_TCK")

IDLE = 120.0
"""A command that has used no processor time for so many seconds is hung, however busy the computer is."""

_PERIOD = 0.2
"""Seconds between two looks at a command."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, what it wrote, and why it was ended, where it was."""

    code: int
    output: str
    errors: str
    reason: str | None = None


def processor_time(session: int) -> tuple[float, bool]:
    """Processor time of the processes of a session, in seconds, with that of their children that have ended, and
    whether one of them is stopped (by a signal, as job control and debuggers do)."""
    total, stopped = 0, False
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # After the name of the program (proc(5)): the session is the sixth field of all, times the 14th to 17th.
        if int(fields[3]) == session:
            total += sum(map(int, fields[11:15]))
            stopped = stopped or fields[0] in "Tt"
    return total / _TICKS, stopped


def run_limited(
    command: Sequence[str], seconds: float, *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Ended:
    """Run a command until it ends, or has used so many seconds of processor time, or none for `IDLE` seconds."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True
        )
        try:
            reason = _watch(process, seconds)
        finally:
            _end(process)
        return Ended(process.returncode, _text(output), _text(errors), reason)


def _watch(process: subprocess.Popen[bytes], seconds: float) -> str | None:
    """Wait for a process; why it is to be ended."""
    used, idle = 0.0, 0.0
    while True:
        try:
            process.wait(_PERIOD)
            return None
        except subprocess.TimeoutExpired:
            pass
        now, stopped = processor_time(process.pid)
        if now > seconds:
            return f"not done in {seconds:g} s of processor time"
        # Who has stopped a process lets it go on some day: until then it is not hung. Nor is it while this process is
        # stopped itself, so that looks are counted and not the time between them.
        idle = 0.0 if now > used or stopped else idle + _PERIOD
        used = now
        if idle > IDLE:
            return f"no processor time used for {IDLE:g} s"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a command's session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")

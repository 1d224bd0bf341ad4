"""Waiting for what a process under test does, instead of for a time that a busy machine exceeds."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def until(condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 300.0) -> None:
    """Return when the condition holds; fail if the process ends before, or that many seconds pass."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"nothing after {seconds:.0f} s"
        time.sleep(0.05)


def children(process: int) -> set[int]:
    """The processes that a process has now; where there is no /proc, none."""
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return set()
    return {int(word) for word in text.split()}

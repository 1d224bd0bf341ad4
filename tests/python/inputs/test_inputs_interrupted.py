"""Ctrl-C ends a command that waits for its input."""

import os
import signal
import subprocess
import sys
import time

import pytest


@pytest.mark.parametrize("words", [["fghc", "run"], ["fghc", "check"], ["verify"]], ids=" ".join)
def test_a_pipe_that_nobody_writes_to_is_left_at_the_first_interrupt(tmp_path, words):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "weft.cli.main", *words, str(pipe)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            # Opening ends when the command opens the pipe, too: from then on it waits for what is in it.
            with open(pipe, "wb"):
                time.sleep(0.5)
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert "Traceback" not in err

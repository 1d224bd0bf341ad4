"""The limit of commands in benchmarks: processor time, of what they start too."""

import os
import signal
import sys
import threading

from benches.hosting import limited
from benches.hosting.limited import run_limited

SPIN = "while True: pass"


def test_a_command_that_ends_tells_what_it_wrote_and_its_exit_code():
    done = run_limited([sys.executable, "-c", "import sys; print('a'); print('b', file=sys.stderr); sys.exit(3)"], 60)
    assert (done.code, done.output, done.errors, done.reason) == (3, "a\n", "b\n", None)


def test_a_command_that_sleeps_is_not_at_its_limit():
    done = run_limited([sys.executable, "-c", "import time; time.sleep(1.5); print('slept')"], 1.2)
    assert (done.output, done.reason) == ("slept\n", None)


def test_a_command_that_computes_in_a_process_that_it_starts_is_ended():
    text = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPIN!r}])"
    done = run_limited([sys.executable, "-c", text], 1.0)
    assert done.reason == "not done in 1 s of processor time"
    assert done.code < 0


def test_a_command_that_does_nothing_is_ended(monkeypatch):
    monkeypatch.setattr(limited, "IDLE", 1.0)
    done = run_limited([sys.executable, "-c", "import time; time.sleep(600)"], 60)
    assert done.reason == "no processor time used for 1 s"


def test_a_command_that_was_stopped_is_not_hung(monkeypatch, tmp_path):
    monkeypatch.setattr(limited, "IDLE", 1.0)
    written = tmp_path / "pid"
    text = (
        f"import os, signal; open({str(written)!r}, 'w').write(str(os.getpid())); os.kill(os.getpid(), signal.SIGSTOP)"
    )
    go_on = threading.Timer(4.0, lambda: os.kill(int(written.read_text()), signal.SIGCONT))
    go_on.start()
    done = run_limited([sys.executable, "-c", text], 60)
    go_on.cancel()
    assert (done.code, done.reason) == (0, None)

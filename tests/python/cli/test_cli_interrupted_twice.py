"""A second Ctrl-C ends a command also where Python's thread does not come back to look at signals."""

import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import itertools, os, sys
from pathlib import Path
from weft import _core, files
from weft.cli.interrupting import interrupting_twice_is_leaving

interrupting_twice_is_leaving()
part = Path(sys.argv[1])
_core.temporary_begins(str(part))
part.write_text("half of it")
# Years in a loop that looks at no signals and lets no other thread of Python run. It writes a line itself: a signal
# between a statement that does and the loop would be looked at.
sum(itertools.chain(map(os.write, [1], [b"begins\\n"]), itertools.repeat(1, 1 << 60)))
"""


@pytest.mark.parametrize("gap", [0.1, 0.5])
def test_a_second_interrupt_ends_what_does_not_look(tmp_path, gap):
    part = tmp_path / ".x.csv.1.part"
    command = [sys.executable, "-c", SCRIPT, str(part)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "begins\n"
            process.send_signal(signal.SIGINT)
            time.sleep(gap)
            # The first is for Python, which does not come to it.
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, err) == (130, "")
    assert not part.exists()


@pytest.mark.parametrize("name", ["x.csv", "é" * 120 + ".csv"])
def test_what_is_written_is_a_temporary_only_meanwhile(tmp_path, monkeypatch, name):
    from weft import files

    begun, ended = [], []
    monkeypatch.setattr(files, "temporary_begins", begun.append)
    monkeypatch.setattr(files, "temporary_ends", ended.append)
    files.check_output(tmp_path / name, [".csv"])
    assert list(tmp_path.iterdir()) == []
    files.write_text("all of it", tmp_path / name)
    assert begun == ended
    assert len(begun) == 2
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("ended", [KeyboardInterrupt(), SystemExit(130)])
def test_an_interrupt_while_the_first_one_is_told_changes_nothing(monkeypatch, ended):
    """Importing what writes the sentence takes a moment, in which another Ctrl-C must not become a traceback."""
    from weft.cli import errors, main

    def command(words):
        # As typer ends a command that was interrupted.
        if isinstance(ended, SystemExit):
            cause = RuntimeError()
            cause.__cause__ = KeyboardInterrupt()
            ended.__context__ = cause
        raise ended

    told = []

    def say():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return
        told.append("said")

    def leave():
        raise SystemExit("left")

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(sys, "argv", ["weft", "machines"])
    monkeypatch.setattr("weft.cli.commands.app", command)
    monkeypatch.setattr(main, "interrupting_twice_is_leaving", lambda: None)
    monkeypatch.setattr(errors, "say_interrupted", say)
    monkeypatch.setattr(main, "_interrupted", leave)
    try:
        with pytest.raises(SystemExit, match="left"):
            main.main()
    finally:
        signal.signal(signal.SIGINT, before)
    assert told == ["said"]

"""What all tests share. Where the extension module lacks something, `stand_in.py` takes its place."""

import importlib
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

import stand_in

STANDING_IN = stand_in.install()

# A shell starts what it runs in the background with interruptions ignored, and so would be every process that a test
# starts and interrupts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# New examples are for whoever can look at them; a change is judged by the same ones every time. No test asserts a time.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_collection_modifyitems(items):
    """Ranks are started by one worker of several (`-n`): those of two tests would take each other's processors."""
    for item in items:
        if item.get_closest_marker("mpi"):
            item.add_marker(pytest.mark.xdist_group("mpi"))


@pytest.fixture
def stand_ins(monkeypatch):
    """The whole extension module replaced: results that are known exactly."""
    from weft import _core
    from weft.launch import request

    names = ("weft.catalogue", "weft.launch.simulate", "weft.study.subjects", "weft.study.here")
    found = [importlib.import_module(name) for name in names]
    # Another that no stand-in is for: it keeps the class that it is imported with.
    importlib.import_module("weft.conset.exchange")
    for name, value in stand_in.build(_core).items():
        monkeypatch.setattr(_core, name, value)
    machine = _core.Machine
    # A module that a test imports first would keep what stands in.
    for module in found:
        monkeypatch.setattr(module, "Machine", machine)
    request.benchmarks.cache_clear()
    request.node_benchmarks.cache_clear()
    yield _core
    request.benchmarks.cache_clear()
    request.node_benchmarks.cache_clear()


@pytest.fixture
def native():
    """Skips where the extension module is not all there."""
    if STANDING_IN:
        pytest.skip("the extension module lacks what this test needs")


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Runs `weft` with words, given as one string or several, in a folder of its own; exit code, output, errors."""
    from weft.cli import main as cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words):
        given = words[0].split() if len(words) == 1 and isinstance(words[0], str) else map(str, words)
        monkeypatch.setattr(sys, "argv", ["weft", *given])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run

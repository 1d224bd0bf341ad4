"""No call of what `weft._core` exports ends the process, and `except Exception` catches what it raises."""

import subprocess
import sys
from pathlib import Path

import awkward_calls
import pytest

from weft import _core

SCRIPT = Path(awkward_calls.__file__)


def called(tmp_path, seed, calls):
    log = tmp_path / "log"
    words = [sys.executable, str(SCRIPT), str(seed), str(calls), str(log)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    last = log.read_text(errors="replace").splitlines()[-1] if log.exists() else "nothing"
    return done, last


def test_awkward_arguments_end_no_process_and_raise_only_exceptions(tmp_path):
    done, last = called(tmp_path, 1, 25)
    assert done.returncode == 0, f"exit code {done.returncode} in {last}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    assert last == "done"
    assert "0 not an Exception" in done.stdout
    assert "defect: " not in done.stdout, done.stdout


def test_everything_exported_is_called():
    names = {name for name, _ in awkward_calls.exported()}
    functions = {name for name in vars(_core) if not name.startswith("_") and callable(getattr(_core, name))}
    errors = {name for name in functions if name.endswith("Error")}
    assert functions - errors <= names
    assert set(awkward_calls.EXAMPLES) <= names
    assert set(awkward_calls.INSTANCES) <= names


@pytest.mark.parametrize("name", sorted(awkward_calls.EXAMPLES))
def test_examples_work(name):
    """Those that did not would get no further than the first check."""
    made = dict(awkward_calls.exported())[name]()
    given = awkward_calls.EXAMPLES[name]()
    if name in ("ArrayExchange.begin", "ArrayExchange.read_boundaries"):
        with pytest.raises(_core.UsageError, match="has begun already"):
            made(*given)
    else:
        made(*given)

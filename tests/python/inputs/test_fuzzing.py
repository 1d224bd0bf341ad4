"""The corpus of every format that weft reads, and mutations of it with a fixed seed: no input is a defect of weft.

`make fuzz` does the same for a minute a format, in processes of their own with limits of time and memory.
"""

import random
import sys
from pathlib import Path

import pytest

from weft.cli import errors

ROOT = Path(__file__).parents[3]
MUTATIONS = 25


@pytest.fixture(scope="module")
def fuzzing():
    """The modules of benches/fuzz, which are a script's."""
    sys.path.insert(0, str(ROOT / "benches" / "fuzz"))
    try:
        import calls
        import formats
        import mutation
        import run
        import worker
    finally:
        sys.path.pop(0)
    yield calls, formats, mutation, run, worker
    for name in ("calls", "formats", "mutation", "run", "worker"):
        sys.modules.pop(name, None)


def _formats():
    folder = ROOT / "tests" / "data" / "fuzz"
    return [
        *sorted(path.name for path in folder.iterdir() if path.is_dir()),
        "parquet",
        "request",
        "sources",
        "machine",
    ]


@pytest.mark.parametrize("name", _formats())
@pytest.mark.filterwarnings("ignore")
def test_no_input_is_a_defect(fuzzing, tmp_path, capfd, name):
    calls, formats, mutation, run, worker = fuzzing
    found = formats.FORMATS[name]
    worker._places(tmp_path)
    rng = random.Random(name)
    seeds = run.seeds(found)
    texts = [text for text, _ in seeds]
    inputs = list(seeds)
    for _ in range(MUTATIONS):
        text, suffix = rng.choice(seeds)
        inputs.append((mutation.mutated(text, rng, found.words, texts), suffix))
    for text, suffix in inputs:
        file = tmp_path / f"input{suffix}"
        file.write_bytes(text)
        for call in found.calls:
            code, message = _taken(getattr(calls, call), str(file))
            fault = worker._fault(code, None, message, capfd.readouterr().out)
            assert fault is None, f"{call}: {fault}\n{text[:2000]!r}"


def _taken(call, path):
    """The exit code and the message of a command that reads an input so."""
    try:
        call(path)
    except Exception as error:
        code = errors.code_of(error)
        if code is None:
            raise
        return code, errors.text(error)
    return 0, ""

"""The corpus of every format that weft reads, and mutations of it with a fixed seed: no input is a defect of weft.

`make fuzz` does the same for a minute a format, in processes of their own with limits of time and memory.
"""

import random
from pathlib import Path

import pytest

from benches.fuzz import calls, campaign, formats, mutation, worker
from weft.cli import errors

ROOT = Path(__file__).parents[3]
MUTATIONS = 25


def _formats():
    folder = ROOT / "tests" / "data" / "fuzz"
    return [
        *sorted(path.name for path in folder.iterdir() if path.is_dir()),
        "request",
        "sources",
        "machine",
    ]


@pytest.mark.parametrize("name", _formats())
@pytest.mark.filterwarnings("ignore")
def test_no_input_is_a_defect(tmp_path, capfd, name):
    found = formats.FORMATS[name]
    worker.needed_files(tmp_path)
    rng = random.Random(name)
    seeds = campaign.seeds(found)
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
            fault = worker.fault(code, None, message, capfd.readouterr().out)
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

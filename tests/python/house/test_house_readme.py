"""What the README shows runs as it stands: its Python, and the commands of its table, one after the other."""

import functools
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from floors import ROOT

import weft
from weft.launch.protocol import Protocol

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
ROWS = re.findall(r"^\| (`weft .*?) \| .* \|$", README, re.MULTILINE)
COMMANDS = [command for row in ROWS for command in re.findall(r"`(weft [^`]*)`", row)]

MEASURE, FIT = "weft measure echo -o here.csv", "weft fit here.csv -o here.toml"
SHORTENED = {
    MEASURE: ["arithmetic", "--seconds-per-point", "0.001", "--budget", "0", "--launches", "12"],
}
"""Commands that measure here, and what makes them short; the first also measures what a later one reads."""
MINUTES = {"weft study --quick", "weft suite", "weft measure arithmetic linpack stream"}
"""Commands of a minute and more: tests of the command line, of studies and of benchmarks of one node do it in short."""
PROGRAMS = {
    "weft fghc advise": "programs/fghc/program1.fghc",
    "weft fghc": "programs/fghc/queens.fghc",
}
"""What FILE stands for."""


@pytest.mark.mpi
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_runs(native, tmp_path, monkeypatch, number):
    monkeypatch.chdir(tmp_path)
    brief = functools.partial(weft.measure, protocol=Protocol(launches=6, budget=1.0), seconds_per_point=0.001)
    monkeypatch.setattr(weft, "measure", brief)
    exec(compile(BLOCKS[number], f"README.md, Python {number}", "exec"), {})


MORE_LAUNCHES = (24, 48, 96)
"""How many launches there are in all where fewer, on a busy machine, tell no startup."""
UNKNOWN = ("cannot be told from 0", "so no machine file was written")


@pytest.mark.alone
@pytest.mark.mpi
def test_commands_run(native, tmp_path):
    assert len(COMMANDS) > 20
    (tmp_path / "stencil.py").write_text(next(block for block in BLOCKS if "Geometry(" in block))
    shutil.copytree(ROOT / "tests" / "python" / "importing" / "outputs", tmp_path, dirs_exist_ok=True)
    for command in COMMANDS:
        if command in MINUTES:
            continue
        words = [word.replace("programs/", f"{ROOT}/programs/") for word in shlex.split(command)]
        stands = next((file for start, file in PROGRAMS.items() if command.startswith(start)), "")
        words = [str(ROOT / stands) if word == "FILE" else word for word in words] + SHORTENED.get(command, [])
        outcome = run(words, tmp_path)
        for launches in MORE_LAUNCHES:
            if command != FIT or not any(words in outcome.stderr for words in UNKNOWN):
                break
            # On a busy machine few launches tell no startup; the message says what to do, and a user would do it.
            # 3: measured, and not converged within the budget.
            more = [*shlex.split(MEASURE), *SHORTENED[MEASURE][:-1], str(launches), "--resume"]
            assert run(more, tmp_path).returncode in (0, 3)
            outcome = run(words, tmp_path)
        done = (0, 3) if "NOT CONVERGED" in outcome.stderr else (0,)
        assert outcome.returncode in done, f"{command}: {outcome.stderr}"


def run(words, folder):
    command = [sys.executable, "-m", "weft.cli.main", *words[1:]]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

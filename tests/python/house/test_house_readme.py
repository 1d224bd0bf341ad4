"""What the README shows runs as it stands: its blocks, and the commands of its table, one after the other."""

import functools
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from blocks import PYTHON, SHELL, blocks, run_command
from floors import ROOT

import weft
from weft.cli import errors
from weft.launch.protocol import Protocol

README = (ROOT / "README.md").read_text()
BLOCKS = list(blocks(README))
PROGRAMS = [block for block in BLOCKS if block.language == PYTHON]
ROWS = re.findall(r"^\| (`weft .*?) \| .* \|$", README, re.MULTILINE)
COMMANDS = [command for row in ROWS for command in re.findall(r"`(weft [^`]*)`", row)]

MEASURE, FIT = "weft measure echo -o here.csv", "weft fit here.csv -o here.toml"
SHORTENED = {
    MEASURE: ["arithmetic", "--seconds-per-point", "0.001", "--budget", "0", "--launches", "12"],
}
"""Commands that measure here, and what makes them short; the first also measures what a later one reads."""
MINUTES = {"weft study --quick", "weft suite", "weft measure arithmetic linpack stream"}
"""Commands of a minute and more: tests of the command line, of studies and of benchmarks of one node do it in short."""
FILE = str(ROOT / "programs/fghc/queens.fghc")
"""What FILE stands for."""


@pytest.mark.mpi
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_python_runs(native, tmp_path, monkeypatch, number):
    monkeypatch.chdir(tmp_path)
    brief = functools.partial(weft.measure, protocol=Protocol(launches=6, budget=1.0), seconds_per_point=0.001)
    monkeypatch.setattr(weft, "measure", brief)
    exec(compile(PROGRAMS[number].text, f"README.md, Python {number}", "exec"), {})


@pytest.mark.alone
@pytest.mark.mpi
def test_blocks_of_commands_run(native, tmp_path):
    write_programs(tmp_path)
    shown = [block for block in BLOCKS if block.language in SHELL]
    assert all(block.is_run or len(block.why_not) > 10 for block in shown)
    commands = [(command, block) for block in shown if block.is_run for command in block.commands()]
    assert len(commands) > 6
    for command, block in commands:
        outcome = run_command(command, block, tmp_path)
        # What is measured in shorter time than a reader would take has often not converged, and says so.
        allowed = {0, errors.REGRESSION} if block.more else {0}
        assert outcome.returncode in allowed, f"README.md:{block.line}: {command}\n{outcome.stderr}"


def write_programs(folder):
    """The programs that the page tells to save, and the files of other tools that it reads."""
    for block in BLOCKS:
        if block.title:
            (folder / block.title).write_text(block.text)
    shutil.copytree(ROOT / "tests" / "python" / "importing" / "outputs", folder, dirs_exist_ok=True)


MORE_LAUNCHES = (24, 48, 96)
"""How many launches there are in all where fewer, on a busy machine, tell no startup."""
UNKNOWN = ("cannot be told from 0", "so no machine file was written")


@pytest.mark.alone
@pytest.mark.mpi
def test_commands_run(native, tmp_path):
    assert len(COMMANDS) > 12
    write_programs(tmp_path)
    for command in COMMANDS:
        if command in MINUTES:
            continue
        words = [word.replace("programs/", f"{ROOT}/programs/") for word in shlex.split(command)]
        words = [FILE if word == "FILE" else word for word in words] + SHORTENED.get(command, [])
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

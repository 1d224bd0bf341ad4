"""Tables are as wide as the terminal, whatever the command."""

import re
import shlex
from pathlib import Path

import pytest
from test_cli_vocabulary import COMMANDS, WITHOUT_TABLE
from typer.testing import CliRunner

from weft.cli.commands import app

WIDTH = 80

PROGRAMS = Path(__file__).parents[3] / "programs"

GOAL = "--goal 't([1,2,3,4,5,6],PEs,Depth)'"

ASKED = {
    "advise": [f"advise {PROGRAMS}/histogram.py --on cm2-8k"],
    "compare": [
        "compare ipsc1 ipsc2 ipsc860 ncube3200 ncube6400 iwarp64 --bytes 8:64",
        "compare {samples} {samples} ipsc860 frontera",
    ],
    "compile": [
        "compile transpose --on iwarp64 --effort 0",
        "compile allreduce --on rail-h100 --bytes 1M",
        "compile --patterns",
    ],
    "estimate": [f"estimate {PROGRAMS}/histogram.py --on cm2-8k"],
    "fghc advise": [f"fghc advise {PROGRAMS}/fghc/program1.fghc {GOAL} -n 4 --on multi-psi-v1 --grain Depth 1:2"],
    "fghc check": [f"fghc check {PROGRAMS}/fghc/program1.fghc"],
    "fghc run": [f"fghc run {PROGRAMS}/fghc/primes.fghc -n 4 --on multi-psi-v2 --stats table"],
    "fit": ["fit {samples}"],
    "health": ["health --on ipsc860 --ranks 32"],
    "import": ["import {osu} --ranks 2"],
    "machines": ["machines"],
    "machines grain": ["machines grain {samples}"],
    "machines show": ["machines show rail-h100"],
    "measure": ["measure echo --on ipsc860", "measure echo broadcast reduce --on frontera --bytes 8:16 --ranks 4"],
    "reproduce": ["reproduce dunigan-1991"],
    "run": [],
}
"""What is asked of each command that prints a table; of `run` programs print."""


def test_every_command_with_a_table_is_asked():
    assert COMMANDS.keys() - WITHOUT_TABLE.keys() <= ASKED.keys()


@pytest.fixture
def files(tmp_path):
    """Input of each kind, by the names that stand for it above."""
    osu = tmp_path / "osu.txt"
    osu.write_text("# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n8   1.5\n16  1.6\n")
    samples = tmp_path / "measured-on-a-machine-with-a-name-of-forty.csv"
    run(f"measure echo arithmetic --on ipsc860 --bytes 8:64K -o {samples}")
    return {"osu": osu, "samples": samples}


def run(words):
    variables = {"COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm"}
    outcome = CliRunner().invoke(app, shlex.split(words), env=variables)
    assert outcome.exit_code in (0, 3), outcome.output
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", outcome.stdout)


@pytest.mark.parametrize("words", [words for asked in ASKED.values() for words in asked])
def test_no_line_of_a_table_is_wider_than_the_terminal(native, files, words):
    printed = run(words.format(**files))
    assert printed.strip()
    # Sentences are broken by the terminal, tables would become unreadable.
    tabular = [line for line in printed.splitlines() if re.search(r"\S {2,}\S", line.replace("\u2502", " "))]
    assert not [line for line in tabular if len(line.rstrip()) > WIDTH]
    assert "\u2026" not in printed


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_no_wider_than_the_terminal(name):
    assert not [line for line in run(f"{name} --help").splitlines() if len(line.rstrip()) > WIDTH]


def test_columns_that_do_not_fit_stand_below_with_their_keys():
    printed = run("compare ipsc1 ipsc2 ipsc860 ncube3200 ncube6400 iwarp64 --bytes 8:64")
    assert "columns 1 of 3" in printed
    assert printed.count(" bytes ") == 3
    for machine in ("ipsc1", "ipsc2", "ipsc860", "ncube3200", "ncube6400", "iwarp64"):
        assert re.search(rf" {machine} ", printed), machine
    # A ratio stands beside its time.
    for block in printed.split("columns ")[1:]:
        heading = next(line for line in block.splitlines() if "benchmark" in line)
        assert re.fullmatch(r"\s*benchmark\s+bytes(\s+ipsc1)?(\s+\w+\s+÷ ipsc1)+\s*", heading)

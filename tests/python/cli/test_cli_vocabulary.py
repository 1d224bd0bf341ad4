"""All commands speak one language: the same option has the same name, short form and meaning everywhere."""

import collections
import json
import logging
import shlex
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from weft.cli.commands import app

SHORT = {
    "config",
    "machines",
    "machines show",
    "import",
    "show",
    "export",
    "fghc check",
    "fghc explain",
    "machines grain",
}
"""Commands that answer at once; every other one works for long."""

WITHOUT_TABLE = {
    "config": "words for compilers",
    "calibrate": "sentences",
    "export": "its --format is of the file that it writes",
    "fghc explain": "the program as an engine sees it",
    "fghc run": "what the program prints; counters have --stats",
    "report": "a page",
    "run": "what the program prints",
    "show": "its --format is of the picture that it draws",
    "study": "sentences; its tables are files",
    "suite": "sentences; its tables are files",
    "verify": "sentences",
}
"""Commands that print no table, and what they print."""


def walked():
    """Every command by its words, with its parameters."""

    def walk(command, words):
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, [*words, name])
        if words and (not hasattr(command, "commands") or command.invoke_without_command):
            yield " ".join(words), command

    found = {}
    for name, command in walk(typer.main.get_command(app), []):
        with command.make_context("weft", ["--help"], resilient_parsing=True) as context:
            found[name] = [param for param in command.get_params(context) if param.param_type_name == "option"]
    return found


COMMANDS = walked()


def spelled(option):
    return {*option.opts, *option.secondary_opts}


def annotation(option):
    """The type that an option was declared with."""
    return option.type_descriptor.annotation


def shown(name):
    return [option for option in COMMANDS[name] if not option.hidden]


def test_all_commands_are_walked():
    assert {"measure", "machines", "machines grain", "fghc advise", "run"} <= COMMANDS.keys()
    assert len(COMMANDS) >= 24
    assert COMMANDS.keys() >= SHORT | WITHOUT_TABLE.keys()


def test_a_short_form_is_of_one_option():
    meanings = collections.defaultdict(set)
    for name in COMMANDS:
        for option in shown(name):
            letters = [text for text in spelled(option) if not text.startswith("--")]
            words = sorted(text for text in spelled(option) if text.startswith("--"))
            for letter in letters:
                meanings[letter].add(tuple(words))
    # As with every launcher, -n is how many there are of what computes: ranks, or processing elements.
    assert meanings.pop("-n") == {("--ranks",), ("--pes",)}
    assert meanings == {
        "-o": {("--output",)}, "-q": {("--quiet",)}, "-v": {("--verbose",)},
    }  # fmt: skip


def test_an_option_of_one_name_has_its_short_form_everywhere():
    for name in COMMANDS:
        for option in shown(name):
            for long, short in (("--output", "-o"), ("--quiet", "-q"), ("--verbose", "-v")):
                assert (long in spelled(option)) == (short in spelled(option)), (name, option.opts)


@pytest.mark.parametrize(
    ("words", "file", "says"),
    [
        ("measure echo --on ipsc860 --bytes 8", "samples.csv", "1 samples"),
        ("compile hypercube --on iwarp64 --effort 0", "schedule.json", "written to"),
        ("compile broadcast --on hgx-h100 --bytes 1K", "collective.json", "written to"),
    ],
)
def test_quiet_says_nothing_of_files(native, tmp_path, words, file, says):
    words += f" -o {tmp_path / file}"
    loud = run(words)
    assert says in " ".join((loud.stdout + loud.stderr).split())
    quiet = run(f"{words} --force --quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")


@pytest.mark.parametrize("long", ["--quiet", "--verbose"])
def test_every_command_that_works_for_long_can_be_quiet_and_verbose(long):
    helps = {name: [option.help for option in shown(name) if long in spelled(option)] for name in COMMANDS}
    assert {name for name, texts in helps.items() if not texts} == SHORT
    assert len({text for texts in helps.values() for text in texts}) == 1


def test_every_command_with_a_table_has_it_as_json_too():
    for name in COMMANDS.keys() - WITHOUT_TABLE.keys():
        (option,) = [option for option in shown(name) if "--format" in spelled(option)]
        assert "json" in list(annotation(option)), name


def test_no_other_name_stands_for_what_has_one():
    forbidden = {
        "--json": "--format json", "--as": "--format", "--length": "--bytes", "--lengths": "--bytes",
        "--machine-file": "--on", "--out": "--output", "--overwrite": "--force", "--processes": "--ranks",
        "--np": "--ranks", "--time": "--budget",
    }  # fmt: skip
    for name in COMMANDS:
        for option in shown(name):
            assert not spelled(option) & forbidden.keys(), (name, option.opts)


def test_options_of_one_name_are_of_one_type():
    types = collections.defaultdict(set)
    for name in COMMANDS:
        for option in shown(name):
            if option.is_flag or "--format" in spelled(option):
                continue
            types[option.opts[0]].add(str(annotation(option)))
    # Those of benchmarks are ranges, lists and numbers, which weft reads itself: text for the parser of options.
    assert not {name: kinds for name, kinds in types.items() if len(kinds - {"<class 'str'>"}) > 1}


def run(words):
    outcome = CliRunner().invoke(app, shlex.split(words))
    assert outcome.exit_code == 0, outcome.output
    return outcome


QUICK = {
    "measure": "measure echo --on ipsc860 --bytes 8:1K",
    "health": "health --on ipsc860 --ranks 4",
    "compare": "compare ipsc860 ncube6400 --bytes 8:64",
    "compile": "compile transpose --on iwarp64 --effort 0",
    "reproduce": "reproduce dunigan-1991 --table 3",
}


@pytest.mark.parametrize("name", QUICK)
def test_quiet_shows_no_table_and_json_stays(name):
    loud, quiet = run(QUICK[name]), run(f"{QUICK[name]} --quiet")
    assert len(quiet.stdout) < len(loud.stdout) / 2
    assert len(quiet.stdout.splitlines()) <= 3
    assert json.loads(run(f"{QUICK[name]} -q --format json").stdout)


@pytest.mark.parametrize("name", QUICK)
def test_verbose_says_on_standard_error_what_is_done(name):
    silent, verbose = run(QUICK[name]), run(f"{QUICK[name]} --verbose")
    assert verbose.stdout == silent.stdout
    lines = [line for line in verbose.stderr.splitlines() if line.startswith("weft: ")]
    assert lines
    assert not [line for line in silent.stderr.splitlines() if line.startswith("weft: ")]


def test_verbose_ends_with_its_command():
    run("compare ipsc860 ncube6400 --bytes 8 -v")
    assert logging.getLogger("weft").level == logging.NOTSET or run("compare ipsc860 ncube6400 --bytes 8")
    assert logging.getLogger("weft").level == logging.NOTSET
    assert not logging.getLogger("weft").handlers


PLAIN = (
    "machines",
    "machines grain",
    "compile --patterns",
    "compile transpose --on iwarp64 --effort 0",
    "compile allreduce --on rail-h100 --bytes 1M",
    "import {file} --ranks 2",
)


@pytest.mark.parametrize("words", PLAIN)
def test_tables_are_json_for_other_tools(words, tmp_path):
    (tmp_path / "osu.txt").write_text("# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n8   1.5\n16  1.6\n")
    rows = json.loads(run(f"{words.format(file=tmp_path / 'osu.txt')} --format json").stdout)
    assert isinstance(rows, list)
    assert rows


def test_what_options_were_called_still_works(tmp_path):
    run(f"compile all-to-all --on iwarp64 --effort 0 -o {tmp_path / 's.json'}")
    old, new = (run(f"export {tmp_path / 's.json'} {option} plain").stdout for option in ("--as", "--format"))
    assert old == new


def test_versions_have_a_short_form():
    assert run("-V").stdout == run("--version").stdout


def test_help_and_version_are_commands_too():
    def said(*words):
        done = subprocess.run(
            [sys.executable, "-m", "weft.cli.main", *words], capture_output=True, text=True, timeout=120, check=False
        )
        return done.returncode, done.stdout, " ".join(done.stderr.split())

    assert said("version") == said("--version")
    assert said("help") == said("--help")
    assert said("help", "machines", "show") == said("machines", "show", "--help")
    code, _, error = said("help", "machine")
    assert code == 2
    assert "No such command 'machine'. Did you mean 'machines'?" in error

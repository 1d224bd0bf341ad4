"""The documentation site: what its pages show runs, what they say is complete, and it builds without a warning."""

import functools
import json
import os
import re
import subprocess
import sys
import tomllib

import pytest
from blocks import DOCS, PYTHON, SHELL, Block, blocks, run_command
from floors import ROOT

import weft
from weft.launch.protocol import Protocol
from weft.samples import COLUMNS

pytest.importorskip("mkdocs")
sys.path.insert(0, str(ROOT))

from scripts.manual import cli, machine_file, samples

NOT_FOLLOWED = {"CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md"}
"""Pages that tell no reader to do something, or one who changes weft itself."""


def followed():
    pages = [page for page in sorted(DOCS.rglob("*.md")) if page.parent.name != "decisions"]
    return [page for page in pages if page.name not in NOT_FOLLOWED and any(b.is_run for b in blocks(page))]


def page_id(page):
    return page.relative_to(DOCS).as_posix()


@pytest.mark.mpi
@pytest.mark.parametrize("page", followed(), ids=page_id)
def test_what_a_page_shows_runs(native, page, tmp_path, monkeypatch):
    for name in ("programs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    brief = functools.partial(weft.measure, protocol=Protocol(launches=6, budget=1.0), seconds_per_point=0.001)
    monkeypatch.setattr(weft, "measure", brief)
    names = {}
    for block in blocks(page):
        if not block.is_run:
            continue
        if block.title:
            (tmp_path / block.title).write_text(block.text)
        elif block.language == PYTHON:
            exec(compile(block.text, f"{page_id(page)}:{block.line}", "exec"), names)
        else:
            follow(block, page, tmp_path)


def follow(block, page, folder):
    """Every command ends well, but for the last of a block that shows an error."""
    commands = block.commands()
    for number, command in enumerate(commands):
        expected = block.exit_code if number == len(commands) - 1 else 0
        outcome = run_command(command, block, folder)
        assert outcome.returncode == expected, f"{page_id(page)}:{block.line}: {command}\n{outcome.stderr}"


def test_every_command_of_a_page_is_run_or_says_why_not():
    shown = [block for page in followed() for block in blocks(page) if block.language in (*SHELL, PYTHON)]
    assert len(shown) > 20
    assert all(block.is_run or len(block.why_not) > 10 for block in shown)


def test_blocks_are_found_with_what_is_said_of_them(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n```sh\nweft machines   # all\nweft fit \\\n  a.csv\n```\n\n<!-- fails: 2 -->\n```console\n$ weft x\nerror\n"
        '```\n\n<!-- not run: it takes a cluster -->\n```sh\nsrun x\n```\n\n```toml title="a.toml"\na = 1\n```\n'
    )
    first, second, third, fourth = blocks(page)
    assert [" ".join(command.split()) for command in first.commands()] == ["weft machines", "weft fit a.csv"]
    assert (second.commands(), second.exit_code) == (["weft x"], 2)
    assert (third.why_not, third.is_run) == ("it takes a cluster", False)
    assert fourth == Block("toml", "a = 1\n", 19, "a.toml")


def test_the_page_of_machine_files_has_every_key_of_the_catalogue_with_its_unit():
    page = machine_file.page()
    sections = dict(re.findall(r"^## \[+(\w+)\]+\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    for machine in weft.machines():
        shown = json.loads(text) if isinstance(text := machine.to_json(), str) else text
        for table, written in tomllib.loads(machine.to_toml()).items():
            if table in ("operations", "facts") or not machine_file._is_table(written):
                continue
            for one in written if isinstance(written, list) else [written]:
                figures = shown[table][0] if isinstance(shown[table], list) else shown[table]
                for key in one.keys() - {"source"}:
                    (row,) = re.findall(rf"^\| `{key}` \| (.*) \|$", sections[table], re.MULTILINE)
                    unit = figures[key]["unit"] if key in figures else None
                    assert row.split(" | ")[1].strip() == (unit or ""), (table, key)


def test_no_key_of_machine_files_is_without_a_meaning():
    for table in ("", *machine_file.tables()):
        if table not in ("topology", "operations", "facts"):
            for key in machine_file.keys(machine_file.complete(table), table):
                assert key.meaning, (table, key.name)
                assert key.expected, (table, key.name)


def test_required_keys_are_those_without_which_a_machine_is_refused():
    text = weft.machine("ipsc860").to_toml()
    keys = {key.name: key for key in machine_file.keys(machine_file.complete("node"), "node")}
    assert keys["forward_overhead"].default == "0.0"
    assert weft.Machine.parse(re.sub(r"^forward_overhead.*\n", "", text, flags=re.MULTILINE), "x.toml")
    protocol = {key.name: key for key in machine_file.keys(machine_file.complete("protocols"), "protocols")}
    assert protocol["hop_time"].default is None
    with pytest.raises(weft.MachineError, match="hop_time: expected a number of at least 0, in s"):
        weft.Machine.parse(re.sub(r"^hop_time.*\n", "", text, flags=re.MULTILINE), "x.toml")


def test_the_page_of_commands_has_every_option_that_help_shows():
    page = cli.page()
    for name in re.findall(r"^## (weft [\w ]+?) \{", page, re.MULTILINE):
        words = [sys.executable, "-m", "weft.cli.main", *name.split()[1:], "--help"]
        shown = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "300"})
        section = page.split(f"## {name} {{")[1].split("\n## ")[0]
        options = set(re.findall(r"^│ (?:\*\s+)?(?:-\w, )?(--[\w-]+)", shown.stdout, re.MULTILINE))
        assert options
        assert not [option for option in options if f"`{option}`" not in section], name


def test_the_page_of_samples_has_every_column():
    page = samples.page()
    assert not [name for name in COLUMNS if f"| `{name}` |" not in page]


@pytest.mark.docs
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(native, tmp_path):
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert built.returncode == 0, built.stdout + built.stderr
    pages = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")]
    assert {"index.html", "reference/cli.html", "reference/machine-file.html"} <= set(pages)
    loaded = re.compile(r"<(?:script|img|link)\b[^>]*?(?:src|href)=[\"']?https?://[^\"'> ]+", re.IGNORECASE)
    found = {page: loaded.findall((tmp_path / page).read_text()) for page in pages}
    assert not {page: links for page, links in found.items() if links}

"""The documentation site: what its pages show runs, what they say is complete, and it builds without a warning."""

import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib

import polars as pl
import pytest
import typer
from blocks import DOCS, PYTHON, SHELL, Block, blocks, run_command
from floors import ROOT
from typer.testing import CliRunner

import weft
from accessibility import serious
from weft.cli import commands, errors
from weft.launch.protocol import Protocol
from weft.papers import ReproducedTable
from weft.samples import COLUMNS

pytest.importorskip("mkdocs")
sys.path.insert(0, str(ROOT))

from scripts.manual import cli, drawing, fghc, figures, machine_file, records, samples, schedule_file

NOT_FOLLOWED = {"CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md"}
"""Pages that tell no reader to do something, or one who changes weft itself."""


GENERATED = {"reference/samples.md": samples.page, "reference/fghc.md": fghc.page}
"""Generated pages that tell a reader to do something; those of papers are what `weft reproduce` computes."""


def followed():
    """The text of every page with something to follow, by its path in the site."""
    pages = {path.relative_to(DOCS).as_posix(): path.read_text() for path in sorted(DOCS.rglob("*.md"))}
    pages |= {name: page() for name, page in GENERATED.items()}
    return {
        name: text
        for name, text in pages.items()
        if name not in NOT_FOLLOWED and not name.startswith("decisions/") and any(b.is_run for b in blocks(text))
    }


FOLLOWED = followed()


@pytest.mark.mpi
@pytest.mark.parametrize("page", FOLLOWED)
def test_what_a_page_shows_runs(native, page, tmp_path, monkeypatch):
    for name in ("programs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    brief = functools.partial(weft.measure, protocol=Protocol(launches=6, budget=1.0), seconds_per_point=0.001)
    monkeypatch.setattr(weft, "measure", brief)
    names = {}
    for block in blocks(FOLLOWED[page]):
        if not block.is_run:
            continue
        if block.title:
            (tmp_path / block.title).write_text(block.text)
        elif block.language == PYTHON:
            exec(compile(block.text, f"{page}:{block.line}", "exec"), names)
        else:
            follow(block, page, tmp_path)


def follow(block, page, folder):
    """Every command ends well, but for the last of a block that shows an error."""
    commands = block.commands()
    for number, command in enumerate(commands):
        expected = block.exit_code if number == len(commands) - 1 else 0
        outcome = run_command(command, block, folder)
        # What is measured in shorter time than a reader would take has often not converged, and says so.
        allowed = {expected, errors.REGRESSION} if block.more else {expected}
        assert outcome.returncode in allowed, f"{page}:{block.line}: {command}\n{outcome.stderr}"


def test_every_command_of_a_page_is_run_or_says_why_not():
    shown = [block for text in FOLLOWED.values() for block in blocks(text) if block.language in (*SHELL, PYTHON)]
    assert len(shown) > 20
    assert all(block.is_run or len(block.why_not) > 10 for block in shown)


def test_blocks_are_found_with_what_is_said_of_them():
    page = (
        "# Page\n\n```sh\nweft machines   # all\nweft fit \\\n  a.csv\n```\n\n"
        "<!-- fails: 2 -->\n```console\n$ weft x\nerror\n"
        '```\n\n<!-- not run: it takes a cluster -->\n```sh\nsrun x\n```\n\n```toml title="a.toml"\na = 1\n```\n'
    )
    first, second, third, fourth = blocks(page)
    assert [" ".join(command.split()) for command in first.commands()] == ["weft machines", "weft fit a.csv"]
    assert (second.commands(), second.exit_code) == (["weft x"], 2)
    assert (third.why_not, third.is_run) == ("it takes a cluster", False)
    assert fourth == Block("toml", "a = 1\n", 20, "a.toml")


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
        if table not in ("topology", "operations", "facts", "alternative"):
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
        shown = CliRunner().invoke(commands.app, [*name.split()[1:], "--help"], env={"COLUMNS": "300"})
        section = page.split(f"## {name} {{")[1].split("\n## ")[0]
        options = set(re.findall(r"^│ (?:\*\s+)?(?:-\w, )?(--[\w-]+)", shown.stdout, re.MULTILINE))
        assert options
        assert not [option for option in options if f"`{option}`" not in section], name


def test_examples_of_help_are_commands_that_there_are():
    """They are understood as typed: known commands, options and choices, nothing missing."""
    app = typer.main.get_command(commands.app)
    shown = [block for block in blocks(cli.page()) if block.language in SHELL]
    examples = [command for block in shown for command in block.commands() if command.startswith("weft ")]
    assert len(examples) > 60
    for example in examples:
        words = shlex.split(example.split(" | ")[0].split(" > ")[0])[1:]
        command = app
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        if words and words[-1] != "--help":
            command.make_context("weft", words)


def inline_commands():
    """The commands in the sentences of the README and of all pages but the history of versions."""
    pages = [ROOT / "README.md", *(path for path in sorted(DOCS.rglob("*.md")) if path.name != "CHANGELOG.md")]
    for path in pages:
        sentences = re.sub(r"^ *```.*?^ *```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        for command in re.findall(r"`weft ([^`]+)`", sentences):
            yield path.relative_to(ROOT), " ".join(command.split())


def unknown_word(words):
    """The first word of a command that the command line does not know: the command's own name, or an option."""
    command = typer.main.get_command(commands.app)
    path = []
    while words and hasattr(command, "commands"):
        if words[0].startswith("-") or words[0] == "COMMAND":
            return None
        if words[0] not in command.commands:
            return words[0]
        path.append(words.pop(0))
        command = command.commands[path[-1]]
    parameters = command.get_params(typer.Context(command))
    options = {name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)}
    typed = (re.sub(r"[=\]].*", "", word.lstrip("[")) for word in words)
    return next((word for word in typed if re.match(r"--?[a-zA-Z]", word) and word not in options), None)


def test_commands_in_sentences_are_commands_that_there_are():
    shown = list(inline_commands())
    assert len(shown) > 80
    wrong = [f"{path}: weft {text}" for path, text in shown if unknown_word(text.split(" script.py")[0].split())]
    assert not wrong, "\n".join(wrong)
    assert unknown_word(["measure", "echo", "--no-such"]) == "--no-such"
    assert unknown_word(["no-such"]) == "no-such"


def test_the_page_of_schedule_files_has_every_key_of_a_schedule():
    page = schedule_file.page()
    schedule = schedule_file.schedule()
    parts = {
        "The schedule": schedule,
        "`resources`": schedule["resources"],
        "A phase": schedule["phases"][0],
        "A connection in a phase": schedule["phases"][0]["connections"][0],
        "A lower bound": schedule["lower_bounds"][0],
    }
    for heading, part in parts.items():
        section = page.split(f"## {heading}\n")[1].split("\n## ")[0]
        listed = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| (.*?) \|$", section, re.MULTILINE))
        assert set(part) <= set(listed), heading
        assert all(listed.values()), heading


def test_the_page_of_fghc_has_every_operation_of_the_catalogue():
    entries = [entry for kind in fghc.catalogues().values() for entry in kind]
    assert len(entries) == len(re.findall(r'^    \w+ = "', fghc.CATALOGUE.read_text(), re.MULTILINE))
    assert all(meaning for _, _, meaning in entries)


def test_a_figure_in_a_sentence_comes_from_its_record():
    filled = figures.filled("off by {{ record estimator: blind: median error }}")
    assert re.fullmatch(r"off by \d+\.\d%", filled)
    with pytest.raises(figures.FigureError, match="the newest record of estimator has no figure 'blind: nothing'"):
        figures.filled("{{ record estimator: blind: nothing }}")


def test_records_are_drawn_by_date_where_one_machine_has_several():
    def record(day, processor="P", **figures):
        return {
            "date": f"2026-01-0{day}T00:00:00+00:00",
            "machine": {"processor": processor, "processors": 2},
            "figures": [{"name": name.replace("_", "/"), "value": value, "unit": unit}
                        for name, (value, unit) in figures.items()],
        }  # fmt: skip

    newest = record(3, weft_c=(0.8, "ratio"), time=(2.0, "s"), rate=(4.0, "/s"))
    before = [record(1, weft_c=(1.2, "ratio"), time=(1.0, "s")), record(2, "Q", weft_c=(9.0, "ratio"))]
    courses = records.common_courses([newest, *before])
    assert {name: [(at.day, value) for at, value in course] for name, course in courses.items()} == {
        "weft/c": [(1, 1.2), (3, 0.8)]
    }
    without_ratios = [record(1, time=(1.0, "s"), rate=(0.0, "/s")), record(2, time=(3.0, "s"), rate=(4.0, "/s"))]
    courses = records.common_courses(without_ratios)
    assert {name: [value for _, value in course] for name, course in courses.items()} == {"time": [1.0, 3.0]}
    assert "2026-01-02" in records.dated_picture(courses, is_of_ratios=False)
    assert records.common_courses([newest]) == records.common_courses([]) == {}


def test_figures_of_papers_are_drawn_with_what_was_published_and_ours():
    cells = pl.DataFrame({"bytes": [8, 64, 512], "machine": "a", "unit": "kB/s", "published": [1.0, None, 3.0],
                          "ours": [1.1, 2.0, 3.3]})  # fmt: skip
    (panel,) = drawing.panels(ReproducedTable("1", "Rates", ("bytes",), ("machine",), cells, label="Figure"))
    assert panel.curves == {"a": [(8.0, 1.0, 1.1), (64.0, None, 2.0), (512.0, 3.0, 3.3)]}
    assert "<svg" in drawing.drawn([panel])


def test_the_page_of_samples_has_every_column():
    page = samples.page()
    assert not [name for name in COLUMNS if f"| `{name}` |" not in page]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    variables = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, env=variables)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.mark.docs
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(native, site):
    pages = [path.relative_to(site).as_posix() for path in site.rglob("*.html")]
    assert {"index.html", "reference/cli.html", "reference/machine-file.html", "papers/taki-1988.html"} <= set(pages)
    loaded = re.compile(r"<(?:script|img|link)\b[^>]*?(?:src|href)=[\"']?https?://[^\"'> ]+", re.IGNORECASE)
    found = {page: loaded.findall((site / page).read_text()) for page in pages}
    assert not {page: links for page, links in found.items() if links}


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.docs
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to look at the site with")
def test_the_site_is_searched_from_the_disk(native, site, tmp_path):
    words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
    words += [f"--user-data-dir={tmp_path}", "--virtual-time-budget=20000", "--dump-dom"]
    words += [f"{(site / 'index.html').as_uri()}?q=suspension"]
    shown = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120).stdout
    results = re.findall(r'<a href="([^"]+)" class="md-search-result__link"', shown)
    assert any("fghc" in result for result in results), results


KINDS = (
    "index", "404", "gallery", "how-to/parallel-variables", "reference/machine-file", "reference/python/stencils",
    "papers/dunigan-1991", "records/index", "CHANGELOG",
)  # fmt: skip
"""One page of every kind that the site has."""


@pytest.mark.docs
@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_page_of_the_site_bars_anyone(native, site, tmp_path, dark):
    assert {kind: found for kind in KINDS if (found := serious(site / f"{kind}.html", tmp_path, dark=dark))} == {}

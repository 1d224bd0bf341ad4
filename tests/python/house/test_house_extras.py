"""What each extra is for: arrays need numpy only, and what is missing is said in one sentence with the line to type."""

import os
import re
import subprocess
import sys
import tomllib

import pytest
from floors import ROOT

from weft import extras
from weft._core import UsageError

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = PROJECT["optional-dependencies"]
README = re.findall(r"```python[^\n]*\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)

REPORT = "a report needs jinja2: pip install 'weft[report]'"

WITHOUT = "import sys\nfor name in {names!r}: sys.modules[name] = None\n"
"""What makes packages as good as not installed."""


def names(requirements):
    return {re.split(r"[^\w-]", requirement, maxsplit=1)[0] for requirement in requirements}


def without(packages, code, folder, **variables):
    """A program in an interpreter of its own that has not these packages."""
    words = [sys.executable, "-c", WITHOUT.format(names=list(packages)) + code]
    return subprocess.run(
        words, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )


def command(packages, words, folder, **variables):
    """The command line where these packages are missing."""
    code = f"from weft.cli.main import main\nsys.argv = ['weft', *{words.split()!r}]\nmain()"
    return without(packages, code, folder, **variables)


def said(output):
    return " ".join(output.stderr.split())


@pytest.mark.parametrize(("package", "extra"), extras.EXTRAS.items())
def test_the_extra_that_is_named_installs_the_package(package, extra):
    assert package.replace("_", "-") in names(OPTIONAL[extra])
    assert package not in names(PROJECT["dependencies"])


def test_everything_is_all_that_users_may_want():
    (everything,) = OPTIONAL["all"]
    listed = set(re.fullmatch(r"weft\[(.*)\]", everything)[1].split(","))
    assert {name for extra in listed for name in names(OPTIONAL[extra])} == {
        name for extra in OPTIONAL.keys() - {"all", "docs", "test"} for name in names(OPTIONAL[extra])
    }


def test_what_is_there_is_not_asked_for():
    extras.require("a report", "jinja2")


def test_the_first_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(UsageError, match=f"^{re.escape(REPORT)}$"):
        extras.require("a report", "jinja2")


@pytest.mark.parametrize("words", ["report samples.csv", "study", "study --resume", "suite"])
def test_a_report_that_cannot_be_drawn_is_refused_before_any_work(words, tmp_path):
    (tmp_path / "samples.csv").write_text("no samples")
    done = command(["jinja2"], words, tmp_path)
    assert (done.returncode, said(done)) == (2, f"error: {REPORT}")
    assert [path.name for path in tmp_path.iterdir()] == ["samples.csv"]


@pytest.mark.parametrize(("asked", "named"), [("", "table 4"), (" --table 5", "table 5"), (" --figure 6", "figure 6")])
def test_a_reproduction_with_meshes_is_refused_before_any_work(asked, named, tmp_path):
    done = command(["pymetis"], f"reproduce feldmann-1993{asked}", tmp_path)
    sentence = f"error: dividing the meshes of {named} needs pymetis: pip install 'weft[meshes]'"
    assert (done.returncode, said(done), done.stdout) == (2, sentence, "")


@pytest.mark.parametrize(("package", "needs"), [("resvg_py", "a picture in PNG"), ("matplotlib", "a picture in PNG")])
def test_a_picture_that_cannot_be_drawn_is_refused_before_the_file_is_read(package, needs, tmp_path):
    done = command([package], "show schedule.json --format png", tmp_path)
    sentence = f"error: {needs} needs {package}: pip install 'weft[report]'"
    assert (done.returncode, said(done)) == (2, sentence)
    assert not any(tmp_path.iterdir())


def test_a_report_of_python_says_so_too_and_weft_has_all_its_names(tmp_path):
    code = (
        "from weft import *\nimport weft\n"
        "try: weft.report(weft.simulate('ipsc860', 'echo', bytes='8'), 'report.html')\n"
        "except weft.UsageError as error: print(error)"
    )
    done = without(["jinja2", "plotext"], code, tmp_path)
    assert done.stdout.strip() == "a report needs jinja2: pip install 'weft[report]'", done.stderr


def test_no_mpi_is_one_sentence(tmp_path, monkeypatch):
    for name in ("WEFT_MPIEXEC", "WEFT_MPI_LIBRARY"):
        monkeypatch.delenv(name, raising=False)
    code = "sys.executable = '/nowhere/bin/python'\nfrom weft.cli.main import main\nsys.argv = ['weft', *{!r}]\nmain()"
    done = without([], code.format(["measure", "echo", "--bytes", "8"]), tmp_path, PATH=str(tmp_path))
    sentence = (
        "error: no mpiexec in PATH: starting ranks needs mpich: pip install 'weft[mpi]', or set WEFT_MPIEXEC to the "
        "launcher of your MPI"
    )
    assert (done.returncode, said(done)) == (1, sentence)
    done = without([], code.format([]), tmp_path, PATH=str(tmp_path))
    assert "Not yet here: no mpiexec in PATH: " in done.stdout


@pytest.mark.parametrize("number", range(1, len(README)))
def test_arrays_need_numpy_only(native, tmp_path, number):
    others = {*names(PROJECT["dependencies"]), *extras.EXTRAS, "array_api_compat"} - {"numpy", "array-api-compat"}
    assert {"polars", "scipy", "typer"} <= others
    done = without(others, README[number], tmp_path)
    assert done.returncode == 0, done.stderr


def test_without_words_weft_says_what_is_next(tmp_path):
    done = command([], "", tmp_path)
    assert done.returncode == 0
    assert "weft study" in done.stdout
    assert "weft --help" in done.stdout
    assert "Not yet here" not in done.stdout
    done = command(["jinja2"], "", tmp_path)
    assert f"Not yet here: {REPORT}" in done.stdout


def test_a_shell_completes_words(tmp_path):
    variables = {"_WEFT_COMPLETE": "complete_bash", "COMP_WORDS": "weft repr", "COMP_CWORD": "1"}
    assert command([], "", tmp_path, **variables).stdout.split() == ["reproduce"]

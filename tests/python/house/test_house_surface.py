"""What people import: lazy, documented, and the same on both sides of the native seam."""

import ast
import builtins
import re
import subprocess
import sys
from pathlib import Path

import pytest
from floors import ROOT

import weft
from weft import _core

STUB = Path(weft.__file__).parent / "_core.pyi"


def stub_names():
    """Public names of the stub, with the members of its classes."""
    tree = ast.parse(STUB.read_text())
    names = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names[node.name] = {
                member.name for member in node.body if isinstance(member, ast.FunctionDef) and member.name[0] != "_"
            }
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = set()
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = set()
    return names


def test_the_stub_names_what_the_native_half_has(native):
    there = {name for name in dir(_core) if not name.startswith("_")} | {"__version__"}
    assert set(stub_names()) == there


def test_the_stub_names_the_members_of_its_classes(native):
    for name, members in stub_names().items():
        kind = getattr(_core, name)
        if isinstance(kind, type) and not issubclass(kind, Exception):
            assert members == {member for member in dir(kind) if not member.startswith("_")}, name


@pytest.mark.parametrize("name", sorted(set(weft.__all__) - {"__version__"}))
def test_every_public_name_is_there_and_documented(name):
    assert getattr(weft, name).__doc__
    assert name in dir(weft)


def test_the_top_shadows_no_builtin_and_no_word_of_mpi():
    words_of_mpi = {"send", "recv", "get", "put", "reduce", "scan", "gather", "scatter", "bcast", "shift", "spread"}
    assert not set(weft.__all__) & (set(dir(builtins)) | words_of_mpi)
    assert dir(weft) == sorted(weft.__all__)


def test_modules_are_attributes_without_being_imported():
    code = "import weft; print(weft.hosting.__name__, weft.data_parallel.costs.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["weft.hosting", "weft.data_parallel.costs"]


@pytest.mark.parametrize("name", sorted(weft._DEPRECATED))
def test_a_name_that_moved_is_there_with_a_warning(name):
    module = weft._DEPRECATED[name]
    with pytest.warns(DeprecationWarning, match=rf"weft\.{name} is weft\.{module}\.{name} now"):
        value = getattr(weft, name)
    assert value is getattr(getattr(weft, module), name)
    assert name in getattr(weft, module).__all__


def project_files(*suffixes):
    """Text files of the project: all that git knows, but for what tells of the past."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = [name for name in listed.stdout.split("\0") if name.endswith(suffixes)]
    if not names:
        pytest.skip("not a checkout of git")
    past = {"docs/CHANGELOG.md", Path(__file__).relative_to(ROOT).as_posix()}
    return [ROOT / name for name in names if name not in past and (ROOT / name).exists()]


def test_no_file_of_the_project_uses_a_name_that_moved():
    old = re.compile(rf"(?<![\w./-])weft\.({'|'.join(weft._DEPRECATED)})\b(?!\.(py|toml|md|json))")
    files = project_files(".py", ".pyi", ".md", ".rs", ".j2", ".toml", ".yml")
    uses = [f"{path.relative_to(ROOT)}: {found[0]}" for path in files for found in old.finditer(path.read_text())]
    assert len(files) > 500
    assert not uses


def names_of_weft(tree):
    """What a module takes from the top of weft, by attribute or by import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "weft":
            yield node.attr
        elif isinstance(node, ast.ImportFrom) and node.module == "weft":
            yield from (alias.name for alias in node.names if alias.name != "*")


def test_every_name_of_weft_that_the_project_uses_is_there():
    package = Path(weft.__file__).parent
    modules = {path.stem for path in package.glob("*.py")} | {
        path.parent.name for path in package.glob("*/__init__.py")
    }
    there = set(weft.__all__) | modules | {"_core", "_DEPRECATED"}
    used = {
        name: path for path in project_files(".py") if "weft" in (text := path.read_text())
        for name in names_of_weft(ast.parse(text)) if not name.startswith("__")
    }  # fmt: skip
    assert len(used) > 20
    assert not used.keys() - there, {name: used[name] for name in used.keys() - there}


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="module 'weft' has no attribute 'fitt'"):
        _ = weft.fitt


def test_errors_have_one_base():
    assert issubclass(weft.UsageError, weft.WeftError)
    assert issubclass(weft.MachineError, weft.UsageError)
    assert issubclass(weft.RunError, weft.WeftError)


def loaded(code):
    listing = f"{code}\nimport sys; print(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True).stdout.split()
    )


@pytest.mark.parametrize("code", ["import weft", "import weft.cli.main", "import weft.launch.rank"])
def test_starting_imports_nothing_heavy(code):
    heavy = {"numpy", "scipy", "polars", "plotly", "jinja2"}
    assert not loaded(code) & heavy


def test_a_rank_imports_only_the_native_half():
    parts = {name for name in loaded("import weft.launch.rank") if name.startswith("weft")}
    assert parts == {"weft", "weft._core", "weft._core.defects", "weft.launch", "weft.launch.rank"}


def test_the_package_is_typed():
    assert (Path(weft.__file__).parent / "py.typed").exists()

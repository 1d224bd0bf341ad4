"""What people import: lazy, documented, and the same on both sides of the native seam."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

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

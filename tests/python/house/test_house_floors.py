"""Edges only point down: what `cargo metadata` and the Python imports say, held against the floors of the house."""

import ast
import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "python" / "weft"

# docs/ARCHITECTURE.md says why. A crate or package that is not here has no floor yet: give it one.
CRATE_FLOORS = {
    "weft-base": 0,
    "weft-machine": 0.5,  # on floor 0, above the units
    "weft-comm": 1,
    "weft-network": 1,
    "weft-kernels": 1,
    "weft-sim": 2,
    "weft-mpi": 2,
    "weft-threads": 2,
    "weft-suite": 2.5,  # on floor 2, above the programs that it measures
    "weft-polyshift": 2,
    "weft-conset": 2,
    "weft-fghc": 2,
    "weft-launch": 3,
    "weft-py": 4,
}
WORLDS = {"weft-sim", "weft-mpi", "weft-threads"}
PROGRAMS = {"weft-suite", "weft-polyshift", "weft-conset", "weft-fghc"}

PACKAGE_FLOORS = {
    "_core": 0,
    "files": 1,
    "inputs": 0.5,  # what reads files stands on it
    "pages": 1,
    "units": 1,
    "releasing": 1,
    "catalogue": 1,
    "samples": 1,
    "model": 2,
    "papers": 3,
    "launch": 3,
    "data_parallel": 2,
    "shifts": 3,
    "stencils": 3,
    "distributed": 3.5,
    "pvar": 3.6,  # above the geometries that it is distributed by
    "estimation": 4,
    "advice": 4.5,  # by what is estimated
    "conset": 3,
    "fghc": 3,
    "reports": 3,
    "study": 4,
    "cli": 5,
}
RUNTIME = {"launch", "study", "catalogue"}


def crates():
    if shutil.which("cargo") is None:
        pytest.skip("no cargo in PATH")
    words = [
        "cargo",
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--offline",
        "--manifest-path",
        ROOT / "Cargo.toml",
    ]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return {
        package["name"]: {
            d["name"] for d in package["dependencies"] if d["name"].startswith("weft-") and d["kind"] is None
        }
        for package in json.loads(found)["packages"]
    }


def test_crates_point_down():
    for crate, needed in crates().items():
        assert crate in CRATE_FLOORS, f"{crate} has no floor"
        for other in needed:
            assert CRATE_FLOORS[other] < CRATE_FLOORS[crate], f"{crate} must not stand on {other}"


def test_programs_name_no_world_and_worlds_no_program():
    for crate, needed in crates().items():
        if crate in PROGRAMS:
            assert not needed & WORLDS, f"{crate} names a world"
        if crate in WORLDS:
            assert not needed & (PROGRAMS | WORLDS), f"{crate} names a program or another world"


def imports(path):
    """Top-level parts of weft that a module imports when it is run, anywhere in it; not those for types only."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and ast.unparse(branch.test).endswith("TYPE_CHECKING")
        for statement in branch.body
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.split(".")[0] == "weft" and "." in name)


def modules():
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def part(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_python_points_down(path):
    here = part(path)
    assert here in PACKAGE_FLOORS, f"{here} has no floor"
    for other in imports(path):
        if other not in PACKAGE_FLOORS or other == here:
            continue  # a name of weft/__init__.py, or its own package
        assert PACKAGE_FLOORS[other] < PACKAGE_FLOORS[here], f"{here} must not stand on {other}"


@pytest.mark.parametrize("name", ["reports", "model", "samples"])
def test_what_reads_samples_imports_no_runtime(name):
    for path in (PACKAGE / name).rglob("*.py"):
        used = set(imports(path))
        assert not used & RUNTIME, path
        if "_core" in used:
            text = path.read_text()
            assert not any(f"_core.{word}" in text for word in ("simulate", "run_", "Machine")), path

"""Edges only point down: what `cargo metadata` and the Python imports say, compared with docs/floors.toml."""

import ast
import json
import shutil
import subprocess

import pytest
from floors import END, FLOORS, PAGE, ROOT, TABLE, drawn, shown

PACKAGE = ROOT / "python" / "weft"
EXTENSION, EXTENSION_CRATE = "_core", "weft-py"


def crate_floor(crate):
    """The floor of a crate by its name."""
    return floor_of(f"crates/{crate if crate == EXTENSION_CRATE else crate.removeprefix('weft-')}")


def package_floor(package):
    """The floor of a package of weft, or of the extension module."""
    return floor_of(f"crates/{EXTENSION_CRATE}" if package == EXTENSION else f"python/weft/{package}")


def floor_of(part):
    assert part in FLOORS, f"{part} has no floor: give it one in docs/floors.toml"
    return FLOORS[part]


def named(key):
    """The crates of one of the lists at the top of the table."""
    return {f"weft-{part.removeprefix('crates/')}" for part in TABLE[key]}


def test_the_page_shows_the_table():
    assert shown(PAGE.read_text()) == drawn(), "run python tests/python/house/floors.py"
    assert PAGE.read_text().count(END) == 1


def test_the_table_has_only_what_there_is():
    for part in FLOORS:
        assert (ROOT / part).is_dir() or (ROOT / f"{part}.py").is_file(), part


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
        for other in needed:
            assert crate_floor(other) < crate_floor(crate), f"{crate} must not stand on {other}"


def test_programs_name_no_backend_and_backends_no_program():
    programs, backends = named("programs"), named("backends")
    for crate, needed in crates().items():
        if crate in programs:
            assert not needed & backends, f"{crate} names a backend"
        if crate in backends:
            assert not needed & (programs | backends), f"{crate} names a program or another backend"


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
    for other in imports(path):
        if other == here or (other != EXTENSION and f"python/weft/{other}" not in FLOORS):
            continue  # its own package, or a name of weft/__init__.py
        assert package_floor(other) < package_floor(here), f"{here} must not stand on {other}"


@pytest.mark.parametrize("reader", TABLE["readers"])
def test_what_reads_samples_imports_no_runtime(reader):
    runtime = {part.rsplit("/", 1)[1] for part in TABLE["runtime"]}
    for path in (ROOT / reader).rglob("*.py"):
        used = set(imports(path))
        assert not used & runtime, path
        if "_core" in used:
            text = path.read_text()
            assert not any(f"_core.{word}" in text for word in ("simulate", "run_", "Machine")), path

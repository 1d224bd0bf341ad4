"""A source distribution has every file that is embedded when it is compiled or read when it runs."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[3]
EMBEDDED = re.compile(r'include_(?:str|bytes)!\("([^"]+)"\)')

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo in PATH")


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> set[PurePosixPath]:
    """The files of the source distribution, relative to its top folder."""
    folder = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(folder)]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        return {PurePosixPath(*PurePosixPath(name).parts[1:]) for name in tar.getnames()}


def data_files(folder: str, suffixes: tuple[str, ...]) -> set[PurePosixPath]:
    found = {PurePosixPath(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*") if path.suffix in suffixes}
    assert found
    return found


def test_the_catalogue_is_in_the_source_distribution(members: set[PurePosixPath]) -> None:
    assert data_files("crates/machine/machines", (".toml",)) <= members


def test_the_published_figures_are_package_data(members: set[PurePosixPath]) -> None:
    assert data_files("python/weft/papers/reference", (".csv", ".md", ".fghc")) <= members


def test_everything_else_that_the_package_reads_is_there(members: set[PurePosixPath]) -> None:
    assert data_files("python/weft", (".py", ".pyi", ".js", ".css", ".html", ".j2", ".typed")) <= members


def test_every_file_embedded_in_a_crate_is_there(members: set[PurePosixPath]) -> None:
    missing = []
    for source in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        for embedded in EMBEDDED.findall(source.read_text()):
            path = (source.parent / embedded).resolve().relative_to(ROOT)
            if PurePosixPath(path) not in members:
                missing.append(f"{source.relative_to(ROOT)}: {path}")
    assert not missing


def test_one_version_in_all_files() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    citation = dict(re.findall(r"^(version|date-released): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    changes = re.findall(r"^## (\S+) \((\S+)\)$", (ROOT / "docs" / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert citation["version"] == version
    assert changes[0] == (version, citation["date-released"])


def test_the_versions_of_python_are_those_of_the_extension_module() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    least = project["requires-python"].removeprefix(">=")
    classified = [name.rpartition(" ")[2] for name in project["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert classified[0] == least
    assert f"abi3-py{least.replace('.', '')}" in (ROOT / "crates/weft-py/Cargo.toml").read_text()

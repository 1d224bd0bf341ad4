"""Builds the wheel from the source distribution, and looks whether it is all that a user needs.

    python scripts/wheel.py build       dist/weft-VERSION.tar.gz, and the wheel that is built from it
    python scripts/wheel.py check       that wheel, in empty environments, with neither compilers nor Rust in PATH
    python scripts/wheel.py check --python python3.11 --python python3.13
    python scripts/wheel.py build --quick; python scripts/wheel.py check --quick    as continuous integration does

The build needs what pyproject.toml builds with and a Rust toolchain; with `--zig` (`pip install 'maturin[zig]'
cargo-zigbuild`) it links for the C library of manylinux2014 (glibc 2.17), else for that of this machine. The
libraries for programs of MPI in virtual time and for C and Fortran are no part of the extension module: they are
compiled from the checkout and put beside the Python sources. What is compiled stays in target/wheel, so that another
build compiles only what has changed. The check installs packages with pip; it takes minutes, nearly all of them for
reproducing papers and measuring. With `--quick` the build takes from target/ what `make setup` has compiled, for this
machine and with no thought of size, and the check reproduces one paper only.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python" / "house"))

from blocks import MEASURES, Block, blocks  # noqa: E402

DIST = ROOT / "dist"
BUILD = ROOT / "target" / "wheel"

MAX_BYTES = 13_500_000
"""A wheel of more is a mistake: a build without `strip`, or data that nobody reads. Why it is not 8 MB:
docs/decisions/what-a-wheel-has.md."""

PROFILE = "wheel"
"""The profile of Cargo.toml that is built."""

GLIBC = "2.17"
"""The C library of manylinux2014."""

LIBRARIES = {
    "weft-virtual-mpi": "hosting/lib/libmpi.so.12",
    "weft-virtual-openmpi": "hosting/lib/libmpi.so.40",
    "weft-virtual-standard": "hosting/lib/libmpi_abi.so.1",
    "weft-capi": "capi/lib/libweft.so",
}
"""Crates whose libraries lie in the package, and where."""

WITHOUT_EXTRAS = (
    ("report samples.csv -o report.html", "a report needs jinja2: pip install 'weft[report]'"),
    ("study", "a report needs jinja2: pip install 'weft[report]'"),
    ("measure echo", "starting ranks needs mpich: pip install 'weft[mpi]'"),
)
"""Commands that need an extra, and what they say where it is not installed."""

RING = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
total = value = world.rank
for _ in range(world.size - 1):
    value = world.sendrecv(value, (world.rank + 1) % world.size, source=(world.rank - 1) % world.size)
    total += value
if world.rank == 0:
    print(total)
"""
"""A program for virtual time: the sum of all ranks, passed around."""

MESHES = "feldmann-1993"
"""The paper with tables of meshes, which need an extra to be divided."""


class WheelError(Exception):
    """What is wrong with the wheel."""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    building = commands.add_parser("build", help="the source distribution, and the wheel from it")
    kind = building.add_mutually_exclusive_group()
    kind.add_argument("--zig", action="store_true", help="link for manylinux2014")
    kind.add_argument("--quick", action="store_true", help="with what `make setup` has compiled")
    building.set_defaults(run=lambda options: build(zig=options.zig, quick=options.quick))
    checking = commands.add_parser("check", help="the wheel in dist, installed and used")
    checking.add_argument(
        "--python", action="append", help="an interpreter; may be repeated; the first tries everything"
    )
    checking.add_argument("--quick", action="store_true", help="any size, and one paper")
    checking.set_defaults(run=lambda options: check(options.python or [sys.executable], quick=options.quick))
    options = parser.parse_args()
    try:
        options.run(options)
    except WheelError as error:
        sys.exit(f"wheel.py: {error}")


def build(*, zig: bool = False, quick: bool = False) -> None:
    """Makes both files in dist, in place of earlier ones."""
    DIST.mkdir(exist_ok=True)
    for earlier in [*DIST.glob("weft-*.tar.gz"), *DIST.glob("weft-*.whl")]:
        earlier.unlink()
    maturin = [sys.executable, "-m", "maturin"]
    run([*maturin, "sdist", "--out", str(DIST)], ROOT)
    source = BUILD / "source"
    unpack(only("weft-*.tar.gz"), source)
    options = ["--compression-level", "1" if quick else "9"]
    options += ["--zig", "--compatibility", "manylinux2014"] if zig else []
    profile, target = ("release", ROOT / "target") if quick else (PROFILE, BUILD / "target")
    # The linker is found by the Python that comes first in PATH, which must be the one that has it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "CARGO_TARGET_DIR": str(target)}
    # The source distribution has not all crates of the workspace: this takes what only they need out of its lock file.
    run(["cargo", "metadata", "--quiet", "--format-version", "1"], source, quiet=True)
    compile_libraries(source / "python" / "weft", profile, zig, variables)
    run([*maturin, "build", "--profile", profile, "--locked", *options, "--out", str(DIST)], source, variables)
    print(facts(only("weft-*.whl")))


def compile_libraries(package: Path, profile: str, zig: bool, variables: dict[str, str]) -> None:
    """The libraries beside the extension module, each where it is looked for."""
    target = host() if zig else ""
    command = ["cargo-zigbuild", "zigbuild", "--target", f"{target}.{GLIBC}"] if zig else ["cargo", "build"]
    crates = [word for crate in LIBRARIES for word in ("--package", crate)]
    run([*command, "--profile", profile, "--locked", "--lib", *crates], ROOT, variables)
    for crate, name in LIBRARIES.items():
        stem = "weft" if crate == "weft-capi" else crate.replace("-", "_")
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(variables["CARGO_TARGET_DIR"], target, profile, f"lib{stem}.so"), package / name)


def host() -> str:
    """The target that Rust compiles for where none is named."""
    told = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.removeprefix("host: ") for line in told.splitlines() if line.startswith("host: "))


def unpack(archive: Path, folder: Path) -> None:
    """The files of a source distribution, replaced only where they differ.

    All of them have the same time in the archive, by which cargo would not see that one has changed.
    """
    with tempfile.TemporaryDirectory() as temporary, tarfile.open(archive) as tar:
        tar.extractall(temporary, filter="data")
        (top,) = Path(temporary).iterdir()
        wanted = {path.relative_to(top) for path in top.rglob("*") if path.is_file()}
        for path in [path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder) not in wanted]:
            path.unlink()
        for name in wanted:
            if not (folder / name).exists() or not filecmp.cmp(top / name, folder / name, shallow=False):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(top / name, folder / name)


def facts(wheel: Path) -> str:
    """Size, tag and the newest symbols of the C library that what is compiled asks for.

    Raises
    ------
    WheelError
        If a library is missing.
    """
    with zipfile.ZipFile(wheel) as archive:
        compiled = [name for name in archive.namelist() if re.search(r"\.so(\.\d+)?$", name)]
        found = [found for name in compiled for found in re.findall(rb"GLIBC_([0-9.]+)", archive.read(name))]
    missing = {f"weft/{name}" for name in LIBRARIES.values()} | {"weft/_core.abi3.so"}
    if missing := missing - set(compiled):
        raise WheelError(f"{wheel.name} has no {', '.join(sorted(missing))}")
    symbols = {tuple(map(int, version.split(b"."))) for version in found}
    newest = ".".join(map(str, max(symbols)))
    return f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, glibc {newest}"


def check(interpreters: Sequence[str], *, quick: bool = False) -> None:
    """Installs the wheel into an empty environment of each interpreter, and uses it; the first tries everything."""
    wheel = only("weft-*.whl")
    print(facts(wheel))
    if wheel.stat().st_size > MAX_BYTES and not quick:
        raise WheelError(f"{wheel.name} has {wheel.stat().st_size} bytes, more than {MAX_BYTES}")
    for number, interpreter in enumerate(interpreters):
        with tempfile.TemporaryDirectory(prefix="weft-wheel-") as folder:
            installation = Installation(interpreter, Path(folder))
            installation.install(str(wheel))
            alone(installation, papers=number == 0 and not quick)
            if number == 0:
                with_extras(installation)


class Installation:
    """An environment with nothing in it but what is installed here, and commands with no other program in PATH."""

    def __init__(self, interpreter: str, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        work = folder / "work"
        work.mkdir()
        nothing = folder / "nothing"
        nothing.mkdir()
        run([interpreter, "-m", "venv", str(folder / "venv")], folder)
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "WEFT_", "VIRTUAL_"))
        }
        self.install_variables = kept
        self.variables = {**kept, "PATH": str(nothing), "HOME": str(work), "COLUMNS": "120"}
        self.work = work

    def install(self, *what: str) -> None:
        """As users do, by pip."""
        start = time.monotonic()
        run(
            [str(self.bin / "pip"), "install", "--quiet", "--disable-pip-version-check", *what],
            self.work,
            self.install_variables,
        )
        print(f"pip install {' '.join(Path(name).name for name in what)}: {time.monotonic() - start:.0f} s")

    def weft(self, words: str) -> str:
        """What a command prints, which must succeed."""
        return self._run([str(self.bin / "weft"), *words.split()], f"weft {words}", (0,))

    def refused(self, words: str) -> str:
        """What a command says that must be refused."""
        return self._run([str(self.bin / "weft"), *words.split()], f"weft {words}", None)

    def python(self, code: str, title: str) -> str:
        """What a program prints, which must succeed."""
        return self._run([str(self.bin / "python"), "-c", code], title, (0,))

    def run(self, words: Sequence[str], title: str, wanted: Sequence[int]) -> str:
        """What a command prints that ends with one of these exit codes."""
        return self._run([str(self.bin / "weft"), *words], title, wanted)

    def _run(self, words: Sequence[str], title: str, wanted: Sequence[int] | None) -> str:
        start = time.monotonic()
        done = subprocess.run(words, cwd=self.work, env=self.variables, capture_output=True, text=True, check=False)
        if done.returncode == 0 if wanted is None else done.returncode not in wanted:
            raise WheelError(f"{title}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        print(f"  {title or 'weft'}: {time.monotonic() - start:.1f} s")
        return done.stdout + done.stderr


def alone(installation: Installation, papers: bool) -> None:
    """What works without any extra, and what is said where one is missing."""
    version = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    expect("weft --version", installation.weft("--version"), f"weft {version[1] if version else '?'}")
    print(f"  {installation.python('import sys; print(sys.version)', 'Python').split()[0]}")
    expect("weft", installation.weft(""), "weft --help", "pip install 'weft[mpi]'", "pip install 'weft[report]'")
    expect("weft --help", installation.weft("--help"), "measure", "reproduce")
    machines = sorted(path.stem for path in (ROOT / "crates/machine/machines").glob("*.toml"))
    expect("weft machines", installation.weft("machines"), *machines)
    expect("weft measure echo", installation.weft("measure echo --on ipsc860"), "echo 2 1 1 MiB")
    installation.weft("measure echo --on ipsc860 -o samples.csv")
    installation.weft("fit samples.csv")
    for words, sentence in WITHOUT_EXTRAS:
        expect(f"weft {words}", installation.refused(words), sentence)
    for number, block in enumerate(readme()[1:], 2):
        installation.python(block, f"README, Python {number}")
    names = (
        installation.python("from weft.papers import PAPERS; print(*PAPERS)", "the papers").split() if papers else []
    )
    for paper in names:
        reproduce = installation.refused if paper == MESHES else installation.weft
        wanted = "pip install 'weft[meshes]'" if paper == MESHES else "published"
        expect(f"weft reproduce {paper}", reproduce(f"reproduce {paper}"), wanted)


def with_extras(installation: Installation) -> None:
    """The lines that errors name install what is missing, and leave weft as it is; then all that the README shows."""
    before = installation.weft("--version")
    installation.install("weft[mpi]", "weft[report]", "weft[meshes]", "weft[run]")
    expect("weft --version", installation.weft("--version"), before.strip())
    expect(f"weft reproduce {MESHES}", installation.weft(f"reproduce {MESHES}"), "published")
    installation.weft("report samples.csv -o simulated.html")
    for number, block in enumerate(readme(), 1):
        installation.python(block, f"README, Python {number}")
    readme_commands(installation)
    (installation.work / "ring.py").write_text(RING)
    expect("weft run", installation.weft("run --on ipsc860 -n 8 ring.py"), "28")
    installation.weft("study --quick -o first")


def readme() -> list[str]:
    """The README's Python."""
    return [block.text for block in page() if block.language == "python"]


def page() -> list[Block]:
    """The blocks of the README."""
    return list(blocks((ROOT / "README.md").read_text()))


def readme_commands(installation: Installation) -> None:
    """The README's blocks of commands, with the programs that it tells to save."""
    for block in page():
        if block.title:
            (installation.work / block.title).write_text(block.text)
    for block in page():
        if not (block.is_run and block.language == "sh"):
            continue
        for command in block.commands():
            words = f"{command} {block.more}" if block.more and command.startswith(MEASURES) else command
            # 3: what is measured in shorter time than a reader would take has often not converged.
            installation.run(shlex.split(words)[1:], words, (0, 3) if block.more else (0,))


def expect(title: str, output: str, *wanted: str) -> None:
    """Whether an output has everything that it must have, however its lines are broken."""
    flat = " ".join(output.split())
    for text in wanted:
        if text not in flat:
            raise WheelError(f"{title} does not say {text!r}:\n{output}")


def only(pattern: str) -> Path:
    """The one file of dist."""
    found = list(DIST.glob(pattern))
    if len(found) != 1:
        raise WheelError(f"dist has {len(found)} files {pattern}: make wheel")
    return found[0]


def run(words: Sequence[str], folder: Path, variables: dict[str, str] | None = None, quiet: bool = False) -> None:
    """Runs a command, which must succeed; `quiet` keeps its standard output to itself."""
    shown = subprocess.DEVNULL if quiet else None
    code = subprocess.run(words, cwd=folder, env=variables, stdout=shown, check=False).returncode
    if code != 0:
        raise WheelError(f"{' '.join(words)}: exit code {code}")


if __name__ == "__main__":
    main()

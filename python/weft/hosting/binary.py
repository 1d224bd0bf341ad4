"""What a program is: a script of Python, a compiled program and the MPI that it was built for, or something else."""

from __future__ import annotations

import ast
import os
import struct
import subprocess
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from weft.hosting.library import OF_MPI4PY

__all__ = [
    "ELF",
    "Kind",
    "Linkage",
    "brings_mpi",
    "kind",
    "libraries",
    "libraries_of_mpi4py",
    "linkage",
    "needs_processes",
]

ELF = b"\x7fELF"
"""How compiled programs begin."""

_LOAD, _DYNAMIC = 1, 2
_NEEDED, _STRINGS = 1, 5
_MACHINES = {3: "32-bit x86", 40: "32-bit Arm", 62: "x86-64", 183: "64-bit Arm", 21: "PowerPC", 243: "RISC-V"}


class Kind(Enum):
    """What a file that is to be run is."""

    SCRIPT = "a script of Python"
    COMPILED = "a compiled program"
    OTHER = "something that the system runs, as a script of the shell"


@dataclass(frozen=True)
class Linkage:
    """What a compiled program asks the dynamic linker for.

    Attributes
    ----------
    machine
        The number of the processor's architecture (`e_machine` of the System V ABI).
    needed
        Names of libraries; None where it is linked statically.
    """

    machine: int
    needed: tuple[str, ...] | None

    @property
    def architecture(self) -> str:
        """The name of the processor's architecture."""
        return _MACHINES.get(self.machine, f"architecture {self.machine}")


def kind(path: Path) -> Kind:
    """Tell a script of Python from a compiled program and from what else the system can run."""
    with path.open("rb") as file:
        first = file.read(256)
    if first.startswith(ELF):
        return Kind.COMPILED
    interpreter = first.splitlines()[0] if first.startswith(b"#!") else b""
    return Kind.OTHER if interpreter and b"python" not in interpreter and path.suffix != ".py" else Kind.SCRIPT


def needs_processes(script: Path) -> bool:
    """Whether a script of Python uses weft's ranks alone, which have a process each: it imports weft, and no mpi4py.

    A script that is no Python is run, and says so itself.
    """
    try:
        tree = ast.parse(script.read_bytes())
    except (SyntaxError, ValueError):
        return False
    names = {name.partition(".")[0] for node in ast.walk(tree) for name in _imported(node)}
    return "weft" in names and "mpi4py" not in names


def brings_mpi(preloaded: str) -> bool:
    """Whether one of the libraries that a variable `LD_PRELOAD` names is MPI, or wraps functions of it.

    Files alone are looked into: a name without a folder is searched for by the dynamic linker.
    """
    # Both have names of the profiling interface in them: as functions, or as what they call.
    paths = [Path(name) for name in preloaded.replace(":", " ").split()]
    return any(path.is_file() and b"PMPI_" in path.read_bytes() for path in paths)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []


def linkage(path: Path) -> Linkage:
    """Read what a compiled program asks for (System V ABI, chapters 4 and 5).

    Raises
    ------
    ValueError
        For a file that is cut short, or of 32 bits.
    """
    content = path.read_bytes()
    if len(content) < 64 or content[4] != 2:
        raise ValueError("it is no program of 64 bits")
    order = "<" if content[5] == 1 else ">"
    machine = struct.unpack_from(order + "H", content, 18)[0]
    (start,) = struct.unpack_from(order + "Q", content, 32)
    size, count = struct.unpack_from(order + "HH", content, 54)
    try:
        headers = [struct.unpack_from(order + "IIQQQQQQ", content, start + size * index) for index in range(count)]
        dynamic = next((header for header in headers if header[0] == _DYNAMIC), None)
        if dynamic is None:
            return Linkage(machine, None)
        entries = list(struct.iter_unpack(order + "QQ", content[dynamic[2] : dynamic[2] + dynamic[5] // 16 * 16]))
        loaded = [header for header in headers if header[0] == _LOAD]
        strings = next(_offset(loaded, value) for tag, value in entries if tag == _STRINGS)
        needed = tuple(_string(content, strings + value) for tag, value in entries if tag == _NEEDED)
    except (struct.error, StopIteration, ValueError):
        raise ValueError("it is cut short") from None
    return Linkage(machine, needed)


def libraries(path: Path) -> tuple[str, ...]:
    """Names of all libraries that the dynamic linker would load for a compiled program, those that it lacks too."""
    asked = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    traced = subprocess.run([path.resolve()], env=asked, capture_output=True, text=True, check=False, timeout=60)
    return tuple(line.split()[0] for line in traced.stdout.splitlines() if line.strip())


def libraries_of_mpi4py(python: Path) -> tuple[str, ...]:
    """Names of the libraries that an interpreter's mpi4py was linked with, as a distribution of Linux does.

    Empty where it has no mpi4py, or one that looks for MPI itself; of one with several interfaces those of the one that
    ranks take.
    """
    search = "import importlib.util as u; s = u.find_spec('mpi4py.MPI'); print(s.origin if s else '')"
    done = subprocess.run(
        [python, "-c", search],
        env={**os.environ, **OF_MPI4PY},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    extension = Path(done.stdout.strip())
    try:
        return (linkage(extension).needed or ()) if done.returncode == 0 and extension.is_file() else ()
    except ValueError:
        return ()


def _offset(loaded: list[tuple[int, ...]], address: int) -> int:
    """Where in the file the byte is that is loaded at an address."""
    for _, _, offset, start, _, length, _, _ in loaded:
        if start <= address < start + length:
            return offset + address - start
    raise ValueError(address)


def _string(content: bytes, start: int) -> str:
    return content[start : content.index(b"\0", start)].decode(errors="replace")

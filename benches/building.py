"""What benchmarks run besides Python: commands, examples of the workspace, programs and libraries in C."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence

from benches.recording import ROOT

NATIVE = ("-O3", "-march=native")
"""Flags of baselines in C, as they would be built by hand."""


def run(
    command: Sequence[str | os.PathLike[str]],
    what: str,
    variables: Mapping[str, str] | None = None,
    folder: pathlib.Path = ROOT,
    timeout: float | None = None,
) -> str:
    """The standard output of a command; ends the program with its message where it fails or is absent."""
    words = [os.fspath(word) for word in command]
    try:
        done = subprocess.run(
            words, cwd=folder, env={**os.environ, **(variables or {})}, text=True, capture_output=True, timeout=timeout,
            check=False,
        )  # fmt: skip
    except FileNotFoundError:
        sys.exit(f"{what}: the program '{words[0]}' is not installed")
    if done.returncode != 0:
        sys.exit(f"{what} failed with code {done.returncode} ({shlex.join(words)}):\n{done.stdout}{done.stderr}")
    return done.stdout


def example(package: str, name: str) -> str:
    """Builds an example of the workspace for release, and returns its path."""
    cargo = ["cargo", "build", "--release", "--package", package, "--example", name, "--message-format=json"]
    for line in run(cargo, f"building the example {name} of {package}").splitlines():
        message = json.loads(line)
        if message.get("executable") and message.get("target", {}).get("name") == name:
            return str(message["executable"])
    sys.exit(f"cargo built no example '{name}'")


def c_library(source: pathlib.Path, folder: pathlib.Path, *flags: str) -> ctypes.CDLL:
    """Compiles a source in C as a shared library, and loads it."""
    library = folder / f"{source.stem}.so"
    run(["cc", *NATIVE, *flags, "-shared", "-fPIC", source, "-o", library], f"compiling {source.name}")
    return ctypes.CDLL(str(library))


def c_program(source: pathlib.Path, program: pathlib.Path, *flags: str) -> pathlib.Path:
    """Compiles a source in C as a program."""
    run(["cc", *NATIVE, source, "-o", program, *flags], f"compiling {source.name}")
    return program

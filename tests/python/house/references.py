"""What pages name in backquotes: files, modules, identifiers; and whether there is such a thing."""

from __future__ import annotations

import functools
import importlib
import re
import subprocess
from pathlib import Path

from floors import ROOT

ENDINGS = ("c", "cpp", "csv", "html", "json", "md", "py", "pyi", "rs", "sh", "toml")

_FILE = re.compile(rf"[\w.*-]+(?:/[\w.*-]+)*\.(?:{'|'.join(ENDINGS)})|[\w.-]+(?:/[\w.-]+)+/?")
_MODULE = re.compile(r"weft(?:\.\w+)+(?:\(\))?")
_PATH = re.compile(r"\w+(?:::\w+)+(?:\(\))?")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?")


def quoted(page: str) -> list[str]:
    """What is in backquotes on a page, outside of blocks of code."""
    text = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    return [" ".join(found.split()) for found in re.findall(r"`([^`]+)`", text)]


def missing(text: str) -> str | None:
    """Why there is no such file, module or identifier; None where there is, or where the text names none.

    Commands, options, numbers and formulas name nothing; identifiers of Rust and Python must occur in their sources.
    """
    if _MODULE.fullmatch(text):
        return None if _is_attribute(text.removesuffix("()")) else "Python finds no such name"
    if _FILE.fullmatch(text):
        return None if _is_file(text) else "there is no such file"
    if _PATH.fullmatch(text) or _NAME.fullmatch(text):
        unknown = [name for name in re.findall(r"[A-Za-z_]\w*", text) if name not in words()]
        return f"no source has {unknown[0]}" if unknown else None
    return None


def _is_file(text: str) -> bool:
    """Whether the repository has the file or the folder, from its root; a bare name may be anywhere in it."""
    if "/" not in text and "*" not in text:
        return text in {path.name for path in tracked()}
    return (ROOT / text).exists() or any(ROOT.glob(text))


def _is_attribute(name: str) -> bool:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        try:
            for part in parts[cut:]:
                value = getattr(value, part)
        except AttributeError:
            return False
        return True
    return False


@functools.cache
def tracked() -> tuple[Path, ...]:
    """The files of the repository, whether or not they are committed yet."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return tuple(Path(line) for line in listed.stdout.splitlines())
    # An unpacked source distribution has no history; it has the files.
    folders = ("crates", "python", "benches", "programs", "scripts", "tests", "docs")
    return tuple(path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())


@functools.cache
def words() -> frozenset[str]:
    """Every word of the sources, the manifests and the machine files; not of Python's tests, such as those of this."""
    found: set[str] = set()
    for path in tracked():
        if (
            path.parts[0] != "tests"
            and path.suffix in {".rs", ".py", ".pyi", ".toml", ".c"}
            and (ROOT / path).is_file()
        ):
            found.update(re.findall(r"[A-Za-z_]\w*", (ROOT / path).read_text(errors="replace")))
    return frozenset(found)

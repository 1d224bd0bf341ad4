"""Files that are whole or not there."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from weft._core import UsageError


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text file whole or not at all: readers see the old one or the new one.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    path = Path(path)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def check_writable(path: str | os.PathLike[str], suffixes: tuple[str, ...]) -> None:
    """Refuse a file that could not be written, before any work is done for it.

    Raises
    ------
    UsageError
        If its folder does not exist or may not be written to, it is a folder itself, or its name ends in none of
        `suffixes`.
    """
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        raise UsageError(f"{path}: expected a name that ends in {' or '.join(suffixes)}")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UsageError(f"{path}: may not be written")

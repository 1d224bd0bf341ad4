"""Files of schedules: JSON, or the same packed by gzip where the name ends in .gz."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

from weft import _core, inputs
from weft._core import UsageError

SUFFIXES = (".json", ".gz")
"""What names of schedules end in."""

_FACTOR = 8
"""As text, as JSON of connections with routes, and as what the verifier knows of it."""
_PIECE = 1 << 24


def content(text: str, path: str | os.PathLike[str]) -> bytes:
    """What a file of this name has.

    >>> len(content("[" * 1000, "schedule.json")), len(content("[" * 1000, "schedule.json.gz")) < 100
    (1001, True)
    """
    written = (text + "\n").encode()
    # Without a time, so that the same schedule gives the same file.
    return gzip.compress(written, 6, mtime=0) if _is_packed(path) else written


def read_text(path: str | os.PathLike[str], expected: str) -> str:
    """The text of a file.

    Raises
    ------
    UsageError
        If it is not text, not packed as its name says, or too large for the memory there is.
    OSError
        If it cannot be read.
    """
    if not _is_packed(path):
        return inputs.read_text(path, expected, factor=_FACTOR)
    shown = inputs.path_shown(path)
    pieces: list[bytes] = []
    size = 0
    try:
        with gzip.open(path) as file:
            while piece := file.read(_PIECE):
                size += len(piece)
                # What is packed may be a thousand times as long.
                _core.require_memory(_FACTOR * size, f"{shown}: reading {size} bytes and more", "read a smaller one")
                pieces.append(piece)
        return b"".join(pieces).decode()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{shown}: expected {expected}, packed by gzip as its name says: {error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{shown}: expected {expected}, found bytes that are no UTF-8 text") from None


def begin(path: str | os.PathLike[str], characters: int) -> str:
    """The first characters of a file; nothing where it cannot be read."""
    try:
        with gzip.open(path) if _is_packed(path) else Path(path).open("rb") as file:
            return file.read(characters).decode("utf-8", "replace")
    except (OSError, EOFError, zlib.error):
        return ""


def _is_packed(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() == ".gz"

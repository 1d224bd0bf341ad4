"""Files that are whole or not there, and never replaced unasked."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from weft._core import RunError, UsageError, temporary_begins, temporary_ends

_log = logging.getLogger(__name__)

SPACE = 1 << 16
"""Bytes that must be free where a file is to be written, where nobody says how many it needs."""


class NotWrittenError(RunError):
    """A file could not be written when its content was there.

    Attributes
    ----------
    saved
        Where the content is instead; None where it could not be written there either.
    """

    saved: Path | None = None


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text file whole or not at all: readers see the old one or the new one.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    write_bytes(text.encode("utf-8"), path)


def write_bytes(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write a file whole or not at all, also when power is lost: readers see the old one or the new one.

    A link stays a link: what it points to is replaced. A file that is replaced keeps its permissions.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    path = Path(path).resolve()
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    with _temporary(path) as (descriptor, name):
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_mask())
        os.replace(name, path)
    sync_folder(path.parent)
    _log.info("wrote %s", path)


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[tuple[int, str]]:
    """A file beside another one, with its descriptor, which is gone at the end, also where the process ends itself.

    Its name is cut where that of the file leaves no space for what is added.
    """
    start = os.fsdecode(os.fsencode(path.name)[:200])
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{start}.", suffix=".part")
    temporary_begins(name)
    try:
        yield descriptor, name
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)
        temporary_ends(name)


@contextlib.contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name beside a file under which another process writes it; the file has that content when the block has ended.

    Nothing is replaced where the block fails.
    """
    path = Path(path).resolve()
    with _temporary(path) as (descriptor, name):
        os.close(descriptor)
        yield Path(name)
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_mask())
        os.replace(name, path)
    sync_folder(path.parent)
    _log.info("wrote %s", path)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder survive a loss of power, where the file system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def deliver(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write what took long to find: to `path`, or, where that fails, to a named file in the folder for temporary files.

    Raises
    ------
    NotWrittenError
        If `path` cannot be written. The message names both files and says what to do.
    """
    path = Path(path)
    try:
        write_bytes(content, path)
    except OSError as error:
        raise _not_written(content, path, error) from error


def _not_written(content: bytes, path: Path, error: OSError) -> NotWrittenError:
    """The error for a file that could not be written, after an attempt to write its content elsewhere."""
    why = error.strerror or str(error)
    name = Path(tempfile.gettempdir(), f"weft-{path.stem}-{secrets.token_hex(4)}{path.suffix}")
    try:
        write_bytes(content, name)
    except OSError as second:
        return NotWrittenError(
            f"{path} could not be written: {why}; nor could {name}: {second.strerror or second}. Make space, or name "
            "another folder with -o (or with TMPDIR)"
        )
    failure = NotWrittenError(
        f"{path} could not be written: {why}. What belongs in it is in {name}: move that to {path} once it can be "
        "written"
    )
    failure.saved = name
    return failure


LARGE = 16 << 20
"""Bytes of a timeline from which on a user wants to know beforehand: what Perfetto opens without a moment's wait."""


def warning_of_large(path: str | os.PathLike[str]) -> Callable[[int], None]:
    """What is called with the length in bytes of a timeline before it is written: it warns in the log of a large one.

    Examples
    --------
    >>> from weft import files
    >>> files.warning_of_large("small.json")(1000)
    """

    def warn(length: int) -> None:
        if length >= LARGE:
            _log.warning(
                "the timeline %s will have %.0f MB; fewer ranks, lengths or iterations make it smaller",
                path,
                length / 1e6,
            )

    return warn


def check_output(
    path: str | os.PathLike[str],
    suffixes: Sequence[str],
    *,
    force: bool = False,
    instead: str = "",
    space: int = SPACE,
) -> None:
    """Refuse a file that could not be written, or would be replaced unasked, before any work is done for it.

    The one check of every command and function that writes a file whose name people choose.

    Parameters
    ----------
    path
        The file.
    suffixes
        What its name may end in; any, if there are none.
    force
        Whether a file that exists is to be replaced (or gone on with).
    instead
        What else can be done about a file that exists, for the message: `--resume goes on with it`.
    space
        Bytes that it needs.

    Raises
    ------
    UsageError
        If it exists and `force` is not set, its folder does not exist, cannot be written to or has too little space, it
        is a folder itself, or its name ends in none of `suffixes`.
    """
    path = Path(path)
    if suffixes and path.suffix.lower() not in suffixes:
        raise UsageError(f"{path}: expected a name that ends in {' or '.join(suffixes)}")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder")
    if path.exists() and not force:
        also = f", {instead}" if instead else ""
        raise UsageError(f"{path} exists: --force (from Python, force=True) replaces it{also}, or choose another name")
    _check_writable(path)
    filesystem = os.statvfs(path.parent)
    free = filesystem.f_bavail * filesystem.f_frsize
    if free < space:
        raise UsageError(f"{path}: {free:,} bytes are free in {path.parent}, and it needs some {space:,}")


def _check_writable(path: Path) -> None:
    """By the attempt: permissions do not tell of file systems that are mounted read-only, nor of an administrator."""
    if path.exists() and not os.access(path, os.W_OK):
        raise UsageError(f"{path}: may not be written")
    try:
        with _temporary(path) as (descriptor, _), open(descriptor, "wb") as file:
            file.write(b"\n")
    except OSError as error:
        raise UsageError(
            f"{path}: may not be written: {error.strerror or error}; make space or lift the protection there, or name "
            "another file with -o"
        ) from None


def _mask() -> int:
    """What this process's files are kept from."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

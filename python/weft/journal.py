"""Journals: what a long command has found so far, in a file beside its output, from the moment at which it was found.

A journal is a file of lines. Each is the checksum (CRC-32, eight hexadecimal digits) of a record, a space, and the
record in JSON; the first says for what request the others were found. A record is on the disk before the next launch
begins, so that a process that is killed, a computer that loses power or a disk that is full lose at most the launch
under way. Whoever finishes makes the output, whole, and then removes the journal.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import math
import os
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from weft._core import RunError, UsageError
from weft.files import sync_folder

FORMAT = 1
"""Of the file."""

SUFFIX = ".journal"

Record = dict[str, Any]

_MAX_SHOWN = 60


def path_beside(output: str | os.PathLike[str]) -> Path:
    """Where the journal of an output is: beside it, under its name with `.journal` appended."""
    output = Path(output)
    return output.with_name(output.name + SUFFIX)


class Journal:
    """An open journal, which no other process can open at the same time.

    Parameters
    ----------
    output
        The file that is made from it at the end; the journal lies beside it.
    request
        What is asked for: a journal of another request is not gone on with. JSON.
    command
        The words by which it was asked for, for messages.
    resume
        Whether to go on with a journal that was left.
    force
        Whether to discard one.

    Attributes
    ----------
    records
        What the processes before this one have found.

    Raises
    ------
    UsageError
        If a journal was left and neither is set, it belongs to another request, another process uses it, it is damaged
        or none of weft's, or it cannot be written. The message says what to do.
    """

    def __init__(
        self,
        output: str | os.PathLike[str],
        request: Mapping[str, Any],
        *,
        command: str = "",
        resume: bool = False,
        force: bool = False,
    ) -> None:
        self.path = path_beside(output)
        self.records: list[Record] = []
        self._end, self._synced, self._appended = 0, -math.inf, False
        self._file = _locked(self.path)
        try:
            self._take(json.loads(json.dumps(request)), command, resume and not force, force)
        except BaseException:
            os.close(self._file)
            raise

    def _take(self, request: Record, command: str, resume: bool, force: bool) -> None:
        """Read what is there, refuse it or take it up, and be ready to append."""
        content = _read(self._file)
        head = {"weft_journal": FORMAT, "command": command, "request": request}
        if force:
            _check_kind(content, self.path)
            self._restart(head)
            return
        records, length = _records(content, self.path)
        if len(records) < 2:
            self._restart(head)
            return
        earlier, *kept = records
        if not resume:
            raise UsageError(
                f"{self.path} has {_counted(kept)} of an unfinished run ({_called(earlier)}): --resume (from Python, "
                "resume=True) goes on with it, --force (force=True) discards it"
            )
        if earlier["request"] != request:
            raise UsageError(
                f"{self.path} belongs to another request ({_called(earlier)}): "
                f"{_difference(earlier['request'], request)}. "
                "Go on with that one by the same words and --resume, name another output with -o, or discard it with "
                "--force"
            )
        self._end = length
        self.records = kept

    def _restart(self, head: Record) -> None:
        try:
            self._write(head)
        except RunError as error:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            raise UsageError(str(error)) from None
        sync_folder(self.path.parent)

    def append(self, record: Record, every: float = 0.0) -> None:
        """Add a record; when this returns no end of this process can lose it.

        Parameters
        ----------
        record
            What can be written as JSON.
        every
            Seconds between two waits for the disk, for many short records: a loss of power loses those of so many
            seconds at most. By default each is waited for.

        Raises
        ------
        RunError
            If it cannot be written, or the file is no longer where it was: as where its folder was removed.
        """
        self._appended = True
        self._write(record, time.monotonic() - self._synced >= every)

    def _write(self, record: Record, waits: bool = True) -> None:
        try:
            there, own = os.stat(self.path), os.fstat(self._file)
            if (there.st_dev, there.st_ino) != (own.st_dev, own.st_ino):
                raise FileNotFoundError(errno.ENOENT, "another file is in its place")
            # A record that was interrupted, or did not fit onto the disk, ends where this one begins.
            os.ftruncate(self._file, self._end)
            os.lseek(self._file, self._end, os.SEEK_SET)
            left = memoryview(_line(record))
            while left:
                left = left[os.write(self._file, left) :]
            if waits:
                os.fsync(self._file)
                self._synced = time.monotonic()
            self._end = os.lseek(self._file, 0, os.SEEK_CUR)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._end)
            gone = isinstance(error, FileNotFoundError)
            why = "it, or its folder, was removed" if gone else error.strerror or str(error)
            raise RunError(f"the journal {self.path} could not be written: {why}") from error

    def finish(self) -> None:
        """The output is there: the journal is removed."""
        with contextlib.suppress(FileNotFoundError):
            if os.stat(self.path).st_ino == os.fstat(self._file).st_ino:
                os.unlink(self.path)
        self.records, self._appended = [], False

    @property
    def is_there(self) -> bool:
        """Whether the file holds anything that a later process could go on with."""
        try:
            return (self._appended or bool(self.records)) and os.stat(self.path).st_ino == os.fstat(self._file).st_ino
        except OSError:
            return False

    def close(self) -> None:
        """Let go of the file; one without records is removed."""
        if self._file < 0:
            return
        if not (self._appended or self.records):
            self.finish()
        os.close(self._file)
        self._file = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _locked(path: Path) -> int:
    """The descriptor of the file at a path, made if there is none, which no other process holds."""
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise UsageError(
                f"the journal {path} cannot be opened: {error.strerror}; make its folder or lift the protection there, "
                "or name another output with -o"
            ) from None
        try:
            _lock(file, path)
            # Who had it before may have removed it while we waited: then this is a file without a name.
            if os.fstat(file).st_nlink and os.stat(path).st_ino == os.fstat(file).st_ino:
                return file
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(
            f"{path} is in use: another weft is writing the same output. Wait until it is done, or name another "
            "output with -o"
        ) from None
    except OSError as error:
        # Some network file systems have no locks; a journal is then as good as its file system.
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
            raise


def _read(file: int) -> bytes:
    parts = []
    os.lseek(file, 0, os.SEEK_SET)
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _line(record: Record) -> bytes:
    text = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %b\n" % (zlib.crc32(text), text)


def _record(line: bytes) -> Record | None:
    """The record of a line; None if the line is not whole."""
    checksum, _, text = line.partition(b" ")
    if len(checksum) != 8 or checksum != b"%08x" % zlib.crc32(text):
        return None
    record = json.loads(text)
    return record if isinstance(record, dict) else None


def _records(content: bytes, path: Path) -> tuple[list[Record], int]:
    """The whole records, and where the last of them ends; what follows that was being written when the process ended.

    Raises
    ------
    UsageError
        If the file is no journal, or a record before the last is damaged.
    """
    _check_kind(content, path)
    records: list[Record] = []
    whole = at = 0
    damaged = None
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        at += len(line) + 1
        record = _record(line)
        if record is None:
            damaged = damaged or number
            continue
        if damaged is not None:
            raise UsageError(
                f"{path}, line {damaged}: its checksum is wrong, so the file was changed after it was written; discard "
                "it with --force, or put an unchanged copy in its place"
            )
        records.append(record)
        whole = at
    if records and records[0].get("weft_journal") != FORMAT:
        raise UsageError(f"{path} is a journal of another weft: finish with that one, or discard it with --force")
    return records, whole


def _check_kind(content: bytes, path: Path) -> None:
    """Refuse a file whose first line is none of a journal's; one that has none yet was being begun."""
    head, end, _ = content.partition(b"\n")
    if end and b'"weft_journal"' not in head:
        raise UsageError(f"{path} is no journal of weft, but weft would write one there: move it away")


def _counted(records: list[Record]) -> str:
    return f"{len(records)} record{'s' if len(records) > 1 else ''}"


def _called(head: Record) -> str:
    """The words that a journal was begun with."""
    return f"begun by `{head['command']}`" if head.get("command") else "begun from Python"


def _difference(there: Any, here: Any) -> str:
    """Where two requests differ first."""
    flat = [_flat(value) for value in (there, here)]
    for key in dict.fromkeys([*flat[0], *flat[1]]):
        pair = [_shown(request.get(key, "nothing")) for request in flat]
        if pair[0] != pair[1]:
            return f"its {key} is {pair[0]}, that of this request is {pair[1]}"
    return "they differ"


def _flat(value: Any, key: str = "") -> dict[str, Any]:
    """Figures of nested tables by their path; lists of figures are one."""
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        items = [(str(number), one) for number, one in enumerate(value, 1)]
    else:
        return {key: value}
    return {name: inner for part, one in items for name, inner in _flat(one, f"{key} {part}".strip()).items()}


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"

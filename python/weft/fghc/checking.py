"""What is wrong with a program, and how an engine sees it."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


_MAX_BYTES = 16 << 20
"""Largest file, the limit of the checker."""
_AT_ONCE = 1 << 20
"""Bytes read between two looks at signals."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One error or warning."""

    severity: str
    """`error` or `warning`."""
    code: str
    """The kind of finding, the same in every version: `syntax`, `unknown-predicate`, `singleton`, …"""
    message: str
    """What is wrong."""
    file: str
    """Where: the file as it was named, or `--goal`."""
    line: int
    """Where: the line, from 1."""
    column: int
    """Where: the column, from 1, in characters."""
    help: str | None
    """What to do."""


@dataclasses.dataclass(frozen=True)
class Report:
    """Everything that the checker found."""

    findings: list[Finding]
    """In the order of their places."""
    errors: int
    """How many are errors: a program with errors cannot run."""
    warnings: int
    """How many are warnings."""
    text: str
    """The findings with excerpts of the source."""


def sources(paths: Sequence[str | os.PathLike[str]]) -> str:
    """Names and texts of files as the JSON that `weft._core` takes.

    Raises FileNotFoundError and other OSErrors, and UsageError for a file that is no UTF-8 text or too large.
    """
    from weft._core import UsageError

    texts = []
    for path in paths:
        try:
            texts.append((str(path), _text(path)))
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: byte {error.start} is not UTF-8; FGHC programs are UTF-8 text") from error
    return json.dumps(texts)


def _text(path: str | os.PathLike[str]) -> str:
    """A file's text, with newlines for all that end lines; what has no end is read to the limit only."""
    from weft._core import UsageError
    from weft.inputs import heed_interrupts

    heed_interrupts()
    parts, size = [], 0
    with open(path, "rb") as file:
        while part := file.read(_AT_ONCE):
            parts.append(part)
            size += len(part)
            if size > _MAX_BYTES:
                raise UsageError(
                    f"{path}: more than {_MAX_BYTES} bytes; divide the program into modules in several files"
                )
    return b"".join(parts).decode().replace("\r\n", "\n").replace("\r", "\n")


def check(*paths: str | os.PathLike[str], goal: str | None = None, color: bool = False) -> Report:
    """Check the modules in some files, and a goal that a run shall start with.

    With `color`, the text has escape sequences for a terminal. Raises UsageError and OSError for files that cannot be
    read; what is wrong with the program is in the report.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     program = Path(folder) / "hello.fghc"
    ...     _ = program.write_text(":- module hello. :- public main/1. main(X) :- true | X = Y.")
    ...     (finding,) = check(program).findings
    >>> finding.severity, finding.message
    ('warning', 'Y occurs only once in this clause')
    """
    from weft.fghc.core import fghc_check

    report = json.loads(fghc_check(sources(paths), goal, color))
    findings = [Finding(**finding) for finding in report["findings"]]
    return Report(findings, report["errors"], report["warnings"], report["text"])


def explain(*paths: str | os.PathLike[str], library: bool = False, code: bool = False) -> str:
    """A program as an engine sees it: its normal form, dispatch, suspension and pragma sites.

    Parameters
    ----------
    library
        Also those parts of weft's library that it uses.
    code
        Instead of that, the instructions that it is compiled to, which the interpreter carries out and native code is
        made of.

    Raises
    ------
    RunError
        The program has errors, or is too large to compile.
    """
    from weft.fghc.core import fghc_explain

    return fghc_explain(sources(paths), library, code)

"""What all commands that write files have in common: options, the check before any work, the journal, the delivery."""

from __future__ import annotations

import contextlib
import enum
import glob
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli import errors, speaking

if TYPE_CHECKING:
    import polars as pl

    from weft.journal import Journal

Force = Annotated[
    bool, typer.Option("--force", help="Replace output files that exist, and discard what an unfinished run left.")
]
Replace = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Continue from what an unfinished run left and from the existing output.")
]


class Format(enum.StrEnum):
    """How the rows of a result are shown."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


Shown = Annotated[Format, typer.Option("--format", help="A table for people, or all rows and columns as CSV or JSON.")]

NOTHING_MEASURED = "nothing was measured yet, and nothing was written; run it again"
"""What is kept of a measurement that was interrupted before its first launch ended."""


def check(
    path: Path | None, suffixes: Sequence[str], *, force: bool, resume: bool | None = None, space: int | None = None
) -> None:
    """Refuse an output before any work is done for it; `resume` is None where a command cannot go on with one."""
    from weft import files

    if path is not None:
        instead = "" if resume is None else "--resume goes on with it"
        needed = files.SPACE if space is None else space
        files.check_output(path, suffixes, force=force or bool(resume), instead=instead, space=needed)


def beside(path: Path, suffix: str) -> Path:
    """The name of what is made of a file, unless another is given: that of the file, with another suffix.

    >>> beside(Path("schedules/allreduce.json.gz"), "html")
    PosixPath('schedules/allreduce.html')
    """
    return (path.with_suffix("") if path.suffix == ".gz" else path).with_suffix(f".{suffix}")


def check_choice(resume: bool, force: bool) -> None:
    """Refuse what contradicts itself.

    Raises
    ------
    UsageError
        For both.
    """
    from weft._core import UsageError

    if resume and force:
        raise UsageError("--resume goes on with what is there, --force replaces it: one of the two")


def words() -> str:
    """The command as it was typed."""
    return shlex.join(["weft", *sys.argv[1:]])


@contextlib.contextmanager
def journal(output: Path | None, request: Mapping[str, Any], *, resume: bool, force: bool) -> Iterator[Journal | None]:
    """The journal of an output, open; None where there is no output. Says what is kept if the command ends early.

    A first Ctrl-C keeps what was found, a second ends the command at once.
    """
    from weft.journal import Journal

    if output is None:
        yield None
        return
    with Journal(output, request, command=words(), resume=resume, force=force) as opened:
        try:
            with _impatience(opened, output):
                yield opened
        except BaseException:
            if opened.is_there:
                note(_kept(opened))
            raise


def _kept(journal: Journal) -> str:
    return f"what was found is kept in {journal.path}: the same command with --resume goes on with it"


@contextlib.contextmanager
def _impatience(journal: Journal, output: Path) -> Iterator[None]:
    """Within it a second Ctrl-C ends the process at once, as `kill -9` does, since the journal has what was found.

    To write the output, to draw a table and to end an interpreter takes longer than someone wants to wait who has
    pressed Ctrl-C twice. Ranks end with this process.
    """
    # One that is ignored (nohup) stays so; signals can be handled by the main thread only.
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    is_second = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal is_second
        if not is_second:
            is_second = True
            raise KeyboardInterrupt
        # Nobody else writes this output, so what is half written of it is ours.
        for part in output.parent.glob(f".{glob.escape(output.name)}.*.part"):
            part.unlink(missing_ok=True)
        shown_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
        if journal.is_there:
            os.write(2, f"{shown_cursor}interrupted twice: {_kept(journal)}\n".encode())
        else:
            journal.path.unlink(missing_ok=True)
            os.write(2, f"{shown_cursor}interrupted twice\n".encode())
        os._exit(errors.INTERRUPTED)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def show_plainly(rows: pl.DataFrame, shown: Format) -> bool:
    """Print rows for other tools, if that is asked for: whether it was."""
    if shown is Format.TABLE:
        return False
    typer.echo(rows.write_csv() if shown is Format.CSV else f"{rows.write_json()}\n", nl=False)
    return True


def wrote(text: str) -> None:
    """A line on standard error that says which file has what; not under `--quiet`, whose caller named the file."""
    if not speaking.is_quiet():
        note(text)


def written(output: Path, *, plainly: bool) -> None:
    """A line that says where the result is: below its table, or on standard error if standard output is for other
    programs; not under `--quiet`."""
    if not speaking.is_quiet():
        typer.echo(f"written to {output}", err=plainly)


def note(text: str) -> None:
    """A line on standard error."""
    from rich.console import Console

    Console(stderr=True, highlight=False).print(text, soft_wrap=True)

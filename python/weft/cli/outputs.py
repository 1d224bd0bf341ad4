"""What all commands that write files have in common: options, the check before any work, the journal, the delivery."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from weft.journal import Journal

Force = Annotated[
    bool, typer.Option("--force", help="Replace output files that exist, and discard what an unfinished run left.")
]
Replace = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with what an unfinished run left, and with the output.")]


def check(
    path: Path | None, suffixes: Sequence[str], *, force: bool, resume: bool | None = None, space: int | None = None
) -> None:
    """Refuse an output before any work is done for it; `resume` is None where a command cannot go on with one."""
    from weft import files

    if path is not None:
        instead = "" if resume is None else "--resume goes on with it"
        needed = files.SPACE if space is None else space
        files.check_output(path, suffixes, force=force or bool(resume), instead=instead, space=needed)


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
    """The journal of an output, open; None where there is no output. Says what is kept if the command ends early."""
    from weft.journal import Journal

    if output is None:
        yield None
        return
    with Journal(output, request, command=words(), resume=resume, force=force) as found:
        try:
            yield found
        except BaseException:
            if found.is_there:
                note(f"what was measured is kept in {found.path}: the same command with --resume goes on with it")
            raise


def note(text: str) -> None:
    """A line on standard error."""
    from rich.console import Console

    Console(stderr=True, highlight=False).print(text, soft_wrap=True)

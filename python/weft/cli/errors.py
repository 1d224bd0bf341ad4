"""What becomes of errors: one message and an exit code: 2 for usage, 1 for failure, 3 for what is not good enough."""

from __future__ import annotations

import os
import sys

USAGE, FAILURE, REGRESSION, INTERRUPTED = 2, 1, 3, 130
"""Exit codes; `REGRESSION` is of a command that did all that it should and found what it was asked to fail for."""

_CODES = (
    ("weft._core", "UsageError", USAGE),
    ("weft._core", "WeftError", FAILURE),
    ("weft.samples", "SamplesError", USAGE),
    ("weft.model", "FitError", FAILURE),
    ("weft.papers", "PaperError", USAGE),
)


def code_of(error: BaseException) -> int | None:
    """The exit code for an error that weft raises on purpose; `None` for a defect of weft.

    Looks only into modules that are imported: an error's own module is.
    """
    for module, name, code in _CODES:
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(error, kind):
            return code
    if isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError):
        return USAGE
    return FAILURE if isinstance(error, OSError | MemoryError) else None


def report(error: BaseException, debug: bool) -> int:
    """Say what went wrong on standard error; the exit code."""
    if isinstance(error, BrokenPipeError):
        # Whoever read has enough; and Python must not try to flush into the closed pipe when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    code = code_of(error)
    if debug:
        import traceback

        traceback.print_exception(error)
    if code == USAGE and not _speaks():
        return USAGE
    if code is None:
        say(f"internal error: {type(error).__name__}: {error}\nThis is a defect of weft; `weft --debug …` shows where.")
        return FAILURE
    say(text(error))
    return code


def text(error: BaseException) -> str:
    """The message of an error; for the system's errors with the file it is about."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def say(message: str) -> None:
    """One message on standard error."""
    from rich.console import Console
    from rich.text import Text

    from weft import _core

    # Whatever is in it comes from somewhere: no line without end, nothing that moves the cursor.
    plain = _core.message(message.encode("utf-8", "backslashreplace").decode("utf-8"))
    line = Text.assemble(("error: ", "bold red"), plain)
    Console(stderr=True, highlight=False).print(line, soft_wrap=True)


def say_interrupted() -> None:
    """What is said where a command that keeps nothing was interrupted."""
    say("interrupted: what was not finished is not written; run it again")


def _speaks() -> bool:
    """Whether this process speaks for its job: of ranks that all say the same only the first does."""
    from weft.launch.environment import launcher

    job = launcher()
    return job is None or job.rank == 0

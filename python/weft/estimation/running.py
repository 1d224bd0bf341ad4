"""Running a program, a function or a file, for its operations: what it prints is kept apart, how it ends is judged."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from weft._core import RunError, UsageError, WeftError

Program = Callable[[], Any] | str | os.PathLike[str]
"""A function without arguments, or a file with a program."""


def run(program: Program, arguments: Sequence[str] = ()) -> str:
    """Run a program to its end.

    Parameters
    ----------
    program
        A function, which is called, or a file, which is run as `python FILE ARGUMENTS` runs it, in this process.
    arguments
        Of a file: what follows its name on the command line.

    Returns
    -------
    str
        What a file printed; of a function nothing.

    Raises
    ------
    UsageError
        If there is no such file, or it does not take its arguments.
    RunError
        If it ends with an error or a code other than 0: its operations would be those of a failure.
    """
    if callable(program):
        program()
        return ""
    path = Path(program)
    if not path.is_file():
        raise UsageError(f"there is no program {path}; expected a file of Python")
    return _run_file(path, list(arguments))


def _run_file(path: Path, arguments: list[str]) -> str:
    words = " ".join([str(path), *arguments])
    out, err = io.StringIO(), io.StringIO()
    try:
        with _as_main(path, arguments), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        code = end.code
        if code is None or code == 0:
            return out.getvalue()
        said = (err.getvalue() if isinstance(code, int) else str(code)).strip() or out.getvalue().strip()
        message = f"{words} ended with code {code if isinstance(code, int) else 1}" + (f":\n{said}" if said else "")
        # argparse, and most programs like it, end with 2 for arguments that they do not take.
        raise (UsageError if code == 2 else RunError)(message) from None
    except WeftError:
        raise
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise UsageError(f"{error.filename or path}{line}: {error.msg}") from None
    except Exception as error:
        where = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = f", line {where[-1].lineno}" if where else ""
        raise RunError(f"{path}{line}: {type(error).__name__}: {error}") from error
    return out.getvalue()


@contextlib.contextmanager
def _as_main(path: Path, arguments: list[str]) -> Iterator[None]:
    """The arguments and the folder of modules that Python gives a program that it starts."""
    words, folders = sys.argv, list(sys.path)
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = words, folders

"""Where the command `weft` begins, and how it ends, whatever ends it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Any, NoReturn

from weft.cli import errors
from weft.cli.interrupting import interrupting_twice_is_leaving, terminating_is_interrupting


def __getattr__(name: str) -> Any:
    """`app`, which is imported when it is used: an interruption is understood from the first moment."""
    if name == "app":
        from weft.cli.commands import app

        return app
    raise AttributeError(f"module {__name__} has no attribute {name}")


def main() -> None:
    """Run the command line and exit: 0 for success, 2 for usage, 1 for failure, 130 if interrupted."""
    words = sys.argv[1:]
    debug = "--debug" in words
    # Wherever it stands: someone who has just seen an error appends it.
    arguments = [word for word in words if word != "--debug"]
    try:
        with _interruptible():
            if not _is_rank():
                interrupting_twice_is_leaving()
            # A shell that completes words calls without any, too.
            if not arguments and "_WEFT_COMPLETE" not in os.environ:
                from weft.cli import beginning

                return beginning.say()
            from weft.cli.commands import app

            app(_as_options(arguments))
    except KeyboardInterrupt:
        _heed_no_other()
        errors.say_interrupted()
        _interrupted()
    except SystemExit as ended:
        if ended.code == errors.INTERRUPTED:
            _heed_no_other()
            # Typer ends so without a word; a command that has said what is kept ends so by itself.
            if isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt):
                errors.say_interrupted()
            elif _is_rank():
                # What is known has been said, and MPI is to be left as after any other end.
                raise
            _interrupted()
        raise
    except Exception as error:
        sys.exit(errors.report(error, debug))


def _as_options(words: list[str]) -> list[str]:
    """`weft help COMMAND` and `weft version`, as git and others have them, in the options that they stand for.

    >>> _as_options(["help", "fghc", "run"]), _as_options(["help"]), _as_options(["version"])
    (['fghc', 'run', '--help'], ['--help'], ['--version'])
    """
    if words[:1] == ["help"]:
        return [*words[1:], "--help"]
    return ["--version"] if words == ["version"] else words


def _interruptible() -> contextlib.AbstractContextManager[None]:
    """SIGTERM and SIGHUP end a command as Ctrl-C does; but a rank, to which its launcher sends SIGTERM, at once."""
    return contextlib.nullcontext() if _is_rank() else terminating_is_interrupting()


def _is_rank() -> bool:
    from weft.launch.environment import launcher

    return launcher() is not None


def _heed_no_other() -> None:
    """Another Ctrl-C while the process ends would only show where it was. It still counts as the second."""
    signal.signal(signal.SIGINT, lambda number, frame: None)


def _interrupted() -> NoReturn:
    """End with code 130. Python itself, where the exception came from within `exec`, would end by a signal instead."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(errors.INTERRUPTED)


if __name__ == "__main__":
    main()

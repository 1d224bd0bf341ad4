"""How much a command says: `--quiet` and `--verbose`, the same two options of every command that works for long.

Progress bars and tables look here by themselves, so that a command need not hand the options on.
"""

from __future__ import annotations

import functools
import logging
from contextvars import ContextVar
from typing import Annotated, Any

import typer

_quiet, _verbose = ContextVar("quiet", default=False), ContextVar("verbose", default=False)

QUIET_HELP = "Show no progress and no tables, only errors and the output that --format requests."
VERBOSE_HELP = "Report every step on a line of standard error, instead of progress bars."

log = logging.getLogger("weft.cli")
"""Where commands say what they do; the library has loggers of its own below `weft`."""


def is_quiet() -> bool:
    """Whether the command was called with `--quiet`."""
    return _quiet.get()


def shows_progress(is_terminal: bool) -> bool:
    """Whether bars are shown: on a terminal, unless nothing is shown or lines are."""
    return is_terminal and not _quiet.get() and not _verbose.get()


def _be_quiet(value: bool) -> None:
    _quiet.set(value)


def _be_verbose(value: bool) -> None:
    _verbose.set(value)
    logger = logging.getLogger("weft")
    ours = [handler for handler in logger.handlers if isinstance(handler, _Lines)]
    for handler in ours:
        logger.removeHandler(handler)
    logger.setLevel(logging.INFO if value else logging.NOTSET)
    if value:
        logger.addHandler(_Lines())


class _Lines(logging.StreamHandler[Any]):
    """Lines on standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("weft: %(message)s"))


def _signature(
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help=QUIET_HELP, callback=_be_quiet, expose_value=False)
    ] = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help=VERBOSE_HELP, callback=_be_verbose, expose_value=False)
    ] = False,
) -> None: ...


@functools.cache
def options() -> tuple[Any, ...]:
    """The two options, for the list of a command's parameters."""
    app = typer.Typer(add_completion=False)
    app.command()(_signature)
    return tuple(param for param in typer.main.get_command(app).params if param.name in ("quiet", "verbose"))

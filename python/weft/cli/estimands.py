"""The option `--estimand` of commands that take machine files."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from weft._core import Machine


class Estimand(enum.StrEnum):
    """Which times the costs of messages are estimates of."""

    UNDISTURBED = "undisturbed"
    TYPICAL = "typical"


Chosen = Annotated[
    Estimand | None,
    typer.Option(
        "--estimand",
        help="Of a machine file with both (as weft study writes it): costs of messages that no other program disturbs, "
        "or typical ones, medians over all launches. Default: the file's own (of weft study: undisturbed).",
        show_default=False,
    ),
]


def described(on: str, estimand: Estimand | None) -> Machine:
    """A described machine with the costs that were chosen.

    Raises
    ------
    UsageError
        If there is no such machine, or its file has no such estimate.
    """
    from weft.catalogue import machine

    return machine(on, estimand)


def subject(on: str, estimand: Estimand | None) -> str | Machine:
    """What a command runs on: as it was named, where nothing was chosen."""
    return on if estimand is None else described(on, estimand)


def refuse_here(on: str, estimand: Estimand | None) -> None:
    """Refuse a choice where nothing is described.

    Raises
    ------
    UsageError
        If there is one.
    """
    from weft._core import UsageError

    if estimand is not None and on == "here":
        raise UsageError("--estimand chooses among the costs of a machine file; name one with --on")

"""The option `--fault` of commands that run something in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.estimands import Estimand, described

if TYPE_CHECKING:
    from weft._core import Machine

Faults = Annotated[
    list[str] | None,
    typer.Option(
        "--fault",
        help="A fault of the described machine: node:17=0.8 (its speed), link:3-4=0.5 (both directions; 3>4 one "
        "direction), link:s2-s40=0 (between switches; 0 is a dead cable), noise=0.05, or a file with one fault a "
        "line. Repeatable.",
    ),
]


def degraded(on: str, faults: list[str] | None, estimand: Estimand | None = None) -> Machine:
    """A described machine with faults, and the costs of messages that were chosen.

    Raises
    ------
    UsageError
        If there is no such machine, a fault means nothing on it, or its file has no such estimate.
    """
    machine = described(on, estimand)
    return machine.with_faults(_listed(faults)) if faults else machine


def noise(faults: list[str] | None) -> list[str]:
    """Of some faults, those that are noise and no defect.

    >>> noise(["node:17=0.8", "noise=0.05"])
    ['noise=0.05']
    """
    return [fault for fault in _listed(faults or []) if fault.startswith("noise=")]


def refuse_here(on: str, faults: list[str] | None) -> None:
    """Refuse faults where time is real.

    Raises
    ------
    UsageError
        If there are any.
    """
    from weft._core import UsageError

    if faults and on == "here":
        raise UsageError("--fault is planted in a described machine; name one with --on")


def _listed(texts: list[str]) -> list[str]:
    """Faults as they are given, those of files line by line; `#` begins a comment."""
    from weft.inputs import read_text

    faults = []
    for text in texts:
        if "=" not in text and Path(text).is_file():
            content = read_text(text, "a file of faults, one a line")
            lines = (line.partition("#")[0].strip() for line in content.splitlines())
            faults += [line for line in lines if line]
        else:
            faults.append(text)
    return faults

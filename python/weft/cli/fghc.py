"""`weft fghc`."""

from __future__ import annotations

import dataclasses
import enum
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from weft.cli import fghc_advising, fghc_running, teaching

_EXAMPLES = """
weft fghc check queens.fghc  # errors and warnings, each with its place and what to do
weft fghc check queens.fghc --goal 'queens(8,2,S)'  # the same, and whether the goal can run
weft fghc run queens.fghc --goal 'queens(8,2,S)' --stats table  # run it; what was counted and how long it took
weft fghc run queens.fghc --goal 'queens(8,2,S)' -n 64 --on multi-psi-v2 --stats table  # in virtual time
weft fghc run queens.fghc --goal 'queens(8,2,S)' -n 4 --trace time.json  # a timeline: goals, messages, idle time
weft fghc advise queens.fghc --goal 'queens(8,D,S)' --grain D 1:4 -n 4 --on multi-psi-v1 --lowest 50%  # how to tune
weft fghc explain queens.fghc  # the normal form: what dispatches, suspends and is sent to other PEs
weft fghc explain queens.fghc --code  # the instructions that it is compiled to
"""


class Format(enum.StrEnum):
    """How findings are shown."""

    TEXT = "text"
    JSON = "json"


Files = Annotated[list[Path], typer.Argument(help="Files with modules; a goal without a module means the first.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        cls=teaching.group(_EXAMPLES),
        no_args_is_help=True,
        help="Programs in FGHC, the concurrent logic language of the Multi-PSI (Flat GHC as in KL1).",
    )
    group.command(cls=teaching.command(_EXAMPLES))(check)
    group.command(cls=teaching.command(_EXAMPLES))(explain)
    group.command(cls=teaching.command(_EXAMPLES, long=True))(fghc_running.run)
    group.command(cls=teaching.command(_EXAMPLES, long=True))(fghc_advising.advise)
    app.add_typer(group, name="fghc")


def check(
    files: Files,
    goal: Annotated[str | None, typer.Option(help="A goal that a run would start with.")] = None,
    shown: Annotated[Format, typer.Option("--format", help="How findings are shown.")] = Format.TEXT,
) -> None:
    """Check a program: 0 if it can run, even with warnings; 1 if it has errors; 2 if it cannot be read."""
    from weft import fghc

    report = fghc.check(*files, goal=goal, color=shown is Format.TEXT and sys.stdout.isatty())
    if shown is Format.JSON:
        typer.echo(json.dumps([dataclasses.asdict(finding) for finding in report.findings], indent=2))
    else:
        typer.echo(report.text, nl=False)
        typer.echo(_summary(files, report.errors, report.warnings))
    if report.errors:
        raise typer.Exit(1)


def _summary(files: list[Path], errors: int, warnings: int) -> str:
    named = ", ".join(str(file) for file in files)
    counts = [
        f"{count} {kind}{'' if count == 1 else 's'}"
        for count, kind in ((errors, "error"), (warnings, "warning"))
        if count
    ]
    return f"{named}: {' and '.join(counts) or 'no findings'}"


def explain(
    files: Files,
    library: Annotated[bool, typer.Option("--library", help="Also show what is used of weft's library.")] = False,
    code: Annotated[bool, typer.Option("--code", help="Show the instructions that it is compiled to instead.")] = False,
) -> None:
    """Show a program as an engine sees it.

    For every predicate: its clauses in normal form, the argument by which a clause is chosen, and what its goals may
    wait for. Then the goals that a pragma sends to another PE or gives a priority.

    With --code, a line for each instruction. Until a clause commits, they test and load: `other` is the number of the
    instruction to go on with where the answer is no, `unbound` where a value is not there yet, and `-` where neither
    can be.
    """
    from weft import fghc

    typer.echo(fghc.explain(*files, library=library, code=code), nl=False)

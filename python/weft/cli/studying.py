"""`weft study`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli import outputs, speaking, teaching

_EXAMPLES = """
weft study  # under three minutes; then open study/report.html
weft study --quick -o monday  # a first fitted report within a minute
weft study --resume  # continue where it stopped, or add launches if most were disturbed
weft study --force  # measure again, and replace what the folder study holds
"""


_SUITE_EXAMPLES = """
weft suite  # under four minutes; then open suite/report.html
weft suite --resume  # continue where it stopped
weft machines grain suite/samples.csv  # what this means for programs
"""


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(cls=teaching.command(_EXAMPLES, long=True))(study)
    app.command(cls=teaching.command(_SUITE_EXAMPLES, long=True))(suite)


def study(
    quick: Annotated[
        bool, typer.Option("--quick", help="Finish within a minute: fewer lengths, shorter runs.")
    ] = False,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder for the results.")] = Path("study"),
    resume: Annotated[bool, typer.Option("--resume", help="Continue with the launches that the folder holds.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the study that the folder holds, or what is left of one.")
    ] = False,
) -> None:
    """Measure this machine with two ranks, fit it, simulate the catalogue, and write a report.

    Writes samples.csv, here.toml (undisturbed times, and typical ones, the medians over all launches: --estimand) and
    report.html, and says in a few lines what it found. Fits are made at lengths 2^k, 5*2^k and 7*2^k and compared with
    the lengths 3*2^k, which they have not seen. `weft suite` measures the other groups as well. Every launch is kept in
    samples.csv.journal as soon as it ends; --resume goes on with it. A folder that holds a study is refused without
    --resume or --force.
    """
    _run(output, quick=quick, resume=resume, force=force)


def suite(
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder for the results.")] = Path("suite"),
    resume: Annotated[bool, typer.Option("--resume", help="Continue with the launches that the folder holds.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the study that the folder holds, or what is left of one.")
    ] = False,
) -> None:
    """Measure the whole suite here, every group of `weft measure --help`, and report it as `weft study` does.

    Messages, one node's arithmetic and memory, traffic, programs and files, with default settings. Benchmarks of more
    ranks than this machine has cores run on as many ranks as it has, or on the fewest that mean anything. Ctrl-C, or a
    benchmark that fails, keeps what is measured.
    """
    _run(output, resume=resume, force=force, whole=True)


def _run(output: Path, *, resume: bool, force: bool, quick: bool = False, whole: bool = False) -> None:
    from rich.console import Console

    from weft.cli.interrupting import terminating_is_interrupting
    from weft.cli.progress import Bar
    from weft.study.here import study as run

    console = Console(highlight=False)
    outputs.check_choice(resume, force)
    with Bar("measuring here") as bar, terminating_is_interrupting():
        outcome = run(
            output, quick=quick, resume=resume, force=force, whole=whole, progress=bar, journal=outputs.journal
        )
    if outcome.interrupted:
        kept = (
            f"what was measured is in {outcome.samples}; go on with --resume"
            if outcome.samples
            else outputs.NOTHING_MEASURED
        )
        console.print(f"[bold yellow]interrupted[/]: {kept}", soft_wrap=True)
        raise typer.Exit(130)
    for line in () if speaking.is_quiet() else outcome.lines:
        console.print(line, soft_wrap=True)
    if outcome.failure is not None:
        raise outcome.failure
    console.print(
        f"[bold]Report: {outcome.report}[/]  (samples: {outcome.samples}, machine: {outcome.machine})",
        soft_wrap=True,
    )

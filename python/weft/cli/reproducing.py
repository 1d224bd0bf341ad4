"""`weft reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import outputs, teaching

if TYPE_CHECKING:
    import polars as pl

_EXAMPLES = """
weft reproduce dunigan-1991  # every table and figure, published and ours side by side
weft reproduce dunigan-1991 --table 7  # one table; text: the figures that section 4 gives in words
weft reproduce dunigan-1991 --figure 9  # one figure, as a table
weft reproduce dunigan-1991 --format csv  # every cell as tidy rows; or json
weft reproduce george-1994  # polyshift on the CM-200: ranks 3 and 4 are predictions
weft reproduce wu-shu-1989 --table 5  # the CM-2's router under contention, modelled
weft reproduce wu-shu-1989 --measure --table 1  # with columns of this machine, measured now
weft reproduce taki-1988 --figure 8  # FGHC on the simulated Multi-PSI, and measured here
weft reproduce dunigan-1991 -o cells.csv  # every cell, for other tools
"""


def _sections() -> dict[str, list[tuple[str, str]]]:
    from weft.papers import PAPERS

    return {"Papers": [(name, (module.__doc__ or "").strip().splitlines()[0]) for name, module in PAPERS.items()]}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=teaching.command(_EXAMPLES, _sections), no_args_is_help=True)(reproduce)


def reproduce(
    paper: Annotated[str, typer.Argument(help="A paper of the list below.")],
    table: Annotated[
        str | None, typer.Option(help="One table, by its number in the paper; A: the appendix; text: section 4.")
    ] = None,
    figure: Annotated[str | None, typer.Option(help="One figure, by its number in the paper.")] = None,
    shown: outputs.Shown = outputs.Format.TABLE,
    here: Annotated[
        Path | None,
        typer.Option(help="wu-shu-1989: samples of weft measure processor,router,… for columns of this machine."),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="wu-shu-1989: measure this machine for its columns now (a minute).")
    ] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write every cell to this .csv file.")] = None,
    force: outputs.Replace = False,
) -> None:
    """Run a published study on the simulated machines: published figures, ours, relative errors.

    Where a figure is withheld or was never printed, ours stands alone. Figures that the machine files were told are
    marked as inputs and do not count in the summary.
    """
    from weft.cli.progress import status
    from weft.files import deliver
    from weft.study.reproducing import reproduction

    outputs.check(output, (".csv",), force=force)
    measured = _here(paper, here, measure)
    with status() as tell:
        reproduced = reproduction(paper, table, figure, here=measured, progress=tell)
    if not outputs.show_plainly(reproduced.cells(), shown):
        from rich.console import Console

        from weft.papers import render

        Console(highlight=False).print(render(reproduced))
    if output is not None:
        deliver(reproduced.cells().write_csv().encode(), output)
        typer.echo(f"cells: {output}", err=True)


def _here(paper: str, samples: Path | None, measure: bool) -> pl.DataFrame | None:
    """Samples of this machine, read or measured, where they are asked for."""
    from weft._core import UsageError

    if samples is not None and measure:
        raise UsageError("--here reads samples and --measure makes them: one of the two")
    if samples is not None:
        from weft.samples import read

        return read(samples)
    if not measure:
        return None
    from weft.study.operations_here import measured_now
    from weft.study.reproducing import check_column

    check_column(paper)

    typer.echo("measuring this machine: about a minute", err=True)
    return measured_now()

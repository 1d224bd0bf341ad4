"""`weft reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import errors, outputs, speaking, teaching

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from weft.papers import Reproduction

_EXAMPLES = """
weft reproduce  # all five papers: errors of every table, and whether its gate is met
weft reproduce --html pages  # all five as pages with figures, and an index
weft reproduce dunigan-1991  # every table and figure, published and ours side by side
weft reproduce dunigan-1991 --table 7  # one table; text: the figures that section 4 gives in words
weft reproduce dunigan-1991 --figure 2 --plot  # one figure, drawn on the terminal
weft reproduce dunigan-1991 --html pages  # one page: figures as in the paper, the error of every cell
weft reproduce dunigan-1991 --format csv  # every cell as tidy rows; or json
weft reproduce george-1994  # polyshift on the CM-200: ranks 3 and 4 are blind predictions
weft reproduce wu-shu-1989 --measure --table 1  # with columns of this machine, measured now
weft reproduce dunigan-1991 --figure 2 --measure --plot  # five hypercubes beside this machine
weft reproduce taki-1988 --figure 8  # FGHC on the simulated Multi-PSI, and measured here
weft reproduce dunigan-1991 -o cells.csv  # every cell, for other tools
"""


def _sections() -> dict[str, list[tuple[str, str]]]:
    from weft.papers import PAPERS

    return {"Papers": [(name, (module.__doc__ or "").strip().splitlines()[0]) for name, module in PAPERS.items()]}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=teaching.command(_EXAMPLES, _sections, long=True))(reproduce)


def reproduce(
    paper: Annotated[str | None, typer.Argument(help="A paper of the list below. Default: all of them.")] = None,
    table: Annotated[
        str | None, typer.Option(help="One table, by its number in the paper; A: the appendix; text: section 4.")
    ] = None,
    figure: Annotated[str | None, typer.Option(help="One figure, by its number in the paper.")] = None,
    shown: outputs.Shown = outputs.Format.TABLE,
    here: Annotated[
        Path | None,
        typer.Option(
            help="Samples of this machine for columns of it: of weft measure echo for figure 2 of dunigan-1991, of "
            "processor,router,… for wu-shu-1989, of pshift for george-1994."
        ),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure this machine for those columns now (up to a minute).")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write pages into this folder: figures drawn, the error of every cell.")
    ] = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw figures on the terminal, instead of their tables.")
    ] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write every cell to this .csv file.")] = None,
    force: outputs.Replace = False,
) -> None:
    """Run published studies on the simulated machines: published figures, ours, relative errors.

    Where the paper printed no figure, only ours is shown. Each of our figures is a blind prediction (made before the
    published figure was known), a prediction, a fit, or an input of the machine file; the summary has a line for each
    kind.

    Every table has a gate: the largest errors that are accepted, which are today's. Exit code 3 if a gate is missed.
    """
    from weft._core import UsageError
    from weft.cli.progress import status
    from weft.study import paper_pages
    from weft.study.reproducing import reproduce

    if paper is None and (table is not None or figure is not None or here is not None or measure):
        raise UsageError("--table, --figure, --here and --measure are of one paper: name it, as in the examples")
    papers = [paper] if paper is not None else paper_pages.names()
    outputs.check(output, (".csv",), force=force)
    if html is not None:
        paper_pages.check_folder(html, papers, force=force)
    if plot:
        paper_pages.check_plot()
    measured = _here(papers[0], here, measure)
    with status() as tell:
        reproduced = [reproduce(name, table, figure, here=measured, progress=tell) for name in papers]
    _print(reproduced, shown, paper is None, plot)
    if output is not None:
        _write_cells(reproduced, output)
    if html is not None:
        written = paper_pages.write(reproduced, html)
        outputs.wrote(f"{len(written)} page{'s' if len(written) > 1 else ''}: {written[0]}")
    _conclude(paper_pages.overview(reproduced))


def _print(reproduced: list[Reproduction], shown: outputs.Format, is_overview: bool, plot: bool) -> None:
    from weft.papers import render
    from weft.papers.rendering import render_gates
    from weft.study import paper_pages

    rows = paper_pages.overview(reproduced) if is_overview else reproduced[0].cells()
    if outputs.show_plainly(rows, shown) or speaking.is_quiet():
        return
    from rich.console import Console

    console = Console(highlight=False)
    if is_overview:
        console.print(render_gates(rows))
    elif plot:
        _plot(reproduced[0], console)
    else:
        console.print(render(reproduced[0]))


def _plot(reproduced: Reproduction, console: Console) -> None:
    """Figures drawn; tables stay tables."""
    from weft.cli import plotting
    from weft.papers.rendering import render_notes, render_summary, render_table

    for table in reproduced.tables:
        if table.axes is None:
            console.print(render_table(table))
            continue
        typer.echo(plotting.drawn(table, console.width, console.color_system is not None))
        console.print(render_notes(table))
    console.print(render_summary(reproduced))


def _write_cells(reproduced: list[Reproduction], output: Path) -> None:
    import polars as pl

    from weft.files import deliver

    parts = [one.cells().select(pl.lit(one.paper).alias("paper"), pl.all()) for one in reproduced]
    cells = pl.concat(parts, how="diagonal_relaxed") if len(parts) > 1 else reproduced[0].cells()
    deliver(cells.write_csv().encode(), output)
    outputs.wrote(f"cells: {output}")


def _conclude(judged: pl.DataFrame) -> None:
    """End with 3 where a gate is missed, and say which."""
    import polars as pl

    missed = judged.filter(~pl.col("met"))
    for row in missed.iter_rows(named=True):
        limits = "it has none"
        if row["gate_cells"] is not None:
            limits = (
                f"median {row['median']:.1%} (at most {row['gate_median']:.1%}), worst {row['worst']:.1%} (at most "
                f"{row['gate_worst']:.1%}), {row['cells']} cells (at least {row['gate_cells']})"
            )
        outputs.note(f"[bold yellow]gate missed[/]: {row['paper']}, {row['of']}, {row['kind']}: {limits}")
    if not missed.is_empty():
        raise typer.Exit(errors.REGRESSION)


def _here(paper: str, samples: Path | None, measure: bool) -> pl.DataFrame | None:
    """Samples of this machine, read or measured, where they are asked for."""
    from weft._core import UsageError

    if samples is not None and measure:
        raise UsageError("--here reads samples and --measure makes them: one of the two")
    if samples is not None:
        from weft.samples import read

        return read(samples, nonempty=True)
    if not measure:
        return None
    from weft.study.reproducing import check_column, measured_now

    check_column(paper)
    outputs.wrote("measuring this machine: up to a minute")
    return measured_now(paper)

"""`weft report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli import outputs, teaching

_EXAMPLES = """
weft report here.csv -o report.html  # one file that opens offline
weft report here.csv old.csv --machine ipsc860 -o report.html  # several files, and machines for the table
"""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=teaching.command(_EXAMPLES, long=True), no_args_is_help=True)(report)


def report(
    files: Annotated[list[Path], typer.Argument(help="Files of samples: .csv or .parquet.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The report.")] = Path("report.html"),
    force: outputs.Replace = False,
    machine: Annotated[
        list[str] | None,
        typer.Option(help="A machine whose node times go into the table of machines; may be repeated."),
    ] = None,
    title: Annotated[str, typer.Option(help="The heading.")] = "What messages cost",
) -> None:
    """A report on files of samples: one HTML file that opens offline, with figures, fits and residuals."""
    import polars as pl

    import weft
    from weft import samples
    from weft.pages.document import SPACE
    from weft.reports import check_report
    from weft.reports import report as write

    check_report()
    outputs.check(output, (".html", ".htm"), force=force, space=SPACE)
    table = pl.concat([samples.read(file, nonempty=True) for file in files], how="diagonal_relaxed")
    named = table["machine"].unique().to_list()
    known = [weft.machine(name) for name in machine or []]
    known += [
        described for described in weft.machines() if described.name in named and described.name not in (machine or [])
    ]
    write(table, output, machines=known, title=title, origin=", ".join(file.name for file in files), force=force)
    outputs.wrote(f"report: {output}")

"""The command `weft`, with all commands that it has."""

from __future__ import annotations

from typing import Annotated

import typer

from weft.cli import (
    advising,
    comparing,
    compiling,
    configuring,
    estimating,
    exporting,
    fghc,
    fitting,
    health,
    importing,
    machines,
    measuring,
    reporting,
    reproducing,
    running,
    studying,
    teaching,
)

_EXAMPLES = """
weft study  # measure this machine, fit it, compare it with the catalogue, write study/report.html
weft suite  # measure every group of benchmarks here, write suite/report.html
weft machines  # the described machines that come with weft
weft measure echo --on ipsc860 --hops 1:6  # the echo benchmark on an iPSC/860 of 1990, in virtual time
weft run --on ipsc860 -n 8 script.py  # your own mpi4py script on eight nodes of it
weft measure echo -o here.csv  # the benchmark on this machine, over MPI
weft fit here.csv -o here.toml  # what its messages cost, as a machine file
weft compare here.toml ipsc860  # side by side
"""

app = typer.Typer(
    name="weft",
    cls=teaching.group(_EXAMPLES),
    help="A laboratory for communication on parallel machines: measure what messages cost, fit it, simulate it on "
    "other machines, compare. Measured, simulated, published and predicted numbers land in the same table.",
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from weft import __version__

        typer.echo(f"weft {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show weft's version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where in weft an error came from.")] = False,
) -> None: ...


_PARTS = (
    machines,
    measuring,
    health,
    fitting,
    importing,
    comparing,
    compiling,
    exporting,
    reporting,
    reproducing,
    running,
    studying,
    estimating,
    advising,
    fghc,
    configuring,
)
for _part in _PARTS:
    _part.add_to(app)

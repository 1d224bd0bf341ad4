"""`weft export`."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from weft.cli import outputs, teaching

_EXAMPLES = """
weft export schedule.json -o algorithm.xml  # for MSCCL: an all-to-all, of one chunk a connection
weft export schedule.json --format plain -o steps.json  # what every node sends and receives, step by step
weft export allreduce.json -o allreduce.xml  # a compiled collective for MSCCL
weft export allreduce.json --format c -o allreduce.h  # a compiled collective as C over MPI: a header, nothing to link
"""


class Shape(enum.StrEnum):
    """What a schedule is written as."""

    MSCCL = "msccl"
    PLAIN = "plain"
    C = "c"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=teaching.command(_EXAMPLES), no_args_is_help=True)(export)


def export(
    schedule: Annotated[Path, typer.Argument(help="A schedule, as [bold]weft compile -o[/] writes it.")],
    shape: Annotated[
        Shape, typer.Option("--format", help="XML of MSCCL; plain JSON (of a pattern); C over MPI (of a collective).")
    ] = Shape.MSCCL,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write it to this file.")] = None,
    force: outputs.Replace = False,
    before: Annotated[Shape | None, typer.Option("--as", help="What --format was called.", hidden=True)] = None,
) -> None:
    """Write a schedule for other runtimes. It is verified first.

    MSCCL takes only a whole all-to-all: every pair of nodes, all connections of one length, none split. Of compiled
    collectives it takes allgather, reduce-scatter and allreduce. Before a file is written, it is checked against the
    limits of MSCCL's runtime and executed here, chunk by chunk.
    """
    from weft.conset import collectives, exporting
    from weft.conset.compiling import read

    outputs.check(output, (), force=force)
    shape = before or shape
    if collectives.is_one(schedule):
        text = exporting.export_collective(collectives.read(schedule), shape.value, output, force)
    else:
        text = exporting.export(read(schedule), shape=shape.value, path=output, force=force)
    if output is None:
        typer.echo(text, nl=False)
    else:
        outputs.wrote(f"{shape.value}: {output}")

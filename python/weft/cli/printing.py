"""Printing for terminals: tables keep their numbers whole."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table

from weft.cli import speaking


def show(renderable: RenderableType) -> None:
    """Print a table as wide as the terminal, where words can be broken over lines for that; else as wide as it must be.

    Nothing where the command is to be quiet. A line that a narrow terminal breaks says more than a number cut off. What
    is no terminal has a line for each row.
    """
    if speaking.is_quiet():
        return
    console = Console(highlight=False)
    is_table = isinstance(renderable, Table)
    if isinstance(renderable, Table) and console.is_terminal:
        for column in renderable.columns:
            column.no_wrap = column.no_wrap or column.justify == "right"
    measured = Measurement.get(console, console.options.update(max_width=10_000), renderable)
    needed = measured.minimum if is_table and console.is_terminal else measured.maximum
    if needed > console.width:
        console.width = min(needed, 400)
    console.print(renderable)

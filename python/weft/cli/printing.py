"""Printing for terminals: tables keep their numbers whole."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement, measure_renderables
from rich.table import Column, Table
from rich.text import Text

from weft.cli import speaking

_UNLIMITED = 10_000
"""A width in which nothing is broken."""

_WIDEST = 400
"""Of a table that is no terminal's; more is broken over lines."""


def show(renderable: RenderableType, keys: int = 1, breaks: Collection[int] | None = None) -> None:
    """Print a table as wide as the terminal, with no number cut off; nothing where the command is to be quiet.

    Words are broken over lines for that. Where this is not enough, the columns are divided over tables below each
    other, each of which begins with the columns that tell the rows apart, of which there are `keys`; `breaks` are the
    columns that another table may begin with, all of them unless told. What is no terminal has a line for each row,
    however long.
    """
    if speaking.is_quiet():
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        needed = Measurement.get(console, console.options.update(max_width=_UNLIMITED), renderable).maximum
        console.width = max(console.width, min(needed, _WIDEST))
    elif isinstance(renderable, Table):
        renderable = _fitted(console, renderable, keys, breaks)
    console.print(renderable)


def _fitted(console: Console, table: Table, keys: int, breaks: Collection[int] | None) -> RenderableType:
    """The table, or the tables that its columns are divided over."""
    for index, column in enumerate(table.columns):
        width = _width(console, column)
        if column.no_wrap or column.justify == "right" or (index < keys and width <= console.width // 2):
            column.no_wrap, column.min_width = True, width
        else:
            # A word that is longer than its column is broken, too: none loses its end.
            column.overflow = "fold"
    if _fits(console, table):
        return table
    parts = _divided(console, table, keys, breaks)
    texts = [Text(f"columns {number} of {len(parts)}", style="dim") for number in range(1, len(parts) + 1)]
    return Group(*(line for pair in zip(texts, parts, strict=True) for line in pair))


def _width(console: Console, column: Column) -> int:
    """How wide a column is whose cells are not broken."""
    cells = [column.header, *column.cells, column.footer]
    return measure_renderables(console, console.options.update(max_width=_UNLIMITED), cells).maximum


def _fits(console: Console, table: Table) -> bool:
    return Measurement.get(console, console.options.update(max_width=_UNLIMITED), table).minimum <= console.width


def _divided(console: Console, table: Table, keys: int, breaks: Collection[int] | None) -> list[Table]:
    """Tables with as many columns as the terminal is wide, in their order."""
    head, rest = table.columns[:keys], range(keys, len(table.columns))
    starts = [index for index in rest if index == keys or breaks is None or index in breaks]
    bundles = [table.columns[first:after] for first, after in pairwise([*starts, len(table.columns)])]
    parts = [bundles[0]]
    for bundle in bundles[1:]:
        if _fits(console, _with(table, [*head, *parts[-1], *bundle])):
            parts[-1] = [*parts[-1], *bundle]
        else:
            parts.append(bundle)
    return [_with(table, [*head, *part]) for part in parts]


def _with(table: Table, columns: list[Column]) -> Table:
    """A table like it with these of its columns alone."""
    part = Table(
        *(column.copy() for column in columns),
        title=table.title, box=table.box, pad_edge=table.pad_edge, show_footer=table.show_footer,
    )  # fmt: skip
    part.title_justify = table.title_justify
    for cells in zip(*(column.cells for column in columns), strict=True):
        part.add_row(*cells)
    return part

"""Reproductions on a terminal."""

from __future__ import annotations

from typing import Any, Literal

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from weft.papers.reproduction import INPUT, ReproducedTable, Reproduction

GOOD, POOR = 0.03, 0.10
"""Relative errors up to the first are green, above the second red."""


def render(reproduction: Reproduction) -> RenderableType:
    """All tables of a reproduction, each with its footnotes, and the summary.

    A cell is what was published, then ours, then the relative error; a dash stands for what is not there, = for an
    input of the machine file. Wide tables come in blocks of columns.

    Parameters
    ----------
    reproduction
        What to show.

    Returns
    -------
    rich.console.RenderableType
        For `rich.console.Console.print`.
    """
    parts: list[RenderableType] = [Text(reproduction.citation, style="italic"), Text()]
    for table in reproduction.tables:
        parts += [render_table(table), Text()]
    return Group(*parts, render_summary(reproduction))


_GAP = 3
"""Columns of characters that a column takes besides its text: padding and a separator."""


class _Fitting:
    """A table that fits the console: cells in one line where that is wide enough, else published over ours, and columns
    in as many blocks as it takes."""

    def __init__(self, table: ReproducedTable) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for stacked in (False, True):
            blocks = self._blocks(options.max_width, stacked)
            if len(blocks) == 1 or stacked:
                break
        for number, heads in enumerate(blocks):
            yield self._block(heads, stacked, len(blocks), number)

    def _heads(self) -> list[tuple[Any, ...]]:
        return self._table.cells.select(self._table.columns).unique(maintain_order=True).rows()

    def _cells(self) -> dict[tuple[Any, ...], tuple[Any, ...]]:
        table = self._table
        width = len(table.rows) + len(table.columns)
        chosen = table.cells.select(*table.rows, *table.columns, "published", "ours", "error", "kind")
        return {row[:width]: row[width:] for row in chosen.iter_rows()}

    def _row_heads(self) -> list[tuple[Any, ...]]:
        return self._table.cells.select(self._table.rows).unique(maintain_order=True).rows()

    def _blocks(self, width: int, stacked: bool) -> list[list[tuple[Any, ...]]]:
        """The columns, as many in each block as fit."""
        cells, rows = self._cells(), self._row_heads()
        first = 2 + sum(
            _GAP + max(len(str(value)) for value in [name, *(row[column] for row in rows)])
            for column, name in enumerate(self._table.rows)
        )
        blocks: list[list[tuple[Any, ...]]] = [[]]
        used = first
        for head in self._heads():
            texts = [_cell(cells.get((*row, *head)), stacked).plain.split("\n") for row in rows]
            names = _heading(head, stacked).split("\n")
            needed = _GAP + max(len(line) for lines in [names, *texts] for line in lines)
            if blocks[-1] and used + needed > width:
                blocks.append([])
                used = first
            blocks[-1].append(head)
            used += needed
        return blocks

    def _block(self, heads: list[tuple[Any, ...]], stacked: bool, blocks: int, number: int) -> RichTable:
        table = self._table
        name = "Text." if table.number == "text" else f"{table.label} {table.number}."
        part = f" ({number + 1} of {blocks})" if blocks > 1 else ""
        legend = "published, below it ours with the relative error" if stacked else "published/ours, relative error"
        drawn = RichTable(
            title=f"{name} {table.title}{part}\n[dim]{legend}; = an input[/]", title_justify="left",
            box=box.SIMPLE_HEAD, padding=(0, 1), leading=1 if stacked else 0,
        )  # fmt: skip
        for column in table.rows:
            justify: Literal["left", "right"] = "right" if table.cells.schema[column].is_numeric() else "left"
            drawn.add_column(column, justify=justify, no_wrap=True)
        for head in heads:
            drawn.add_column(_heading(head, stacked), justify="right", no_wrap=True)
        cells = self._cells()
        for row in self._row_heads():
            drawn.add_row(*(str(part) for part in row), *(_cell(cells.get((*row, *head)), stacked) for head in heads))
        return drawn


def _heading(head: tuple[Any, ...], stacked: bool) -> str:
    return ("\n" if stacked else " ").join(str(part) for part in head)


def render_table(table: ReproducedTable) -> RenderableType:
    """One table with its footnotes."""
    notes = [Text(f"  {i + 1}. {note}", style="dim") for i, note in enumerate(table.footnotes)]
    return Group(_Fitting(table), *notes)


def render_summary(reproduction: Reproduction) -> RenderableType:
    """The summary of a reproduction."""
    if reproduction.summary.is_empty():
        return Text("Nothing here is predicted by the simulator.", style="dim")
    table = RichTable(title=reproduction.summary_title, title_justify="left", box=box.SIMPLE_HEAD)
    for name in ("of", "cells", "median", "worst", "worst at"):
        table.add_column(name, justify="left" if name in ("of", "worst at") else "right")
    for row in reproduction.summary.iter_rows(named=True):
        table.add_row(row["of"], str(row["cells"]), _share(row["median"]), _share(row["worst"]), row["worst_at"] or "-")
    return table


def _cell(values: tuple[Any, ...] | None, stacked: bool) -> Text:
    """What was published and ours, in one line or two; inputs have a mark in the error's place."""
    if values is None:
        return Text("")
    published, ours, error, kind = values
    text = Text(f"{_number(published)}{chr(10) if stacked else '/'}{_number(ours)}")
    if kind == INPUT and ours is not None:
        text.append(" =", style="dim")
    elif error is not None:
        size = abs(error)
        text.append(f" {error:+.1%}", style="green" if size <= GOOD else "red" if size > POOR else "yellow")
    return text


def _number(value: float | None) -> str:
    """Four significant digits, never an exponent."""
    if value is None:
        return "-"
    if value == 0.0 or abs(value) >= 1000.0:
        return f"{value:.0f}"
    return f"{float(f'{value:.4g}'):.10f}".rstrip("0").rstrip(".")


def _share(value: float | None) -> Text:
    if value is None:
        return Text("-")
    return Text(f"{value:.1%}", style="green" if value <= GOOD else "red" if value > POOR else "yellow")

"""Reproductions on a terminal."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from weft.papers.reproduction import BLIND, FITTED, INPUT, MARKS, PREDICTED, ReproducedTable, Reproduction
from weft.papers.scores import scores, unscored

GOOD, POOR = 0.03, 0.10
"""Relative errors up to the first are green, above the second red."""
EXACT = 5e-5
"""An input that comes out with no larger error needs none printed."""
LEGEND = (
    f"{MARKS[BLIND]} blind prediction, {MARKS[PREDICTED]} prediction, {MARKS[FITTED]} fitted, {MARKS[INPUT]} an input"
)


def render(reproduction: Reproduction) -> RenderableType:
    """All tables of a reproduction, each with its footnotes, and the summary.

    A cell is what was published, then ours, then the relative error with a mark for what ours is: a blind prediction,
    a prediction, a fit, an input of the machine file. A dash stands for what is not there. Wide tables come in blocks
    of columns.

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


OPEN = (
    "open: what rounding or other published figures leave open in the worst cell, which no model can be expected to "
    "come below"
)

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
            title=f"{name} {table.title}{part}\n[dim]{legend}; {LEGEND}[/]", title_justify="left",
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
    return Group(_Fitting(table), render_notes(table))


def render_notes(table: ReproducedTable) -> RenderableType:
    """The footnotes of a table or a figure."""
    return Group(*(Text(f"  {i + 1}. {note}", style="dim") for i, note in enumerate(table.footnotes)))


def render_summary(reproduction: Reproduction) -> RenderableType:
    """Errors by table, predictions apart from fits and inputs; then the paper's own lines."""
    scored = scores(reproduction)
    if scored.is_empty():
        return Text(unscored(reproduction), style="dim")
    parts = [_errors(f"Relative errors. {reproduction.summary_title}", scored.rename({"kind": "ours"}), "ours")]
    if not reproduction.summary.is_empty():
        parts.append(_errors("Of these", reproduction.summary, None))
    return Group(*parts)


def render_gates(judged: pl.DataFrame) -> RenderableType:
    """Every table of several reproductions by kind, with its errors and its gate."""
    # Narrow gaps: eight columns have to fit a terminal of 80 characters.
    table = RichTable(
        title="Relative errors by table, and their gates", title_justify="left", box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0), pad_edge=False,
    )  # fmt: skip
    left = ("paper", "of", "ours")
    for name in (*left, "cells", "median", "worst", "open", "gate"):
        table.add_column(name, justify="left" if name in (*left, "gate") else "right", no_wrap=name != "gate")
    for row in judged.iter_rows(named=True):
        shares = _share(row["median"]), _share(row["worst"]), _open(row["uncertainty"])
        table.add_row(row["paper"], row["of"], row["kind"], str(row["cells"]), *shares, _gate(row))
    missed = len(judged) - int(judged["met"].sum())
    verdict = "all gates are met" if not missed else f"{missed} of {len(judged)} gates are missed"
    legend = (
        f"{OPEN}\ngate: the median, and the worst, may be at most this; reasons are in weft reproduce --format json"
    )
    return Group(table, Text(f"{verdict}\n{legend}", style="dim" if not missed else "red"))


def _gate(row: dict[str, Any]) -> Text:
    if row["gate_cells"] is None:
        return Text("none", style="red")
    limits = f"{row['gate_median']:.1%}, {row['gate_worst']:.1%}"
    return Text(limits, style="dim") if row["met"] else Text(f"MISSED: {limits}", style="red")


def _errors(title: str, rows: pl.DataFrame, kind: str | None) -> RichTable:
    table = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    left = ("of", *((kind,) if kind else ()))
    ragged = ("worst at", "open")
    for name in (*left, "cells", "median", "worst", "worst at", *(["open"] if kind else [])):
        table.add_column(
            name,
            justify="left" if name in (*left, *ragged) else "right",
            no_wrap=name not in ragged,
            overflow="fold",
        )
    for row in rows.iter_rows(named=True):
        heads = [row[name] for name in left]
        said = [open_in_worst(row)] if kind else []
        table.add_row(
            *heads, str(row["cells"]), _share(row["median"]), _share(row["worst"]), row["worst_at"] or "-", *said
        )
    return table


def open_in_worst(row: dict[str, Any]) -> str:
    """How much is open in the worst cell of a score, and why, where that is more than a thousandth."""
    size = row.get("uncertainty")
    return "" if size is None or size < 0.001 else f"{size:.1%}: {row['uncertainty_of']}"


def _cell(values: tuple[Any, ...] | None, stacked: bool) -> Text:
    """What was published and ours, in one line or two; inputs have a mark in the error's place."""
    if values is None:
        return Text("")
    published, ours, error, kind = values
    text = Text(f"{_number(published)}{chr(10) if stacked else '/'}{_number(ours)}")
    if error is not None and (kind != INPUT or abs(error) > EXACT):
        text.append(f" {error:+.1%}", style=_style(abs(error)))
    if error is not None or (kind == INPUT and ours is not None):
        text.append(f" {MARKS[kind]}", style="dim")
    return text


def _style(size: float) -> str:
    return "green" if size <= GOOD else "red" if size > POOR else "yellow"


def _number(value: float | None) -> str:
    """Four significant digits, never an exponent."""
    if value is None:
        return "-"
    if value == 0.0 or abs(value) >= 1000.0:
        return f"{value:.0f}"
    return f"{float(f'{value:.4g}'):.10f}".rstrip("0").rstrip(".")


def _open(value: float | None) -> Text:
    return Text("-" if value is None else f"{value:.1%}", style="dim")


def _share(value: float | None) -> Text:
    if value is None:
        return Text("-")
    return Text(f"{value:.1%}", style=_style(value))

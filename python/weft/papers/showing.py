"""How reproductions are shown: in a line, as tables, and drawn as the paper draws its figures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from weft import drawing, units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from weft.papers.reproduction import ReproducedTable, Reproduction

_COLUMNS = 2
_STYLES = ("-", "--", ":")
"""Lines of the first ten curves, of the next ten, and of more: there are ten colours."""

_SIZE = 6.4, 4.2
"""Inches of one of several figures."""


def reproduction_line(reproduction: Reproduction) -> str:
    """Which tables and figures there are, in one line."""
    tables = reproduction.tables
    if len(tables) == 1:
        return f"<weft reproduction of {reproduction.paper}: {tables[0].name}>"
    figures = sum(table.label == "Figure" for table in tables)
    return f"<weft reproduction of {reproduction.paper}: {len(tables) - figures} tables, {figures} figures>"


def reproduction_html(reproduction: Reproduction) -> str:
    """All tables under one another."""
    tables = "".join(table_html(table) for table in reproduction.tables)
    return f"<p>{drawing.escaped(reproduction.citation)}</p>{tables}"


def table_html(table: ReproducedTable) -> str:
    """The cells of a table: what was published, ours, and the error."""
    heads = [name for name in (*table.rows, *table.columns) if name in table.cells.columns]
    rows = [
        (*(cell[name] for name in heads), cell.get("unit"), _number(cell["published"]), _number(cell["ours"]),
         units.share(cell["error"]), cell["kind"])
        for cell in table.cells.iter_rows(named=True)
    ]  # fmt: skip
    title = f"{table.name}: {table.title}"
    return drawing.table(title, [*heads, "unit", "published", "ours", "error", "kind"], rows)


def plot_figure(table: ReproducedTable, ax: Axes | None = None) -> Axes:
    """One figure of a paper on axes of matplotlib."""
    from weft.papers.reproduction import PaperError

    if table.axes is None:
        raise PaperError(f"{table.name} is a table; figures can be drawn, and cells are in .cells")
    ax = drawing.axes(ax)
    points = table.cells if table.points is None else table.points
    names = points[table.axes.over].unique(maintain_order=True).to_list()
    is_category = table.axes.bars or not points.schema[table.axes.over].is_numeric()
    across = {name: float(number if is_category else name) for number, name in enumerate(names)}
    curves = points.group_by(table.axes.by, maintain_order=True)
    count = points.select(table.axes.by).n_unique()
    for number, (key, curve) in enumerate(curves):
        label = " ".join(map(str, key))
        draw = _bars if table.axes.bars else _line
        draw(ax, curve, across, table.axes.over, f"C{number % 10}", label, (number, count))
    _finish(ax, table, names if is_category else [])
    return ax


def plot_reproduction(reproduction: Reproduction) -> Figure:
    """All figures of a paper."""
    from weft.papers.reproduction import PaperError

    figures = reproduction.figures
    if not figures:
        raise PaperError(f"no figure of {reproduction.paper} is among what was reproduced; its tables have .cells")
    drawing.require_matplotlib()
    from matplotlib import pyplot

    columns = min(_COLUMNS, len(figures))
    rows = math.ceil(len(figures) / columns)
    size = (_SIZE[0] * columns, _SIZE[1] * rows)
    figure, grid = pyplot.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for table, ax in zip(figures, grid.flat, strict=False):
        plot_figure(table, ax)
    for ax in grid.flat[len(figures) :]:
        ax.remove()
    return figure


def _line(
    ax: Axes,
    curve: pl.DataFrame,
    across: dict[Any, float],
    over: str,
    colour: str,
    label: str,
    position: tuple[int, int],
) -> None:
    for column, style in (("ours", _STYLES[position[0] // 10 % len(_STYLES)]), ("published", "o")):
        known = curve.filter(pl.col(column).is_not_null())
        points = sorted((across[x], y) for x, y in known.select(over, column).iter_rows())
        if points:
            x, y = zip(*points, strict=True)
            # The mark is published and its line ours; a curve that was never published has a line alone.
            name = label if column == "ours" or curve["ours"].is_null().all() else None
            ax.plot(x, y, style, color=colour, label=name)


def _bars(
    ax: Axes,
    curve: pl.DataFrame,
    across: dict[Any, float],
    over: str,
    colour: str,
    label: str,
    position: tuple[int, int],
) -> None:
    number, count = position
    width = 0.8 / count
    for column, look in (("ours", {"alpha": 0.9}), ("published", {"fill": False, "hatch": "///"})):
        known = curve.filter(pl.col(column).is_not_null())
        x = [across[name] + (number - (count - 1) / 2) * width for name in known[over]]
        name = label if column == "ours" else None
        ax.bar(x, known[column].to_list(), width, color=colour, edgecolor=colour, label=name, **look)


def _finish(ax: Axes, table: ReproducedTable, names: list[Any]) -> None:
    axes = table.axes
    assert axes is not None
    if names:
        ax.set_xticks(range(len(names)), [str(name) for name in names])
    elif axes.log_x:
        ax.set_xscale("log", base=2)
    if axes.log_y:
        ax.set_yscale("log")
    ax.set_xlabel(axes.x)
    ax.set_ylabel(axes.y)
    ax.set_title(f"{table.label} {table.number}. {table.title}", wrap=True, fontsize="medium")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize="small")


def _number(value: float | None) -> str:
    return "–" if value is None else units.digits(value)

"""Figures of papers on a terminal: what was published as letters, ours as lines."""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.papers import ReproducedTable

_LEGEND = "  Capital letters are published; lines, or small letters, are ours."
_HEIGHT = 26
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def drawn(table: ReproducedTable, width: int, coloured: bool) -> str:
    """A figure of a reproduction as text.

    Parameters
    ----------
    table
        The figure; it has axes.
    width
        Columns of the terminal.
    coloured
        Whether the terminal shows colours.
    """
    import plotext

    axes = table.axes
    assert axes is not None
    points = table.cells if table.points is None else table.points
    plotext.clear_figure()
    plotext.plot_size(width, _HEIGHT)
    plotext.theme("pro" if coloured else "clear")
    plotext.title(f"Figure {table.number}. {table.title}")
    plotext.xlabel(axes.x)
    plotext.ylabel(axes.y)
    curves = points.select(axes.by).unique(maintain_order=True).rows()
    names = list(dict.fromkeys(points[axes.over].to_list()))
    is_category = axes.bars or not points.schema[axes.over].is_numeric()
    across: dict[Any, float] = {name: float(number if is_category else name) for number, name in enumerate(names)}
    letters = string.ascii_uppercase[: len(curves)]
    for letter, curve in zip(letters, curves, strict=False):
        rows = [row for row in points.iter_rows(named=True) if tuple(row[name] for name in axes.by) == curve]
        _curve(plotext, rows, across, axes, letter)
    if axes.log_x and not is_category:
        plotext.xscale("log")
    if axes.log_y:
        plotext.yscale("log")
    plotext.xticks([across[name] for name in names], [str(name) for name in names])
    text = plotext.build()
    legend = "\n".join(
        f"  {letter}  {' '.join(map(str, curve))}" for letter, curve in zip(letters, curves, strict=False)
    )
    more = f"\n  {len(curves) - len(letters)} more curves are in the table" if len(curves) > len(letters) else ""
    return f"{str(text) if coloured else _ESCAPES.sub('', text)}\n{_LEGEND}\n{legend}{more}\n"


def _curve(plot: Any, rows: list[dict[str, Any]], across: dict[Any, float], axes: Any, letter: str) -> None:
    for column in ("ours", "published"):
        known = [(across[row[axes.over]], row[column]) for row in rows if row[column] is not None]
        known = [(x, y) for x, y in known if y > 0 or not axes.log_y]
        if not known:
            continue
        x, y = zip(*sorted(known), strict=True)
        if column == "ours" and len(known) > 1 and not axes.bars:
            plot.plot(x, y, marker="braille")
            # Where nothing was published the line needs its letter, at its end.
            if all(row["published"] is None for row in rows):
                plot.scatter(x[-1:], y[-1:], marker=letter.lower())
        else:
            plot.scatter(x, y, marker=letter if column == "published" else letter.lower())

"""What a notebook shows of weft's objects: axes of matplotlib, and small tables of HTML.

A page for others is made by `weft.reports`; this is for who looks at one object while working with it.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from weft.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axes", "escaped", "facts", "length_axis", "require_matplotlib", "table", "time_axis"]

_SHOWN = 40
"""Rows of a table in a notebook; who wants more has the object."""


def axes(ax: Axes | None = None) -> Axes:
    """The axes to draw on: those of the caller, or new ones of matplotlib.

    Raises
    ------
    UsageError
        Where matplotlib is not installed, with the line that installs it.

    Examples
    --------
    >>> ax = object()
    >>> axes(ax) is ax
    True
    """
    if ax is not None:
        return ax
    require_matplotlib()
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def require_matplotlib() -> None:
    """Refuse a plot where matplotlib is not installed.

    Raises
    ------
    UsageError
        With the line that installs it.
    """
    require("a plot", "matplotlib")


def length_axis(ax: Axes) -> None:
    """Lengths in bytes on the horizontal axis, doubling."""
    ax.set_xscale("log", base=2)
    ax.set_xlabel("length (B)")


def time_axis(ax: Axes, what: str = "time of one message") -> None:
    """Times in seconds on the vertical axis, logarithmic."""
    ax.set_yscale("log")
    ax.set_ylabel(f"{what} (s)")


def facts(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A table of two columns under a title: what each fact is called and what it is, as HTML.

    >>> facts("a <b>", [("nodes", 4)])
    '<table><caption>a &lt;b&gt;</caption><tr><th>nodes</th><td>4</td></tr></table>'
    """
    cells = "".join(f"<tr><th>{escaped(name)}</th><td>{escaped(value)}</td></tr>" for name, value in rows)
    return f"<table><caption>{escaped(title)}</caption>{cells}</table>"


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table under a title, as HTML; of a long one the first rows, and how many more there are."""
    head = "".join(f"<th>{escaped(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows[:_SHOWN])
    more = f"<p>{len(rows) - _SHOWN} more rows</p>" if len(rows) > _SHOWN else ""
    return f"<table><caption>{escaped(title)}</caption><tr>{head}</tr>{body}</table>{more}"


def escaped(value: Any) -> str:
    """Text of HTML; nothing for None."""
    return html.escape("" if value is None else str(value), quote=False)

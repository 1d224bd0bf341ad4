"""Drawings of figures: what was published as markers, ours as lines."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from weft.papers import ReproducedTable

MAX_SERIES = 12
"""Curves that can be told apart in one drawing."""

STYLE: Any = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "sans-serif",
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "weft",
}
"""How drawings look; the salt makes two drawings of the same figures equal."""

_MARKERS = "osD^vP*Xphd<"
_ABSCISSAE = ("communication rate", "overhead", "overhead X")
"""Heads of columns that are abscissae of the others."""

Points = list[tuple[float, float | None, float | None]]
"""For each abscissa what was published, and ours."""


@dataclass
class Panel:
    """One pair of axes: its curves by name, and the words at its abscissae where those are no numbers."""

    title: str
    abscissa: str
    unit: str
    curves: dict[str, Points] = field(default_factory=dict)
    words: list[str] | None = None

    def add(self, name: str, x: float, published: float | None, ours: float | None) -> None:
        self.curves.setdefault(name, []).append((x, published, ours))


def is_drawn(one: ReproducedTable) -> bool:
    """Whether a table is a figure of the paper, with something to draw."""
    return one.label == "Figure" and bool(panels(one))


def panels(one: ReproducedTable) -> list[Panel]:
    """The panels of a figure: one, or one for each family of curves whose names begin alike."""
    unit = ", ".join(unit for unit in one.cells["unit"].unique().sort().to_list() if unit not in ("", "1"))
    found: dict[str, Panel] = {}
    columns = one.cells.select(one.columns).unique(maintain_order=True).rows()
    abscissa, row_is_x = _abscissa(one, columns)
    xs = {} if row_is_x else {" ".join(map(str, head)): _leading(head) for head in columns}
    position: dict[str, list[str]] = {}
    at: dict[tuple[Any, ...], float] = {}
    for cell in one.cells.iter_rows(named=True):
        row = tuple(cell[name] for name in one.rows)
        head = " ".join(str(cell[name]) for name in one.columns)
        family, _, last = ("", "", row[0]) if not isinstance(row[0], str) else row[0].rpartition(", ")
        panel = found.setdefault(family, Panel(family, abscissa, unit))
        if not isinstance(row[0], str):
            panel.add(head, float(row[0]), cell["published"], cell["ours"])
        elif xs and None not in xs.values():
            panel.add(str(last), float(xs[head] or 0), cell["published"], cell["ours"])
        elif head in _ABSCISSAE:
            at[row] = cell["ours"]
        elif row in at:
            panel.add(head, at[row], cell["published"], cell["ours"])
        else:
            words = position.setdefault(family, [])
            if last not in words:
                words.append(last)
            panel.words = words
            panel.add(head, words.index(last), cell["published"], cell["ours"])
    # What was measured on the computer that makes the page is in the table; it is no part of the paper's figure.
    return [panel for panel in found.values() if len(panel.curves) <= MAX_SERIES and not panel.title.startswith("here")]


def _abscissa(one: ReproducedTable, columns: Sequence[tuple[Any, ...]]) -> tuple[str, bool]:
    """What the abscissa is called, and whether it heads the rows."""
    if one.cells.schema[one.rows[0]].is_numeric():
        return one.rows[0], True
    first = str(columns[0][0])
    if first in _ABSCISSAE:
        return first, True
    if all(_leading(head) is not None for head in columns):
        return one.columns[0], False
    return "", True


def _leading(head: tuple[Any, ...]) -> float | None:
    """The number that a head begins with: of `6 PEs` 6."""
    number = re.match(r"\d+(?= PEs?$)", str(head[0]))
    return float(number[0]) if number else None


def drawing(one: ReproducedTable) -> str:
    """A figure as SVG."""
    return drawn(panels(one))


def drawn(found: Sequence[Panel], caption: str = "markers: published, lines: weft") -> str:
    """Panels as SVG, two beside each other where there are several."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    across = 1 if len(found) == 1 else 2
    down = math.ceil(len(found) / across)
    with matplotlib.rc_context(STYLE):
        figure, grid = pyplot.subplots(
            down, across, figsize=(7.4, 4.2 if down == 1 else 2.6 * down), layout="constrained", squeeze=False
        )
        for axes, panel in zip(grid.flat, found, strict=False):
            _draw(axes, panel, small=across > 1)
        for axes in grid.flat[len(found) :]:
            axes.set_visible(False)
        figure.suptitle(caption, fontsize=8, x=0.01, ha="left", color="#555555")
        return svg(figure)


def svg(figure: Any, **options: Any) -> str:
    """A figure as SVG, the same text whenever it is drawn."""
    from matplotlib import pyplot

    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None}, **options)
    pyplot.close(figure)
    return out.getvalue()


def _draw(axes: Any, panel: Panel, small: bool) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    for position, (name, points) in enumerate(panel.curves.items()):
        colour, marker = f"C{position % 10}", _MARKERS[position % len(_MARKERS)]
        ours = sorted((x, y) for x, _, y in points if y is not None)
        published = sorted((x, y) for x, y, _ in points if y is not None)
        if ours:
            line = {"marker": ".", "linestyle": ":"} if panel.words else {}
            axes.plot(*zip(*ours, strict=True), color=colour, linewidth=1.4, label=name, **line)
        if published:
            label = None if ours else name
            axes.plot(
                *zip(*published, strict=True), marker, color=colour, markerfacecolor="none", markersize=5, label=label
            )
    _scale(axes, panel)
    plain = FuncFormatter(lambda value, _: f"{value:,g}")
    axes.yaxis.set_major_formatter(plain)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    if panel.abscissa == "PEs":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if panel.words is None:
        axes.xaxis.set_major_formatter(plain)
    else:
        axes.set_xticks(range(len(panel.words)), panel.words, rotation=30, ha="right")
    axes.set_title(panel.title, fontsize=8)
    axes.set_xlabel(panel.abscissa)
    axes.set_ylabel(panel.unit)
    axes.grid(alpha=0.25)
    place = {} if small else {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    axes.legend(fontsize=6.5 if small else 7.5, frameon=False, **place)


def _scale(axes: Any, panel: Panel) -> None:
    """Logarithmic axes where values span more than a factor of 20."""
    abscissae = [x for points in panel.curves.values() for x, _, _ in points]
    values = [y for points in panel.curves.values() for _, *both in points for y in both if y is not None]
    if panel.words is None and min(abscissae) > 0 and max(abscissae) / min(abscissae) > 20:
        axes.set_xscale("log", base=2)
        if min(abscissae) >= 1:
            powers = range(math.floor(math.log2(min(abscissae))), math.ceil(math.log2(max(abscissae))) + 1)
            axes.set_xticks([2.0**power for power in powers if (power - powers[0]) % 2 == 0])
        else:
            axes.set_xscale("log")
    if values and min(values) > 0 and max(values) / min(values) > 20:
        axes.set_yscale("log")

"""Pictures of shifts, boundaries, stencils and geometries: weft computes their numbers when they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scripts.manual.drawing import STYLE, svg
from weft.arrays import Geometry, cshift, eoshift, stencil

FOLDER = "pictures"
"""The folder of the pictures in the site."""

_COLOURS = ("#cfe3f5", "#fbe0c4", "#cdebdc", "#ecd3e6", "#f4f0bd", "#dcdcf4")
_GHOST, _INK, _EDGE = "#ffffff", "#1c1e21", "#6b7280"

BOUNDARIES = ("circular", "antiperiodic", "reflect", "symmetric", 0.0)
REACH = 3
"""How far beyond each end the picture of boundaries looks."""

STENCILS = {
    "5 points": {(0, 0): -4, (1, 0): 1, (-1, 0): 1, (0, 1): 1, (0, -1): 1},
    "9 points": {(i, j): -20 if (i, j) == (0, 0) else 4 if 0 in (i, j) else 1 for i in (-1, 0, 1) for j in (-1, 0, 1)},
    "9 points, depth 2": {(0, 0): -60, **{(s * i, 0): c for s in (-1, 1) for i, c in ((1, 16), (2, -1))},
                          **{(0, s * i): c for s in (-1, 1) for i, c in ((1, 16), (2, -1))}},
}  # fmt: skip
"""The five-point Laplacian, the nine-point one of Mehrstellen form, and that of fourth order (times 12)."""


def pages() -> dict[str, str]:
    """The pictures by their names."""
    return {"shifts.svg": shifts(), "boundaries.svg": boundaries(), "stencils.svg": stencils(),
            "geometry.svg": geometry()}  # fmt: skip


def shifts() -> str:
    """A row of elements, shifted around and off its end."""
    x = np.arange(1, 9)
    rows = [("x", x), ("cshift(x, 2, 0)", cshift(x, 2, 0)), ("cshift(x, -1, 0)", cshift(x, -1, 0)),
            ("eoshift(x, 2, 0)", eoshift(x, 2, 0)),
            ("eoshift(x, -1, 0, boundary=9)", eoshift(x, -1, 0, boundary=9))]  # fmt: skip
    return _table(rows, lambda value: _COLOURS[0] if value in x else _COLOURS[1])


def beyond(boundary: Any, x: np.ndarray[Any, Any]) -> list[float]:
    """An axis with what a stencil finds beyond its two ends."""

    def at(distance: int, end: int) -> float:
        return float(stencil({distance: 1.0}, boundary=boundary)(x)[end])

    before = [at(-distance, 0) for distance in range(REACH, 0, -1)]
    return [*before, *x.tolist(), *(at(distance, -1) for distance in range(1, REACH + 1))]


def boundaries() -> str:
    """What lies beyond the ends of an axis of six elements."""
    x = np.arange(1.0, 7.0)
    rows = [(repr(boundary) if isinstance(boundary, str) else f"{boundary:g}", beyond(boundary, x))
            for boundary in BOUNDARIES]  # fmt: skip
    return _table(rows, None, outside=REACH)


def _table(rows: Sequence[tuple[str, Any]], colour: Any, outside: int = 0) -> str:
    """Rows of numbers in boxes, with a name before each; the `outside` first and last are drawn as ghosts."""
    figure, axes = _axes(9.0, 0.45 * len(rows) + 0.2)
    for y, (name, values) in enumerate(rows):
        axes.text(-0.7, -y, name, ha="right", va="center", family="monospace")
        for i, value in enumerate(values):
            is_ghost = not outside <= i < len(values) - outside
            _box(axes, i, -y, f"{value:g}", _GHOST if is_ghost else colour(value) if colour else _COLOURS[0], is_ghost)
    axes.set_xlim(-6.5, len(rows[0][1]))
    axes.set_ylim(0.4 - len(rows), 0.6)
    return _svg(figure)


def stencils() -> str:
    """Offsets and coefficients of three Laplacians; axis 0 goes down, as numpy prints it."""
    figure, axes = _axes(9.0, 2.6)
    for number, (name, points) in enumerate(STENCILS.items()):
        x = 7 * number
        for (i, j), coefficient in points.items():
            _box(axes, x + j, -i, f"{coefficient}", _COLOURS[1] if (i, j) == (0, 0) else _COLOURS[0], False)
        axes.text(x, 3.1, name, ha="center", va="center")
    axes.set_xlim(-3.5, 17.5)
    axes.set_ylim(-2.7, 3.6)
    return _svg(figure)


def geometry() -> str:
    """The blocks of an array over six ranks, and the ghosts of one of them."""
    layout = Geometry((8, 12), ranks=6)
    figure, axes = _axes(6.5, 4.6)
    rows, columns = layout.local_slices(1)
    for i in range(rows.start - 1, layout.shape[0]):
        for j in range(layout.shape[1]):
            outside = (not rows.start <= i < rows.stop) + (not columns.start <= j < columns.stop)
            beside = rows.start - 1 <= i <= rows.stop and columns.start - 1 <= j <= columns.stop
            is_ghost = outside == 1 and beside
            if i >= 0 or is_ghost:
                owner = layout.owner((i % layout.shape[0], j))[0]
                _box(axes, j, -i, str(owner), _COLOURS[owner], is_ghost)
    axes.set_xlim(-1.7, 12.7)
    axes.set_ylim(-8.7, 1.7)
    return _svg(figure)


def _box(axes: Any, x: float, y: float, text: str, colour: str, is_ghost: bool) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x - 0.45, y - 0.45), 0.9, 0.9, facecolor=colour, edgecolor=_INK if is_ghost else _EDGE,
                             linestyle="--" if is_ghost else "-", linewidth=1.4 if is_ghost else 0.6))  # fmt: skip
    axes.text(x, y, text, ha="center", va="center", color=_INK)


def _axes(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_aspect("equal")
    return figure, axes


def _svg(figure: Any) -> str:
    import matplotlib

    with matplotlib.rc_context(STYLE):
        return svg(figure, facecolor="white")

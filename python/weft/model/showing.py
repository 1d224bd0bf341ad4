"""How a fit is shown: in a line, as a table, and as a curve through the points that it was made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from weft import drawing, units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from weft.model.curve import Curve, Estimate
    from weft.model.fitting import Fit

_PER_PIECE = 24


def fit_line(fit: Fit) -> str:
    """What a fit says, in one line."""
    pieces = len(fit.echo.pieces)
    where = f"{fit.machine}, {fit.source}"
    cost = f"startup {_estimate(fit.startup)}, {units.digits(fit.byte_time.value * 1e9)} ns/B"
    return f"<weft fit of {where}: {cost}, {pieces} piece{'s' * (pieces != 1)}>"


def fit_html(fit: Fit) -> str:
    """The pieces of all curves, and what could not be determined."""
    heads = ["benchmark", "bytes", "startup", "ns/B", "per hop"]
    rows = [
        (name, f"{units.length(piece.first)} to {units.length(piece.last)}", _estimate(piece.startup),
         units.digits(piece.byte_time.value * 1e9), _estimate(piece.hop_time))
        for name, curve in fit.curves.items() for piece in curve.pieces
    ]  # fmt: skip
    notes = "".join(f"<li>{drawing.escaped(note)}</li>" for note in fit.notes)
    title = f"fit of {fit.machine}, {fit.source}: {fit.estimand_words}"
    return drawing.table(title, heads, rows) + (f"<ul>{notes}</ul>" if notes else "")


def plot_fit(fit: Fit, ax: Axes | None = None) -> Axes:
    """The points of each benchmark, and the fitted curve for the distance that most of them have."""
    ax = drawing.axes(ax)
    number = 0
    for name, curve in fit.curves.items():
        of_name = fit.residuals.filter(pl.col("benchmark") == name)
        for (hops,), points in of_name.group_by("hops", maintain_order=True):
            colour, label = f"C{number}", name if of_name["hops"].n_unique() == 1 else f"{name}, {hops} hops"
            ax.plot(points["bytes"].to_list(), points["seconds"].to_list(), "o", color=colour, label=label)
            lengths = _lengths(curve)
            ax.plot(lengths, [curve.seconds(length, hops) for length in lengths], color=colour)
            number += 1
    drawing.length_axis(ax)
    drawing.time_axis(ax)
    ax.set_title(f"{fit.machine}, {fit.source}")
    ax.legend()
    return ax


def _lengths(curve: Curve) -> list[int]:
    """Lengths close enough together for a smooth curve, within each piece."""
    ends = [(max(piece.first, 1), max(piece.last, 1)) for piece in curve.pieces]
    return sorted({round(length) for first, last in ends for length in np.geomspace(first, last, _PER_PIECE)})


def _estimate(estimate: Estimate | None) -> str:
    return "" if estimate is None else f"{units.seconds(estimate.value)} ±{units.share(estimate.half_width)}"

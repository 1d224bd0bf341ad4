"""Figures of published studies: what was published as hollow points or pale bars, ours as lines or full bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import polars as pl

from weft import units
from weft.reports.figures import Figure, Trace, figure_of

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_COLOURS = 10


class Axes(Protocol):
    """How a figure is drawn; see `weft.papers.reproduction.Axes`."""

    @property
    def x(self) -> str: ...
    @property
    def y(self) -> str: ...
    @property
    def over(self) -> str: ...
    @property
    def by(self) -> tuple[str, ...]: ...
    @property
    def log_x(self) -> bool: ...
    @property
    def log_y(self) -> bool: ...
    @property
    def bars(self) -> bool: ...


def of_paper(title: str, points: pl.DataFrame, unit: str, axes: Axes) -> Figure:
    """The figure of a reproduction.

    Parameters
    ----------
    title
        What it shows, for those who cannot see it.
    points
        Columns `axes.over`, those of `axes.by`, `published`, `ours` and `kind`.
    unit
        Of the values.
    axes
        What is drawn against what.
    """
    traces: list[Trace] = []
    curves = points.select(axes.by).unique(maintain_order=True).rows()
    colours = {first: number for number, first in enumerate(dict.fromkeys(curve[0] for curve in curves))}
    styles = {rest: number for number, rest in enumerate(dict.fromkeys(curve[1:] for curve in curves))}
    for curve in curves:
        of_curve = pl.all_horizontal(pl.col(name) == value for name, value in zip(axes.by, curve, strict=True))
        looks = (colours[curve[0]], styles[curve[1:]] + len(styles) * (colours[curve[0]] // _COLOURS))
        traces += _curve(points.filter(of_curve), curve, unit, axes, *looks)
    figure = figure_of(traces, _x_axis(points, axes), _y_axis(axes, traces))
    if axes.bars:
        figure["layout"]["barmode"] = "group"
    return figure


def _curve(points: pl.DataFrame, curve: tuple[Any, ...], unit: str, axes: Axes, series: int, style: int) -> list[Trace]:
    name = " ".join(str(part) for part in curve)
    kinds = points.filter(pl.col("published").is_not_null() & pl.col("ours").is_not_null())["kind"].unique().sort()
    said = f"{name} ({', '.join(kinds)})" if len(kinds) else name
    traces: list[Trace] = []
    for column, hollow in (("ours", False), ("published", True)):
        part = points.filter(pl.col(column).is_not_null() & (_drawable(axes, column)))
        if part.is_empty():
            continue
        values = part[column].to_list()
        trace: Trace = {
            "name": f"{name}, {column}", "legendgroup": name, "showlegend": not traces,
            "x": part[axes.over].to_list(), "y": values, "customdata": [_shown(value, unit) for value in values],
            "hovertemplate": "%{fullData.name}<br>%{x}: %{customdata}<extra></extra>",
            "meta": {"series": series, "hollow": hollow, "legend": said, "label": name},
        }  # fmt: skip
        if axes.bars:
            trace |= {"type": "bar", "marker": {}}
        else:
            trace |= {
                "type": "scatter", "mode": "markers" if hollow else "lines", "marker": {"size": 7},
                "line": {"width": 2, "dash": _DASHES[style % len(_DASHES)]},
            }  # fmt: skip
            if len(part) == 1 and not hollow:
                trace["mode"] = "markers"
        traces.append(trace)
    return traces


def _shown(value: float, unit: str) -> str:
    return f"{units.digits(value)} {'' if unit == '1' else unit}".strip()


def _drawable(axes: Axes, column: str) -> pl.Expr:
    """A logarithm is of positive numbers only."""
    return pl.col(column) > 0 if axes.log_y else pl.lit(True)


def _x_axis(points: pl.DataFrame, axes: Axes) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": axes.x}}
    if axes.bars or not points.schema[axes.over].is_numeric():
        return axis | {"type": "category"}
    known = sorted(set(points[axes.over].drop_nulls().to_list()))
    if axes.log_x:
        axis["type"] = "log"
        # Powers of two are what the papers have; other numbers have the ticks of their decades.
        if all(isinstance(value, int) and value & (value - 1) == 0 for value in known):
            axis |= {"tickvals": known, "ticktext": [f"{value:,}" for value in known]}
    elif len(known) <= 12:
        axis["tickvals"] = known
    return axis


def _y_axis(axes: Axes, traces: Sequence[Trace]) -> dict[str, Any]:
    values = [value for trace in traces for value in trace["y"] if value is not None]
    title = {"text": axes.y}
    if not values:
        return {"title": title}
    if not axes.log_y:
        return {"title": title, "rangemode": "tozero", "zeroline": True}
    low, high = min(values), max(values)
    marks = [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    return {
        "type": "log", "title": title, "tickvals": marks, "ticktext": [f"{mark:,.10g}" for mark in marks],
        "range": [math.log10(low) - 0.1, math.log10(high) + 0.1],
    }  # fmt: skip

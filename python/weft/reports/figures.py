"""Figures as Plotly specifications: data, axes and words; colours are the page's (traces name a series)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from weft import units
from weft.model import Fit
from weft.reports.content import Content, Subject

Figure = dict[str, Any]
Trace = dict[str, Any]

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon", "triangle-down", "pentagon")
_COLOURS = 10
"""Colours of the page (assets/figures.js)."""
_DASHES = ("solid", "longdash", "dashdot", "dash", "longdashdot")
_MARGIN = {"l": 70, "r": 20, "t": 34, "b": 60}
_HEIGHT = 26.0
"""Height of a figure without its legend, rem."""
_PANEL_HEIGHT = 15.0
# Machines of four decades of years are many decades of time apart.
_SHAPE_HEIGHT = 26.0
_SHAPE_HEADROOM = 2.0
_CURVE_POINTS = 24
"""Points of a fitted piece: enough for a smooth curve on log axes."""

_COLLECTIVES = (
    "barrier", "broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "alltoallv", "scan",
)  # fmt: skip


def latency(content: Content) -> Figure:
    """Time of a message against its length: samples with intervals, fits drawn through them."""
    traces: list[Trace] = []
    for subject in content.subjects:
        points = subject.echo()
        if points.is_empty():
            continue
        traces.append(_samples(subject, points, "seconds", units.seconds, with_interval=True))
        traces += _fitted_points(subject)
        traces += _fit_lines(subject, lambda length, seconds: seconds, int(points["hops"][0]))
    return figure_of(traces, _lengths(content), log_axis("time of one message", "s", *value_range(traces)))


def rate(content: Content) -> Figure:
    """Rate of single messages against their length, with the rate of windows of messages where it was measured."""
    traces: list[Trace] = []
    for subject in content.subjects:
        points = subject.echo().filter(pl.col("rate").is_not_null())
        if not points.is_empty():
            traces.append(_samples(subject, points, "rate", units.rate))
            traces += _fit_lines(subject, lambda length, seconds: length / seconds, int(points["hops"][0]))
        window = subject.points("bandwidth").filter(pl.col("bytes") > 0)
        if subject.own and not window.is_empty():
            window = window.with_columns(pl.col("bytes") / pl.col("seconds"))
            traces.append(_samples(subject, window, "rate", units.rate, name="windowed", dash="dot", hollow=True))
    return figure_of(traces, _lengths(content), log_axis("rate", "B/s", *value_range(traces)))


def hops(content: Content, lengths: Sequence[int]) -> Figure:
    """Rate against the number of links, for a few lengths."""
    traces: list[Trace] = []
    for subject in content.subjects:
        echo = subject.points("echo").filter(pl.col("hops").is_not_null() & (pl.col("bytes") > 0))
        if echo["hops"].n_unique() < 2:
            continue
        for number, length in enumerate(lengths):
            points = echo.filter(pl.col("bytes") == length).sort("hops")
            if points.is_empty():
                continue
            trace = drawn(subject, points["hops"].to_list(), points["rate"].to_list(), units.rate)
            trace["name"] = f"{subject.label}, {units.length(length)}"
            trace["legendgroup"] = trace["meta"]["label"] = trace["name"]
            trace["line"] = {"width": 2, "dash": ("solid", "dash", "dot")[number % 3]}
            trace["hovertemplate"] = "%{fullData.name}<br>%{x} hops: %{customdata}<extra></extra>"
            trace["mode"] = "lines+markers"
            traces.append(trace)
    axis = {"title": {"text": "links crossed (hops)"}, "dtick": 1}
    return figure_of(traces, axis, log_axis("rate", "B/s", *value_range(traces)))


def hop_lengths(content: Content) -> list[int]:
    """A short and a long length of which several distances are known."""
    parts = [s.points("echo").filter(pl.col("hops").is_not_null()) for s in content.subjects]
    several = [p for p in parts if p["hops"].n_unique() > 1]
    if not several:
        return []
    known = set.intersection(*(set(p["bytes"].drop_nulls().to_list()) for p in several))
    return [length for length in (128, 8192) if length in known] or sorted(known)[-1:]


def collectives_by_ranks(content: Content) -> Figure:
    """Time of collectives against the number of ranks at the shortest length: a panel for each."""
    panels = [name for name in _COLLECTIVES if _several_ranks(content, name)]
    return _panels(content, panels, "ranks", "ranks", _by_ranks)


def collectives_by_length(content: Content) -> Figure:
    """Time of collectives against the length, on the ranks that were measured: a panel for each."""
    panels = [name for name in _COLLECTIVES if any((s.points(name)["bytes"] > 0).any() for s in content.own)]
    return _panels(content, panels, "bytes", "length", _by_length)


def halo_by_ranks(content: Content) -> Figure:
    """Time of an exchange of ghosts against the number of ranks: a panel for each shape of the block."""
    return _by_shape(content, "halo")


def stencil_by_ranks(content: Content) -> Figure:
    """Time of a step of a stencil against the number of ranks: a panel for each shape of the block."""
    return _by_shape(content, "stencil")


def _by_shape(content: Content, benchmark: str) -> Figure:
    samples = content.table.filter(pl.col("benchmark") == benchmark)
    if samples.is_empty() or "shape" not in samples.columns:
        return figure_of([], {}, {})
    shapes = sorted(samples["shape"].drop_nulls().unique().to_list(), key=_elements)

    def of_shape(subject: Subject, shape: str) -> pl.DataFrame:
        points = subject.points(benchmark)
        return points if points.is_empty() else points.filter(pl.col("shape") == shape).sort("ranks")

    return _panels(content, shapes, "ranks", "ranks", of_shape, height=_SHAPE_HEIGHT, headroom=_SHAPE_HEADROOM)


def _elements(shape: str) -> tuple[int, int]:
    extents = [int(extent) for extent in shape.split("x")]
    return len(extents), math.prod(extents)


def residuals(content: Content) -> Figure:
    """How far fits are from samples, by length; lengths that the fit has not seen are hollow."""
    traces: list[Trace] = []
    drawn_subjects = content.own or content.subjects
    for subject, number, fit in [(one, k, fit) for one in drawn_subjects for k, fit in enumerate(one.fits)]:
        errors = fit_errors(fit)
        for held_out in (False, True):
            part = errors.filter(pl.col("held_out") == held_out)
            if part.is_empty():
                continue
            shown = [f"{units.length(n)}: {e:+.1%}" for n, e in zip(part["bytes"], part["error"], strict=True)]
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": f"{subject.named(fit)}{', held out of the fit' if held_out else ''}",
                    "x": part["bytes"].to_list(),
                    "y": part["error"].to_list(),
                    "customdata": shown,
                    "hovertemplate": "%{fullData.name}<br>%{customdata}<extra></extra>",
                    "marker": {"size": 8, "symbol": _symbol(subject.series + number)},
                    "meta": subject.look(hollow=held_out),
                }
            )
    axis = {"title": {"text": "fit against sample"}, "tickformat": "+.0%", "zeroline": True, "zerolinewidth": 2}
    return figure_of(traces, _lengths(content), axis)


def fit_errors(fit: Fit) -> pl.DataFrame:
    """Relative errors of a fit at every length of echo, over the fewest links, against what it is a fit of.

    Returns
    -------
    polars.DataFrame
        `bytes`, `seconds`, `fitted`, `error` (fitted against sample) and `held_out` (the fit has not seen that length).
    """
    columns = ["benchmark", "hops", "bytes", "seconds", "fitted", "error"]
    parts = [
        table.select(columns).with_columns(held_out=pl.lit(value))
        for table, value in ((fit.residuals, False), (fit.held_out, True))
    ]
    echo = pl.concat(parts).filter((pl.col("benchmark") == "echo") & (pl.col("bytes") > 0))
    return echo.filter(pl.col("hops") == pl.col("hops").min()).sort("bytes").drop("benchmark", "hops")


def _several_ranks(content: Content, name: str) -> bool:
    return any(subject.points(name)["ranks"].n_unique() > 1 for subject in content.subjects)


def _by_ranks(subject: Subject, name: str) -> pl.DataFrame:
    points = subject.points(name)
    return points.filter(pl.col("bytes").is_null() | (pl.col("bytes") == pl.col("bytes").min())).sort("ranks")


def _by_length(subject: Subject, name: str) -> pl.DataFrame:
    points = subject.points(name).filter(pl.col("bytes") > 0)
    return points.filter(pl.col("ranks") == pl.col("ranks").min())


def _panels(
    content: Content,
    names: Sequence[str],
    column: str,
    title: str,
    select: Callable[[Subject, str], pl.DataFrame],
    *,
    height: float = _PANEL_HEIGHT,
    headroom: float = 1.0,
) -> Figure:
    """Small multiples: one panel a collective, the same axes in all, with a factor of headroom beyond the values."""
    columns = min(3, max(1, len(names)))
    lines = math.ceil(len(names) / columns)
    traces: list[Trace] = []
    layout: dict[str, Any] = {"annotations": [], "margin": _MARGIN, "hovermode": "closest"}
    shown: set[str] = set()
    for panel, name in enumerate(names):
        suffix = "" if panel == 0 else str(panel + 1)
        for subject in content.subjects:
            points = select(subject, name)
            if points.is_empty():
                continue
            trace = drawn(subject, points[column].to_list(), points["seconds"].to_list(), units.seconds)
            trace |= {
                "mode": "lines+markers", "xaxis": f"x{suffix}", "yaxis": f"y{suffix}",
                "showlegend": subject.label not in shown,
                "hovertemplate": f"%{{fullData.name}}<br>{name}, %{{x}} {title}: %{{customdata}}<extra></extra>",
            }  # fmt: skip
            shown.add(subject.label)
            traces.append(trace)
        _add_panel(layout, name, panel, columns, lines)
    low, high = value_range(traces)
    low, high = low / headroom, high * headroom
    for panel in range(len(names)):
        suffix = "" if panel == 0 else str(panel + 1)
        x = _lengths(content, "", ticks=3) if column == "bytes" else _ranks_axis(traces)
        layout[f"xaxis{suffix}"] |= {**x, "title": {"text": title if panel >= len(names) - columns else ""}}
        layout[f"yaxis{suffix}"] |= log_axis("", "s", low, high)
        layout[f"yaxis{suffix}"]["showticklabels"] = panel % columns == 0
    return {
        "data": [rounded(thinned(trace)) for trace in traces],
        "layout": layout,
        "height": height * max(1, lines) + 2.5,
    }


def _add_panel(layout: dict[str, Any], name: str, panel: int, columns: int, lines: int) -> None:
    """A panel's share of the figure."""
    suffix = "" if panel == 0 else str(panel + 1)
    column, line = panel % columns, panel // columns
    width, height, gap = 1.0 / columns, 1.0 / lines, 0.02
    x = [column * width + (gap if column else 0.0), (column + 1) * width]
    top = 1.0 - line * height
    # Room for the ticks below and the name above, whatever the number of lines.
    y = [top - height + (0.17 * height if line < lines - 1 else 0.0), top - 0.08 * height]
    layout[f"xaxis{suffix}"] = {"domain": x, "anchor": f"y{suffix}"}
    layout[f"yaxis{suffix}"] = {"domain": y, "anchor": f"x{suffix}"}
    layout["annotations"].append(
        {
            "text": f"<b>{name}</b>", "showarrow": False, "xref": "paper", "yref": "paper",
            "x": x[0], "y": y[1], "xanchor": "left", "yanchor": "bottom",
        }
    )  # fmt: skip


def _samples(
    subject: Subject,
    points: pl.DataFrame,
    column: str,
    shown: Callable[[float | None], str],
    with_interval: bool = False,
    name: str = "",
    dash: str | None = None,
    hollow: bool = False,
) -> Trace:
    """A subject's samples: markers, joined where no fit is drawn through them."""
    trace = drawn(subject, points["bytes"].to_list(), points[column].to_list(), shown)
    joined = (subject.fit is None and subject.source != "published") or name
    trace["mode"] = "lines+markers" if joined else "markers"
    trace["meta"]["hollow"] = hollow or subject.source == "published"
    if name:
        trace["name"] = trace["legendgroup"] = trace["meta"]["label"] = f"{subject.label}, {name}"
        trace["line"] = {"width": 1.5, "dash": dash}
    if with_interval and (points["launches"] > 1).any():
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": (points["seconds_high"] - points["seconds"]).to_list(),
            "arrayminus": (points["seconds"] - points["seconds_low"]).to_list(),
            "thickness": 1.5,
            "width": 3,
        }
    return trace


def drawn(subject: Subject, x: list[Any], y: list[Any], shown: Callable[[float | None], str]) -> Trace:
    """One curve of a subject: values, what is shown of them, symbol and series."""
    return {
        "type": "scatter",
        "name": subject.label,
        "legendgroup": subject.label,
        "x": x,
        "y": y,
        "customdata": [shown(value) for value in y],
        "hovertemplate": "%{fullData.name}<br>%{x:,} B: %{customdata}<extra></extra>",
        "marker": {"size": 8 if subject.own else 6, "symbol": _symbol(subject.series)},
        "line": _line(subject, "dot" if subject.source == "predicted" else None),
        "meta": subject.look(hollow=subject.source == "published", label=subject.label),
    }


def _symbol(series: int) -> str:
    """Series with one colour, of which there are ten, have another symbol each: a hundred look different."""
    return _SYMBOLS[(series + series // _COLOURS) % len(_SYMBOLS)]


def _line(subject: Subject, dash: str | None = None) -> dict[str, Any]:
    """A line of its own for series with one colour; what was measured here is thicker than all others."""
    dash = dash or _DASHES[subject.series // _COLOURS % len(_DASHES)]
    return {"width": 2.5 if subject.own else 1.5, "dash": dash}


def _fit_lines(subject: Subject, value: Callable[[float, float], float], hops: int) -> list[Trace]:
    """The pieces of a subject's fit."""
    if subject.fit is None or subject.source == "published":
        return []
    curve = subject.fit.echo
    x: list[float | None] = []
    y: list[float | None] = []
    for piece in curve.pieces:
        first, last = max(1.0, float(piece.first)), float(piece.up_to or piece.last)
        for k in range(_CURVE_POINTS):
            length = first * (last / first) ** (k / (_CURVE_POINTS - 1))
            seconds = piece.seconds(length, hops if hops in curve.hops else curve.hops[0])
            if seconds > 0.0:
                x.append(length)
                y.append(value(length, seconds))
        x.append(None)
        y.append(None)
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"{subject.named(subject.fit)}, fit",
            "legendgroup": subject.label,
            "showlegend": False,
            "x": x,
            "y": y,
            "hoverinfo": "skip",
            "line": _line(subject),
            "meta": subject.look(),
        }
    ]


def _fitted_points(subject: Subject) -> list[Trace]:
    """The times that a fit was made from, where those are not the medians that are drawn."""
    if subject.fit is None or not subject.own or subject.fit.estimand is None:
        return []
    points = fit_errors(subject.fit).filter(~pl.col("held_out"))
    trace = drawn(subject, points["bytes"].to_list(), points["seconds"].to_list(), units.seconds)
    name = f"{subject.label}, points of the fit"
    trace |= {"name": name, "legendgroup": name, "mode": "markers", "marker": {"size": 5, "symbol": "x"}}
    trace["meta"] = subject.look(hollow=False)
    return [trace]


def figure_of(traces: list[Trace], x: dict[str, Any], y: dict[str, Any]) -> Figure:
    """A figure of its curves and axes."""
    layout = {"xaxis": x, "yaxis": y, "margin": _MARGIN, "hovermode": "closest"}
    return {"data": [rounded(thinned(trace)) for trace in traces], "layout": layout, "height": _HEIGHT, "labels": True}


MAX_POINTS = 500
"""More points of a curve are not seen, and cost time to draw."""


def thinned(trace: Trace) -> Trace:
    """A curve with at most `MAX_POINTS` of its points: evenly chosen, with the least and the greatest between them."""
    values = trace["y"]
    if len(values) <= MAX_POINTS or trace.get("type") == "bar":
        return trace
    step = math.ceil(2 * len(values) / MAX_POINTS)
    kept: set[int] = {0, len(values) - 1}
    for first in range(0, len(values), step):
        part = [k for k in range(first, min(first + step, len(values))) if values[k] is not None]
        if part:
            kept |= {min(part, key=lambda k: values[k]), max(part, key=lambda k: values[k])}
    chosen = sorted(kept)
    thin = {
        key: [value[k] for k in chosen] if isinstance(value, list) and len(value) == len(values) else value
        for key, value in trace.items()
    }
    if "error_y" in trace:
        sides = {side: [trace["error_y"][side][k] for k in chosen] for side in ("array", "arrayminus")}
        thin["error_y"] = {**trace["error_y"], **sides}
    return thin


DIGITS = 7
"""Significant digits of what is drawn: clocks tell no more, and digits are a third of a report's data."""


def rounded(value: Any) -> Any:
    """A trace, or a part of one, with numbers of at most `DIGITS` significant digits.

    Examples
    --------
    >>> rounded({"x": [8, 16], "y": [2.5300050765508786e-07, None]})
    {'x': [8, 16], 'y': [2.530005e-07, None]}
    """
    match value:
        case float():
            return float(f"{value:.{DIGITS}g}")
        case list():
            return [rounded(one) for one in value]
        case dict():
            return {key: rounded(one) for key, one in value.items()}
    return value


def _lengths(content: Content, title: str = "length of a message", ticks: int = 7) -> dict[str, Any]:
    """A log axis of lengths with ticks at powers of two, about as many as asked for."""
    known = content.table.filter(pl.col("bytes") > 0)["bytes"]
    low, high = (int(str(known.min())), int(str(known.max()))) if len(known) else (1, 1024)
    step = max(1, round(math.log2(high / low) / ticks))
    marks = [1 << k for k in range(low.bit_length() - 1, high.bit_length() + 1, step)]
    return {
        "type": "log",
        "title": {"text": title},
        "tickvals": marks,
        "ticktext": [units.length(mark) for mark in marks],
        "range": [math.log10(low * 0.7), math.log10(high * 1.4)],
    }


def _ranks_axis(traces: Sequence[Trace]) -> dict[str, Any]:
    known = sorted({x for trace in traces for x in trace["x"] if x})
    ticks = known if len(known) <= 8 else [1 << k for k in range(1, known[-1].bit_length())]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:,}" for tick in ticks]}


def log_axis(title: str, unit: str, low: float, high: float) -> dict[str, Any]:
    """A log axis with ticks at powers of ten and readable units."""

    def shown(value: float) -> str:
        return units.seconds(value) if unit == "s" else units.work_rate(value, unit)

    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [10.0**k for k in range(first, last + 1)]
    words = [shown(tick).replace(".00 ", " ").replace("10.0 ", "10 ") for tick in ticks]
    return {
        "type": "log",
        "title": {"text": title},
        "tickvals": ticks,
        "ticktext": words,
        "range": [math.log10(low) - 0.1, math.log10(high) + 0.1],
    }


def value_range(traces: Sequence[Trace]) -> tuple[float, float]:
    """The smallest and the largest value."""
    values = [value for trace in traces for value in trace["y"] if value]
    return (min(values), max(values)) if values else (1e-6, 1.0)

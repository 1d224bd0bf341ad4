"""Figures of one node, traffic, programs and files, after figures 1 and 6 to 12 of Dunigan 1991."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from weft import units
from weft.reports.content import Content, Subject
from weft.reports.figures import Figure, Trace, drawn, figure_of, log_axis, value_range

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_DRAWN = ("ipsc860", "ncube6400")
"""The machines of figures 7 to 9 of Dunigan 1991: with more, curves by load are a thicket."""


def dot_product(content: Content) -> Figure:
    """Rate against the length of the vectors, by precision."""
    return _lines(content, "dot_product", "extent", "rate", "elements", "Mflop/s", by="variant")


def memory_latency(content: Content) -> Figure:
    """Time of a dependent load against the working set: a step for every level of the memory."""
    return _lines(content, "memory_latency", "bytes", "seconds", "working set", "s")


def stream(content: Content) -> Figure:
    """Rates of STREAM's kernels, by threads."""
    traces: list[Trace] = []
    for subject in content.subjects:
        points = subject.points("stream")
        if points.is_empty() or "variant" not in points.columns:
            continue
        for number, threads in enumerate(points["threads"].unique().sort().to_list()):
            part = points.filter((pl.col("threads") == threads) & pl.col("rate").is_not_null())
            name = f"{subject.label}, {threads} thread{'s' if threads and threads > 1 else ''}"
            trace = _trace(subject, part["variant"].to_list(), part["rate"].to_list(), name, "MB/s", number)
            trace["mode"] = "markers"
            traces.append(trace)
    axis = {"type": "category", "title": {"text": "kernel"}}
    return figure_of(traces, axis, _linear("rate", "MB/s"))


def slowdown(content: Content) -> Figure:
    """What routing takes from a computing rank, against the length of the messages (figure 6)."""
    return _lines(content, "routing-compute", "bytes", "slowdown", "length of a message", "share")


def echo_slowdown(content: Content) -> Figure:
    """What computing ranks on the way take from an echo."""
    return _lines(content, "routing-echo", "bytes", "slowdown", "length of a message", "share")


def contention(content: Content) -> Figure:
    """Rate of the probe against its length, by load (figures 7 and 8): here and on the paper's two machines."""
    wanted = [subject for subject in content.subjects if subject.own or subject.machine in _DRAWN]
    return _lines(content, "contention", "bytes", "rate", "length of a message", "B/s", "background_bytes", wanted)


def contention_loss(content: Content) -> Figure:
    """Share of the probe's speed that the background takes, against the load, for the longest probe."""

    def longest(points: pl.DataFrame) -> pl.DataFrame:
        return points.filter(pl.col("bytes") == pl.col("bytes").max())

    return _lines(
        content, "contention", "background_bytes", "slowdown", "length of background messages", "share", select=longest
    )


def fan(content: Content, benchmark: str) -> Figure:
    """Aggregate rate against the number of neighbours, for the longest messages (figure 9)."""

    def longest(points: pl.DataFrame) -> pl.DataFrame:
        return points.filter(pl.col("bytes") == pl.col("bytes").max())

    return _lines(content, benchmark, "neighbours", "rate", "neighbours", "B/s", select=longest)


def program(content: Content, benchmark: str) -> Figure:
    """Rate of a program against its order (figure 12)."""
    return _lines(content, benchmark, "extent", "rate", "extent", "flop/s", by="precision")


def files_by_ranks(content: Content, benchmark: str) -> Figure:
    """Throughput against the number of ranks, for the longest blocks (figure 11)."""

    def longest(points: pl.DataFrame) -> pl.DataFrame:
        return points.filter(pl.col("bytes") == pl.col("bytes").max())

    by = "io_nodes" if _has(content, "io_nodes") else None
    return _lines(content, benchmark, "ranks", "rate", "ranks", "B/s", by, select=longest)


def files_by_block(content: Content, benchmark: str) -> Figure:
    """Throughput against the length of blocks (figure 10), on the fewest ranks."""

    def fewest(points: pl.DataFrame) -> pl.DataFrame:
        return points.filter(pl.col("ranks") == pl.col("ranks").min())

    by = "io_nodes" if _has(content, "io_nodes") else None
    return _lines(content, benchmark, "bytes", "rate", "block", "B/s", by, select=fewest)


def _has(content: Content, column: str) -> bool:
    return column in content.table.columns and bool(content.table[column].is_not_null().any())


def _lines(
    content: Content,
    benchmark: str,
    x: str,
    y: str,
    title: str,
    unit: str,
    by: str | None = None,
    subjects: Sequence[Subject] | None = None,
    select: Callable[[pl.DataFrame], pl.DataFrame] = lambda points: points,
) -> Figure:
    """A curve for each subject and value of `by`."""
    traces: list[Trace] = []
    for subject in content.subjects if subjects is None else subjects:
        points = subject.points(benchmark)
        if points.is_empty() or x not in points.columns or y not in points.columns:
            continue
        points = select(points.filter(pl.col(x).is_not_null() & pl.col(y).is_not_null()))
        values = (
            points[by].unique().sort(nulls_last=True).to_list() if by is not None and by in points.columns else [None]
        )
        for number, value in enumerate(values):
            part = points if by is None or value is None else points.filter(pl.col(by) == value)
            part = part.sort(x)
            if part.is_empty():
                continue
            name = subject.label if value is None else f"{subject.label}, {_named(str(by), value)}"
            traces.append(_trace(subject, part[x].to_list(), part[y].to_list(), name, unit, number))
    known = sorted({float(value) for trace in traces for value in trace["x"]})
    if unit == "share":
        axis = _linear("share of speed lost", unit)
        axis["tickformat"] = ".0%"
        return figure_of(traces, _axis(known, x, title), axis)
    vertical = log_axis("time" if unit == "s" else "rate", unit, *value_range(traces))
    return figure_of(traces, _axis(known, x, title), vertical)


def _trace(subject: Subject, x: list[Any], y: list[Any], name: str, unit: str, number: int) -> Trace:
    trace = drawn(subject, x, y, lambda value: _shown(value, unit))
    trace["name"] = trace["legendgroup"] = trace["meta"]["label"] = name
    trace["mode"] = "lines+markers"
    trace["line"] = {**trace["line"], "dash": _DASHES[number % len(_DASHES)]}
    trace["hovertemplate"] = "%{fullData.name}<br>%{x}: %{customdata}<extra></extra>"
    return trace


def _named(by: str, value: object) -> str:
    if by == "background_bytes":
        return f"load {units.length(float(str(value)))}"
    return f"{value} I/O nodes" if by == "io_nodes" else str(value)


def _shown(value: float | None, unit: str) -> str:
    if unit == "s":
        return units.seconds(value)
    return units.share(value) if unit == "share" else units.work_rate(value, unit)


def _axis(known: Sequence[float], column: str, title: str) -> dict[str, Any]:
    """A log axis of lengths or counts with about seven ticks."""
    if not known:
        return {"title": {"text": title}}
    if column in ("neighbours", "ranks") or title == "extent":
        return {"title": {"text": title}, "tickvals": list(known)[:12]}
    low, high = max(1.0, known[0]), max(2.0, known[-1])
    step = max(1, round(math.log2(high / low) / 7)) if high > low else 1
    marks = [1 << k for k in range(int(low).bit_length() - 1, int(high).bit_length() + 1, step)]
    words = [units.length(mark) if column.endswith("bytes") else f"{mark:,}" for mark in marks]
    return {"type": "log", "title": {"text": title}, "tickvals": marks, "ticktext": words}


def _linear(title: str, unit: str) -> dict[str, Any]:
    return {
        "title": {"text": title if unit == "share" else f"{title}, {unit}"},
        "zeroline": True,
        "rangemode": "tozero",
    }

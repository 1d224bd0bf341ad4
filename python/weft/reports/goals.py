"""Programs in FGHC: what PEs did with their time, and how performance grows with their number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from weft import units
from weft.model import FitError, rates
from weft.pages.document import Cell, Column, Row, Table
from weft.reports.content import Content, Subject
from weft.reports.figures import Figure, Trace, drawn, figure_of

BENCHMARK = "fghc"
MAX_PES = 64
"""Runs on more PEs have no bars."""
MAX_RUNS = 12
"""Of more runs, those on the most PEs have bars."""
_PARTS = (("goals", 3), ("messages", 2), ("idle", 8))
"""What bars are made of, with the colours of the page."""


def _points(subject: Subject) -> pl.DataFrame:
    """One row a run or PE: medians over repetitions."""
    rows = subject.table.filter(pl.col("benchmark") == BENCHMARK)
    if rows.is_empty():
        return rows
    key = ["program", "goal", "ranks", "pe"]
    values = [name for name in ("seconds", "rate", "work_s", "idle_s", "communication_s") if name in rows.columns]
    return rows.group_by(key, maintain_order=True).agg(pl.col(name).median() for name in values)


def pe_times(content: Content) -> Figure:
    """Stacked bars, one for each PE of a run: shares of the elapsed time for goals, messages and nothing."""
    bars: dict[str, tuple[list[list[str]], list[float]]] = {name: ([[], []], []) for name, _ in _PARTS}
    runs = sorted(_runs(content), key=lambda run: -run[2])[:MAX_RUNS]
    for label, elements, _ in runs:
        for row in elements.iter_rows(named=True):
            messages = row.get("communication_s") or 0.0
            parts = (row["work_s"] - messages, messages, row["idle_s"])
            for (name, _), seconds in zip(_PARTS, parts, strict=True):
                (outer, inner), shares = bars[name]
                outer.append(label)
                inner.append(f"{row['pe']}")
                shares.append(max(0.0, seconds / row["seconds"]))
    traces: list[Trace] = []
    for name, series in _PARTS:
        (outer, inner), shares = bars[name]
        if shares:
            traces.append(
                {
                    "type": "bar", "name": name, "x": [outer, inner], "y": shares,
                    "customdata": [units.share(share) for share in shares],
                    "hovertemplate": "PE %{x}: %{customdata} %{fullData.name}<extra></extra>", "marker": {},
                    "meta": {"series": series},
                }
            )  # fmt: skip
    axis = {"title": {"text": "share of the elapsed time"}, "tickformat": ".0%", "range": [0, 1]}
    figure = figure_of(traces, {"type": "multicategory", "title": {"text": "PE"}}, axis)
    figure["layout"]["barmode"] = "stack"
    return figure


def _runs(content: Content) -> Iterator[tuple[str, pl.DataFrame, int]]:
    for subject in content.subjects:
        points = _points(subject)
        if points.is_empty():
            continue
        of_pes = points.filter(pl.col("pe").is_not_null() & (pl.col("ranks") <= MAX_PES) & (pl.col("ranks") > 1))
        for (program, goal, ranks), elements in of_pes.group_by("program", "goal", "ranks", maintain_order=True):
            yield f"{subject.machine}, {program}: {goal}, {ranks} PEs", elements.sort("pe"), int(str(ranks))


def performance(content: Content) -> Figure:
    """Reductions per second against the number of PEs; a curve for each program on each machine, at its best goal."""
    traces: list[Trace] = []
    for subject in content.subjects:
        points = _points(subject)
        if points.is_empty():
            continue
        whole = points.filter(pl.col("pe").is_null())
        for (program,), runs in whole.group_by("program", maintain_order=True):
            best = runs.group_by("ranks").agg(pl.col("rate").max()).sort("ranks")
            if len(best) < 2:
                continue
            trace = drawn(subject, best["ranks"].to_list(), best["rate"].to_list(), _per_second)
            trace["name"] = trace["legendgroup"] = trace["meta"]["label"] = f"{subject.label}, {program}"
            trace["mode"] = "lines+markers"
            trace["hovertemplate"] = "%{fullData.name}<br>%{x} PEs: %{customdata}<extra></extra>"
            traces.append(trace)
    axes: list[dict[str, Any]] = [{"type": "log", "title": {"text": title}} for title in ("PEs", "reductions a second")]
    return figure_of(traces, *axes)


def _per_second(value: float | None) -> str:
    return units.work_rate(value, "reductions/s")


def scales(content: Content) -> Table | None:
    """The scales of Taki 1988 for every run on several PEs."""
    rows = []
    for subject in content.subjects:
        if subject.table.filter(pl.col("benchmark") == BENCHMARK).is_empty():
            continue
        try:
            scaled = rates(subject.table)
        except FitError:
            continue
        for row in scaled.iter_rows(named=True):
            time = row["relative_time"]
            rows.append(
                Row(
                    [
                        Cell(f"{subject.machine}, {row['program']}: {row['goal']}"), Cell(str(row["ranks"])),
                        Cell(_per_second(row["performance"])), Cell(units.share(row["performance"] / row["ideal"])),
                        Cell(units.share(row["work_rate"])), Cell(units.digits(row["communication_rate"])),
                        Cell("–" if time is None else units.digits(time)),
                    ]
                )
            )  # fmt: skip
    if not rows:
        return None
    names = ("PEs", "performance", "of the ideal", "work rate", "messages a reduction", "reductions a message")
    columns = [Column("run", text=True), *(Column(name) for name in names)]
    return Table(columns, rows, folded=f"{len(rows)} runs" if len(rows) > MAX_RUNS else "")

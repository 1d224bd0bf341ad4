"""Records of benchmarks: figures of the newest record of each drawn beside targets, and all records with dates."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Sequence
from typing import Any

from benches import page as benches_page
from benches import recording
from benches.catalogue import benchmarks
from scripts.manual.drawing import STYLE, svg
from scripts.manual.markdown import code, table

MAX_BARS = 40

INTRODUCTION = """# Records of benchmarks

These are measurements of weft's own performance, beside the baselines that it is compared with. Each picture shows the
newest record of a benchmark: ratios as points with the interval that the record states, beside the target, if there is
one (the tick), or beside 1 where two things are compared. Where a machine has several records, a second picture draws
by date what they have in common. Below are all records of that benchmark by date and machine; compare only records of
the same machine. [Benchmarks](../benchmarks.md) has the figures as numbers. The records are JSON files in
`benches/records`, with the samples that were measured.

```sh
python -m benches
```
"""


def pages() -> dict[str, str]:
    """The page and its pictures."""
    newest = benches_page.newest()
    every = [recording.read(path) for path in sorted(recording.RECORDS.glob("*.json"))]
    found, parts = {}, [INTRODUCTION]
    for name, benchmark in benchmarks().items():
        if name not in newest:
            continue
        chosen = drawn_figures(newest[name])
        parts.append(f"## {name}\n\n{benchmark.summary[0].upper()}{benchmark.summary[1:]}.\n")
        if chosen:
            found[f"{name}.svg"] = picture(chosen)
            parts.append(f"![Figures of the newest record of {name}, with intervals and targets]({name}.svg)\n")
        records = [record for record in every if record["benchmark"] == name]
        if courses := common_courses(records):
            is_of_ratios = any(_is_ratio(figure) for figure in recording.figures(newest[name]))
            found[f"{name}-dates.svg"] = dated_picture(courses, is_of_ratios=is_of_ratios)
            words = f"What the records of {name} have in common, by date: {_in_words(courses)}"
            parts.append(f"![{words}]({name}-dates.svg)\n")
        parts.append(_history(records))
    return {"index.md": "\n".join(parts), **found}


def _history(records: Sequence[dict[str, Any]]) -> str:
    rows = []
    for record in sorted(records, key=lambda record: record["date"], reverse=True):
        judged = [figure for figure in recording.figures(record) if figure.met is not None]
        met = f"{sum(bool(figure.met) for figure in judged)} of {len(judged)}" if judged else ""
        where = f"{record['machine'].get('processor', '')}, {record['machine'].get('processors', '?')} processors"
        rows.append((record["date"][:10], where, len(recording.figures(record)), met, code(record["command"] or "")))
    return table(["date", "machine", "figures", "targets met", "command"], rows, right=("figures",))


Courses = dict[str, list[tuple[datetime.date, float]]]
"""By figure, its value at the date of each record: of ratios, or relative to the first record where there are none."""


def common_courses(records: Sequence[dict[str, Any]]) -> Courses:
    """What at least two records of one benchmark and one kind of machine have in common: that of the newest record."""
    if not records:
        return {}
    ordered = sorted(records, key=lambda record: record["date"])
    alike = [record for record in ordered if _machine(record) == _machine(ordered[-1])]
    values = [{figure.name: figure.value for figure in recording.figures(record)} for record in alike]
    courses: Courses = {}
    newest = recording.figures(ordered[-1])
    ratios = [figure for figure in newest if _is_ratio(figure)]
    for figure in ratios or newest:
        course = [
            (datetime.datetime.fromisoformat(record["date"]).date(), of_record[figure.name])
            for record, of_record in zip(alike, values, strict=True)
            if of_record.get(figure.name, 0) > 0
        ]
        if len(course) > 1:
            unit = 1.0 if ratios else course[0][1]
            courses[figure.name] = [(date, value / unit) for date, value in course]
    return courses


def _machine(record: dict[str, Any]) -> tuple[Any, Any]:
    return record["machine"].get("processor"), record["machine"].get("processors")


def _in_words(courses: Courses) -> str:
    changes = sorted(course[-1][1] / course[0][1] for course in courses.values())
    middle = statistics.median(changes)
    return (
        f"{len(courses)} figure{'s' if len(courses) > 1 else ''}, the last {middle:.3g} times the first in the median, "
        f"{changes[0]:.3g} to {changes[-1]:.3g}"
    )


def dated_picture(courses: Courses, *, is_of_ratios: bool) -> str:
    """A thin line for each figure and their median as a thick one, over the dates of the records, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, NullFormatter

    dates: list[Any] = sorted({date for course in courses.values() for date, _ in course})
    points = [point for course in courses.values() for point in course]
    medians = [statistics.median(value for when, value in points if when == date) for date in dates]
    with matplotlib.rc_context({**STYLE, "font.size": 8}):
        drawing, axes = pyplot.subplots(figsize=(7.4, 2.6), layout="constrained")
        for course in courses.values():
            at: list[Any] = [date for date, _ in course]
            axes.plot(at, [value for _, value in course], color="#94a3b8", linewidth=0.6)
        axes.plot(dates, medians, "o-", color="#1d4ed8", linewidth=2, label="median")
        axes.axhline(1, color="#1e293b", linewidth=0.8)
        values = [value for _, value in points]
        if max(values) / min(values) > 8:
            axes.set_yscale("log")
        axes.set_xticks(dates, [date.isoformat() for date in dates])
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(axis="y", alpha=0.25)
        axes.set_ylabel("ratio" if is_of_ratios else "relative to the first record")
        axes.legend(frameon=False)
        return svg(drawing)


def drawn_figures(record: dict[str, Any]) -> list[recording.Figure]:
    """The figures of a record that have a common scale: ratios, and shares of their targets."""
    figures = recording.figures(record)
    ratios = [figure for figure in figures if _is_ratio(figure) and figure.value > 0]
    if len(ratios) >= 2:
        return ratios[:MAX_BARS]
    return [figure for figure in figures if figure.target and figure.value > 0][:MAX_BARS]


def _is_ratio(figure: recording.Figure) -> bool:
    """Whether one thing is divided by another, as its name says; shares and bounds have the unit too."""
    return figure.unit == "ratio" and "/" in figure.name


def picture(figures: Sequence[recording.Figure]) -> str:
    """Points with intervals, a line for each figure, as SVG; what is no ratio is relative to its target."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ratios = all(_is_ratio(figure) for figure in figures)
    with matplotlib.rc_context({**STYLE, "font.size": 8}):
        drawing, axes = pyplot.subplots(figsize=(7.4, 0.9 + 0.2 * len(figures)), layout="constrained")
        for position, figure in enumerate(figures):
            unit = 1.0 if ratios or not figure.target else figure.target
            colour = "#c2410c" if figure.met is False else "#1d4ed8"
            if figure.low is not None and figure.high is not None and figure.low > 0:
                axes.plot(
                    [figure.low / unit, figure.high / unit], [position] * 2, color=colour, linewidth=2, alpha=0.45
                )
            axes.plot([figure.value / unit], [position], "o", color=colour, markersize=4)
            if figure.target and figure.target > 0:
                axes.plot([figure.target / unit], [position], "|", color="#475569", markersize=11)
        axes.axvline(1, color="#1e293b", linewidth=0.8)
        axes.set_yticks(range(len(figures)), [figure.name for figure in figures])
        axes.invert_yaxis()
        values = [figure.value / (1.0 if ratios or not figure.target else figure.target) for figure in figures]
        if max(values) / min(values) > 8:
            axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(axis="x", alpha=0.25)
        axes.set_xlabel("ratio" if ratios else "relative to the target")
        return svg(drawing)

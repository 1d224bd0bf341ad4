"""Records of benchmarks: figures of the newest record of each drawn beside targets, and all records with dates."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from benches import page as benches_page
from benches import recording
from benches.catalogue import benchmarks
from scripts.manual.drawing import STYLE
from scripts.manual.markdown import code, table

MAX_BARS = 40

INTRODUCTION = """# Records of benchmarks

These are measurements of weft's own performance, beside the baselines that it is compared with. Each picture shows the
newest record of a benchmark: ratios as points with the interval that the record states, beside the target, if there is
one (the tick), or beside 1 where two things are compared. Below it are all records of that benchmark by date and
machine; compare only records of the same machine. [Benchmarks](../benchmarks.md) has the figures as numbers. The
records are JSON files in `benches/records`, with the samples that were measured.

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
        parts.append(_history([record for record in every if record["benchmark"] == name]))
    return {"index.md": "\n".join(parts), **found}


def _history(records: Sequence[dict[str, Any]]) -> str:
    rows = []
    for record in sorted(records, key=lambda record: record["date"], reverse=True):
        judged = [figure for figure in recording.figures(record) if figure.met is not None]
        met = f"{sum(bool(figure.met) for figure in judged)} of {len(judged)}" if judged else ""
        where = f"{record['machine'].get('processor', '')}, {record['machine'].get('processors', '?')} processors"
        rows.append((record["date"][:10], where, len(recording.figures(record)), met, code(record["command"] or "")))
    return table(["date", "machine", "figures", "targets met", "command"], rows, right=("figures",))


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
        out = io.StringIO()
        drawing.savefig(out, format="svg", metadata={"Date": None})
        pyplot.close(drawing)
    return out.getvalue()

"""Pictures of the README, drawn of a record and of a reproduction: as text, so that a test can compare them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from benches import recording
from benches.polyshift.stencil_cases import CASES

WIDTH = 760
COLOURS = ("#0b6bcb", "#c2410c", "#15803d", "#7e22ce", "#475569")
AHEAD, BEHIND, INK, FAINT = COLOURS[0], "#c2410c", "#1e293b", "#cbd5e1"


def svg(height: int, title: str, parts: Iterable[str]) -> str:
    """A picture on white, legible in light and dark pages, with a text for who does not see it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="13">'
    )
    back = f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", back, *parts, "</svg>", ""])


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK, size: int = 13) -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {where} fill="{colour}" font-size="{size}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str = FAINT, width: float = 1) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def stencils(record: dict[str, Any]) -> str:
    """Bars: how much faster than C, or slower, the stencils of a record of stencil-cases are."""
    values = {figure.name: figure.value for figure in recording.figures(record)}
    shown = [case for case in CASES if not case.beside and case.threads == 1]
    bars = [(case.name, value) for case in shown if (value := values.get(f"{case.name}: C / weft"))]
    left, right, top, step = 280, WIDTH - 60, 62, 19
    height = top + step * len(bars) + 34
    most = max(2.0, *(value for _, value in bars))

    def at(value: float) -> float:
        return left + (right - left) * value / most

    title = "Stencils on one thread: speed of weft relative to C (-O3 -march=native)"
    parts = [
        text(16, 26, title, size=15),
        text(16, 45, f"{record['date'][:10]}, {record['machine'].get('processor', '')}", colour="#64748b"),
    ]
    ticks = [number / 2 for number in range(int(most * 2) + 1)]
    parts += [line(at(tick), top - 6, at(tick), height - 26) for tick in ticks]
    parts += [text(at(tick), height - 10, f"{tick:g}", "middle", "#64748b") for tick in ticks]
    for number, (name, value) in enumerate(bars):
        y = top + step * number
        colour = AHEAD if value >= 1 else BEHIND
        bar = f'<rect x="{left}" y="{y}" width="{at(value) - left:.1f}" height="{step - 5}" fill="{colour}"/>'
        parts += [
            text(left - 8, y + 12, name, "end", size=12),
            bar,
            text(at(value) + 6, y + 12, f"{value:.2f}", size=12),
        ]
    parts.append(line(at(1), top - 6, at(1), height - 26, INK, 1.5))
    return svg(height, title, parts)


Curve = tuple[str, Sequence[tuple[float, float | None, float]]]
"""A machine, and for each length what was published (None: nothing) and what weft's simulation gives."""


def rates(curves: Sequence[Curve], title: str, below: str) -> str:
    """Points and lines on logarithmic axes: published data rates and those of the simulation (kB/s against bytes)."""
    left, right, top, bottom, height = 64, WIDTH - 110, 64, 360, 410
    lengths = [length for _, points in curves for length, _, _ in points]
    values = [value for _, points in curves for _, published, ours in points for value in (published, ours) if value]
    low_x, high_x = math.log2(min(lengths)), math.log2(max(lengths))
    low_y, high_y = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def at(length: float, value: float) -> tuple[float, float]:
        x = left + (right - left) * (math.log2(length) - low_x) / (high_x - low_x)
        return x, bottom - (bottom - top) * (math.log10(value) - low_y) / (high_y - low_y)

    parts = [text(16, 26, title, size=15), text(16, 45, below, colour="#64748b")]
    for power in range(low_y, high_y + 1):
        _, y = at(min(lengths), 10.0**power)
        parts += [line(left, y, right, y), text(left - 8, y + 4, f"{10**power:,} kB/s", "end", "#64748b", 11)]
    for power in range(round(low_x), round(high_x) + 1, 2):
        x, _ = at(2.0**power, 10.0**low_y)
        parts += [line(x, top, x, bottom), text(x, bottom + 18, f"{2**power} B", "middle", "#64748b", 11)]
    for (name, points), colour in zip(curves, COLOURS, strict=False):
        path = " ".join("{:.1f},{:.1f}".format(*at(length, ours)) for length, _, ours in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for length, published, _ in points:
            if published:
                x, y = at(length, published)
                parts.append(
                    f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#ffffff" stroke="{colour}" stroke-width="2"/>'
                )
        parts.append(text(right + 8, at(*(points[-1][0], points[-1][2]))[1] + 4, name, colour=colour))
    parts.append(text(left, height - 14, "circles: published   lines: simulated by weft", colour="#64748b"))
    return svg(height, title, parts)


def hypercubes() -> str:
    """Figure 2 of Dunigan 1991 at one hop: published, and as `weft reproduce` simulates it."""
    import polars as pl

    from weft.study.reproducing import reproduce

    cells = reproduce("dunigan-1991", None, "2").cells()
    one = cells.filter(pl.col("hops") == "1 hop").sort("bytes")
    curves: list[Curve] = [
        (str(name[0]), [(row["bytes"], row["published"], row["ours"]) for row in part.iter_rows(named=True)])
        for name, part in one.group_by("machine", maintain_order=True)
    ]
    curves.sort(key=lambda curve: -curve[1][-1][2])
    return rates(curves, "Five hypercubes of 1985 to 1990: data rates over one hop", "T. H. Dunigan 1991, figure 2")

"""Drawings of a schedule: its phases on the topology, and as text. The page of a schedule is in `schedule_page.py`."""

from __future__ import annotations

import colorsys
import html
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from weft import units
from weft._core import UsageError
from weft.conset import layout
from weft.conset.layout import Layout, Point
from weft.inputs import quoted

# More phases than these are drawn one by one with `weft show --format svg --phase N`.
DRAWN_PHASES = 64
# Routes are drawn where there are at most so many; links always show their load.
DRAWN_ROUTES = 600
DRAWN_PROCESSORS = 256
DRAWN_VERTICES = 1 << 14
"""A drawing has them all, once for each phase that it shows."""

Content = dict[str, Any]


def text(schedule: Content) -> str:
    """A line for each phase, and the lower bounds."""
    lines = [title(schedule), "", "phase  connections  largest link load  seconds"]
    for number, phase in enumerate(schedule["phases"]):
        count, load = len(phase["connections"]), phase["largest_link_load"]
        lines.append(f"{number:5}  {count:11}  {load:17}  {phase['predicted_seconds']:.9f}")
    lines.append("")
    for bound in schedule["lower_bounds"]:
        value = f"{bound['value']:.0f} phases" if bound["unit"] == "phases" else f"{bound['value']:.9f} s"
        lines.append(f"at least {value} ({quoted(bound['name'])})")
    if (messages := schedule.get("message_seconds")) is not None:
        lines.append(f"{messages:.9f} s by messages")
    return "\n".join(lines) + "\n"


def svg(schedule: Content, number: int) -> str:
    """One phase on the topology, as a picture that stands by itself."""
    return phase(schedule, number, positions(schedule), STYLE)


def title(schedule: Content) -> str:
    phases, seconds = len(schedule["phases"]), units.seconds(schedule["predicted_seconds"])
    plural = "" if phases == 1 else "s"
    what = f"{quoted(schedule['pattern'])} on {quoted(schedule['machine'])}: {schedule['connections']} connections"
    return f"{what}, {phases} phase{plural}, {seconds}"


def _count(schedule: Content) -> int:
    """Vertices that connections and routes name, and all nodes of a grid. Raises UsageError for more than are drawn."""
    named = (
        vertex
        for phase in schedule["phases"]
        for transfer in phase["connections"]
        for vertex in (transfer["source"], transfer["destination"], *transfer["route"])
    )
    topology = schedule["resources"]["topology"]
    count = max(layout.vertices(topology), max(named, default=-1) + 1)
    if count > DRAWN_VERTICES:
        raise UsageError(
            f"a drawing has at most {DRAWN_VERTICES:,} vertices, and this schedule's are numbered to {count - 1:,}; "
            "weft show --format text lists its phases"
        )
    return count


def positions(schedule: Content) -> Layout:
    """Where each vertex is drawn, and what is written beside them. Raises UsageError for more than are drawn."""
    return layout.layout(schedule["resources"]["topology"], _count(schedule))


STYLE = """text{font:11px sans-serif;fill:#1c1e21;text-anchor:middle}
.left{text-anchor:start}.node{fill:#fff;stroke:#333}
.link{stroke:#00578a;stroke-width:3;fill:none}.route{stroke-width:.9;fill:none}"""
"""What a picture needs that is in no page of weft's, which has the same classes in its own style."""

LOADS = (0.25, 0.45, 0.65, 0.85, 1.0)
"""Opacities of links, from those that carry least to those that carry most."""

_NUMBERED = 4096
"""Of more vertices the numbers cannot be read."""


_WIDTH = 1040.0
"""What small machines are drawn larger for, at most twice."""


def _scale(width: float) -> float:
    return min(2.0, max(1.0, _WIDTH / width))


def shade(load: int, most: int) -> float:
    """How dark a link is that carries `load` connections, where the busiest carries `most`."""
    return LOADS[min(len(LOADS) - 1, math.ceil(load / most * len(LOADS)) - 1)]


def phase(schedule: Content, number: int, drawn: Layout, style: str = "", drawn_nodes: str = "") -> str:
    """One phase as SVG: links by their load, routes, vertices with their numbers (or what stands for those)."""
    content, points = schedule["phases"][number], drawn.points
    loads = Counter(
        pair
        for transfer in content["connections"]
        for pair in zip(transfer["route"], transfer["route"][1:], strict=False)
    )
    most = max(loads.values(), default=1)
    width, height = max(x for x, _ in points) + 40, max(y for _, y in points) + 40
    # Levels are wide: they are scrolled, at a size at which numbers can be read.
    whole = " whole" if drawn.labels and width > _WIDTH else ""
    said = f"phase {number}: {len(content['connections'])} connections, largest link load {most}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing{whole}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width * _scale(width):.0f}" role="img" aria-label="{said}"><title>{said}</title>'
        + (f"<style>{style}</style>" if style else "")
    ]
    parts += _links(loads, most, points)
    if len(content["connections"]) <= DRAWN_ROUTES:
        for transfer in content["connections"]:
            colour = _colour(transfer["connection"] * 137 % 360, 0.7, 0.45)
            aside = 2.0 + transfer["connection"] % 5
            steps = zip(transfer["route"], transfer["route"][1:], strict=False)
            path = "".join(_stroke(points, a, b, aside) for a, b in steps)
            parts.append(f'<path class="route" stroke="{colour}" d="{path}"/>')
    return "".join(parts) + (drawn_nodes or nodes(drawn)) + "</svg>"


TITLED = 1000
"""Of so many links each says what it carries where a pointer rests on it; more are drawn together, shade by shade."""


def _links(loads: Counter[tuple[int, int]], most: int, points: Sequence[Point]) -> list[str]:
    """The links of a phase, darker the more they carry."""
    if len(loads) <= TITLED:
        return [
            f'<path class="link" opacity="{shade(load, most)}" d="{_stroke(points, a, b, 4.0)}">'
            f"<title>{a} to {b}: {load} connections</title></path>"
            for (a, b), load in sorted(loads.items())
        ]
    shades: dict[float, list[str]] = {}
    for (a, b), load in sorted(loads.items()):
        shades.setdefault(shade(load, most), []).append(_stroke(points, a, b, 4.0))
    return [f'<path class="link" opacity="{value}" d="{"".join(parts)}"/>' for value, parts in sorted(shades.items())]


def scrolled(width: float, height: float, said: str, parts: Sequence[str]) -> str:
    """A drawing at its own size, in a part of the page that is scrolled where it is wider; `said` describes it."""
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{html.escape(said)}">'
        f'<svg class="drawing whole" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'role="img" aria-label="{html.escape(said)}"><title>{html.escape(said)}</title>{"".join(parts)}</svg></div>'
    )


def nodes(drawn: Layout) -> str:
    """The vertices with their numbers, and the labels of levels or groups."""
    parts, points = [], drawn.points
    for vertex, (x, y) in enumerate(points):
        parts.append(f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="9"/>')
        if len(points) <= _NUMBERED:
            parts.append(f'<text x="{x:.1f}" y="{y + 3:.1f}" font-size="9" class="number">{vertex}</text>')
    look = "" if drawn.centred else ' class="left"'
    parts += [f'<text x="{x:.1f}" y="{y:.1f}"{look}>{label}</text>' for (x, y), label in drawn.labels]
    return "".join(parts)


def _colour(hue: float, saturation: float, lightness: float) -> str:
    """As #rrggbb, which every viewer of SVG knows."""
    red, green, blue = colorsys.hls_to_rgb(hue / 360, lightness, saturation)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def _stroke(points: Sequence[Point], a: int, b: int, aside: float) -> str:
    """A link as a path, shifted to its right so that both directions are seen; links around the ends as stubs."""
    (x1, y1), (x2, y2) = points[a], points[b]
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    sx, sy = -dy * aside, dx * aside
    ends = [(x1, y1, x2, y2)]
    if dx in (0.0, 1.0, -1.0) and length > 60:
        ends = [(x1, y1, x1 - dx * 24, y1 - dy * 24), (x2 + dx * 24, y2 + dy * 24, x2, y2)]
        sx, sy = -sx, -sy
    return "".join(f"M{p + sx:.1f} {q + sy:.1f}L{r + sx:.1f} {s + sy:.1f}" for p, q, r, s in ends)

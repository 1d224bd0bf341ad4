"""Drawings of a schedule: phases on the topology, link loads, the processors' timetable. One file, nothing to load."""

from __future__ import annotations

import colorsys
import html
import math
from collections import Counter
from typing import Any

from weft import units
from weft._core import UsageError
from weft.inputs import quoted
from weft.pages import policy

# More phases than these are drawn one by one with `weft show --format svg --phase N`.
DRAWN_PHASES = 64
# Routes are drawn where there are at most so many; links always show their load.
DRAWN_ROUTES = 600
DRAWN_PROCESSORS = 256
DRAWN_VERTICES = 1 << 14
"""A drawing has them all, once for each phase that it shows."""

Point = tuple[float, float]
Content = dict[str, Any]


def text(schedule: Content) -> str:
    """A line for each phase, and the lower bounds."""
    lines = [_title(schedule), "", "phase  connections  largest link load  seconds"]
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
    """One phase on the topology."""
    positions = _positions(schedule)
    return _phase(schedule, number, positions)


def page(schedule: Content) -> str:
    """The whole schedule as one HTML page."""
    positions = _positions(schedule)
    drawn = range(min(len(schedule["phases"]), DRAWN_PHASES))
    pictures = "".join(
        f'<div class="phase" id="phase-{number}"{" hidden" * (number > 0)}>{_phase(schedule, number, positions)}</div>'
        for number in drawn
    )
    last = max(len(drawn) - 1, 0)
    more = len(schedule["phases"]) - len(drawn)
    note = f"<p>{more} more phases: weft show --format svg --phase N draws them.</p>" if more > 0 else ""
    chooser = (
        f'<label>phase <input type="range" min="0" max="{last}" value="0" '
        f'id="choice"> <output id="chosen">0</output></label>'
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{html.escape(policy([_SCRIPT]))}">
<title>{html.escape(_title(schedule))}</title>
<style>{_STYLE}</style></head><body>
<h1>{html.escape(quoted(schedule["pattern"]))} on {html.escape(quoted(schedule["machine"]))}</h1>
{_figures(schedule)}
<h2>Phases on the topology</h2>
<p>Links are darker the more connections they carry; routes start at a dot.</p>
{chooser if schedule["phases"] else "<p>The connection set is empty.</p>"}{pictures}{note}
<h2>Link loads</h2>{_loads(schedule)}
<h2>Timetable of the processors</h2>
<p>From left to right time; for each processor above what it sends and below what it receives. Grey is switching.</p>
{_timetable(schedule)}
<script>{_SCRIPT}</script></body></html>
"""


_SCRIPT = """const choice = document.getElementById("choice");
if (choice) choice.addEventListener("input", () => {
  document.querySelectorAll(".phase").forEach((phase) => { phase.hidden = phase.id !== `phase-${choice.value}`; });
  document.getElementById("chosen").value = choice.value;
});"""


_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
body{color:#1b1f24;background:#fff}
table{border-collapse:collapse}td,th{padding:.15rem .8rem .15rem 0;text-align:left}td.n{text-align:right}
svg{max-width:100%;height:auto}input{width:20rem;vertical-align:middle}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#15181c}svg{background:#fff}}"""


def _title(schedule: Content) -> str:
    phases, seconds = len(schedule["phases"]), units.seconds(schedule["predicted_seconds"])
    plural = "" if phases == 1 else "s"
    what = f"{quoted(schedule['pattern'])} on {quoted(schedule['machine'])}: {schedule['connections']} connections"
    return f"{what}, {phases} phase{plural}, {seconds}"


def _figures(schedule: Content) -> str:
    seconds = units.seconds(schedule["predicted_seconds"])
    rows = [
        ("connections", str(schedule["connections"])),
        ("phases", str(len(schedule["phases"]))),
        ("predicted", seconds),
        ("compiler", quoted(schedule["compiler"])),
    ]
    for bound in schedule["lower_bounds"]:
        value = f"{bound['value']:.0f} phases" if bound["unit"] == "phases" else units.seconds(bound["value"])
        rows.append((f"at least ({quoted(bound['name'])})", value))
    cells = "".join(
        f'<tr><td>{html.escape(name)}</td><td class="n">{html.escape(value)}</td></tr>' for name, value in rows
    )
    return f"<table>{cells}</table>"


def _count(schedule: Content) -> int:
    """Vertices that connections and routes name, and all nodes of a grid. Raises UsageError for more than are drawn."""
    topology = schedule["resources"]["topology"]
    extents = topology.get("extents")
    nodes: int = math.prod(extents) if extents else topology.get("nodes", 0)
    if topology["kind"] == "hypercube":
        nodes = 2 ** topology["dimension"]
    if topology["kind"] == "fat-tree":
        nodes = math.prod(topology["children"])
    named = (
        vertex
        for phase in schedule["phases"]
        for transfer in phase["connections"]
        for vertex in (transfer["source"], transfer["destination"], *transfer["route"])
    )
    count = max(nodes, max(named, default=-1) + 1)
    if count > DRAWN_VERTICES:
        raise UsageError(
            f"a drawing has at most {DRAWN_VERTICES:,} vertices, and this schedule's are numbered to {count - 1:,}; "
            "weft show --format text lists its phases"
        )
    return count


def _positions(schedule: Content) -> list[Point]:
    """Where each vertex is drawn: grids as grids (planes of more than two axes side by side), others on circles."""
    count, topology = _count(schedule), schedule["resources"]["topology"]
    extents = topology.get("extents")
    if topology["kind"] == "hypercube":
        half = topology["dimension"] // 2
        extents = [2 ** (topology["dimension"] - half), 2**half]
    if extents and math.prod(extents) == count:
        columns = extents[-1]
        rows = extents[-2] if len(extents) > 1 else 1
        points = []
        for node in range(count):
            plane, rest = divmod(node, rows * columns)
            y, x = divmod(rest, columns)
            points.append((40.0 * (plane * (columns + 1) + x) + 40, 40.0 * y + 40))
        return points
    nodes = topology.get("nodes") or (math.prod(topology["children"]) if "children" in topology else count)
    radius = max(60.0, 7.0 * nodes / math.pi)
    points = [_on_circle(radius, radius, node, nodes) for node in range(nodes)]
    switches = count - nodes
    return points + [
        _on_circle(radius, radius * 0.6 * (switches > 1), switch, max(switches, 1)) for switch in range(switches)
    ]


def _on_circle(centre: float, radius: float, number: int, count: int) -> Point:
    angle = 2 * math.pi * number / count
    return centre + 20 + radius * math.cos(angle), centre + 20 + radius * math.sin(angle)


def _phase(schedule: Content, number: int, positions: list[Point]) -> str:
    phase = schedule["phases"][number]
    loads = Counter(
        pair
        for transfer in phase["connections"]
        for pair in zip(transfer["route"], transfer["route"][1:], strict=False)
    )
    most = max(loads.values(), default=1)
    width, height = max(x for x, _ in positions) + 40, max(y for _, y in positions) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'role="img"><title>phase {number}: {len(phase["connections"])} connections, largest link load {most}</title>'
    ]
    for (a, b), load in sorted(loads.items()):
        parts += _strokes(
            positions, a, b, 4.0, _colour(215, 0.6, 0.88 - 0.5 * load / most), 3.0, f"{a} to {b}: {load} connections"
        )
    for vertex, (x, y) in enumerate(positions):
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#fff" stroke="#333"><title>vertex {vertex}</title></circle>'
        )
    if len(phase["connections"]) <= DRAWN_ROUTES:
        for transfer in phase["connections"]:
            colour = _colour(transfer["connection"] * 137 % 360, 0.7, 0.45)
            start = positions[transfer["source"]]
            for a, b in zip(transfer["route"], transfer["route"][1:], strict=False):
                parts += _strokes(positions, a, b, 2.0 + transfer["connection"] % 5, colour, 0.8, "")
            parts.append(f'<circle cx="{start[0]:.1f}" cy="{start[1]:.1f}" r="2.5" fill="{colour}"/>')
    return "".join(parts) + "</svg>"


def _colour(hue: float, saturation: float, lightness: float) -> str:
    """As #rrggbb, which every viewer of SVG knows."""
    red, green, blue = colorsys.hls_to_rgb(hue / 360, lightness, saturation)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def _strokes(positions: list[Point], a: int, b: int, aside: float, colour: str, width: float, title: str) -> list[str]:
    """A link, shifted to its right so that both directions are seen; links around the ends as stubs."""
    (x1, y1), (x2, y2) = positions[a], positions[b]
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    sx, sy = -dy * aside, dx * aside
    named = f"<title>{html.escape(title)}</title>" if title else ""
    ends = [(x1, y1, x2, y2)]
    grid = dx in (0.0, 1.0, -1.0) and length > 60
    if grid:
        ends = [(x1, y1, x1 - dx * 24, y1 - dy * 24), (x2 + dx * 24, y2 + dy * 24, x2, y2)]
        sx, sy = -sx, -sy
    return [
        f'<line x1="{p + sx:.1f}" y1="{q + sy:.1f}" x2="{r + sx:.1f}" y2="{s + sy:.1f}" stroke="{colour}" '
        f'stroke-width="{width}">{named}</line>'
        for p, q, r, s in ends
    ]


def _loads(schedule: Content) -> str:
    """A bar for each phase: its largest link load."""
    phases = schedule["phases"]
    if not phases:
        return ""
    most = max(phase["largest_link_load"] for phase in phases) or 1
    step = max(2.0, min(24.0, 1000.0 / len(phases)))
    bars = "".join(
        f'<rect x="{40 + step * number:.1f}" y="{110 - 90 * phase["largest_link_load"] / most:.1f}" '
        f'width="{step * 0.8:.1f}" '
        f'height="{90 * phase["largest_link_load"] / most:.1f}" fill="#3b6fb5"><title>phase {number}: '
        f"{phase['largest_link_load']}</title></rect>"
        for number, phase in enumerate(phases)
    )
    total = sum(phase["largest_link_load"] for phase in phases)
    width = 60 + step * len(phases)
    return (
        f"<p>Most connections on one link, phase by phase; {total} added up.</p>"
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} 120" width="{width:.0f}" role="img">'
        f'<text x="8" y="24" font-size="12">{most}</text><text x="8" y="112" font-size="12">0</text>{bars}</svg>'
    )


def _timetable(schedule: Content) -> str:
    """A row for each processor; a bar is darker the larger the share of its access that is used."""
    total = schedule["predicted_seconds"]
    if not total:
        return ""
    resources = schedule["resources"]
    switching = resources["synchronisation_seconds"] + resources["phase_seconds"]
    rows: dict[tuple[int, int], list[tuple[float, float, float]]] = {}
    phases = schedule["phases"]
    begin, grey = 0.0, []
    scale = 1000.0 / total
    for phase in phases:
        grey.append(
            f'<rect x="{60 + begin * scale:.2f}" y="0" width="{switching * scale:.2f}" height="100%" fill="#ddd"/>'
        )
        shares: Counter[tuple[int, int, float, float]] = Counter()
        for transfer in phase["connections"]:
            pieces = transfer.get("pieces") or [transfer]
            for piece in pieces:
                if piece["duration"] <= 0:
                    continue
                share = piece["words"] * resources["access_seconds"] / piece["duration"]
                shares[transfer["source"], 0, piece["start"], piece["duration"]] += share
                shares[transfer["destination"], 1, piece["start"], piece["duration"]] += share
        for (node, side, start, duration), share in shares.items():
            rows.setdefault((node, side), []).append((begin + switching + start, duration, float(share)))
        begin += phase["predicted_seconds"]
    nodes = sorted({node for node, _ in rows})
    note = f"<p>The first {DRAWN_PROCESSORS} of {len(nodes)} processors.</p>" if len(nodes) > DRAWN_PROCESSORS else ""
    shown = {node: line for line, node in enumerate(nodes[:DRAWN_PROCESSORS])}
    bars = [
        f'<rect x="{60 + start * scale:.2f}" y="{14 * shown[node] + 6 * side:.0f}" '
        f'width="{max(duration * scale, 0.3):.2f}" '
        f'height="5" fill="{("#3b6fb5", "#c8702a")[side]}" opacity="{min(1.0, 0.15 + 0.85 * share):.2f}"/>'
        for (node, side), spans in sorted(rows.items())
        if node in shown
        for start, duration, share in spans
    ]
    labels = [f'<text x="4" y="{14 * line + 10}" font-size="9">{node}</text>' for node, line in shown.items()]
    height = 14 * len(shown) + 4
    return (
        f'{note}<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1070 {height}" width="1070" role="img">'
        f"{''.join(grey)}{''.join(bars)}{''.join(labels)}</svg>"
    )

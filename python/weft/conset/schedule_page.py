"""The page of a schedule: how good it is, its phases on the topology to step through, link loads, the timetable."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from weft import units
from weft.conset import drawing
from weft.conset.layout import Layout
from weft.inputs import quoted
from weft.pages import document as pages
from weft.pages.document import Cell, Column, Document, Row, Section, Table, count_cell, listed_words

DRAWN_PROCESSORS = 256
LISTED = 1000
EQUAL = 1e-9
"""Relative difference of times that are the same: they are sums of the same terms in another order."""

Content = dict[str, Any]

_LEFT, _WIDTH, _ROW = 52.0, 980.0, 16.0
"""Of the timetable: where time begins, how wide all of it is, how high a processor's row is."""


def page(schedule: Content) -> str:
    """The whole schedule as one HTML page.

    Raises
    ------
    UsageError
        If what makes pages is not installed, or there are more vertices than are drawn.
    """
    pages.check_pages("the page of a schedule")
    drawn_at = drawing.positions(schedule)
    name = f"{quoted(schedule['pattern'])} on {quoted(schedule['machine'])}"
    return pages.render(
        Document(
            title=name,
            lead=f"A communication schedule by {quoted(schedule['compiler'])}.",
            findings=list(_findings(schedule)),
            key=_key(schedule),
            sections=[_phases(schedule, drawn_at), _loads(schedule), _timetable(schedule), _bounds(schedule)],
            glossary=_WORDS,
            scripts=[_SCRIPT],
        )
    )


_WORDS = (
    ("connection", "words that one node sends to another, over a route of links"),
    ("phase", "connections that are open at the same time; between phases the nodes synchronise and switch"),
    ("link load", "connections of a phase that share a link in one direction"),
    ("lower bound", "what no schedule of this set on this machine can do better than, with a certificate in the file"),
    ("access", "what a processor can send, or receive, in a time; a bar's shade is the share that is used"),
)


def _best(schedule: Content, unit: str) -> Mapping[str, Any] | None:
    """The highest lower bound in a unit."""
    known = [bound for bound in schedule["lower_bounds"] if bound["unit"] == unit]
    return max(known, key=lambda bound: float(bound["value"]), default=None)


def _findings(schedule: Content) -> Iterator[str]:
    """How good the schedule is, in sentences."""
    predicted, count = schedule["predicted_seconds"], len(schedule["phases"])
    yield (
        f"{schedule['connections']:,} connections in {count:,} phase{'' if count == 1 else 's'}, predicted to take "
        f"{units.seconds(predicted)}."
    )
    time, phases = _best(schedule, "s"), _best(schedule, "phases")
    if time is not None and predicted > 0:
        over = predicted / time["value"] - 1.0
        if over <= EQUAL:
            yield (
                f"Provably optimal: no schedule in phases takes less time, by the lower bound '{quoted(time['name'])}'."
            )
        else:
            yield (
                f"At most {units.share(over)} above the best that there can be: the highest lower bound, "
                f"'{quoted(time['name'])}', is {units.seconds(time['value'])}."
            )
    if phases is not None and count:
        fewest = math.ceil(phases["value"] - EQUAL)
        if count <= fewest:
            yield f"Provably the fewest phases, by the lower bound '{quoted(phases['name'])}'."
        else:
            yield f"At least {fewest:,} phases are needed, by the lower bound '{quoted(phases['name'])}'."


def _key(schedule: Content) -> list[dict[str, str]]:
    time = _best(schedule, "s")
    predicted = schedule["predicted_seconds"]
    switching = _switching(schedule) * len(schedule["phases"])
    entries = [
        ("Predicted", units.seconds(predicted), "all phases"),
        ("Lower bound", units.seconds(time["value"] if time else None), quoted(time["name"]) if time else "none"),
        ("Phases", f"{len(schedule['phases']):,}", f"{schedule['connections']:,} connections"),
    ]
    if predicted > 0:
        entries.append(("Switching", units.share(switching / predicted), "of the predicted time"))
    return [{"name": name, "value": value, "more": more} for name, value, more in entries]


def _switching(schedule: Content) -> float:
    resources = schedule["resources"]
    return float(resources["synchronisation_seconds"] + resources["phase_seconds"])


def _phases(schedule: Content, drawn_at: Layout) -> Section:
    section = Section(
        "phases",
        "Phases on the topology",
        "Each phase is drawn on the machine. A link is darker the more connections it carries in its direction, "
        "which is "
        "to the right of the line between its ends; coloured lines are single routes. Arrow keys move the slider.",
    )
    drawn = range(min(len(schedule["phases"]), drawing.DRAWN_PHASES))
    if not drawn:
        section.text = "The connection set is empty."
        return section
    use = '<use href="#nodes"/>'
    pictures = "".join(
        f'<div class="phase scroll" id="phase-{number}" tabindex="0" role="group" aria-label="phase {number}"'
        f"{' hidden' * (number > 0)}>{drawing.phase(schedule, number, drawn_at, drawn_nodes=use)}</div>"
        for number in drawn
    )
    # The vertices are the same in every phase.
    shared = (
        '<svg class="drawing shared" width="0" height="0" aria-hidden="true"><defs>'
        f'<g id="nodes" class="drawing">{drawing.nodes(drawn_at)}</g></defs></svg>'
    )
    section.html = f"{_chooser(len(drawn))}{_load_key()}{shared}{pictures}"
    more = len(schedule["phases"]) - len(drawn)
    if more > 0:
        section.notes.append(f"{more:,} more phases: weft show --format svg --phase N draws them.")
    section.tables.append(_table(schedule))
    return section


def _chooser(count: int) -> str:
    return (
        '<div class="chooser"><button type="button" id="before">Previous phase</button>'
        f'<label>phase <input type="range" min="0" max="{count - 1}" value="0" id="choice"></label>'
        f'<output id="chosen" for="choice" aria-live="polite">0</output> of 0 to {count - 1}'
        '<button type="button" id="after">Next phase</button></div>'
    )


_SCRIPT = """"use strict";
(() => {
  const choice = document.getElementById("choice");
  if (!choice) return;
  const show = (number) => {
    choice.value = number;
    document.querySelectorAll(".phase").forEach((phase) => { phase.hidden = phase.id !== `phase-${choice.value}`; });
    document.getElementById("chosen").value = choice.value;
    document.getElementById("before").disabled = choice.value === choice.min;
    document.getElementById("after").disabled = choice.value === choice.max;
  };
  choice.addEventListener("input", () => show(choice.value));
  document.getElementById("before").addEventListener("click", () => show(Number(choice.value) - 1));
  document.getElementById("after").addEventListener("click", () => show(Number(choice.value) + 1));
  show(0);
})();"""


def _load_key() -> str:
    """What the shades of links mean."""
    steps = "".join(
        f'<line class="link" x1="{8 + 58 * k}" y1="12" x2="{44 + 58 * k}" y2="12" opacity="{opacity}"/>'
        f'<text x="{26 + 58 * k}" y="30">≤ {(k + 1) / len(drawing.LOADS):.0%}</text>'
        for k, opacity in enumerate(drawing.LOADS)
    )
    said = "Key: shades of links by their load, as a share of the phase's largest"
    width = 58 * len(drawing.LOADS) + 8
    return (
        f'<svg class="drawing key-of-loads" viewBox="0 0 {width + 230} 36" width="{width + 230}" role="img" '
        f'aria-label="{said}"><title>{said}</title>{steps}<text x="{width + 8}" y="18" class="left">'
        "of the largest link load of the phase</text></svg>"
    )


def _table(schedule: Content) -> Table:
    columns = [
        Column("phase"),
        Column("connections"),
        Column("largest link load"),
        Column("begins at"),
        Column("takes"),
    ]
    rows, begin = [], 0.0
    for number, phase in enumerate(schedule["phases"][:LISTED]):
        takes = phase["predicted_seconds"]
        counts = map(count_cell, (len(phase["connections"]), phase["largest_link_load"]))
        cells = [Cell(str(number), value=number), *counts]
        rows.append(Row([*cells, Cell(units.seconds(begin), value=begin), Cell(units.seconds(takes), value=takes)]))
        begin += takes
    return Table(columns, rows, folded=f"Every phase ({listed_words(len(rows), len(schedule['phases']))})")


def _loads(schedule: Content) -> Section:
    """A bar for each phase: its largest link load."""
    phases = schedule["phases"]
    total = sum(phase["largest_link_load"] for phase in phases)
    section = Section(
        "loads",
        "Link loads",
        f"Most connections on one link, phase by phase; {total:,} added up over the phases.",
    )
    if not phases:
        return section
    most = max(phase["largest_link_load"] for phase in phases) or 1
    step, height, left = max(2.0, min(24.0, 900.0 / len(phases))), 140.0, 48.0
    parts = [
        f'<line class="axis" x1="{left}" x2="{left + step * len(phases):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{left - 6}" y="{y + 4:.1f}" class="right">{value:g}</text>'
        for value in dict.fromkeys((0, most / 2 if most % 2 == 0 else most, most))
        for y in [20 + height * (1 - value / most)]
    ]
    for number, phase in enumerate(phases):
        load = phase["largest_link_load"]
        parts.append(
            f'<rect class="send" x="{left + step * number:.1f}" y="{20 + height * (1 - load / most):.1f}" '
            f'width="{step * 0.8:.1f}" height="{height * load / most:.1f}"><title>phase {number}: {load}</title></rect>'
        )
    every = max(1, math.ceil(len(phases) / 20))
    parts += [
        f'<text x="{left + step * (number + 0.4):.1f}" y="{height + 36:.1f}">{number}</text>'
        for number in range(0, len(phases), every)
    ]
    width = max(260.0, left + step * len(phases) + 60)
    said = f"Largest link load of each of {len(phases)} phases, at most {most}"
    parts.append(f'<text x="{left}" y="{height + 54:.1f}" class="left">phase</text>')
    parts.append(f'<text x="{left - 40}" y="12" class="left">connections on the busiest link</text>')
    section.html = drawing.scrolled(width, height + 60, said, parts)
    return section


def _timetable(schedule: Content) -> Section:
    """A row for each processor; a bar is darker the larger the share of its access that is used."""
    section = Section(
        "timetable",
        "Timetable of the processors",
        "From left to right time; for each processor the upper bar is what it sends, the lower what it receives, "
        "darker "
        "the larger the share of its access that is used. The shaded time is synchronisation and switching.",
    )
    total = schedule["predicted_seconds"]
    if not total:
        section.text = "Nothing takes time."
        return section
    rows = _spans(schedule)
    nodes = sorted({node for node, _ in rows})
    shown = {node: line for line, node in enumerate(nodes[:DRAWN_PROCESSORS])}
    if len(nodes) > len(shown):
        section.notes.append(f"The first {len(shown)} of {len(nodes):,} processors.")
    height, scale = 26 + _ROW * len(shown), _WIDTH / total
    parts = [*_switched(schedule, scale, height), *_time_axis(total, scale, height)]
    parts += _bars(rows, shown, scale)
    parts += [
        f'<text x="{_LEFT - 8}" y="{24 + _ROW * line + 9:.0f}" class="right small">{node}</text>'
        for node, line in shown.items()
    ]
    said = f"Timetable of {len(shown)} processors over {units.seconds(total)}"
    section.html = _timetable_key() + drawing.scrolled(_LEFT + _WIDTH + 60, height + 34, said, parts)
    return section


_SHADES = 5
"""Steps of a bar's shade."""


def _bars(
    rows: dict[tuple[int, int], list[tuple[float, float, float]]], shown: Mapping[int, int], scale: float
) -> Iterator[str]:
    """The bars of the processors, those of one shade together: there may be a hundred thousand."""
    paths: dict[tuple[int, int], list[str]] = {}
    for (node, side), spans in sorted(rows.items()):
        if node not in shown:
            continue
        y = 26.5 + _ROW * shown[node] + 6 * side
        for start, duration, share in spans:
            step = min(_SHADES, max(1, math.ceil(share * _SHADES - EQUAL)))
            width = max(duration * scale, 0.3)
            paths.setdefault((side, step), []).append(f"M{_LEFT + start * scale:.1f} {y:g}h{width:.1f}")
    for (side, step), path in sorted(paths.items()):
        look = ("send", "receive")[side]
        yield f'<path class="bar {look}" opacity="{0.2 + 0.8 * step / _SHADES:.2f}" d="{"".join(path)}"/>'


def _timetable_key() -> str:
    entries = (("send", "sends"), ("receive", "receives"), ("switching", "synchronisation and switching"))
    parts = "".join(
        f'<rect class="{look}" x="{4 + 110 * k}" y="6" width="18" height="10"/>'
        f'<text x="{28 + 110 * k}" y="15" class="left">{words}</text>'
        for k, (look, words) in enumerate(entries)
    )
    said = "Key: upper bars send, lower bars receive, shaded time is synchronisation and switching"
    return (
        f'<svg class="drawing" viewBox="0 0 460 22" width="460" role="img" aria-label="{said}">'
        f"<title>{said}</title>{parts}</svg>"
    )


def _spans(schedule: Content) -> dict[tuple[int, int], list[tuple[float, float, float]]]:
    """For each processor and side (0 sends, 1 receives) when it is busy: start, duration, share of its access."""
    rows: dict[tuple[int, int], list[tuple[float, float, float]]] = {}
    switching, access, begin = _switching(schedule), schedule["resources"]["access_seconds"], 0.0
    for phase in schedule["phases"]:
        shares: Counter[tuple[int, int, float, float]] = Counter()
        for transfer in phase["connections"]:
            for piece in transfer.get("pieces") or [transfer]:
                if piece["duration"] <= 0:
                    continue
                share = piece["words"] * access / piece["duration"]
                shares[transfer["source"], 0, piece["start"], piece["duration"]] += share
                shares[transfer["destination"], 1, piece["start"], piece["duration"]] += share
        for (node, side, start, duration), share in shares.items():
            rows.setdefault((node, side), []).append((begin + switching + start, duration, float(share)))
        begin += phase["predicted_seconds"]
    return rows


def _switched(schedule: Content, scale: float, height: float) -> Iterator[str]:
    """The time at the start of each phase that its switching takes."""
    begin, width = 0.0, _switching(schedule) * scale
    for phase in schedule["phases"]:
        yield (
            f'<rect class="switching" x="{_LEFT + begin * scale:.2f}" y="22" width="{width:.2f}" '
            f'height="{height - 22:.0f}"/>'
        )
        begin += phase["predicted_seconds"]


def _time_axis(total: float, scale: float, height: float) -> Iterator[str]:
    """Ticks at round times, above and below."""
    step = 10.0 ** math.floor(math.log10(total / 4))
    step *= next(factor for factor in (1, 2, 5, 10) if total / (step * factor) <= 10)
    for k in range(math.floor(total / step * (1 + EQUAL)) + 1):
        x = _LEFT + k * step * scale
        label = units.seconds(k * step) if k else "0"
        yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="20" y2="{height:.0f}"/>'
        yield f'<text x="{x:.1f}" y="14">{label}</text><text x="{x:.1f}" y="{height + 16:.0f}">{label}</text>'
    yield f'<text x="{_LEFT}" y="{height + 32:.0f}" class="left">time; numbers at the left are processors</text>'


def _bounds(schedule: Content) -> Section:
    section = Section(
        "bounds", "Lower bounds", "What no schedule can do better than; the file has a certificate of each."
    )
    if not schedule["lower_bounds"]:
        return section
    rows = []
    for bound in schedule["lower_bounds"]:
        is_time = bound["unit"] != "phases"
        reached = schedule["predicted_seconds"] if is_time else len(schedule["phases"])
        value = units.seconds(bound["value"]) if is_time else f"{bound['value']:.0f} phases"
        ratio = bound["value"] / reached if reached else None
        rows.append(Row([Cell(quoted(bound["name"])), Cell(value), Cell(units.share(ratio), value=ratio)]))
    columns = [Column("bound", text=True), Column("at least"), Column("of what this schedule takes")]
    section.tables.append(Table(columns, rows))
    return section

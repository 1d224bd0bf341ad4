"""How connection sets and schedules are shown and pickled; the extension module, whose classes they are, calls this."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from weft import drawing, units
from weft._core import ConnectionSet, Schedule
from weft.conset.drawing import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DRAWN_VERTICES = 256
"""Of a machine with more, a notebook shows no picture: `weft show` makes a page of it."""

_SHOWN = 20


def connections_html(connections: ConnectionSet) -> str:
    """The first connections of a set."""
    rows = connections.connections
    title = f"{connections.name}: {len(rows)} connections between {connections.nodes} nodes"
    return drawing.table(title, ["source", "destination", "words"], rows)


def schedule_html(schedule: Schedule) -> str:
    """What a schedule takes, what is proved about it, and its first phase on the topology."""
    proved = " and ".join(f"fewest {what}" for what in schedule.optimal)
    bounds = "; ".join(
        f"{name}: {f'{value:.0f} phases' if unit == 'phases' else units.seconds(value)}"
        for name, value, unit in schedule.lower_bounds
    )
    rows: list[tuple[str, object]] = [
        ("phases", schedule.phases),
        ("predicted", units.seconds(schedule.predicted_seconds)),
        ("provably", proved or "not the least"),
        ("lower bounds", bounds),
    ]
    if schedule.message_seconds is not None:
        rows.insert(2, ("by messages", units.seconds(schedule.message_seconds)))
    return drawing.facts(f"{schedule.pattern} on {schedule.machine}", rows) + _first_phase(schedule)


def _first_phase(schedule: Schedule) -> str:
    content = json.loads(schedule.to_json())
    if any("orbits" in phase for phase in content["phases"]):
        # They are millions of transfers.
        return ""
    named = {vertex for transfer in (content["phases"] or [{"connections": []}])[0]["connections"]
             for vertex in (transfer["source"], transfer["destination"], *transfer["route"])}  # fmt: skip
    if not named or max(named) >= _DRAWN_VERTICES:
        return ""
    return svg(content, 0)


def plot_schedule(schedule: Schedule, ax: Axes | None = None) -> Axes:
    """Each phase as a bar over its time, as high as it has connections; darker where its links carry more."""
    content = json.loads(schedule.to_json())
    ax = drawing.axes(ax)
    start, heaviest = 0.0, max((phase["largest_link_load"] for phase in content["phases"]), default=1)
    for number, phase in enumerate(content["phases"]):
        width = phase["predicted_seconds"]
        count = len(phase["connections"]) + sum(len(orbit["sources"]) for orbit in phase.get("orbits", []))
        shade = 0.35 + 0.6 * phase["largest_link_load"] / max(heaviest, 1)
        ax.bar(start, count, width, align="edge", color="C0", alpha=shade, edgecolor="white")
        if len(content["phases"]) <= _SHOWN:
            ax.annotate(str(number), (start + width / 2, count), ha="center", va="bottom")
        start += width
    if start < schedule.predicted_seconds:
        ax.axvspan(start, schedule.predicted_seconds, color="0.9", label="nodes leave the last phase")
    for name, value, unit in schedule.lower_bounds:
        if unit == "s":
            ax.axvline(value, linestyle="--", color="C3", label=f"at least: {name}")
    ax.set_xlabel("time from the start (s)")
    ax.set_ylabel("connections of a phase")
    ax.set_title(f"{schedule.pattern} on {schedule.machine}: {units.seconds(schedule.predicted_seconds)}")
    if ax.get_legend_handles_labels()[0]:
        ax.legend()
    return ax


def restored_connections(text: str) -> ConnectionSet:
    """What a pickle of a connection set becomes again."""
    return ConnectionSet.from_json(text)


def restored_schedule(text: str) -> Schedule:
    """What a pickle of a schedule becomes again."""
    return Schedule.parse(text, "a pickled schedule")

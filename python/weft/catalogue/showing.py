"""How machines are shown and pickled; the class itself is of the extension module, which calls this."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from weft import drawing, units
from weft._core import Machine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DISTANCES = 3
"""Of how many distances the time of a message is drawn: between neighbours, across the machine, and one between."""

_LENGTHS = [2**power for power in range(3, 23)]


def machine_html(machine: Machine) -> str:
    """The figures of a machine that say most of it."""
    text = tomllib.loads(machine.to_toml())
    rows: list[tuple[str, object]] = [("title", machine.title), ("nodes", machine.nodes)]
    rows += [("topology", text["topology"]["kind"])] if "topology" in text else []
    if "protocols" in text:
        rows += [(f"message of {units.length(length)}", units.seconds(machine.message_time(length, _nearest(machine))))
                 for length in (8, 1 << 10, 1 << 20)]  # fmt: skip
    rows += [("faults", ", ".join(machine.faults))] if machine.faults else []
    return drawing.facts(machine.name, rows)


def plot_machine(machine: Machine, ax: Axes | None = None) -> Axes:
    """The time of a message against its length, for the shortest and the longest distance and one between."""
    hops = _distances(machine)
    times = {hop: [machine.message_time(length, hop) for length in _LENGTHS] for hop in hops}
    ax = drawing.axes(ax)
    for hop, seconds in times.items():
        ax.plot(_LENGTHS, seconds, label=f"{hop} hop{'s' * (hop != 1)}")
    drawing.length_axis(ax)
    drawing.time_axis(ax)
    ax.set_title(machine.title)
    ax.legend()
    return ax


def restored_machine(text: str, faults: list[str]) -> Machine:
    """What a pickle of a machine becomes again."""
    machine = Machine.parse(text, "a pickled machine")
    return machine.with_faults(faults) if faults else machine


def _nearest(machine: Machine) -> int:
    return min(_lengths_of_routes(machine), default=1)


def _distances(machine: Machine) -> list[int]:
    known = sorted(set(_lengths_of_routes(machine)))
    if len(known) <= _DISTANCES:
        return known or [1]
    return [known[0], known[len(known) // 2], known[-1]]


def _lengths_of_routes(machine: Machine) -> list[int]:
    """Links of the routes from node 0 to others, of which a large machine has many alike."""
    step = max(1, machine.nodes // 512)
    others = {*range(1, min(machine.nodes, 64)), *range(1, machine.nodes, step), machine.nodes - 1} - {0}
    return [len(machine.route(0, node)) for node in sorted(others)]

"""Heat maps of the ranks within a node: how slow each pair is, and how far apart its ranks are."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np

from weft import units
from weft.health.bindings import Distance, Level, Rank
from weft.health.within import Within, WithinTimes

MAX_SHOWN = 2
"""Nodes in a terminal at most, and ranks of each below: those of which something is said come first."""

MAX_RANKS_SHOWN = 64

MAX_DRAWN = 16
"""Nodes of a page at most, and ranks of each below."""

MAX_RANKS_DRAWN = 256

_LETTERS = {
    Level.PROCESSOR: "p", Level.CORE: "c", Level.CACHE: "l", Level.NUMA: "n", Level.SOCKET: "s", Level.NODE: "o",
}  # fmt: skip

Shade = Callable[[float], str]


def letter(distance: Distance) -> str:
    """One letter for a distance, a capital where the cores vary.

    Examples
    --------
    >>> letter(Distance(Level.NUMA, False)), letter(Distance(Level.NODE, True))
    ('n', 'O')
    """
    plain = _LETTERS[distance.level]
    return plain.upper() if distance.varies else plain


def legend(times: WithinTimes) -> str:
    """What the letters mean."""
    return ", ".join(f"{letter(known)} {known.name}" for known in times.classes())


def chosen(within: Within) -> list[str]:
    """The nodes with several ranks, those first of which something is said."""
    times = within.times
    if times is None:
        return []
    named = [each.node for each in within.wrong]
    for finding in within.findings:
        if finding.suspect.kind != "distance":
            named += [times.ranks[int(rank)].node for rank in times.ends[finding.suspect.cells, 0]]
    nodes = times.nodes()
    first = [node for node in dict.fromkeys(named) if node in nodes]
    return [*first, *(node for node in nodes if node not in first)]


def text_maps(within: Within, shade: Shade) -> str:
    """For a terminal: the distances of all pairs of a node by letters, and beside them how slow the pairs are."""
    times = within.times
    if times is None:
        return ""
    nodes, parts = times.nodes(), []
    for node in chosen(within)[:MAX_SHOWN]:
        ranks = nodes[node]
        if len(ranks) > MAX_RANKS_SHOWN:
            continue
        cells = _cells(times, ranks)
        factors = np.exp(within.values[-1])
        width = max(len(str(rank.number)) for rank in ranks)
        lines = [f"ranks of node {node}, {units.length(times.lengths[-1])}: {legend(times)}"]
        for rank, row in zip(ranks, cells, strict=True):
            letters = "".join(" " if cell is None else letter(times.distances[cell]) for cell in row)
            shades = "".join(" " if cell is None else shade(float(factors[cell])) for cell in row)
            lines.append(f"{rank.number:>{width}} {letters}  {shades}")
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _cells(times: WithinTimes, ranks: list[Rank]) -> list[list[int | None]]:
    """The pair of each sender and receiver, by the order of ranks; None where there is none."""
    position = {(int(i), int(j)): cell for cell, (i, j) in enumerate(times.ends)}
    return [[position.get((one.number, other.number)) for other in ranks] for one in ranks]


def html_maps(within: Within, color: Shade) -> str:
    """For a page: a square for each pair, coloured by its slowdown and with the letter of its distance."""
    times = within.times
    if times is None:
        return ""
    nodes, maps = times.nodes(), []
    for node in chosen(within)[:MAX_DRAWN]:
        ranks = nodes[node]
        if len(ranks) > MAX_RANKS_DRAWN:
            continue
        title = f"Ranks of node {node} by processor, messages of {units.length(times.lengths[-1])}"
        maps.append(f"<h2>{escape(title)}</h2>{_svg(within, times, node, ranks, color)}")
    if maps:
        maps.append(f"<p>Letters say how far apart the ranks of a pair are: {escape(legend(times))}.</p>")
    return "".join(maps)


def _svg(within: Within, times: WithinTimes, node: str, ranks: list[Rank], color: Shade) -> str:
    factors = np.exp(within.values[-1])
    squares = []
    for y, (one, row) in enumerate(zip(ranks, _cells(times, ranks), strict=True)):
        for x, (other, cell) in enumerate(zip(ranks, row, strict=True)):
            if cell is None or not np.isfinite(factors[cell]):
                continue
            apart = times.distances[cell]
            title = f"rank {one.number} to rank {other.number}, {apart.name}: {factors[cell]:.2f}"
            squares.append(
                f'<rect x="{x}" y="{y}" width="1" height="1" fill="{color(float(factors[cell]))}"><title>'
                f'{escape(title)}</title></rect><text x="{x + 0.5}" y="{y + 0.7}" text-anchor="middle" '
                f'pointer-events="none">{letter(apart)}</text>'
            )
    label = escape(f"Slowdown of the pairs of {len(ranks)} ranks on node {node}")
    return f'<svg viewBox="0 0 {len(ranks)} {len(ranks)}" role="img" aria-label="{label}">{"".join(squares)}</svg>'

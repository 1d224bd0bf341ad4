"""Where the vertices of a topology are drawn: grids as grids, trees by levels, dragonflies by groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Point = tuple[float, float]

_CELL = 40.0
"""Between the neighbours of a grid, in pixels."""

_STEP = 24.0
"""Between vertices side by side, in pixels; a vertex is a circle of radius 9."""

_GAP = 110.0
"""Between levels, in pixels: routes of different slopes are told apart there."""

_LABELS = 128.0
"""What labels of levels take at the left, in pixels."""

_ONE_ROW = 16
"""Nodes below a switch are drawn in one row where there are at most so many, else in a block of rows."""


@dataclass(frozen=True)
class Layout:
    """Where vertices are drawn, and what is written beside them.

    Attributes
    ----------
    points
        Of each vertex, nodes first; x to the right, y downwards, in pixels.
    labels
        Texts with the point where they are drawn.
    centred
        Whether labels have that point in their middle, else where they begin.
    """

    points: Sequence[Point]
    labels: Sequence[tuple[Point, str]] = ()
    centred: bool = False


def layout(topology: Mapping[str, Any], count: int) -> Layout:
    """Where `count` vertices of a topology are drawn.

    Parameters
    ----------
    topology
        As in a schedule's `resources`: its `kind` and what that kind has, `extents` or `children` and `parents` say.
    count
        How many vertices there are. Where the topology has another number of them, those of a grid or of levels are
        not known, and all are drawn on circles: nodes outside, switches inside.

    Examples
    --------
    >>> layout({"kind": "mesh", "extents": [2, 3]}, 6).points[4]
    (80.0, 80.0)
    >>> [text for _, text in layout({"kind": "crossbar", "nodes": 4}, 5).labels]
    ['nodes', 'switch']
    """
    kind = topology["kind"]
    extents = topology.get("extents")
    if kind == "hypercube":
        half = topology["dimension"] // 2
        extents = [2 ** (topology["dimension"] - half), 2**half]
    if extents and math.prod(extents) == count:
        return Layout(list(_grid(extents)))
    if vertices(topology) == count:
        if kind == "crossbar":
            return _levels([topology["nodes"]], [1])
        if kind == "fat-tree":
            return _levels(topology["children"], topology["parents"])
        if kind == "dragonfly":
            return _groups(topology["groups"], topology["routers_per_group"], topology["nodes_per_router"])
    return Layout(_circles(nodes(topology) or count, count))


def nodes(topology: Mapping[str, Any]) -> int:
    """How many nodes a topology has; 0 where it does not say.

    Examples
    --------
    >>> nodes({"kind": "fat-tree", "children": [4, 2], "parents": [1, 2]})
    8
    """
    kind = topology["kind"]
    if kind == "hypercube":
        return int(2 ** topology["dimension"])
    if kind == "dragonfly":
        return int(topology["groups"] * topology["routers_per_group"] * topology["nodes_per_router"])
    parts = topology.get("extents") or topology.get("children")
    return math.prod(parts) if parts else int(topology.get("nodes", 0))


def vertices(topology: Mapping[str, Any]) -> int:
    """How many nodes and switches a topology has.

    Examples
    --------
    >>> vertices({"kind": "fat-tree", "children": [4, 2], "parents": [1, 2]})
    12
    """
    if topology["kind"] == "crossbar":
        return nodes(topology) + 1
    if topology["kind"] == "fat-tree":
        return sum(_level_sizes(topology["children"], topology["parents"]))
    if topology["kind"] == "dragonfly":
        return nodes(topology) + int(topology["groups"] * topology["routers_per_group"])
    return nodes(topology)


def _grid(extents: Sequence[int]) -> Iterator[Point]:
    """Rows and columns, and planes of more than two axes side by side; the last axis counts fastest."""
    columns = extents[-1]
    rows = extents[-2] if len(extents) > 1 else 1
    for node in range(math.prod(extents)):
        plane, rest = divmod(node, rows * columns)
        y, x = divmod(rest, columns)
        yield (_CELL * (plane * (columns + 1) + x) + _CELL, _CELL * y + _CELL)


def _level_sizes(children: Sequence[int], parents: Sequence[int]) -> list[int]:
    """Vertices of each level of an extended generalised fat tree, nodes first (Öhring and others, 1995)."""
    nodes = math.prod(children)
    sizes, below, width = [nodes], 1, 1
    for of, to in zip(children, parents, strict=False):
        below, width = below * of, width * to
        sizes.append(nodes // below * width)
    return sizes


def _levels(children: Sequence[int], parents: Sequence[int]) -> Layout:
    """Nodes at the bottom, in a block below each switch of the first level; every level of switches above the last.

    Switches of level i are numbered by the block of nodes below them, and within it by their own number, of which there
    are w1 to wi multiplied: they are spread over the width of their block.
    """
    sizes = _level_sizes(children, parents)
    first = children[0]
    columns = first if first <= _ONE_ROW else math.ceil(math.sqrt(2 * first))
    blocks = sizes[0] // first
    block = max(_STEP * (columns + 0.6), _STEP * max(sizes[1:], default=1) / blocks)
    bottom = 40.0 + _GAP * len(children)
    points = []
    for node in range(sizes[0]):
        number, within = divmod(node, first)
        row, column = divmod(within, columns)
        shift = (column - (min(columns, first) - 1) / 2) * _STEP
        points.append((_LABELS + block * (number + 0.5) + shift, bottom + _STEP * row))
    labels = [((8.0, bottom + 4), "nodes")]
    below, width = 1, 1
    for level, (of, to) in enumerate(zip(children, parents, strict=True), start=1):
        below, width = below * of, width * to
        span, y = block * blocks * below / sizes[0], bottom - _GAP * level
        for switch in range(sizes[level]):
            within, spread = divmod(switch, width)
            points.append((_LABELS + span * (within + (spread + 0.5) / width), y))
        only = len(children) == 1
        what = "switch" if sizes[level] == 1 else "switches"
        labels.append(((8.0, y + 4), what if only else f"{what}, level {level}"))
    return Layout(points, labels)


def _groups(groups: int, routers: int, per_router: int) -> Layout:
    """Groups on a circle, the routers of each on a circle of their own, the nodes of a router outwards from it."""
    inner = max(30.0, _STEP * routers / math.pi) if routers > 1 else 0.0
    outer = inner + _STEP * (per_router + 1)
    ring = outer * 1.05 / math.sin(math.pi / groups) if groups > 1 else 0.0
    middle = ring + outer + 20.0
    centres = [_on_circle(middle, ring, group, groups) for group in range(groups)]
    at = []
    for group, (x, y) in enumerate(centres):
        # The first router of each group looks away from the middle.
        start = 2 * math.pi * group / groups
        at += [(x, y, start + 2 * math.pi * router / routers) for router in range(routers)]

    def outwards(x: float, y: float, angle: float, distance: float) -> Point:
        return x + distance * math.cos(angle), y + distance * math.sin(angle)

    points = [outwards(*router, inner + _STEP * (node + 1)) for router in at for node in range(per_router)]
    points += [outwards(*router, inner) for router in at]
    labels = [((x, y + 4 if routers > 1 else y - 14), f"group {group}") for group, (x, y) in enumerate(centres)]
    return Layout(points, labels, centred=True)


def _circles(nodes: int, count: int) -> list[Point]:
    """Nodes on a circle, what is numbered after them on one within."""
    radius = max(60.0, 7.0 * nodes / math.pi)
    switches = max(count - nodes, 0)
    middle = radius + 20
    return [_on_circle(middle, radius, node, nodes) for node in range(min(nodes, count))] + [
        _on_circle(middle, radius * 0.6 * (switches > 1), switch, switches) for switch in range(switches)
    ]


def _on_circle(centre: float, radius: float, number: int, count: int) -> Point:
    angle = 2 * math.pi * number / count
    return centre + radius * math.cos(angle), centre + radius * math.sin(angle)

"""What links carry in a compiled collective, how long they are busy with it, and which of them a cut limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Content = dict[str, Any]


@dataclass(frozen=True)
class Load:
    """What one link carries.

    Attributes
    ----------
    link
        Its number in the file.
    source, destination
        Names of its ends.
    bytes
        That all stages or rounds send over it together.
    seconds
        That these bytes take at its bandwidth.
    """

    link: int
    source: str
    destination: str
    bytes: int
    seconds: float


@dataclass(frozen=True)
class Cut:
    """What certifies a bound: a set of vertices that data has to leave or to enter.

    Attributes
    ----------
    operation
        `copy` or `reduce` of a stage, `exchange` of rounds.
    vertices
        Names of those on the side of the cut that has fewer.
    is_inward
        Whether the data goes into that side, else out of it.
    links
        The numbers of the links that cross it in the direction of the data.
    bandwidth
        Of these links together, bytes a second.
    rate
        The most that each root can distribute or collect, bytes a second; of an exchange that of the buffer.
    seconds
        No schedule takes less for the bytes of this one.
    """

    operation: str
    vertices: Sequence[str]
    is_inward: bool
    links: Sequence[int]
    bandwidth: float
    rate: float
    seconds: float


def loads(schedule: Content) -> list[Load]:
    """What each link carries, those that are busy longest first; links that carry nothing are among them.

    Parameters
    ----------
    schedule
        A compiled collective's file as Python has it.

    Examples
    --------
    >>> import json
    >>> from weft.conset import collectives
    >>> compiled = collectives.compile("broadcast", "hgx-h100", "1M", method="throughput")
    >>> busiest = loads(json.loads(compiled.schedule.to_json()))[0]
    >>> busiest.bytes, busiest.source
    (1048576, 'node 0')
    """
    fabric = schedule["fabric"]
    carried = [0] * len(fabric["links"])
    for links, length in _transfers(schedule):
        for link in links:
            carried[link] += length
    names = fabric["vertices"]
    known = [
        Load(number, names[link["from"]], names[link["to"]], length, length / link["bandwidth"])
        for number, (link, length) in enumerate(zip(fabric["links"], carried, strict=True))
    ]
    return sorted(known, key=lambda load: (-load.seconds, load.link))


def _transfers(schedule: Content) -> Iterator[tuple[list[int], int]]:
    """Links and bytes of every transfer and every message."""
    for stage in schedule["stages"]:
        for tree in stage["trees"]:
            yield from ((links, tree["bytes"]) for _, _, links in tree["transfers"])
    exchange = schedule.get("exchange")
    if exchange is not None:
        for step in exchange["rounds"]:
            yield from ((exchange["routes"][route][2], length) for route, _, length in step["messages"])


def cuts(schedule: Content) -> list[Cut]:
    """The cut of each stage, or of the exchange.

    Examples
    --------
    >>> import json
    >>> from weft.conset import collectives
    >>> compiled = collectives.compile("allgather", "hgx-h100", "1M")
    >>> [(cut.operation, list(cut.vertices)) for cut in cuts(json.loads(compiled.schedule.to_json()))]
    [('copy', ['node 0'])]
    """
    exchange = schedule.get("exchange")
    if exchange is not None:
        return [_cut(schedule["fabric"], "exchange", exchange["bound"])]
    return [_cut(schedule["fabric"], stage["operation"], stage["bound"]) for stage in schedule["stages"]]


def _cut(fabric: Content, operation: str, bound: Content) -> Cut:
    inside = set(bound["cut"])
    # Reducing runs the trees backwards: the data of the ranks outside comes in.
    near, far = ("to", "from") if operation == "reduce" else ("from", "to")
    links = [number for number, link in enumerate(fabric["links"]) if link[near] in inside and link[far] not in inside]
    outside = [vertex for vertex in range(len(fabric["vertices"])) if vertex not in inside]
    is_outside = len(outside) < len(inside)
    fewer = outside if is_outside else sorted(inside)
    bandwidth = sum(fabric["links"][number]["bandwidth"] for number in links)
    names = [fabric["vertices"][vertex] for vertex in fewer]
    return Cut(
        operation, names, is_outside != (operation == "reduce"), links, bandwidth, bound["rate"], bound["seconds"]
    )

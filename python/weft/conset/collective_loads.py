"""What links carry in a compiled collective, how long they are busy with it, and which of them a cut limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
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
        `copy`, `reduce` or `reduce-broadcast` of a stage, `exchange` of rounds.
    vertices
        Names of those on the side of the cut that has fewer.
    others
        How many sets there are beside it, of an allreduce whose elements are brought together between them and spread
        again; `vertices` are the first set then, and `links` leave any.
    is_inward
        Whether the data goes into that side, else out of it.
    links
        The numbers of the links that cross it in the direction of the data.
    bandwidth
        Of these links together, bytes a second.
    rate
        The most that each root can distribute or collect, bytes a second; of an exchange, and of trees that reduce and
        copy at the same time, what crosses the cut or leaves the sets.
    seconds
        No schedule takes less for the bytes of this one.
    """

    operation: str
    vertices: Sequence[str]
    others: int
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
    for stage in schedule["stages"]:
        transfers = ((links, tree["bytes"]) for tree in stage["trees"] for _, _, links in tree["transfers"])
        own = _carried(transfers, len(carried))
        if stage.get("translated"):
            own = _moved(own, fabric, stage["translated"])
        carried = [before + more for before, more in zip(carried, own, strict=True)]
    exchange = schedule.get("exchange")
    if exchange is not None:
        messages = (message for step in exchange["rounds"] for message in step["messages"])
        carried = _carried(((exchange["routes"][route][2], length) for route, _, length in messages), len(carried))
    names = fabric["vertices"]
    known = [
        Load(number, names[link["from"]], names[link["to"]], length, length / link["bandwidth"])
        for number, (link, length) in enumerate(zip(fabric["links"], carried, strict=True))
    ]
    return sorted(known, key=lambda load: (-load.seconds, load.link))


def _carried(transfers: Iterable[tuple[Sequence[int], int]], count: int) -> list[int]:
    """Bytes on each of `count` links, from the links and bytes of every transfer."""
    carried = [0] * count
    for links, length in transfers:
        for link in links:
            carried[link] += length
    return carried


def _moved(written: Sequence[int], fabric: Content, extents: Sequence[int]) -> list[int]:
    """What is on each link where the trees of rank 0, which put `written` on links, are moved to all ranks.

    Links are of one kind where moving takes one to the other: those with the same steps along the axes, bandwidth and
    latency, of several that start at the same rank in the order of their numbers. Every link then carries what all of
    its kind have of the written trees, as if all ranks had as many bytes as rank 0.
    """
    rank_of = {vertex: rank for rank, vertex in enumerate(fabric["ranks"])}
    kinds: list[tuple[Any, ...]] = []
    alike: Counter[tuple[Any, ...]] = Counter()
    for link in fabric["links"]:
        start, end, steps = rank_of[link["from"]], rank_of[link["to"]], []
        for extent in reversed(extents):
            steps.append((end - start) % extent)
            start, end = start // extent, end // extent
        likeness = (*steps, link["bandwidth"], link["latency"])
        kinds.append((*likeness, alike[link["from"], likeness]))
        alike[link["from"], likeness] += 1
    of_kind: Counter[tuple[Any, ...]] = Counter()
    for kind, length in zip(kinds, written, strict=True):
        of_kind[kind] += length
    return [of_kind[kind] for kind in kinds]


def prices(schedule: Content) -> list[tuple[int, float]]:
    """The links whose prices certify the bound of an all-to-all, with the part of the bound that each earns.

    The largest are first; nothing of other collectives.

    Examples
    --------
    >>> import json
    >>> from weft.conset import collectives
    >>> exchanged = collectives.compile("all-to-all", "hgx-h100", "1M", method="throughput")
    >>> [(link, round(share, 4)) for link, share in prices(json.loads(exchanged.schedule.to_json()))[:2]]
    [(0, 0.0625), (1, 0.0625)]
    """
    links = schedule["fabric"]["links"]
    exchange = schedule.get("exchange")
    bounds = [exchange["bound"]] if exchange is not None else [stage["bound"] for stage in schedule["stages"]]
    earned = [(link, price * links[link]["bandwidth"]) for bound in bounds for link, price in bound.get("prices", [])]
    whole = sum(each for _, each in earned)
    return sorted(((link, each / whole) for link, each in earned), key=lambda one: (-one[1], one[0]))


def cuts(schedule: Content) -> list[Cut]:
    """The cut of each stage, or of the exchange; none of an all-to-all.

    Examples
    --------
    >>> import json
    >>> from weft.conset import collectives
    >>> compiled = collectives.compile("allgather", "hgx-h100", "1M", method="throughput")
    >>> [(cut.operation, list(cut.vertices)) for cut in cuts(json.loads(compiled.schedule.to_json()))]
    [('copy', ['node 0'])]
    """
    exchange = schedule.get("exchange")
    bounds = [(stage["operation"], stage["bound"]) for stage in schedule["stages"]]
    if exchange is not None:
        bounds = [("exchange", exchange["bound"])]
    return [_cut(schedule["fabric"], operation, bound) for operation, bound in bounds if "prices" not in bound]


def _cut(fabric: Content, operation: str, bound: Content) -> Cut:
    inside = set(bound["cut"])
    if others := bound.get("others", []):
        return _between(fabric, operation, bound, [inside, *map(set, others)])
    # Reducing runs the trees backwards: the data of the ranks outside comes in.
    near, far = ("to", "from") if operation == "reduce" else ("from", "to")
    links = [number for number, link in enumerate(fabric["links"]) if link[near] in inside and link[far] not in inside]
    outside = [vertex for vertex in range(len(fabric["vertices"])) if vertex not in inside]
    is_outside = len(outside) < len(inside)
    fewer = outside if is_outside else sorted(inside)
    bandwidth = sum(fabric["links"][number]["bandwidth"] for number in links)
    names = [fabric["vertices"][vertex] for vertex in fewer]
    return Cut(
        operation, names, 0, is_outside != (operation == "reduce"), links, bandwidth, bound["rate"], bound["seconds"]
    )


def _between(fabric: Content, operation: str, bound: Content, sets: Sequence[set[int]]) -> Cut:
    """What leaves each of several sets, or enters them where that is slower."""
    number = {vertex: index for index, vertices in enumerate(sets) for vertex in vertices}
    ends = [(number.get(link["from"]), number.get(link["to"])) for link in fabric["links"]]
    leaving = [link for link, (start, end) in enumerate(ends) if start != end and start is not None]
    entering = [link for link, (start, end) in enumerate(ends) if start != end and end is not None]

    def bandwidth(links: Sequence[int]) -> float:
        return float(sum(fabric["links"][link]["bandwidth"] for link in links))

    is_inward = bandwidth(entering) < bandwidth(leaving)
    links = entering if is_inward else leaving
    names = [fabric["vertices"][vertex] for vertex in sorted(sets[0])]
    others = len(sets) - 1
    return Cut(operation, names, others, is_inward, links, bandwidth(links), bound["rate"], bound["seconds"])

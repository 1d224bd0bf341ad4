"""What may be slow: nodes, links, cables and groups of nodes, each with the pairs whose messages it would delay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from weft._core import Machine

Mask = npt.NDArray[np.int64]

MIN_PAIRS = 4
"""The fewest pairs by which a thing is judged: the median of fewer is that of a stray pair or two."""

_SAME = 0.9
"""Two suspects whose pairs agree in this share cannot be told apart."""


@dataclass(frozen=True)
class Suspect:
    """A thing that may be slow.

    Attributes
    ----------
    kind
        `node`, `sender`, `receiver`, `link`, `cable`, `detour`, `groups` or `pair`.
    name
        As sentences have it.
    cells
        The pairs that it would delay: positions in a flattened matrix of senders and receivers.
    nodes
        The nodes that it is, where it is nodes.
    others
        The names of suspects that cannot be told from it, for they would delay the same pairs.
    fault
        What it is called in a fault that is planted (`node:3`, `link:0-4`, `link:0>4`); empty where there is none.
    """

    kind: str
    name: str
    cells: Mask
    nodes: tuple[int, ...] = ()
    others: tuple[str, ...] = ()
    fault: str = ""


def of_nodes(names: Sequence[str]) -> Iterator[Suspect]:
    """Every node: both ways, as a sender and as a receiver."""
    count = len(names)
    others = np.arange(count)
    for node, name in enumerate(names):
        rest = others[others != node]
        out, into = node * count + rest, rest * count + node
        yield Suspect("node", f"node {name}", np.concatenate([out, into]), (node,), fault=f"node:{name}")
        yield Suspect("sender", f"node {name} as a sender", out, (node,))
        yield Suspect("receiver", f"node {name} as a receiver", into, (node,))


def of_links(machine: Machine, nodes: Sequence[int]) -> Iterator[Suspect]:
    """Every link that the messages between some nodes of a machine cross, and every cable: the links both ways.

    A cable is suspected in a second way, of being dead: then those pairs are delayed whose messages need it in both
    directions, for the others have another route of the same length.
    """
    count = len(nodes)
    crossed: dict[int, list[int]] = defaultdict(list)
    for i, start in enumerate(nodes):
        for j, end in enumerate(nodes):
            if i != j:
                for link in machine.route(start, end):
                    crossed[link].append(i * count + j)
    cables: dict[tuple[str, str], list[int]] = defaultdict(list)
    for link in sorted(crossed):
        ends = machine.link_ends(link)
        name, fault = f"the link from {_vertex(ends[0])} to {_vertex(ends[1])}", f"link:{ends[0]}>{ends[1]}"
        yield Suspect("link", name, np.array(crossed[link]), fault=fault)
        cables[min(ends, ends[::-1])].append(link)
    for (one, other), links in cables.items():
        if len(links) > 1:
            cells = [np.array(crossed[link]) for link in links]
            name = f"the cable between {_vertex(one)} and {_vertex(other)}"
            every = np.unique(np.concatenate(cells))
            fault = f"link:{one}-{other}"
            yield Suspect("cable", name, every, fault=fault)
            back = every % count * count + every // count
            yield Suspect("detour", name, every[np.isin(back, every)], fault=fault)


def _vertex(text: str) -> str:
    return f"switch {text[1:]}" if text.startswith("s") else f"node {text}"


def of_groups(names: Sequence[str], groups: npt.NDArray[np.int64]) -> Iterator[Suspect]:
    """Every group of nodes against the rest, and every two groups against each other, both ways and one way."""
    count = len(names)
    members = [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]
    if len(members) < 2:
        return
    for group, inside in enumerate(members):
        outside = np.flatnonzero(groups != group)
        name = f"the uplinks of {_group(names, inside)}"
        yield from _between(name, inside, outside, count)
        for other in range(group + 1, len(members) if len(members) > 2 else 0):
            between = f"what joins {_group(names, inside)} and {_group(names, members[other])}"
            yield from _between(between, inside, members[other], count)


def _between(name: str, a: Mask, b: Mask, count: int) -> Iterator[Suspect]:
    there, back = (a[:, None] * count + b).ravel(), (b[:, None] * count + a).ravel()
    yield Suspect("groups", name, np.concatenate([there, back]))
    yield Suspect("groups", f"{name}, outwards", there)
    yield Suspect("groups", f"{name}, inwards", back)


def _group(names: Sequence[str], members: Mask) -> str:
    if len(members) == 1:
        return f"node {names[members[0]]}"
    return f"the group of {len(members)} nodes with {names[members[0]]}"


def distinct(suspects: Sequence[Suspect]) -> list[Suspect]:
    """Those that can be told apart and judged: of several with nearly the same pairs, the first."""
    kept: list[Suspect] = []
    by_cell: dict[int, list[int]] = defaultdict(list)
    for suspect in suspects:
        if len(suspect.cells) < MIN_PAIRS:
            continue
        near = {index for cell in suspect.cells[:3] for index in by_cell[int(cell)]}
        same = next((index for index in near if _overlap(kept[index].cells, suspect.cells) >= _SAME), None)
        if same is not None:
            # A cable is suspected of being slow and of being dead, by one name.
            if suspect.name not in (kept[same].name, *kept[same].others):
                kept[same] = replace(kept[same], others=(*kept[same].others, suspect.name))
            continue
        for cell in suspect.cells:
            by_cell[int(cell)].append(len(kept))
        kept.append(suspect)
    return kept


def _overlap(a: Mask, b: Mask) -> float:
    """The share of pairs in common (Jaccard 1901)."""
    if min(len(a), len(b)) < _SAME * max(len(a), len(b)):
        return 0.0
    common = len(np.intersect1d(a, b))
    return common / (len(a) + len(b) - common)

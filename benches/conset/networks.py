"""Networks that collectives are compiled for: systems with rails, tori, dragonflies, fat trees, random graphs.

Each is the content of a graph file, as docs/collectives.md describes them: nodes by number, then switches.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Collection, Sequence
from typing import Any

Graph = dict[str, Any]

LATENCY = 1e-6


def graph(name: str, nodes: int, switches: int, links: Sequence[tuple[str, str, float, bool]]) -> Graph:
    """The content of a graph file; links are from, to, bytes a second, and whether there is one back."""
    keys = ("from", "to", "bandwidth", "duplex")
    listed = [dict(zip(keys, link, strict=True), latency=LATENCY) for link in links]
    return {"name": name, "nodes": nodes, "switches": switches, "message_seconds": 1e-6, "links": listed}


def node(number: int) -> str:
    """The name of a node."""
    return f"node {number}"


def switch(number: int) -> str:
    """The name of a switch."""
    return f"switch {number}"


def torus(extents: Sequence[int], missing: Collection[int] = (), speeds: Sequence[float] = ()) -> Graph:
    """A torus without the links (both directions) that `missing` names, of 25 GB/s or as fast as each axis says."""
    number = {coordinates: index for index, coordinates in enumerate(itertools.product(*map(range, extents)))}
    links, known = [], set()
    for coordinates, axis in itertools.product(number, range(len(extents))):
        step = (coordinates[axis] + 1) % extents[axis]
        ends = number[coordinates], number[(*coordinates[:axis], step, *coordinates[axis + 1 :])]
        if ends[0] != ends[1] and (extents[axis] > 2 or frozenset(ends) not in known):
            known.add(frozenset(ends))
            links.append((node(ends[0]), node(ends[1]), speeds[axis] if speeds else 25e9, True))
    kept = [link for index, link in enumerate(links) if index not in missing]
    without = f" without {len(missing)} of its links" if missing else ""
    return graph(f"torus {'x'.join(map(str, extents))}{without}", math.prod(extents), 0, kept)


def rails(systems: int, accelerators: int = 8, nics: int | None = None) -> Graph:
    """Systems with a fast switch inside; outside a rail for each accelerator, or for each NIC that several share."""
    ranks = systems * accelerators
    count = nics or accelerators
    links = [(node(rank), switch(rank // accelerators), 450e9, True) for rank in range(ranks)]
    first = systems
    for rank in range(ranks):
        system, own = divmod(rank, accelerators)
        nic = first + system * count + own * count // accelerators
        links.append((node(rank), switch(nic), 50e9, True))
    rail = first + systems * count
    links += [(switch(first + nic), switch(rail + nic % count), 50e9, True) for nic in range(systems * count)]
    shared = f", {count} NICs each" if nics else ""
    return graph(f"{systems} systems of {accelerators}{shared}", ranks, rail + count, links)


def one_network(systems: int, accelerators: int = 8) -> Graph:
    """Systems with a fast switch inside and a single switch outside."""
    ranks = range(systems * accelerators)
    links = [(node(rank), switch(rank // accelerators), 450e9, True) for rank in ranks]
    links += [(node(rank), switch(systems), 25e9, True) for rank in ranks]
    return graph(f"{systems} systems of {accelerators}, one switch", len(ranks), systems + 1, links)


def dragonfly(groups: int, routers: int, nodes: int) -> Graph:
    """Groups of routers that are all linked; each pair of groups has one link, from router to router in rotation."""
    links = [(node(rank), switch(rank // nodes), 25e9, True) for rank in range(groups * routers * nodes)]
    for group in range(groups):
        pairs = itertools.combinations(range(group * routers, (group + 1) * routers), 2)
        links += [(switch(a), switch(b), 25e9, True) for a, b in pairs]
    used = [0] * groups
    for pair in itertools.combinations(range(groups), 2):
        ends = [switch(group * routers + used[group] % routers) for group in pair]
        links.append((ends[0], ends[1], 25e9, True))
        for group in pair:
            used[group] += 1
    return graph(f"dragonfly {groups}x{routers}x{nodes}", groups * routers * nodes, groups * routers, links)


def fat_tree(pods: int, leaves: int, nodes: int, spines: int) -> Graph:
    """Three levels: nodes at leaves, the spines of a pod over its leaves, and a core switch for each spine of a pod."""
    ranks, under, core = pods * leaves * nodes, pods * leaves, pods * leaves + pods * spines
    links = [(node(rank), switch(rank // nodes), 25e9, True) for rank in range(ranks)]
    for pod, spine in itertools.product(range(pods), range(spines)):
        own = switch(under + pod * spines + spine)
        links += [(switch(pod * leaves + leaf), own, 25e9, True) for leaf in range(leaves)]
        links.append((own, switch(core + spine), 50e9, True))
    return graph(f"fat tree {pods}x{leaves}x{nodes}", ranks, core + spines, links)


def random_graph(seed: int, vertices: int | None = None, asymmetric: bool = False, measured: bool = False) -> Graph:
    """Nodes and switches joined at random by links of unequal speed: a tree of all, and more links.

    With `asymmetric` half of the further links go one way only; with `measured` no speed is a multiple of another.
    """
    draw = random.Random(seed)
    count = vertices or draw.randint(8, 64)
    ranks = draw.randint(max(2, count // 2), count)
    names = [node(index) for index in range(ranks)] + [switch(index) for index in range(count - ranks)]

    def speed() -> float:
        return draw.uniform(5e9, 400e9) if measured else draw.choice((10e9, 25e9, 40e9, 50e9, 100e9, 400e9))

    order = draw.sample(names, count)
    links = [(order[draw.randrange(index)], order[index], speed(), True) for index in range(1, count)]
    for _ in range(draw.randint(count // 2, 3 * count)):
        start, end = draw.sample(names, 2)
        links.append((start, end, speed(), not (asymmetric and draw.random() < 0.5)))
    kind = ", some links one way" if asymmetric else ", measured speeds" if measured else ""
    return graph(f"random {seed} of {count} vertices{kind}", ranks, count - ranks, links)


def random_torus(seed: int) -> Graph:
    """A torus of 8 to 64 nodes without one or two links, with other speeds along other axes."""
    draw = random.Random(seed)
    shapes = [shape for axes in (1, 2, 3) for shape in itertools.product(range(2, 17), repeat=axes)]
    extents = draw.choice([shape for shape in shapes if 8 <= math.prod(shape) <= 64])
    speeds = [draw.choice((10e9, 25e9, 50e9, 100e9)) for _ in extents]
    whole = torus(extents, speeds=speeds)
    missing = draw.sample(range(len(whole["links"])), 1 if len(extents) == 1 else draw.randint(1, 2))
    cut = torus(extents, missing, speeds)
    return cut | {"name": f"random {seed}, {cut['name']}"}


def random_dragonfly(seed: int) -> Graph:
    """A dragonfly of 8 to 64 nodes, some of whose links are slower than others."""
    draw = random.Random(seed)
    shapes = itertools.product(range(2, 10), range(2, 6), range(1, 5))
    whole = dragonfly(*draw.choice([shape for shape in shapes if 8 <= math.prod(shape) <= 64]))
    links = [link | {"bandwidth": draw.choice((25e9, 25e9, 50e9, 100e9))} for link in whole["links"]]
    return whole | {"name": f"random {seed}, {whole['name']}", "links": links}


RANDOM: tuple[Callable[[int], Graph], ...] = (
    random_graph,
    lambda seed: random_graph(seed, asymmetric=True),
    lambda seed: random_graph(seed, measured=True),
    random_torus,
    random_dragonfly,
)
"""Networks of 8 to 64 vertices or nodes by a seed."""

NETWORKS: tuple[Callable[[], Graph], ...] = (
    lambda: rails(2),
    lambda: rails(4),
    lambda: rails(2, nics=4),
    lambda: rails(4, nics=4),
    lambda: one_network(2),
    lambda: one_network(4),
    lambda: torus((4, 4)),
    lambda: torus((4, 4), {3}),
    lambda: torus((8, 8)),
    lambda: torus((8, 8), {10}),
    lambda: torus((3, 5), {2}),
    lambda: torus((6, 6), speeds=(25e9, 50e9)),
    lambda: torus((4, 4, 4)),
    lambda: torus((4, 4, 4), {7}),
    lambda: torus((2, 3, 4), {0, 5}),
    lambda: dragonfly(3, 2, 2),
    lambda: dragonfly(5, 4, 2),
    lambda: dragonfly(9, 4, 2),
    lambda: fat_tree(2, 2, 4, 2),
    lambda: fat_tree(4, 2, 4, 2),
)
"""Networks of up to 96 ranks."""

LARGE: tuple[Callable[[], Graph], ...] = (
    lambda: torus((16, 8, 8)),
    lambda: rails(128),
    lambda: torus((16, 8, 8), {100}),
    lambda: fat_tree(16, 4, 16, 16),
    lambda: dragonfly(33, 8, 4),
)
"""Networks of 1,024 ranks and some more."""

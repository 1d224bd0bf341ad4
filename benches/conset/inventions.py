"""Networks that nobody has compiled for yet: systems, rails, trees and tori as they are when parts are missing.

Every network is drawn by a seed: its kind first, then its size, its speeds and latencies, which links are slower one
way, which are missing, whether routers pass messages on, and which of its nodes take part. It is the content of a graph
file, as docs/collectives.md describes them. What a draw takes apart is drawn again.
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

Graph = dict[str, Any]

MAX_NODES = 64

SPEEDS = (1e9, 3.125e9, 10e9, 12.5e9, 25e9, 50e9, 100e9, 200e9, 450e9, 900e9)
"""Bytes a second of links from Ethernet to those inside systems."""


class Drawing:
    """A network that is being drawn: names of its nodes and switches, and its links both ways."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.nodes: list[str] = []
        self.switches: list[str] = []
        self.links: list[dict[str, Any]] = []

    def node(self) -> str:
        """Another node."""
        self.nodes.append(f"gpu {len(self.nodes)}")
        return self.nodes[-1]

    def switch(self) -> str:
        """Another switch."""
        self.switches.append(f"s{len(self.switches)}")
        return self.switches[-1]

    def join(self, one: str, other: str, speed: float, latency: float) -> None:
        """A link each way."""
        self.links += [
            {"from": start, "to": end, "bandwidth": speed, "latency": latency}
            for start, end in ((one, other), (other, one))
        ]

    def speed(self) -> float:
        """Of a kind of links."""
        return self.draw.choice(SPEEDS) if self.draw.random() < 0.8 else self.draw.uniform(1e9, 9e11)

    def latency(self) -> float:
        """Of a kind of links, s."""
        return self.draw.choice((0.0, 1e-7, 5e-7, 1e-6, 2e-6, 1e-5))


def torus(into: Drawing, extents: tuple[int, ...], ends: list[str], is_open: bool = False) -> None:
    """Join vertices along axes of unlike speed, round their ends unless it is open; the last axis counts fastest."""
    steps = [(into.speed(), into.latency()) for _ in extents]
    for at, vertex in zip(itertools.product(*map(range, extents)), ends, strict=True):
        stride = 1
        for axis in reversed(range(len(extents))):
            extent = extents[axis]
            is_last = at[axis] == extent - 1
            if extent > 1 and not (is_last and (is_open or extent == 2)):
                number = ends.index(vertex) + (stride if not is_last else -stride * (extent - 1))
                into.join(vertex, ends[number], *steps[axis])
            stride *= extent


def shape(draw: random.Random, most: int, axes: int) -> tuple[int, ...]:
    """Extents of a torus of at most so many vertices."""
    shapes = itertools.product(range(2, most + 1), repeat=axes)
    within = [shape for shape in shapes if 4 <= _product(shape) <= most]
    return draw.choice(within)


def _product(numbers: tuple[int, ...]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total


def tori(into: Drawing) -> None:
    """A torus or mesh in one to three axes."""
    draw = into.draw
    extents = shape(draw, draw.choice((8, 16, 36, 64)), draw.randint(1, 3))
    torus(into, extents, [into.node() for _ in range(_product(extents))], draw.random() < 0.3)


def systems_on_a_torus(into: Drawing) -> None:
    """Nodes under a fast switch in each system; systems are joined as a torus by their switches, or node by node."""
    draw = into.draw
    extents, inside = shape(draw, 12, draw.randint(1, 2)), draw.randint(2, 5)
    fast, outside = (into.speed(), into.latency()), draw.random() < 0.5
    switches, members = [], []
    for _ in range(_product(extents)):
        switches.append(into.switch())
        members.append([into.node() for _ in range(inside)])
        for node in members[-1]:
            into.join(node, switches[-1], *fast)
    if outside:
        torus(into, extents, switches)
    else:
        for number in range(draw.randint(1, inside)):
            torus(into, extents, [system[number] for system in members])


def torus_inside(into: Drawing) -> None:
    """Systems that are meshes of nodes inside; some nodes of each have a port to a switch outside."""
    draw = into.draw
    extents, outside = shape(draw, 9, 2), into.switch()
    slow = into.speed(), into.latency()
    for _ in range(draw.randint(1, MAX_NODES // _product(extents))):
        members = [into.node() for _ in range(_product(extents))]
        torus(into, extents, members, is_open=True)
        for node in draw.sample(members, draw.randint(1, len(members))):
            into.join(node, outside, *slow)


def systems_with_rails(into: Drawing) -> None:
    """Pairs, quads or more systems, with a switch or with direct links inside, and rails of which some are missing."""
    draw = into.draw
    systems, inside = draw.choice((2, 2, 3, 4, 4, 8)), draw.choice((2, 3, 4, 8))
    fast, slow = (into.speed(), into.latency()), (into.speed(), into.latency())
    is_direct, missing = draw.random() < 0.3, draw.choice((0.0, 0.1, 0.3))
    members = []
    for _ in range(systems):
        members.append([into.node() for _ in range(inside)])
        if is_direct:
            for pair in itertools.combinations(members[-1], 2):
                into.join(*pair, *fast)
        else:
            for _ in range(draw.choice((1, 1, 2, 4))):
                switch = into.switch()
                for node in members[-1]:
                    into.join(node, switch, *fast)
    for rail in range(draw.randint(1, inside)):
        switch = into.switch()
        for system in members:
            if draw.random() >= missing:
                into.join(system[rail], switch, *slow)
    spine = into.switch()
    for system in members:
        into.join(system[0], spine, *slow)


def fat_tree(into: Drawing) -> None:
    """Leaves, spines and perhaps cores; levels are oversubscribed as they come, and links between them unlike."""
    draw = into.draw
    leaves, below, spines = draw.randint(2, 6), draw.randint(2, 8), draw.randint(1, 4)
    port, up = (into.speed(), into.latency()), (into.speed(), into.latency())
    upper = [into.switch() for _ in range(spines)]
    for _ in range(leaves):
        leaf = into.switch()
        for _ in range(below if draw.random() < 0.7 else draw.randint(1, below)):
            into.join(into.node(), leaf, *port)
        for spine in upper:
            into.join(leaf, spine, *up)


def dragonfly(into: Drawing) -> None:
    """Groups of routers that are all joined inside, with a link or two between groups."""
    draw = into.draw
    groups, routers, nodes = draw.randint(2, 6), draw.randint(1, 4), draw.randint(1, 3)
    port, local, far = ((into.speed(), into.latency()) for _ in range(3))
    inside = [[into.switch() for _ in range(routers)] for _ in range(groups)]
    for group in inside:
        for router in group:
            for _ in range(nodes):
                into.join(into.node(), router, *port)
        for pair in itertools.combinations(group, 2):
            into.join(*pair, *local)
    for one, other in itertools.combinations(inside, 2):
        for _ in range(draw.choice((1, 1, 2))):
            into.join(draw.choice(one), draw.choice(other), *far)


def hypercube(into: Drawing) -> None:
    """A hypercube, perhaps with other speeds along each bit."""
    dimension = into.draw.randint(1, 6)
    torus(into, (2,) * dimension, [into.node() for _ in range(1 << dimension)])


def ring_of_cliques(into: Drawing) -> None:
    """Cliques joined to a ring by one link or two."""
    draw = into.draw
    cliques, size = draw.randint(2, 8), draw.randint(2, 8)
    inside, between = (into.speed(), into.latency()), (into.speed(), into.latency())
    members = [[into.node() for _ in range(size)] for _ in range(cliques)]
    for clique in members:
        for pair in itertools.combinations(clique, 2):
            into.join(*pair, *inside)
    for number in range(cliques if cliques > 2 else 1):
        for _ in range(draw.randint(1, 2)):
            into.join(draw.choice(members[number]), draw.choice(members[(number + 1) % cliques]), *between)


def tree_of_nodes(into: Drawing) -> None:
    """A tree, a star, a chain or a pair; every link has a speed of its own."""
    draw = into.draw
    count = draw.choice((2, 2, 3, 5, 9, 17, 30))
    nodes = [into.node() for _ in range(count)]
    reach = draw.choice((1, 2, count))
    for number in range(1, count):
        parent = 0 if draw.random() < 0.3 else draw.randrange(max(0, number - reach), number)
        into.join(nodes[parent], nodes[number], into.speed(), into.latency())


def tree_of_switches(into: Drawing) -> None:
    """A tree of switches with nodes at any of them."""
    draw = into.draw
    switches = [into.switch() for _ in range(draw.randint(1, 10))]
    for number in range(1, len(switches)):
        into.join(switches[draw.randrange(number)], switches[number], into.speed(), into.latency())
    for _ in range(draw.randint(2, 40)):
        into.join(into.node(), draw.choice(switches), into.speed(), into.latency())


def anything(into: Drawing) -> None:
    """Nodes and switches joined at random, every link of its own speed, parallel ones among them."""
    draw = into.draw
    count = draw.randint(3, 40)
    vertices = [into.node() if number < 2 or draw.random() < 0.7 else into.switch() for number in range(count)]
    draw.shuffle(vertices)
    for number in range(1, count):
        into.join(vertices[draw.randrange(number)], vertices[number], into.speed(), into.latency())
    for _ in range(draw.randint(0, 2 * count)):
        one, other = draw.sample(vertices, 2)
        into.join(one, other, into.speed(), into.latency())


def one_way(into: Drawing) -> None:
    """A ring one way and further links one way."""
    draw = into.draw
    count = draw.randint(2, 20)
    vertices = [into.node() if number < 2 or draw.random() < 0.8 else into.switch() for number in range(count)]
    draw.shuffle(vertices)
    ends = list(zip(vertices, vertices[1:] + vertices[:1], strict=True))
    for _ in range(draw.randint(0, 3 * count)):
        start, end = draw.sample(vertices, 2)
        ends.append((start, end))
    for start, end in ends:
        into.links.append({"from": start, "to": end, "bandwidth": into.speed(), "latency": into.latency()})


KINDS: tuple[Callable[[Drawing], None], ...] = (
    tori, systems_on_a_torus, torus_inside, systems_with_rails, fat_tree, dragonfly, hypercube, ring_of_cliques,
    tree_of_nodes, tree_of_switches, anything, one_way,
)  # fmt: skip


def take_apart(into: Drawing) -> None:
    """Links that are slower one way, missing links, and nodes that are dead."""
    draw = into.draw
    if draw.random() < 0.25:
        for link in draw.sample(into.links, max(1, len(into.links) // 10)):
            link["bandwidth"] *= draw.choice((0.5, 0.1, 0.73))
    if draw.random() < 0.3:
        for _ in range(draw.randint(1, 3)):
            start, end = (draw.choice(into.links)[key] for key in ("from", "to"))
            into.links = [link for link in into.links if {link["from"], link["to"]} != {start, end}] or into.links
    if draw.random() < 0.15 and len(into.nodes) > 3:
        dead = set(draw.sample(into.nodes, draw.randint(1, 2)))
        into.nodes = [node for node in into.nodes if node not in dead]
        into.links = [link for link in into.links if not dead & {link["from"], link["to"]}]


def reaches_all(graph: Graph, members: list[str]) -> bool:
    """Whether messages get from every member to every other; nodes that are no members pass on if routers are there."""
    out, back = defaultdict(list), defaultdict(list)
    passing = {*members, *graph["switches"], *(graph["nodes"] if graph["forwards"] else ())}
    for link in graph["links"]:
        out[link["from"]].append(link["to"])
        back[link["to"]].append(link["from"])
    for near in (out, back):
        seen, stack = {members[0]}, [members[0]]
        while stack:
            for vertex in near[stack.pop()]:
                if vertex in passing and vertex not in seen:
                    seen.add(vertex)
                    stack.append(vertex)
        if not seen.issuperset(members):
            return False
    return True


def abilities(seed: int, switches: list[str]) -> Graph:
    """The switches of a network that copy, and those that add: of some networks none."""
    draw = random.Random(f"abilities {seed}")
    if not switches or draw.random() < 0.5:
        return {}
    share = draw.choice((0.5, 1.0, 1.0))
    return {key: [name for name in switches if draw.random() < share] for key in ("multicast", "reduction")}


def invented(seed: int) -> tuple[Graph, list[int] | None]:
    """A network by its seed, and the nodes of a group or None for all; up to 64 nodes, all joined."""
    draw = random.Random(f"invented {seed}")
    kind = KINDS[seed % len(KINDS)]
    while True:
        into = Drawing(draw)
        kind(into)
        take_apart(into)
        graph = {
            "name": f"{kind.__name__.replace('_', ' ')} {seed}",
            "nodes": into.nodes,
            "switches": into.switches,
            "message_seconds": draw.choice((0.0, 1e-6, 2e-6, 1e-5)),
            "forwards": draw.random() < 0.3,
            "links": into.links,
        }
        if not 2 <= len(into.nodes) <= MAX_NODES or not into.links:
            continue
        group = None
        if draw.random() < 0.25 and len(into.nodes) > 2:
            group = draw.sample(range(len(into.nodes)), draw.randint(2, len(into.nodes) - 1))
        graph |= abilities(seed, into.switches)
        members = into.nodes if group is None else [into.nodes[index] for index in group]
        if reaches_all(graph, members):
            return graph, group

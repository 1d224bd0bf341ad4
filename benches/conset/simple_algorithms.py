"""The algorithms of libraries on any network, as messages over quickest paths: what a compiled schedule has to beat.

Rings in the order of ranks and from each to one that is near, recursive doubling, halving and doubling, Bruck's
distances, direct exchanges, binomial trees, all to or from the root at once, and pipelines over a tree of neighbours.
Whoever compiles for a network may take any of them.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence

from benches.conset.oracles import Content, Sent

Rounds = list[list[tuple[int, int, float]]]
"""Of each round from, to and bytes; a rank sends when all that it gets in earlier rounds has come."""

Paths = dict[tuple[int, int], list[int]]

PIECES = (1, 4, 16, 64)
"""Of a pipeline."""


def paths(fabric: Content, length: float) -> Paths:
    """The links between ranks on which a message takes least time; through no rank where none forwards."""
    ranks, links = fabric["ranks"], fabric["links"]
    out = defaultdict(list)
    for number, link in enumerate(links):
        out[link["from"]].append((number, link["to"], link["latency"] + length / link["bandwidth"]))
    known: Paths = {}
    number_of = {vertex: rank for rank, vertex in enumerate(ranks)}
    for rank, start in enumerate(ranks):
        done: dict[int, list[int]] = {}
        waiting: list[tuple[float, int, int, list[int]]] = [(0.0, 0, start, [])]
        while waiting:
            seconds, hops, vertex, path = heapq.heappop(waiting)
            if vertex in done:
                continue
            done[vertex] = path
            if vertex != start and vertex in number_of and not fabric["forwards"]:
                continue
            for number, to, own in out[vertex]:
                if to not in done:
                    heapq.heappush(waiting, (seconds + own, hops + 1, to, [*path, number]))
        known |= {(rank, number_of[end]): path for end, path in done.items() if end != start and end in number_of}
    return known


def near_order(ranks: int, of_pair: Paths, root: int = 0) -> list[int] | None:
    """From each rank to one that has not been reached and has the fewest links in between."""
    order = [root]
    while len(order) < ranks:
        left = ((len(path), to) for (start, to), path in of_pair.items() if start == order[-1] and to not in order)
        nearest = min(left, default=None)
        if nearest is None:
            return None
        order.append(nearest[1])
    return order


def in_rounds(collective: str, ranks: int, length: float, of_pair: Paths, root: int) -> Iterator[tuple[str, Rounds]]:
    """The algorithms that go in rounds."""
    share = length / ranks
    is_half = collective in ("allgather", "reduce-scatter")
    power = 1 << ranks.bit_length() - 1
    bits = [1 << bit for bit in range(power.bit_length() - 1)]
    for name, order in (("ring", list(range(ranks))), ("near ring", near_order(ranks, of_pair))):
        if order is not None and (is_half or collective == "allreduce"):
            step = [(start, order[(index + 1) % ranks], share) for index, start in enumerate(order)]
            yield name, [step] * ((ranks - 1) * (1 if is_half else 2))
    direct = [(rank, (rank + by) % ranks, share) for by in range(1, ranks) for rank in range(ranks)]
    doubled = [1 << bit for bit in range((ranks - 1).bit_length())]
    if is_half:
        yield "direct", [direct]
        bruck = [[(rank, (rank - by) % ranks, share * min(by, ranks - by)) for rank in range(ranks)] for by in doubled]
        yield "Bruck", bruck if collective == "allgather" else _backwards(bruck)
        if power == ranks:
            doubling = [[(rank, rank ^ bit, share * bit) for rank in range(ranks)] for bit in bits]
            yield "doubling", doubling if collective == "allgather" else doubling[::-1]
    if collective == "allreduce":
        folding = [[(power + rank, rank, length) for rank in range(ranks - power)]]
        unfolding = _backwards(folding)
        yield (
            "doubling",
            [*folding, *[[(rank, rank ^ bit, length) for rank in range(power)] for bit in bits], *unfolding],
        )
        for name, order in (("halving", bits[::-1]), ("halving, nearest first", bits)):
            halving = [
                [(rank, rank ^ bit, length / (2 << step)) for rank in range(power)] for step, bit in enumerate(order)
            ]
            yield name, [*folding, *halving, *halving[::-1], *unfolding]
        yield "direct", [direct, direct]
    tree = [
        [((rank + root) % ranks, (rank + by + root) % ranks, length) for rank in range(min(by, ranks - by))]
        for by in doubled
    ]
    if collective == "all-to-all":
        yield "direct", [direct]
        yield "pairwise", [[(rank, (rank + by) % ranks, share) for rank in range(ranks)] for by in range(1, ranks)]
        carried = {by: share * sum(bool(other & by) for other in range(1, ranks)) for by in doubled}
        yield "Bruck", [[(rank, (rank + by) % ranks, carried[by]) for rank in range(ranks)] for by in doubled]
    if collective == "broadcast":
        yield "binomial tree", tree
        yield "all at once", [[(root, rank, length) for rank in range(ranks) if rank != root]]
    elif collective == "reduce":
        yield "binomial tree", _backwards(tree)
        yield "all at once", [[(rank, root, length) for rank in range(ranks) if rank != root]]
    elif collective == "allreduce":
        yield "binomial tree", _backwards(tree) + tree


def _backwards(rounds: Rounds) -> Rounds:
    return [[(end, start, length) for start, end, length in messages] for messages in reversed(rounds)]


def of_rounds(rounds: Rounds, of_pair: Paths) -> list[Sent] | None:
    """Rounds as messages; None where there is no path for one."""
    out: list[Sent] = []
    come: dict[int, list[int]] = defaultdict(list)
    for messages in rounds:
        new: dict[int, list[int]] = defaultdict(list)
        for start, end, length in messages:
            if (start, end) not in of_pair:
                return None
            new[end].append(len(out))
            out.append((start, end, of_pair[start, end], length, come[start]))
        for rank, numbers in new.items():
            come[rank] = come[rank] + numbers
    return out


def pipeline(collective: str, ranks: int, length: float, of_pair: Paths, root: int, pieces: int) -> list[Sent] | None:
    """Pieces over a tree of neighbours, in which every rank is reached through the fewest ranks."""
    above, edges = {root: root}, list[tuple[int, int]]()
    for rank in itertools.chain([root], (edge[1] for edge in edges)):
        near = sorted((len(path), to) for (start, to), path in of_pair.items() if start == rank and len(path) <= 2)
        for _, to in near:
            if to not in above:
                above[to] = rank
                edges.append((rank, to))
    if len(above) < ranks or any((end, start) not in of_pair for start, end in edges):
        return None
    out: list[Sent] = []
    for _ in range(pieces):
        come: dict[int, list[int]] = defaultdict(list)
        sums = [(end, start) for start, end in reversed(edges)] if collective != "broadcast" else []
        copies = edges if collective != "reduce" else []
        for number, (start, end) in enumerate([*sums, *copies]):
            if number == len(sums):
                come = defaultdict(list, {root: come[root]})
            waits = list(come[start])
            come[end].append(len(out))
            out.append((start, end, of_pair[start, end], length / pieces, waits))
    return out


def all_of(collective: str, fabric: Content, length: int, root: int, most: int) -> Iterator[tuple[str, Sequence[Sent]]]:
    """Every algorithm that this network has paths for, of at most so many messages."""
    ranks = len(fabric["ranks"])
    for bytes_ in (0.0, length / ranks):
        of_pair = paths(fabric, bytes_)
        for name, rounds in in_rounds(collective, ranks, float(length), of_pair, root):
            messages = of_rounds(rounds, of_pair)
            if messages is not None and len(messages) <= most:
                yield name, messages
        if collective in ("broadcast", "reduce", "allreduce"):
            for pieces in PIECES:
                piped = pipeline(collective, ranks, float(length), of_pair, root, pieces)
                if piped is not None and len(piped) <= most:
                    yield f"{pieces} pieces over a tree", piped

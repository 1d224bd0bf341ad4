"""What a compiled collective should be, by code that shares nothing with the compiler, its verifier or its executor.

The cut that limits an allgather comes from maximum flows of scipy, the data that every rank has from following every
piece of the buffer through a schedule, what links carry from adding bytes up, and times from a simulation of messages
that cross one link after another.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

Content = dict[str, Any]

LARGEST = 1 << 30
"""Flows of scipy are of 32 bits."""


def ratio_of(fabric: Content, inside: set[int], reverse: bool) -> float:
    """Bandwidth out of a set of vertices by the ranks in it."""
    near, far = ("to", "from") if reverse else ("from", "to")
    out = sum(link["bandwidth"] for link in fabric["links"] if link[near] in inside and link[far] not in inside)
    return float(out) / sum(rank in inside for rank in fabric["ranks"])


def cut_rate(fabric: Content, reverse: bool = False) -> float:
    """Bytes a second that no rank can exceed in distributing to all (or collecting, with `reverse`): the smallest cut.

    Of a rate that all ranks supply, a rank that a maximum flow does not bring all of it to is behind a smaller cut. The
    rate becomes that of this cut, until there is none smaller.
    """
    ranks, size = fabric["ranks"], len(fabric["vertices"])
    near, far = ("to", "from") if reverse else ("from", "to")
    pairs: dict[tuple[int, int], float] = defaultdict(float)
    for link in fabric["links"]:
        pairs[link[near], link[far]] += link["bandwidth"]
    rate = min(ratio_of(fabric, set(range(size)) - {rank}, reverse) for rank in ranks)
    while True:
        unit = LARGEST / (rate * len(ranks))
        entries = [(start, end, min(speed * unit, LARGEST)) for (start, end), speed in pairs.items()]
        entries += [(size, rank, rate * unit) for rank in ranks]
        rows, columns, values = zip(*entries, strict=True)
        capacities = np.array(values).astype(np.int32)
        network: Any = coo_array((capacities, (rows, columns)), shape=(size + 1, size + 1)).tocsr()
        smallest = rate
        for rank in ranks:
            flow = maximum_flow(network, size, rank)
            residual = network - flow.flow
            residual.data[residual.data < 0] = 0
            residual.eliminate_zeros()
            inside = set(breadth_first_order(residual, size, return_predecessors=False).tolist()) - {size}
            if inside & set(ranks) and rank not in inside:
                smallest = min(smallest, ratio_of(fabric, inside, reverse))
        if smallest >= rate * (1 - 1e-9):
            return smallest
        rate = smallest


def every_cut_rate(fabric: Content, reverse: bool = False) -> float:
    """The same by looking at every set of vertices."""
    ranks, size = set(fabric["ranks"]), len(fabric["vertices"])
    sets = ({vertex for vertex in range(size) if number >> vertex & 1} for number in range(1, 1 << size))
    return min(ratio_of(fabric, inside, reverse) for inside in sets if inside & ranks and not ranks <= inside)


def transfers_of(content: Content) -> Iterable[list[tuple[list[int], int]]]:
    """Of each stage, or of the exchange, the links and bytes of all that is sent."""
    for stage in content["stages"]:
        yield [(path, tree["bytes"]) for tree in stage["trees"] for _, _, path in tree["transfers"]]
    if content.get("exchange"):
        routes = content["exchange"]["routes"]
        messages = itertools.chain.from_iterable(each["messages"] for each in content["exchange"]["rounds"])
        yield [(routes[route][2], length) for route, _, length in messages]


def seconds_of_links(content: Content) -> float:
    """Seconds of the fullest links for all that they carry, one stage after another."""
    links, seconds = content["fabric"]["links"], 0.0
    for sent in transfers_of(content):
        carried = [0.0] * len(links)
        for path, length in sent:
            for link in path:
                carried[link] += length
        seconds += max(bytes_ / link["bandwidth"] for bytes_, link in zip(carried, links, strict=True))
    return seconds


def shards(content: Content) -> list[int]:
    """Where the shard of each rank begins, and the end of the last: elements divided, the first having one more."""
    count, ranks = content["bytes"] // content["element_bytes"], len(content["fabric"]["ranks"])
    each, more = divmod(count, ranks)
    starts = [(rank * each + min(rank, more)) * content["element_bytes"] for rank in range(ranks)]
    return [*starts, content["bytes"]]


def blocks(content: Content) -> list[list[int]]:
    """Bytes of the block of every rank for every rank, of an all-to-all."""
    starts = shards(content)
    even = [[after - before for before, after in itertools.pairwise(starts)]] * len(content["fabric"]["ranks"])
    unlike: list[list[int]] | None = content.get("blocks")
    return unlike or even


def switches(fabric: Content) -> list[Content]:
    """Those that copy or add, in the order in which they are numbered after the ranks."""
    able: list[Content] = fabric.get("in_network", [])
    return able


def wrong_path(fabric: Content, start: int, end: int, path: Sequence[int]) -> str | None:
    """What is wrong with the links between two ranks, or switches that copy or add."""
    members = [*fabric["ranks"], *(switch["vertex"] for switch in switches(fabric))]
    at = members[start]
    for link in path:
        if fabric["links"][link]["from"] != at:
            return f"a path from rank {start} to {end} is broken"
        at = fabric["links"][link]["to"]
        if at in fabric["ranks"] and at != members[end] and not fabric["forwards"]:
            return f"a path from rank {start} to {end} goes through a rank"
    return None if at == members[end] and path else f"a path from rank {start} to {end} ends elsewhere"


def wrong_switch(content: Content) -> str | None:
    """What a switch is to do that it cannot."""
    ranks, able = len(content["fabric"]["ranks"]), switches(content["fabric"])
    for operation, messages in _steps(content):
        for start, end, *_ in messages:
            if operation == "copy" and start >= ranks and not able[start - ranks]["multicast"]:
                return f"switch {start} is to copy"
            if operation == "reduce" and end >= ranks and not able[end - ranks]["reduction"]:
                return f"switch {end} is to add"
    return None


def wrong_data(content: Content) -> str | None:
    """What ranks have in the end that they should not, or have not; None where all have what they should."""
    fabric = content["fabric"]
    ranks, routes = len(fabric["ranks"]), (content.get("exchange") or {}).get("routes", [])
    sent = [transfer for stage in content["stages"] for tree in stage["trees"] for transfer in tree["transfers"]]
    for start, end, path in [*sent, *routes]:
        if wrong := wrong_path(fabric, start, end, path):
            return wrong
    if wrong := wrong_switch(content):
        return wrong
    steps = list(_steps(content))
    if content["collective"] == "all-to-all":
        return wrong_blocks(content, [step for _, messages in steps for step in messages])
    ends = {0, content["bytes"], *shards(content)}
    for _, _, start, length in itertools.chain.from_iterable(messages for _, messages in steps):
        ends |= {start, start + length}
    bounds = sorted(ends)
    if bounds[0] < 0 or bounds[-1] > content["bytes"]:
        return "a range outside the buffer"
    index = {bound: number for number, bound in enumerate(bounds)}
    owner = np.searchsorted(shards(content), bounds[:-1], side="right") - 1
    # How often each rank, and each switch, has each rank's summand of each piece.
    held = np.zeros((len(bounds) - 1, ranks + len(switches(fabric)), ranks), dtype=np.int16)
    kind, root = content["collective"], content["root"]
    if kind == "allgather":
        held[np.arange(len(owner)), owner, owner] = 1
    elif kind == "broadcast":
        held[:, root, root] = 1
    else:
        held[:, np.arange(ranks), np.arange(ranks)] = 1
    for operation, messages in steps:
        before = held.copy() if len(messages) > 1 else held
        for start, end, first, length in messages:
            pieces = slice(index[first], index[first + length])
            if not before[pieces, start].any(axis=1).all():
                return f"rank {start} sends what it does not have"
            if operation == "reduce":
                held[pieces, end] += before[pieces, start]
            else:
                held[pieces, end] = before[pieces, start]
    held = held[:, :ranks]
    wanted = np.zeros_like(held)
    if kind == "allgather":
        wanted[np.arange(len(owner)), :, owner] = 1
    elif kind == "broadcast":
        wanted[:, :, root] = 1
    else:
        wanted[:] = 1
    at = np.arange(len(owner))
    if kind == "reduce-scatter":
        is_right = (held[at, owner] == wanted[at, owner]).all()
    elif kind == "reduce":
        is_right = (held[:, root] == wanted[:, root]).all()
    else:
        is_right = (held == wanted).all()
    return None if is_right else "a rank has not what it should have in the end"


def wrong_blocks(content: Content, sent: Sequence[tuple[int, int, int, int]]) -> str | None:
    """The same of an all-to-all: who has each piece of all ranks' buffers, which count one after another."""
    whole, lengths = content["bytes"], blocks(content)
    owners = {
        rank * whole + start: (rank, receiver)
        for rank, row in enumerate(lengths)
        for receiver, start in enumerate(itertools.accumulate(row, initial=0))
        if receiver < len(row) and row[receiver]
    }
    ends = {0, whole * len(lengths), *owners, *(rank * whole + sum(row) for rank, row in enumerate(lengths))}
    for _, _, start, length in sent:
        ends |= {start, start + length}
    bounds = sorted(ends)
    if bounds[0] < 0 or bounds[-1] > whole * len(lengths):
        return "a range outside the buffers"
    index = {bound: number for number, bound in enumerate(bounds)}
    who_has = np.zeros((len(bounds) - 1, len(lengths)), dtype=bool)
    for piece, bound in enumerate(bounds[:-1]):
        who_has[piece, bound // whole] = True
    for start, end, first, length in sent:
        pieces = slice(index[first], index[first + length])
        if not who_has[pieces, start].all():
            return f"rank {start} sends what it does not have"
        who_has[pieces, end] = True
    for bound, (rank, receiver) in owners.items():
        pieces = slice(index[bound], index[bound + lengths[rank][receiver]])
        if not who_has[pieces, receiver].all():
            return f"rank {receiver} has not its block of rank {rank}"
    return None


def _steps(content: Content) -> Iterable[tuple[str, list[tuple[int, int, int, int]]]]:
    """What is sent at the same time, and whether it is added: from, to, first byte, bytes."""
    for stage in content["stages"]:
        for tree in stage["trees"]:
            transfers = tree["transfers"]
            both = tree.get("reductions", len(transfers) // 2)
            half = {"copy": 0, "reduce": len(transfers)}.get(stage["operation"], both)
            for number, (start, end, _) in enumerate(transfers):
                operation = "reduce" if number < half else "copy"
                if tree["bytes"]:
                    yield operation, [(start, end, tree["start"], tree["bytes"])]
    exchange = content.get("exchange") or {"rounds": [], "routes": []}
    for round_ in exchange["rounds"]:
        ends = ((exchange["routes"][route], first, length) for route, first, length in round_["messages"])
        yield round_["operation"], [(start, end, first, length) for (start, end, _), first, length in ends]


SENT, RECEIVED = -2, -1
"""What a processor does with a message. What it can send comes before what else has come: a program passes a piece on
before it takes the next one."""

Sent = tuple[int, int, Sequence[int], float, Sequence[int]]
"""A message: from, to, links, bytes, and the numbers of the messages that must have come before it is sent."""


def seconds_of_messages(fabric: Content, messages: Sequence[Sent]) -> float:
    """Seconds until all messages have come.

    A processor takes half of `message_seconds` to send one and as long to receive one, and does one at a time, in the
    order in which they can be done, of those that wait for it sends first. A message takes link after link of its path,
    as soon as its head has come and the link is free, for its bytes at the pace of that link; it is there when its last
    byte is.
    """
    links, own = fabric["links"], fabric["message_seconds"] / 2.0
    missing = [len(waits) for *_, waits in messages]
    following: list[list[int]] = [[] for _ in messages]
    for number, (*_, waits) in enumerate(messages):
        for before in waits:
            following[before].append(number)
    busy, free = [0.0] * len(fabric["ranks"]), [0.0] * len(links)
    # Time, what happens (or the hop that its head comes to), the message, when its last byte comes.
    events = [(0.0, SENT, number, 0.0) for number, count in enumerate(missing) if count == 0]
    heapq.heapify(events)
    done, last = 0, 0.0
    while events:
        now, hop, number, tail = heapq.heappop(events)
        start, end, path, length, _ = messages[number]
        if hop >= 0:
            link = path[hop]
            head = max(now, free[link])
            free[link] = head + length / links[link]["bandwidth"]
            tail = max(tail, free[link]) + links[link]["latency"]
            head += links[link]["latency"]
            is_last = hop == len(path) - 1
            heapq.heappush(events, (tail if is_last else head, RECEIVED if is_last else hop + 1, number, tail))
            continue
        rank = start if hop == SENT else end
        if busy[rank] > now:
            heapq.heappush(events, (busy[rank], hop, number, tail))
            continue
        busy[rank] = now + own
        if hop == SENT:
            heapq.heappush(events, (now + own, 0, number, now + own))
            continue
        done, last = done + 1, max(last, busy[rank])
        for after in following[number]:
            missing[after] -= 1
            if missing[after] == 0:
                heapq.heappush(events, (busy[rank], SENT, after, 0.0))
    if done != len(messages):
        raise ValueError("messages wait for each other")
    return last


def messages_of(content: Content, most: int) -> list[Sent] | None:
    """The messages of a schedule and what each waits for; None where there are more than `most`."""
    out: list[Sent] = []
    stage_ends: dict[int, list[int]] = {}
    for stage in content["stages"]:
        trees = [tree for tree in stage["trees"] if tree["bytes"]]
        chunks = min(stage["chunks"], max(tree["bytes"] // content["element_bytes"] for tree in trees))
        if stage["merged"]:
            first = len(out)
            out += _merged(stage, trees, stage_ends, first)
        else:
            if len(out) + chunks * sum(len(tree["transfers"]) for tree in trees) > most:
                return None
            first = len(out)
            for _, tree in itertools.product(range(chunks), trees):
                come: dict[int, list[int]] = defaultdict(list)
                for start, end, path in tree["transfers"]:
                    waits = [*come[start]]
                    if not come[start]:
                        waits += stage_ends.get(start, [])
                    come[end].append(len(out))
                    out.append((start, end, path, tree["bytes"] / chunks, waits))
        stage_ends = defaultdict(list)
        for number in range(first, len(out)):
            stage_ends[out[number][1]].append(number)
    exchange = content.get("exchange")
    if exchange:
        come_before: dict[int, list[int]] = defaultdict(list)
        for round_ in exchange["rounds"]:
            come = defaultdict(list)
            for route, _, length in round_["messages"]:
                start, end, path = exchange["routes"][route]
                come[end].append(len(out))
                out.append((start, end, path, length, come_before[start]))
            for rank, numbers in come.items():
                come_before[rank] = come_before[rank] + numbers
    return out if len(out) <= most else None


def _merged(stage: Content, trees: list[Content], before: dict[int, list[int]], first: int) -> list[Sent]:
    """One message for all that goes from one rank to another."""
    pairs: dict[tuple[int, int], int] = {}
    for tree in trees:
        for start, end, _ in tree["transfers"]:
            pairs.setdefault((start, end), first + len(pairs))
    lengths: dict[int, float] = defaultdict(float)
    waits: dict[int, set[int]] = defaultdict(set)
    paths: dict[int, Sequence[int]] = {}
    for tree in trees:
        come: dict[int, list[int]] = defaultdict(list)
        for start, end, path in tree["transfers"]:
            number = pairs[start, end]
            lengths[number] += tree["bytes"]
            paths.setdefault(number, path)
            waits[number].update(come[start] or before.get(start, []))
            come[end].append(number)
    return [
        (start, end, paths[number], lengths[number], sorted(waits[number])) for (start, end), number in pairs.items()
    ]

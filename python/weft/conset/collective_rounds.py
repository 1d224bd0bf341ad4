"""A compiled collective as rounds of messages: what executions and exports have in common.

Trees that are sent in pieces, merged messages and exchanges all come to this: in every round a rank sends what it had
before, then takes what comes, as a copy or as a summand; and it goes on when all of its own messages are through.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from weft._core import UsageError

if TYPE_CHECKING:
    from weft._core import CollectiveSchedule


class Range(NamedTuple):
    """Elements of the whole buffer; of an all-to-all, of the buffers of all ranks, one after another."""

    first: int
    length: int


class Message(NamedTuple):
    """What one rank sends to another in a round, and whether it is added to what is there."""

    sender: int
    receiver: int
    ranges: tuple[Range, ...]
    is_reduction: bool

    @property
    def elements(self) -> int:
        """Elements of all ranges."""
        return sum(where.length for where in self.ranges)


@dataclass
class Round:
    """Messages that do not wait for each other."""

    messages: list[Message] = field(default_factory=list)


def rounds(schedule: CollectiveSchedule) -> list[Round]:
    """The rounds of a verified schedule between ranks, in order; ranks stand in for switches that copy or add.

    Raises
    ------
    UsageError
        If its trees are written for rank 0 only and moved to the others: all their messages are too many.

    Examples
    --------
    >>> from weft.conset import collectives
    >>> allreduce = collectives.compile("allreduce", "hgx-h100", "4K", method="latency").schedule
    >>> all_rounds = rounds(allreduce)
    >>> all_rounds[0].messages[0].is_reduction, sum(len(each.messages) for each in all_rounds) == allreduce.messages
    (True, True)
    """
    content = json.loads(schedule.to_json())
    if "exchange" in content:
        return list(_exchanged(content["exchange"], content["element_bytes"]))
    if any(stage.get("translated") for stage in content["stages"]):
        raise UsageError(
            f"the {schedule.collective} on {schedule.machine} has {schedule.trees:,} trees, written for rank 0 and "
            f"moved to the others; its {schedule.messages:,} messages are too many to be written one by one: compile "
            "for a group of its nodes"
        )
    size, ranks = content["element_bytes"], schedule.ranks
    return [
        each
        for stage in content["stages"]
        for each in (_merged(stage, size) if stage["merged"] else _pipelined(stage, size, ranks))
    ]


def shard(schedule: CollectiveSchedule, rank: int) -> Range:
    """A rank's shard, or the block for it in the buffer of every rank; the first ones have one element more where they
    do not divide evenly.

    Examples
    --------
    >>> from weft.conset import collectives
    >>> shard(collectives.compile("allgather", "hgx-h100", 4 * 9).schedule, 1)
    Range(first=2, length=1)
    """
    each, more = divmod(schedule.bytes // schedule.element_bytes, schedule.ranks)
    return Range(rank * each + min(rank, more), each + (rank < more))


def _exchanged(exchange: dict[str, Any], size: int) -> Iterator[Round]:
    for each in exchange["rounds"]:
        messages = []
        for route, start, length in each["messages"]:
            sender, receiver, _ = exchange["routes"][route]
            where = Range(start // size, length // size)
            messages.append(Message(sender, receiver, (where,), each["operation"] == "reduce"))
        yield Round(messages)


def _pipelined(stage: dict[str, Any], size: int, ranks: int) -> list[Round]:
    """Every piece of a tree is passed on in the round after that in which it came."""
    chunks = stage["chunks"]
    of_round: dict[int, list[Message]] = defaultdict(list)
    for tree in stage["trees"]:
        first, count = tree["start"] // size, tree["bytes"] // size
        cuts = [first + count * chunk // chunks for chunk in range(chunks + 1)]
        begin = 0
        for is_reduction, pairs in zip((True, False), between_ranks(tree, stage["operation"], ranks), strict=True):
            # What is copied after it was reduced has come through the transfers to the root.
            depth: dict[int, int] = {}
            for sender, receiver in pairs:
                at = depth.get(sender, begin)
                depth[receiver] = max(depth.get(receiver, begin), at + 1)
                for chunk in range(chunks):
                    piece = Range(cuts[chunk], cuts[chunk + 1] - cuts[chunk])
                    if piece.length:
                        message = Message(sender, receiver, (piece,), is_reduction)
                        of_round[at + chunk].append(message)
            begin = max(depth.values(), default=begin)
    return [Round(of_round[number]) for number in sorted(of_round)]


def halves(tree: dict[str, Any], operation: str) -> tuple[list[Any], list[Any]]:
    """The transfers of a tree that reduce, and those that copy, in a stage of this operation.

    Examples
    --------
    >>> halves({"transfers": [[0, 1, [5]], [1, 0, [6]]]}, "reduce-broadcast")
    ([[0, 1, [5]]], [[1, 0, [6]]])
    """
    transfers = tree["transfers"]
    reductions = {"copy": 0, "reduce": len(transfers), "reduce-broadcast": len(transfers) // 2}[operation]
    reductions = tree.get("reductions", reductions)
    return transfers[:reductions], transfers[reductions:]


Pairs = list[tuple[int, int]]
"""Senders and receivers."""


def between_ranks(tree: dict[str, Any], operation: str, ranks: int) -> tuple[Pairs, Pairs]:
    """Sender and receiver of the transfers that reduce, and of those that copy, between ranks alone.

    A rank stands in for every switch that adds or copies (they are numbered after the ranks): the one that it sends its
    sum to, or has its copy from; for a switch at the root a rank whose sum comes over switches only.

    Examples
    --------
    >>> through_switch = [[0, 2, [0]], [1, 2, [2]], [2, 0, [1]], [2, 1, [3]]]
    >>> between_ranks({"root": 2, "transfers": through_switch}, "reduce-broadcast", 2)
    ([(1, 0)], [(0, 1)])
    """
    reductions, copies = halves(tree, operation)
    root = tree["root"]
    while root >= ranks:
        root = next(sender for sender, receiver, _ in reductions if receiver == root)
    summed: Pairs = []
    stands_in = {tree["root"]: root}
    for sender, receiver, _ in reversed(reductions):
        to = stands_in.get(receiver, receiver)
        if sender >= ranks:
            stands_in[sender] = to
        elif sender != to:
            summed.append((sender, to))
    copied: Pairs = []
    stands_in = {tree["root"]: root}
    for sender, receiver, _ in copies:
        by = stands_in.get(sender, sender)
        if receiver >= ranks:
            stands_in[receiver] = by
        elif receiver != root:
            copied.append((by, receiver))
    return summed[::-1], copied


def _merged(stage: dict[str, Any], size: int) -> list[Round]:
    """Messages of all that goes from one rank to another, those first that wait for none."""
    ranges: dict[tuple[int, int], list[Range]] = defaultdict(list)
    waits: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
    for tree in (tree for tree in stage["trees"] if tree["bytes"]):
        arrived: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for sender, receiver, _ in tree["transfers"]:
            ranges[sender, receiver].append(Range(tree["start"] // size, tree["bytes"] // size))
            waits[sender, receiver].update(arrived[sender])
            arrived[receiver].append((sender, receiver))
    result: list[Round] = []
    left, sent = sorted(ranges), set[tuple[int, int]]()
    while left:
        ready = [pair for pair in left if waits[pair] <= sent]
        is_reduction = stage["operation"] == "reduce"
        result.append(Round([Message(*pair, tuple(ranges[pair]), is_reduction) for pair in ready]))
        sent.update(ready)
        left = [pair for pair in left if pair not in sent]
    return result

"""A compiled collective as text: its rounds, its trees or its paths."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from weft import units
from weft.conset.collective_rounds import halves
from weft.inputs import quoted

if TYPE_CHECKING:
    from weft._core import CollectiveSchedule

MAX_LINES = 64
"""Lines of a tree, and messages of a round, that are shown."""


def text(schedule: CollectiveSchedule) -> str:
    """A line for each round, or the trees or paths of the first root of each stage.

    Examples
    --------
    >>> from weft.conset import collectives
    >>> lines = text(collectives.compile("broadcast", "hgx-h100", "1K", method="throughput").schedule).splitlines()
    >>> lines[0].startswith("broadcast on hgx-h100: 8 ranks, 1 KiB, trees, ")
    True
    """
    content = json.loads(schedule.to_json())
    seconds = units.seconds(schedule.predicted_seconds)
    lines = [
        f"{schedule.collective} on {quoted(schedule.machine)}: {schedule.ranks:,} ranks, "
        f"{units.length(schedule.bytes)}, {schedule.form}, {seconds}"
    ]
    if "exchange" in content:
        lines += _rounds(content["exchange"])
    for number, stage in enumerate(content["stages"]):
        lines += _stage(number, stage, member_names(content["fabric"]), noun(content))
    return "\n".join(lines) + "\n"


def _rounds(exchange: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield "round  what    messages  bytes of each      rank 0 sends to"
    for number, each in enumerate(exchange["rounds"]):
        lengths = sorted({length for _, _, length in each["messages"]})
        shown = f"{lengths[0]:,}" if len(lengths) == 1 else f"{lengths[0]:,} to {lengths[-1]:,}"
        routes = [exchange["routes"][route] for route, _, _ in each["messages"]]
        to = [str(receiver) for sender, receiver, _ in routes if sender == 0]
        more = f", and {len(to) - 8} more" if len(to) > 8 else ""
        yield f"{number:5}  {each['operation']:6}  {len(routes):8,}  {shown:17}  {', '.join(to[:8])}{more}".rstrip()


def member_names(fabric: dict[str, Any]) -> list[str]:
    """What the members of trees are called: ranks by their number, switches that copy or add by their name in quotes.

    Examples
    --------
    >>> member_names({"ranks": [0, 1], "vertices": ["a", "b", "hub"], "in_network": [{"vertex": 2}]})
    ['0', '1', "'hub'"]
    """
    switches = [f"'{quoted(fabric['vertices'][switch['vertex']])}'" for switch in fabric.get("in_network", [])]
    return [str(rank) for rank in range(len(fabric["ranks"]))] + switches


def noun(content: dict[str, Any]) -> str:
    """What ranges of bytes take in a compiled collective's file.

    Examples
    --------
    >>> noun({"collective": "all-to-all"}), noun({"collective": "reduce"})
    ('path', 'tree')
    """
    return "path" if content.get("collective") == "all-to-all" else "tree"


def _stage(number: int, stage: dict[str, Any], names: list[str], what: str) -> Iterator[str]:
    trees = stage["trees"]
    root = trees[0]["root"]
    of_root = [tree for tree in trees if tree["root"] == root]
    pieces = "merged messages" if stage["merged"] else f"in {stage['chunks']:,} pieces"
    yield ""
    moved = ", which are moved to all ranks" if stage.get("translated") else ""
    yield f"stage {number}: {stage['operation']}, {len(trees):,} {what}s{moved}, {pieces}; of root {names[root]}:"
    for index, tree in enumerate(of_root[:4]):
        yield f"  {what} {index}: {tree['bytes']:,} bytes from {tree['start']:,}"
        reductions, copies = halves(tree, stage["operation"])
        if copies and reductions and {(end, start) for start, end, _ in reductions} != {(a, b) for a, b, _ in copies}:
            yield "    sums come to the root over"
            yield from _tree(tree | {"transfers": reductions}, "reduce", names)
            yield "    and copies go out over"
        yield from _tree(tree, stage["operation"], names)
    if len(of_root) > 4:
        yield f"  and {len(of_root) - 4:,} more {what}s"


def one_way(tree: dict[str, Any], operation: str) -> list[Any]:
    """The transfers that are drawn: of a tree that reduces and copies those that copy.

    Examples
    --------
    >>> one_way({"transfers": [[0, 1, [5]], [1, 0, [6]]]}, "reduce-broadcast")
    [[1, 0, [6]]]
    """
    reductions, copies = halves(tree, operation)
    return copies or reductions


def ranks_below(tree: dict[str, Any], operation: str) -> dict[int, list[tuple[int, int]]]:
    """Of each rank of a tree those one level below it, with the links between both; empty for its leaves.

    Examples
    --------
    >>> dict(ranks_below({"root": 2, "transfers": [[0, 2, [5]], [3, 0, [5, 7]]]}, "reduce"))
    {2: [(0, 1)], 0: [(3, 2)]}
    """
    below: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for sender, receiver, links in one_way(tree, operation):
        near, far = (receiver, sender) if operation == "reduce" else (sender, receiver)
        below[near].append((far, len(links)))
    return below


def _tree(tree: dict[str, Any], operation: str, names: list[str]) -> Iterator[str]:
    """The members below the root, a step to the right for each transfer; with the links that it crosses."""
    below = ranks_below(tree, operation)
    left, lines = [(tree["root"], 0, 0)], 0
    while left and lines < MAX_LINES:
        rank, depth, links = left.pop()
        hops = f"  ({links} links)" if links > 1 else ""
        yield f"    {'  ' * depth}{names[rank]}{hops}"
        lines += 1
        left += [(far, depth + 1, count) for far, count in reversed(below[rank])]
    if left:
        yield f"    and {len(one_way(tree, operation)) + 1 - lines:,} more ranks"

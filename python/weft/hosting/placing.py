"""On which node each rank of a program runs."""

from __future__ import annotations

from collections.abc import Sequence

from weft._core import Machine, UsageError

__all__ = ["nodes_of"]


def nodes_of(
    machine: Machine, ranks: int, ranks_per_node: int | None = None, placement: str | Sequence[int] | None = None
) -> list[int] | None:
    """The node of each rank; None where rank r runs on node r.

    Parameters
    ----------
    machine
        Has the nodes.
    ranks
        How many ranks there are.
    ranks_per_node
        How many ranks a node has, one by default.
    placement
        `block`: ranks that follow each other share a node; `cyclic`: they are dealt out over the nodes in turn; a list
        of nodes, one for each rank, as numbers or as text (`0-3,8,8`). Default block.

    Raises
    ------
    weft.UsageError
        Where ranks and nodes do not go together.

    Examples
    --------
    >>> import weft
    >>> nodes_of(weft.machine("ipsc860"), 5, ranks_per_node=2)
    [0, 0, 1, 1, 2]
    >>> nodes_of(weft.machine("ipsc860"), 5, ranks_per_node=2, placement="cyclic")
    [0, 1, 2, 0, 1]
    >>> nodes_of(weft.machine("ipsc860"), 3, placement="7-5")
    [7, 6, 5]
    """
    if placement in (None, "block", "cyclic"):
        return _regular(machine, ranks, ranks_per_node, is_cyclic=placement == "cyclic")
    if ranks_per_node is not None:
        raise UsageError("a list of nodes says how many ranks each has: leave out how many ranks a node has")
    nodes = _listed(placement) if isinstance(placement, str) else [int(node) for node in placement or ()]
    if len(nodes) != ranks:
        raise UsageError(f"placement: {len(nodes)} nodes are listed for {ranks} ranks")
    for rank, node in enumerate(nodes):
        if not 0 <= node < machine.nodes:
            raise UsageError(
                f"placement: rank {rank} on node {node}: {machine.name} has nodes 0 to {machine.nodes - 1}"
            )
    return nodes


def _regular(machine: Machine, ranks: int, each: int | None, *, is_cyclic: bool) -> list[int] | None:
    if each is not None and each < 1:
        raise UsageError(f"expected at least one rank a node, found {each}")
    each = each or 1
    used = -(-ranks // each)
    if not 1 <= used <= machine.nodes:
        more = "" if each > 1 else "; --ranks-per-node places several on one"
        raise UsageError(
            f"expected 1 to {machine.nodes * each} ranks, {each} on each node of {machine.name}, found {ranks}{more}"
        )
    if each == 1:
        return None
    return [rank % used if is_cyclic else rank // each for rank in range(ranks)]


def _listed(text: str) -> list[int]:
    nodes: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise UsageError(
                f"placement: expected block, cyclic or nodes such as 0-3,8,8, found {text!r}: {part!r} is no node"
            )
        start, end = int(first), int(last or first)
        nodes.extend(range(start, end + 1) if start <= end else range(start, end - 1, -1))
    return nodes

"""Schedules as the XML of MSCCL, Microsoft's runtime of compiled collectives on GPUs.

MSCCL replaces a collective as a whole: here its all-to-all, of one chunk for each pair of ranks. Chunk `d` of the input
of rank `s` goes to chunk `s` of the output of rank `d`, a rank's own chunk is copied. Every rank has a threadblock for
each peer that it sends to and for each that it receives from; a step of a threadblock waits (`depid`, `deps`) for all
that the rank did in the phase before, so that phases follow each other.

What the runtime takes is in its sources (github.com/microsoft/msccl, `src/include/msccl.h` and the reader in
`src/graph/topo.cc`); the limits below have the names that they have there.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

from weft._core import ConnectionSet, UsageError
from weft.inputs import quoted

MAX_NUM_THREAD_BLOCKS = 216
"""Threadblocks of a GPU: MSCCL_MAX_NUM_THREAD_BLOCKS."""
MAX_NUM_STEPS = 256
"""Steps of a threadblock, and of those it waits for: MSCCL_MAX_NUM_STEPS."""
MAX_PEERS = 32
"""Peers of a channel in each direction: MSCCL_MAX_NUM_THREAD_BLOCKS_PER_CHANNEL."""
MAX_CHANNELS = 32
"""Channels: NCCL's MAXCHANNELS."""
MAX_AWAITED = 127
"""The last threadblock that a step can wait for: mscclThreadBlock::dependentBid has 8 bits and a sign."""
MAX_BYTES = (1 << 63) - 1
"""An algorithm is taken for messages of `minBytes` to `maxBytes`; this is all that `maxBytes` can say."""

_PEERS = MAX_PEERS - 1
"""Peers that are given a channel: the reader looks at the entry after the last one, too."""

Phases = Sequence[Sequence[dict[str, Any]]]
_Move = tuple[int, str, int]
"""Phase, `s` or `r`, and the peer."""


def algorithm(phases: Phases, connections: ConnectionSet) -> str:
    """The XML of an all-to-all.

    Parameters
    ----------
    phases
        The transfers of each phase: `connection`, `source`, `destination`, `words`.
    connections
        What they transfer: every ordered pair of ranks once, all with as many words.

    Raises
    ------
    UsageError
        For a pattern that is no whole all-to-all, transfers that are split, and where the runtime has a limit.
    """
    _check_chunks(connections, phases)
    _check_complete(connections)
    ranks = connections.nodes
    channels = max(1, -(-(ranks - 1) // _PEERS))
    top = ElementTree.Element(
        "algo",
        name=f"weft_{connections.name}",
        proto="Simple",
        nchannels=str(channels),
        nchunksperloop=str(ranks),
        ngpus=str(ranks),
        coll="alltoall",
        inplace="0",
        outofplace="1",
        minBytes="0",
        maxBytes=str(MAX_BYTES),
    )
    for rank in range(ranks):
        gpu = ElementTree.SubElement(top, "gpu", id=str(rank), i_chunks=str(ranks), o_chunks=str(ranks), s_chunks="0")
        _threadblocks(gpu, rank, ranks, channels, list(_moves(rank, phases)))
    check_limits(top)
    run(top)
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="unicode") + "\n"


def _check_chunks(connections: ConnectionSet, phases: Phases) -> None:
    pairs = [(source, destination) for source, destination, _ in connections.connections]
    if len(set(pairs)) < len(pairs):
        seen: set[tuple[int, int]] = set()
        double = next(pair for pair in pairs if pair in seen or seen.add(pair))  # type: ignore[func-returns-value]
        raise UsageError(
            f"MSCCL has one chunk for each pair of ranks; {double[0]} to {double[1]} has several connections"
        )
    if len({words for *_, words in connections.connections}) > 1:
        raise UsageError("MSCCL's chunks are all of one length; this pattern has connections of different lengths")
    whole: set[int] = set()
    for transfer in itertools.chain.from_iterable(phases):
        if transfer["connection"] in whole:
            raise UsageError(
                f"connection {transfer['connection']} is split over phases, and MSCCL's chunks are whole; compile "
                "with split=False (--whole)"
            )
        whole.add(transfer["connection"])


def _check_complete(connections: ConnectionSet) -> None:
    """MSCCL takes the algorithm for every all-to-all of the application, which counts on all chunks."""
    pairs = {(source, destination) for source, destination, _ in connections.connections}
    missing = connections.nodes * (connections.nodes - 1) - len(pairs)
    if missing:
        first = next(pair for pair in itertools.permutations(range(connections.nodes), 2) if pair not in pairs)
        raise UsageError(
            f"MSCCL replaces an application's whole all-to-all, and {quoted(connections.name)} lacks {missing} of its "
            f"pairs, from {first[0]} to {first[1]} for one: their data would not arrive; as plain steps it can be "
            "exported (--format plain)"
        )


def _moves(rank: int, phases: Phases) -> Iterator[_Move]:
    """Everything a rank sends and receives, in order."""
    for number, transfers in enumerate(phases):
        for transfer in transfers:
            if transfer["source"] == rank:
                yield number, "s", transfer["destination"]
            if transfer["destination"] == rank:
                yield number, "r", transfer["source"]


def _threadblocks(gpu: ElementTree.Element, rank: int, ranks: int, channels: int, moves: list[_Move]) -> None:
    """One threadblock for each peer and direction, and one for the rank's own chunk.

    A step can wait for one other; where the phase before had more, steps that do nothing wait for the others first.
    """
    of_phase: dict[int, list[int]] = defaultdict(list)
    for threadblock, (number, _, _) in enumerate(moves):
        of_phase[number].append(threadblock)
    before = {number: of_phase[earlier] for earlier, number in itertools.pairwise(sorted(of_phase))}
    # A transfer is the last step of its threadblock, behind those that only wait.
    at = [max(0, len(before.get(number, [])) - 1) for number, _, _ in moves]
    awaited = {threadblock for earlier in before.values() for threadblock in earlier}
    for threadblock, (number, kind, peer) in enumerate(moves):
        # Both ends of a connection count from the sender, so that they name the same channel.
        distance = (peer - rank if kind == "s" else rank - peer) % ranks
        block = _block(gpu, threadblock, kind, peer, (distance - 1) % channels)
        waits = before.get(number, [])
        for step, other in enumerate(waits[:-1]):
            _step(block, step, "nop", ("i", "-1", "o", "-1", "0"), (other, at[other]), False)
        buffers = ("i", str(peer if kind == "s" else rank), "o", str(rank if kind == "s" else peer), "1")
        last = (waits[-1], at[waits[-1]]) if waits else (-1, -1)
        _step(block, at[threadblock], kind, buffers, last, threadblock in awaited)
    own = _block(gpu, len(moves), "cpy", -1, 0)
    _step(own, 0, "cpy", ("i", str(rank), "o", str(rank), "1"), (-1, -1), False)


def _block(gpu: ElementTree.Element, number: int, kind: str, peer: int, channel: int) -> ElementTree.Element:
    send, receive = (str(peer if kind == direction else -1) for direction in "sr")
    return ElementTree.SubElement(gpu, "tb", id=str(number), send=send, recv=receive, chan=str(channel))


def _step(
    block: ElementTree.Element,
    number: int,
    kind: str,
    buffers: tuple[str, str, str, str, str],
    waits_for: tuple[int, int],
    is_awaited: bool,
) -> None:
    source, source_offset, destination, destination_offset, count = buffers
    ElementTree.SubElement(
        block, "step", s=str(number), type=kind, srcbuf=source, srcoff=source_offset, dstbuf=destination,
        dstoff=destination_offset, cnt=count, depid=str(waits_for[0]), deps=str(waits_for[1]),
        hasdep="1" if is_awaited else "0",
    )  # fmt: skip


def _number(element: ElementTree.Element, name: str) -> int:
    return int(element.get(name, "-1"))


def check_limits(top: ElementTree.Element) -> None:
    """Refuse what the runtime refuses, or would take for something else.

    Raises
    ------
    UsageError
        With the limit and what the algorithm has.
    """

    def refuse(what: str, needed: int, limit: int, name: str) -> None:
        if needed > limit:
            raise UsageError(
                f"MSCCL takes at most {limit} {what} ({name}), this algorithm of {top.get('ngpus')} ranks has {needed}"
            )

    refuse("channels", _number(top, "nchannels"), MAX_CHANNELS, "MAXCHANNELS")
    for gpu in top:
        blocks = list(gpu)
        refuse("threadblocks a GPU", len(blocks), MAX_NUM_THREAD_BLOCKS, "MSCCL_MAX_NUM_THREAD_BLOCKS")
        steps = max((len(block) for block in blocks), default=0)
        refuse("steps a threadblock", steps, MAX_NUM_STEPS, "MSCCL_MAX_NUM_STEPS")
        awaited = max((_number(step, "depid") for block in blocks for step in block), default=-1)
        refuse(
            "threadblocks that others wait for", awaited + 1, MAX_AWAITED + 1, "mscclThreadBlock::dependentBid, 8 bits"
        )
        for direction in ("send", "recv"):
            used = [
                (_number(block, "chan"), _number(block, direction))
                for block in blocks
                if _number(block, direction) >= 0
            ]
            if len(set(used)) < len(used):
                raise UsageError("MSCCL has one threadblock for each peer, channel and direction, this has several")
            most = max((sum(channel == other for other, _ in used) for channel, _ in used), default=0)
            refuse("peers a channel", most, MAX_PEERS, "MSCCL_MAX_NUM_THREAD_BLOCKS_PER_CHANNEL")


def run(top: ElementTree.Element) -> None:
    """Run the algorithm as the runtime does, and compare every output with that of an all-to-all.

    All that can happen does until nothing can; a send waits for its receive, as it may where chunks are larger than the
    buffers between them.

    Raises
    ------
    UsageError
        If it stops before its end, or if an output has another chunk than an all-to-all leaves there.
    """
    ranks = _number(top, "ngpus")
    outputs: list[list[tuple[int, int] | None]] = [[None] * ranks for _ in range(ranks)]
    blocks = {(_number(gpu, "id"), _number(block, "id")): block for gpu in top for block in gpu}
    done = dict.fromkeys(blocks, 0)
    receivers = {
        (_number(block, "recv"), rank, _number(block, "chan")): (rank, i) for (rank, i), block in blocks.items()
    }

    def next_step(key: tuple[int, int]) -> ElementTree.Element | None:
        """The step that a threadblock is at, if nothing that it waits for is still to be done."""
        if done[key] == len(blocks[key]):
            return None
        step = blocks[key][done[key]]
        awaited = key[0], _number(step, "depid")
        return step if awaited[1] < 0 or done.get(awaited, 0) > _number(step, "deps") else None

    waiting = list(blocks)
    while waiting:
        going = False
        for key in waiting:
            step = next_step(key)
            if step is None or step.get("type") == "r":
                continue
            chunk = key[0], _number(step, "srcoff")
            if step.get("type") == "s":
                peer = receivers.get((key[0], _number(blocks[key], "send"), _number(blocks[key], "chan")))
                receive = None if peer is None else next_step(peer)
                if peer is None or receive is None or receive.get("type") != "r":
                    continue
                outputs[peer[0]][_number(receive, "dstoff")] = chunk
                done[peer] += 1
            elif step.get("type") == "cpy":
                outputs[key[0]][_number(step, "dstoff")] = chunk
            done[key] += 1
            going = True
        waiting = [key for key in waiting if done[key] < len(blocks[key])]
        if waiting and not going:
            raise UsageError(f"the algorithm stops: rank {waiting[0][0]}, threadblock {waiting[0][1]} waits for ever")
    for rank, output in enumerate(outputs):
        for index, left in enumerate(output):
            if left != (index, rank):
                what = "nothing" if left is None else f"chunk {left[1]} of rank {left[0]}"
                raise UsageError(f"the algorithm leaves {what} in chunk {index} of the output of rank {rank}")

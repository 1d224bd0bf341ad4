"""Schedules for other runtimes: the XML of MSCCL, and a plain JSON of steps.

Both say for every node, step by step, what it sends and what it receives; a phase is a step, a connection's words are a
chunk. Routes are left out: other runtimes have none to choose.
"""

from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from weft import files
from weft._core import ConnectionSet, UsageError

if TYPE_CHECKING:
    from weft._core import Schedule

FORMATS = ("msccl", "plain")


def export(
    schedule: Schedule,
    connections: ConnectionSet | None = None,
    shape: str = "msccl",
    path: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> str:
    """A schedule as other runtimes read it.

    Parameters
    ----------
    schedule
        Phases of connections; it is verified first.
    connections
        What it was compiled for; without it, what the schedule transfers.
    shape
        `msccl` (XML, section "MSCCL" below) or `plain` (JSON: for each node a list of steps).
    path
        Where it is written, whole or not at all, if it is.
    force
        Whether to replace a file that exists.

    Returns
    -------
    str
        The text.

    Raises
    ------
    UsageError
        For an unknown format, a schedule that is not right, and for MSCCL a pattern with several connections between
        two nodes or with connections of different lengths: its chunks are all of one length.

    Notes
    -----
    MSCCL's algorithm is an `alltoall` of one chunk for each pair of ranks: chunk `d` of the input of rank `s` goes to
    chunk `s` of the output of rank `d`. Pairs without a connection are left out. Every rank has a threadblock for each
    peer it sends to and for each it receives from; a step of a threadblock waits (`depid`, `deps`) for all that the
    rank did in the phase before, so that phases follow each other.
    """
    if shape not in FORMATS:
        raise UsageError(f"no format is called '{shape}'; there are {', '.join(FORMATS)}")
    if path is not None:
        files.check_output(path, (), force=force)
    if connections is None:
        connections = transferred(schedule)
    schedule.verify(connections)
    text = _msccl(schedule, connections) if shape == "msccl" else _plain(schedule, connections)
    if path is not None:
        files.write_text(text, path)
    return text


def transferred(schedule: Schedule) -> ConnectionSet:
    """The connections that a schedule transfers, with all of their words.

    Raises
    ------
    UsageError
        If it leaves out a connection, or if it names one of a node with itself.
    """
    content = json.loads(schedule.to_json())
    words: dict[int, int] = defaultdict(int)
    ends: dict[int, tuple[int, int]] = {}
    for transfers in _phases(schedule):
        for transfer in transfers:
            words[transfer["connection"]] += transfer["words"]
            ends[transfer["connection"]] = transfer["source"], transfer["destination"]
    missing = next((index for index in range(content["connections"]) if index not in ends), None)
    if missing is not None or len(ends) != content["connections"]:
        raise UsageError(
            f"the schedule is of {content['connections']} connections, but does not have connection {missing}"
        )
    nodes = max((node + 1 for pair in ends.values() for node in pair), default=0)
    orders = [(order["before"], order["after"]) for order in content.get("orders", [])]
    return ConnectionSet(nodes, [(*ends[index], words[index]) for index in sorted(ends)], content["pattern"], orders)


def _phases(schedule: Schedule) -> list[list[dict[str, Any]]]:
    content = json.loads(schedule.to_json())
    return [sorted(phase["connections"], key=lambda transfer: transfer["start"]) for phase in content["phases"]]


def _plain(schedule: Schedule, connections: ConnectionSet) -> str:
    first: dict[int, int] = defaultdict(int)
    nodes: list[list[dict[str, Any]]] = [[] for _ in range(_nodes(schedule, connections))]
    phases = _phases(schedule)
    for number, transfers in enumerate(phases):
        for node in nodes:
            node.append({"phase": number, "send": [], "receive": []})
        for transfer in transfers:
            index, words = transfer["connection"], transfer["words"]
            part = {"connection": index, "first_word": first[index], "words": words}
            first[index] += words
            nodes[transfer["source"]][number]["send"].append({"to": transfer["destination"], **part})
            nodes[transfer["destination"]][number]["receive"].append({"from": transfer["source"], **part})
    word_bytes = json.loads(schedule.to_json())["resources"]["word_bytes"]
    content = {
        "pattern": connections.name,
        "word_bytes": word_bytes,
        "phases": len(phases),
        "nodes": [
            {"node": number, "steps": [step for step in steps if step["send"] or step["receive"]]}
            for number, steps in enumerate(nodes)
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def _nodes(schedule: Schedule, connections: ConnectionSet) -> int:
    ends = [
        node for transfers in _phases(schedule) for each in transfers for node in (each["source"], each["destination"])
    ]
    return int(max([connections.nodes, *(node + 1 for node in ends)]))


def _msccl(schedule: Schedule, connections: ConnectionSet) -> str:
    phases = _phases(schedule)
    _check_chunks(connections, phases)
    nodes = _nodes(schedule, connections)
    algorithm = ElementTree.Element(
        "algo",
        name=f"weft_{connections.name}",
        proto="Simple",
        nchannels="1",
        nchunksperloop=str(nodes),
        ngpus=str(nodes),
        coll="alltoall",
        inplace="0",
        outofplace="1",
        minBytes="0",
        maxBytes="0",
    )
    for rank in range(nodes):
        gpu = ElementTree.SubElement(
            algorithm, "gpu", id=str(rank), i_chunks=str(nodes), o_chunks=str(nodes), s_chunks="0"
        )
        _threadblocks(gpu, rank, phases)
    ElementTree.indent(algorithm)
    return ElementTree.tostring(algorithm, encoding="unicode") + "\n"


def _check_chunks(connections: ConnectionSet, phases: list[list[dict[str, Any]]]) -> None:
    pairs = [(source, destination) for source, destination, _ in connections.connections]
    if len(set(pairs)) < len(pairs):
        double = next(pair for pair in pairs if pairs.count(pair) > 1)
        raise UsageError(
            f"MSCCL has one chunk for each pair of ranks; {double[0]} to {double[1]} has several connections"
        )
    if len({words for *_, words in connections.connections}) > 1:
        raise UsageError("MSCCL's chunks are all of one length; this pattern has connections of different lengths")
    seen: set[int] = set()
    for transfers in phases:
        for transfer in transfers:
            if transfer["connection"] in seen:
                raise UsageError(
                    f"connection {transfer['connection']} is split over phases, and MSCCL's chunks are whole; compile "
                    "with split=False (--whole)"
                )
            seen.add(transfer["connection"])


def _steps(rank: int, phases: list[list[dict[str, Any]]]) -> Iterator[tuple[int, str, int]]:
    """Phase, kind (`s` or `r`) and peer of everything a rank does, in order."""
    for number, transfers in enumerate(phases):
        for transfer in transfers:
            if transfer["source"] == rank:
                yield number, "s", transfer["destination"]
            if transfer["destination"] == rank:
                yield number, "r", transfer["source"]


def _threadblocks(gpu: ElementTree.Element, rank: int, phases: list[list[dict[str, Any]]]) -> None:
    """One threadblock for each peer and direction; each does one step, because a pair has one chunk.

    A step can wait for one other; where the phase before had more, steps that do nothing wait for the others first.
    """
    steps = list(_steps(rank, phases))
    of_phase: dict[int, list[int]] = defaultdict(list)
    for threadblock, (number, _, _) in enumerate(steps):
        of_phase[number].append(threadblock)
    own = sorted(of_phase)
    before = {number: of_phase[earlier] for earlier, number in itertools.pairwise(own)}
    # A transfer is the last step of its threadblock, behind those that only wait.
    at = [max(0, len(before.get(number, [])) - 1) for number, _, _ in steps]
    awaited = {threadblock for earlier in before.values() for threadblock in earlier}
    for threadblock, (number, kind, peer) in enumerate(steps):
        send, receive = (str(peer), "-1") if kind == "s" else ("-1", str(peer))
        block = ElementTree.SubElement(gpu, "tb", id=str(threadblock), send=send, recv=receive, chan="0")
        waits = before.get(number, [])
        for step, other in enumerate(waits[:-1]):
            _step(block, step, "nop", ("i", "-1", "o", "-1", "0"), (other, at[other]), False)
        buffers = ("i", str(peer if kind == "s" else rank), "o", str(rank if kind == "s" else peer), "1")
        last = (waits[-1], at[waits[-1]]) if waits else (-1, -1)
        _step(block, at[threadblock], kind, buffers, last, threadblock in awaited)


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

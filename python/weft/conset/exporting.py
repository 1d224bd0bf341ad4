"""Schedules for other runtimes: the XML of MSCCL, a plain JSON of steps, and of collectives C over MPI.

Of a connection set, both say for every node, step by step, what it sends and what it receives; a phase is a step, a
connection's words are a chunk. Routes are left out: other runtimes have none to choose.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from weft import files, inputs
from weft._core import ConnectionSet, UsageError
from weft.conset import collective_c, collective_msccl, msccl

if TYPE_CHECKING:
    from weft._core import CollectiveSchedule, Schedule

FORMATS = ("msccl", "plain")
COLLECTIVE_FORMATS = ("msccl", "c")


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
        `msccl` (XML of :mod:`weft.conset.msccl`) or `plain` (JSON: for each node a list of steps).
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
        For an unknown format, a schedule that is not right, and for MSCCL what :func:`weft.conset.msccl.algorithm`
        refuses: a pattern that is no whole all-to-all, and what is beyond a limit of that runtime.
    """
    if shape not in FORMATS:
        raise UsageError(f"no format is called '{shape}'; there are {', '.join(FORMATS)}")
    if path is not None:
        files.check_output(path, (), force=force)
    if connections is None:
        connections = transferred(schedule)
    schedule.verify(connections)
    text = msccl.algorithm(_phases(schedule), connections) if shape == "msccl" else _plain(schedule, connections)
    if path is not None:
        files.write_text(text, path)
    return text


def export_collective(
    schedule: CollectiveSchedule,
    shape: str = "msccl",
    path: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> str:
    """A compiled collective as other runtimes take it.

    Parameters
    ----------
    schedule
        It is verified first.
    shape
        `msccl` (XML of :mod:`weft.conset.collective_msccl`) or `c` (a header over MPI of
        :mod:`weft.conset.collective_c`).
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
        For an unknown format, a schedule that is not right, and what the format does not take.

    Examples
    --------
    >>> from weft.conset import collectives
    >>> export_collective(collectives.compile("broadcast", "hgx-h100", "1M").schedule, "c")[:12]
    '/* broadcast'
    """
    if shape not in COLLECTIVE_FORMATS:
        raise UsageError(f"no format of a collective is called '{shape}'; there are {', '.join(COLLECTIVE_FORMATS)}")
    if path is not None:
        files.check_output(path, (), force=force)
    schedule.verify()
    if schedule.has_switches:
        raise UsageError(
            f"switches of {inputs.quoted(schedule.machine)} copy or add in this {schedule.collective}, which neither "
            "MSCCL nor MPI can be told; compile with --in-network none"
        )
    text = collective_msccl.algorithm(schedule) if shape == "msccl" else collective_c.header(schedule)
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
    content = json.loads(schedule.to_json(written_out=True))
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
    content = json.loads(schedule.to_json(written_out=True))
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

"""A compiled collective over mpi4py: every transfer a message, pieces passed on as a pipeline brings them."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from weft._core import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

    from weft._core import CollectiveSchedule

_UFUNCS: dict[str, np.ufunc] = {
    "sum": np.add, "product": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
}  # fmt: skip

_MAX_TAG = 32767
"""The largest tag that every MPI takes (MPI-4.1, section 3.2.3: MPI_TAG_UB is at least that)."""


@dataclass
class _Role:
    """The part of one rank in one tree: ranks and tags that it receives from, and sends to, and the elements."""

    first: int
    count: int
    depth: int = 0
    receives: list[tuple[int, int]] = field(default_factory=list)
    sends: list[tuple[int, int]] = field(default_factory=list)


def execute(schedule: CollectiveSchedule, comm: Any, array: npt.NDArray[Any], operator: str) -> npt.NDArray[Any] | None:
    """Carry a verified schedule out; see :meth:`weft.conset.collectives.Collective.execute`."""
    ranks, rank = comm.Get_size(), comm.Get_rank()
    if ranks != schedule.ranks:
        raise UsageError(f"a collective of {schedule.ranks} ranks on a communicator of {ranks}")
    array = np.ascontiguousarray(array).reshape(-1)
    if array.dtype.itemsize != schedule.element_bytes:
        raise UsageError(
            f"elements of {array.dtype} have {array.dtype.itemsize} bytes; the collective was compiled for "
            f"{schedule.element_bytes}"
        )
    buffer = _input(schedule, rank, array)
    content = json.loads(schedule.to_json())
    for stage, roles in zip(content["stages"], _roles(content, rank), strict=True):
        combine = _UFUNCS[operator] if stage["operation"] == "reduce" else None
        if stage["merged"]:
            _merged(comm, _rounds(stage, content["element_bytes"]), buffer, combine)
        else:
            _pipelined(comm, roles, stage["chunks"], buffer, combine)
    first, count = _shard(schedule, rank)
    if schedule.collective == "reduce-scatter":
        return buffer[first : first + count].copy()
    return buffer if schedule.collective != "reduce" or schedule.root == rank else None


def _shard(schedule: CollectiveSchedule, rank: int) -> tuple[int, int]:
    """First element and elements of a rank's shard; the first ranks have one more where they do not divide evenly."""
    each, more = divmod(schedule.bytes // schedule.element_bytes, schedule.ranks)
    return rank * each + min(rank, more), each + (rank < more)


def _input(schedule: CollectiveSchedule, rank: int, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    elements = schedule.bytes // schedule.element_bytes
    first, count = _shard(schedule, rank) if schedule.collective == "allgather" else (0, elements)
    if len(array) != count:
        raise UsageError(f"rank {rank} has {len(array)} elements; the {schedule.collective} was compiled for {count}")
    buffer = np.zeros(elements, array.dtype)
    buffer[first : first + count] = array
    return buffer


@dataclass
class _Message:
    """All that goes from one rank to another in a stage: ranges of elements, and the messages that it waits for."""

    sender: int
    receiver: int
    ranges: list[slice] = field(default_factory=list)
    waits: set[tuple[int, int]] = field(default_factory=set)


def _rounds(stage: dict[str, Any], size: int) -> list[list[_Message]]:
    """Merged messages, those first that wait for none, then those that wait for these, and so on."""
    messages: dict[tuple[int, int], _Message] = {}
    for tree in stage["trees"]:
        arrived: dict[int, list[tuple[int, int]]] = defaultdict(list)
        first, last = tree["start"] // size, (tree["start"] + tree["bytes"]) // size
        for sender, receiver, _ in tree["transfers"]:
            message = messages.setdefault((sender, receiver), _Message(sender, receiver))
            message.ranges.append(slice(first, last))
            message.waits.update(arrived[sender])
            arrived[receiver].append((sender, receiver))
    rounds: list[list[_Message]] = []
    sent: set[tuple[int, int]] = set()
    while len(sent) < len(messages):
        ready = [pair for pair in sorted(messages) if pair not in sent and messages[pair].waits <= sent]
        rounds.append([messages[pair] for pair in ready])
        sent.update(ready)
    return rounds


def _merged(comm: Any, rounds: list[list[_Message]], buffer: npt.NDArray[Any], combine: np.ufunc | None) -> None:
    rank = comm.Get_rank()
    receives: dict[tuple[int, int], tuple[Any, npt.NDArray[Any]]] = {}
    for message in (message for messages in rounds for message in messages if message.receiver == rank):
        into = np.empty(sum(where.stop - where.start for where in message.ranges), buffer.dtype)
        request = comm.Irecv(into, source=message.sender, tag=_MAX_TAG)
        receives[message.sender, message.receiver] = request, into
    sends = []
    for messages in rounds:
        for message in (message for message in messages if message.sender == rank):
            content = np.concatenate([buffer[where] for where in message.ranges])
            # The array is kept until it has been sent.
            sends.append((comm.Isend(content, dest=message.receiver, tag=_MAX_TAG), content))
        for message in (message for message in messages if message.receiver == rank):
            request, received = receives[message.sender, message.receiver]
            request.Wait()
            first = 0
            for where in message.ranges:
                part = received[first : first + where.stop - where.start]
                first += len(part)
                buffer[where] = part if combine is None else combine(buffer[where], part)
    for request, _ in sends:
        request.Wait()


def _roles(content: dict[str, Any], rank: int) -> list[list[_Role]]:
    """What a rank does, by stage. Messages of one tree between two ranks have a tag of their own."""
    size = content["element_bytes"]
    tags: dict[tuple[int, int], int] = defaultdict(int)
    stages = []
    for stage in content["stages"]:
        roles = []
        for tree in stage["trees"]:
            role = _Role(tree["start"] // size, tree["bytes"] // size)
            depth: dict[int, int] = defaultdict(int)
            for sender, receiver, _ in tree["transfers"]:
                tag = tags[sender, receiver]
                tags[sender, receiver] += 1
                depth[receiver] = max(depth[receiver], depth[sender] + 1)
                if sender == rank:
                    role.sends.append((receiver, tag))
                if receiver == rank:
                    role.receives.append((sender, tag))
            role.depth = depth[rank]
            roles.append(role)
        stages.append(roles)
    if max(tags.values(), default=0) >= _MAX_TAG:
        raise UsageError("more trees between two ranks than MPI has tags for certain; compile for fewer ranks")
    return stages


def _pipelined(comm: Any, roles: list[_Role], chunks: int, buffer: npt.NDArray[Any], combine: np.ufunc | None) -> None:
    def piece(role: _Role, chunk: int) -> slice:
        return slice(role.first + role.count * chunk // chunks, role.first + role.count * (chunk + 1) // chunks)

    steps = [(role, piece(role, chunk), chunk) for role in roles for chunk in range(chunks)]
    steps = [step for step in steps if step[1].start < step[1].stop]
    steps.sort(key=lambda step: step[0].depth + step[2])
    waiting = []
    for role, where, _ in steps:
        for sender, tag in role.receives:
            # A copy comes where it belongs, a summand beside it.
            into = buffer[where] if combine is None else np.empty(where.stop - where.start, buffer.dtype)
            waiting.append((comm.Irecv(into, source=sender, tag=tag), into))
    arrivals, sends = iter(waiting), []
    for role, where, _ in steps:
        for _ in role.receives:
            request, received = next(arrivals)
            request.Wait()
            if combine is not None:
                combine(buffer[where], received, out=buffer[where])
        sends += [comm.Isend(buffer[where], dest=receiver, tag=tag) for receiver, tag in role.sends]
    for request in sends:
        request.Wait()

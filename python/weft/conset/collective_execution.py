"""A compiled collective over mpi4py, round by round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft._core import UsageError
from weft.conset.collective_blocks import Memory
from weft.conset.collective_rounds import Message, Range, Round, rounds, shard

if TYPE_CHECKING:
    import numpy.typing as npt

    from weft._core import CollectiveSchedule

_UFUNCS: dict[str, np.ufunc] = {
    "sum": np.add, "product": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
}  # fmt: skip

_TAGS = 32768
"""So many tags every MPI has (MPI-4.1, section 3.2.3: MPI_TAG_UB is at least 32767). Rounds that share one are far
apart, and messages of one tag arrive in order."""


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
    memory = Memory(schedule, rank)
    mine = [_mine(rank, each, memory) for each in rounds(schedule)]
    buffer = _input(schedule, rank, array, memory)
    for number, messages in enumerate(mine):
        _round(comm, rank, messages, number % _TAGS, buffer, _UFUNCS[operator])
    if schedule.collective == "all-to-all":
        first, count = memory.result
        return buffer[first : first + count].copy()
    first, count = shard(schedule, rank)
    if schedule.collective == "reduce-scatter":
        return buffer[first : first + count].copy()
    return buffer if schedule.collective != "reduce" or schedule.root == rank else None


_Mine = list[tuple[Message, tuple[Range, ...]]]
"""Messages of a rank in a round, each with where the rank keeps its ranges."""


def _mine(rank: int, each: Round, memory: Memory) -> _Mine:
    messages = (message for message in each.messages if rank in (message.sender, message.receiver))
    return [(message, memory.positions(message.ranges)) for message in messages]


def _input(schedule: CollectiveSchedule, rank: int, array: npt.NDArray[Any], memory: Memory) -> npt.NDArray[Any]:
    first, count = shard(schedule, rank) if schedule.collective == "allgather" else (0, memory.input)
    if len(array) != count:
        raise UsageError(f"rank {rank} has {len(array)} elements; the {schedule.collective} was compiled for {count}")
    buffer = np.zeros(memory.elements, array.dtype)
    buffer[first : first + count] = array
    (first, count), at = memory.kept()
    buffer[at : at + count] = buffer[first : first + count]
    return buffer


def _round(comm: Any, rank: int, mine: _Mine, tag: int, buffer: npt.NDArray[Any], combine: np.ufunc) -> None:
    """All receives and sends of a rank in a round; what came is taken when all that it sends is gone."""
    receives: list[tuple[Message, tuple[Range, ...], npt.NDArray[Any]]] = []
    requests = []
    for message, ranges in (each for each in mine if each[0].receiver == rank):
        into = np.empty(message.elements, buffer.dtype)
        receives.append((message, ranges, into))
        requests.append(comm.Irecv(into, source=message.sender, tag=tag))
    sends = [(message, _content(buffer, ranges)) for message, ranges in mine if message.sender == rank]
    requests += [comm.Isend(content, dest=message.receiver, tag=tag) for message, content in sends]
    for request in requests:
        request.Wait()
    for message, ranges, received in receives:
        at = 0
        for first, count in ranges:
            own, part = buffer[first : first + count], received[at : at + count]
            if message.is_reduction:
                combine(own, part, out=own)
            else:
                own[:] = part
            at += count


def _content(buffer: npt.NDArray[Any], ranges: tuple[Range, ...]) -> npt.NDArray[Any]:
    """A view of the one range, or a copy of all."""
    parts = [buffer[first : first + count] for first, count in ranges]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)

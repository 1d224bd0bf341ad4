"""Compiled collectives as the XML of MSCCL: allgather, reduce-scatter and allreduce.

Every rank works in one buffer: the output, into which its input is copied first, or scratch where the output is a shard
only. What is sent to a peer is one threadblock, what comes from it another. A step waits for the steps of other
threadblocks that wrote what it reads, or read what it writes. What comes in the round in which its place is sent goes
to scratch and is taken from there, so that nothing relies on the buffers between ranks.

Limits and words are those of :mod:`weft.conset.msccl`; what is written is run here, and every buffer compared.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from weft._core import UsageError
from weft.conset.collective_rounds import Range, Round, rounds, shard
from weft.conset.msccl import MAX_BYTES, MAX_CHANNELS, MAX_PEERS, check_limits

if TYPE_CHECKING:
    from weft._core import CollectiveSchedule

NAMES = {"allgather": "allgather", "reduce-scatter": "reducescatter", "allreduce": "allreduce"}
"""Names of the runtime's reader for what it is that an algorithm replaces."""

MAX_COUNT = 71
"""Chunks of a step: less than MSCCL_MAX_COUNT, 72."""
MAX_CHUNKS = 32767
"""Chunks of a buffer: mscclTransmission::srcOffset has 16 bits and a sign."""

_PEERS = MAX_PEERS - 1


@dataclass
class _Step:
    """A step of a threadblock, and the steps of others that it waits for: the last of each."""

    kind: str
    source: tuple[str, int]
    target: tuple[str, int]
    count: int
    waits: dict[int, int] = field(default_factory=dict)


@dataclass
class _Block:
    """A threadblock: what it sends to or receives from, and its steps."""

    kind: str
    peer: int
    steps: list[_Step] = field(default_factory=list)


@dataclass
class _Touched:
    """The steps that wrote a chunk last and those that have read it since, as threadblock and step."""

    writer: tuple[int, int] | None = None
    readers: list[tuple[int, int]] = field(default_factory=list)


class _Gpu:
    """The threadblocks of one rank, as its steps are added in an order in which they can happen."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []
        self.scratch = 0
        self.sent: set[int] = set()
        """Chunks that are sent in this round."""
        self._numbers: dict[tuple[str, int], int] = {}
        self._touched: dict[tuple[str, int], _Touched] = defaultdict(_Touched)

    def add(
        self, block: tuple[str, int], kind: str, source: tuple[str, int], target: tuple[str, int], count: int
    ) -> None:
        """Adds a step that reads `count` chunks of the source, if it reads any, and writes those of the target."""
        number = self._numbers.setdefault(block, len(self.blocks))
        if number == len(self.blocks):
            self.blocks.append(_Block(*block))
        steps = self.blocks[number].steps
        step = _Step(kind, source, target, count)
        here = number, len(steps)
        reads = [(source[0], source[1] + index) for index in range(count)] if kind in ("s", "cpy", "re") else []
        writes = [(target[0], target[1] + index) for index in range(count)] if kind != "s" else []
        for chunk in reads:
            self._wait(step, number, self._touched[chunk].writer)
        for chunk in writes:
            self._wait(step, number, self._touched[chunk].writer)
            for reader in self._touched[chunk].readers:
                self._wait(step, number, reader)
        for chunk in reads:
            self._touched[chunk].readers.append(here)
        for chunk in writes:
            self._touched[chunk] = _Touched(here)
        steps.append(step)

    def is_sent(self, chunks: range) -> bool:
        """Whether some of them are sent in this round."""
        return any(chunk in self.sent for chunk in chunks)

    @staticmethod
    def _wait(step: _Step, number: int, other: tuple[int, int] | None) -> None:
        if other is not None and other[0] != number:
            step.waits[other[0]] = max(step.waits.get(other[0], -1), other[1])


def algorithm(schedule: CollectiveSchedule) -> str:
    """The XML of a verified schedule.

    Raises
    ------
    UsageError
        For other collectives than those of :data:`NAMES`, shards that are not of equal length, and where the runtime
        has a limit.

    Examples
    --------
    >>> from weft.conset import collectives
    >>> text = algorithm(collectives.compile("allreduce", "hgx-h100", "1M").schedule)
    >>> 'coll="allreduce"' in text and 'ngpus="8"' in text
    True
    """
    if schedule.collective not in NAMES:
        raise UsageError(
            f"{schedule.collective}: for MSCCL there are {', '.join(NAMES)}; other runtimes take --format c"
        )
    all_rounds = rounds(schedule)
    chunk = _chunk(schedule, all_rounds)
    chunks = schedule.bytes // schedule.element_bytes // chunk
    gpus = _gpus(schedule, all_rounds, chunk)
    channels = max(1, *(-(-_peers(gpu, kind) // _PEERS) for gpu in gpus for kind in "sr"))
    if channels > MAX_CHANNELS:
        raise UsageError(f"MSCCL has {MAX_CHANNELS} channels (MAXCHANNELS), this algorithm needs {channels}")
    top = ElementTree.Element(
        "algo", name=f"weft_{NAMES[schedule.collective]}", proto="Simple", nchannels=str(channels),
        nchunksperloop=str(chunks), ngpus=str(schedule.ranks), coll=NAMES[schedule.collective], inplace="1",
        outofplace="1", minBytes="0", maxBytes=str(MAX_BYTES),
    )  # fmt: skip
    own = chunks // schedule.ranks
    inputs, outputs = (
        own if schedule.collective == one else chunks for one in ("allgather", "reduce-scatter")
    )  # fmt: skip
    for rank, gpu in enumerate(gpus):
        element = ElementTree.SubElement(
            top, "gpu", id=str(rank), i_chunks=str(inputs), o_chunks=str(outputs), s_chunks=str(gpu.scratch)
        )  # fmt: skip
        _write(element, rank, schedule.ranks, channels, gpu)
    check_limits(top)
    run(top)
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="unicode") + "\n"


def _chunk(schedule: CollectiveSchedule, all_rounds: list[Round]) -> int:
    """The elements of a chunk: of one length, and every range is of whole ones."""
    elements = schedule.bytes // schedule.element_bytes
    if elements % schedule.ranks:
        raise UsageError(
            f"MSCCL's chunks are all of one length, and {elements:,} elements do not divide evenly by {schedule.ranks} "
            f"ranks; compile for a multiple of {schedule.ranks * schedule.element_bytes} bytes"
        )
    ranges = {where for each in all_rounds for message in each.messages for where in message.ranges}
    chunk = math.gcd(elements // schedule.ranks, *(number for where in ranges for number in where))
    if elements // chunk > MAX_CHUNKS:
        raise UsageError(
            f"the buffer would have {elements // chunk:,} chunks of one length, MSCCL counts up to {MAX_CHUNKS:,}; "
            "compile for a length that the trees divide evenly (a power of two, say), or with --method latency"
        )
    return chunk


def _gpus(schedule: CollectiveSchedule, all_rounds: list[Round], chunk: int) -> list[_Gpu]:
    gpus = [_Gpu() for _ in range(schedule.ranks)]
    chunks = schedule.bytes // schedule.element_bytes // chunk
    is_scatter = schedule.collective == "reduce-scatter"
    work = "s" if is_scatter else "o"
    shards = [Range(*(number // chunk for number in shard(schedule, rank))) for rank in range(schedule.ranks)]
    for rank, gpu in enumerate(gpus):
        gpu.scratch = chunks if is_scatter else 0
        first, count = shards[rank] if schedule.collective == "allgather" else (0, chunks)
        for at, length in _pieces(0, count):
            gpu.add(("cpy", -1), "cpy", ("i", at), (work, first + at), length)
    for each in all_rounds:
        parts = [
            (message, at, length)
            for message in each.messages
            for where in message.ranges
            for at, length in _pieces(where.first // chunk, where.length // chunk)
        ]
        for message, at, length in parts:
            gpus[message.sender].add(("s", message.receiver), "s", (work, at), (work, at), length)
            gpus[message.sender].sent.update(range(at, at + length))
        for message, at, length in parts:
            _receive(gpus[message.receiver], message.sender, work, at, length, message.is_reduction)
        for gpu in gpus:
            gpu.sent.clear()
    for rank, gpu in enumerate(gpus if is_scatter else []):
        for at, length in _pieces(0, shards[rank].length):
            gpu.add(("cpy", -1), "cpy", (work, shards[rank].first + at), ("o", at), length)
    return gpus


def _receive(gpu: _Gpu, sender: int, work: str, at: int, length: int, is_reduction: bool) -> None:
    if not gpu.is_sent(range(at, at + length)):
        gpu.add(("r", sender), "rrc" if is_reduction else "r", (work, at), (work, at), length)
        return
    beside = gpu.scratch
    gpu.scratch += length
    gpu.add(("r", sender), "r", ("s", beside), ("s", beside), length)
    gpu.add(("r", sender), "re" if is_reduction else "cpy", ("s", beside), (work, at), length)


def _pieces(first: int, count: int) -> list[tuple[int, int]]:
    """Ranges that a step may have."""
    return [(first + at, min(MAX_COUNT, count - at)) for at in range(0, count, MAX_COUNT)]


def _peers(gpu: _Gpu, kind: str) -> int:
    return sum(block.kind == kind for block in gpu.blocks)


def _write(element: ElementTree.Element, rank: int, ranks: int, channels: int, gpu: _Gpu) -> None:
    """The threadblocks. A step waits for one other: those that wait for more come behind steps that do nothing else."""
    written: list[list[tuple[_Step | None, tuple[int, int] | None]]] = []
    at: list[list[int]] = []
    for block in gpu.blocks:
        rows: list[tuple[_Step | None, tuple[int, int] | None]] = []
        positions = []
        known: dict[int, int] = {}
        for step in block.steps:
            waits = [(other, last) for other, last in sorted(step.waits.items()) if known.get(other, -1) < last]
            known.update(waits)
            rows += [(None, wait) for wait in waits[:-1]]
            positions.append(len(rows))
            rows.append((step, waits[-1] if waits else None))
        written.append(rows)
        at.append(positions)
    awaited = {(wait[0], at[wait[0]][wait[1]]) for rows in written for _, wait in rows if wait is not None}
    for number, (block, rows) in enumerate(zip(gpu.blocks, written, strict=True)):
        distance = (block.peer - rank if block.kind == "s" else rank - block.peer) % ranks
        channel = 0 if block.kind == "cpy" else (distance - 1) % channels
        send, receive = (str(block.peer if block.kind == direction else -1) for direction in "sr")
        into = ElementTree.SubElement(element, "tb", id=str(number), send=send, recv=receive, chan=str(channel))
        for index, (row, wait) in enumerate(rows):
            other, last = (-1, -1) if wait is None else (wait[0], at[wait[0]][wait[1]])
            source, target, count = (row.source, row.target, row.count) if row else (("i", -1), ("o", -1), 0)
            ElementTree.SubElement(
                into, "step", s=str(index), type=row.kind if row else "nop", srcbuf=source[0], srcoff=str(source[1]),
                dstbuf=target[0], dstoff=str(target[1]), cnt=str(count), depid=str(other), deps=str(last),
                hasdep=str(int((number, index) in awaited)),
            )  # fmt: skip


_Content = Counter[tuple[int, int]]
"""Summands, as rank and chunk of the whole buffer."""


class _Machine:
    """The ranks of an algorithm while it runs: where every threadblock is, and what is in the buffers."""

    def __init__(self, top: ElementTree.Element) -> None:
        self.blocks = {(int(gpu.get("id", -1)), int(tb.get("id", -1))): tb for gpu in top for tb in gpu}
        self.steps = {key: list(block) for key, block in self.blocks.items()}
        self.done = dict.fromkeys(self.blocks, 0)
        self.buffers: dict[tuple[int, str, int], _Content] = {}
        self._receivers = {
            (int(tb.get("recv", -1)), rank, tb.get("chan")): (rank, number)
            for (rank, number), tb in self.blocks.items()
        }

    def next_step(self, key: tuple[int, int]) -> ElementTree.Element | None:
        """The step that a threadblock is at, if nothing that it waits for is still to be done."""
        if self.done[key] == len(self.steps[key]):
            return None
        step = self.steps[key][self.done[key]]
        other = key[0], int(step.get("depid", -1))
        return step if other[1] < 0 or self.done.get(other, 0) > int(step.get("deps", -1)) else None

    def go(self, key: tuple[int, int]) -> bool:
        """Does the next step of a threadblock, if it can be done; what is received goes with its send."""
        step = self.next_step(key)
        if step is None or step.get("type") in ("r", "rrc"):
            return False
        if step.get("type") == "s":
            block = self.blocks[key]
            peer = self._receivers.get((key[0], int(block.get("send", -1)), block.get("chan")))
            receive = None if peer is None else self.next_step(peer)
            if peer is None or receive is None or receive.get("type") not in ("r", "rrc"):
                return False
            if receive.get("cnt") != step.get("cnt"):
                raise UsageError(
                    f"rank {key[0]} sends {step.get('cnt')} chunks, rank {peer[0]} takes {receive.get('cnt')}"
                )
            self._move(step, key[0], receive, peer[0])
            self.done[peer] += 1
        elif step.get("type") != "nop":
            self._move(step, key[0], step, key[0])
        self.done[key] += 1
        return True

    def _move(self, source: ElementTree.Element, sender: int, target: ElementTree.Element, receiver: int) -> None:
        for index in range(int(source.get("cnt", 0))):
            read = sender, source.get("srcbuf", ""), int(source.get("srcoff", -1)) + index
            written = receiver, target.get("dstbuf", ""), int(target.get("dstoff", -1)) + index
            if read not in self.buffers:
                raise UsageError(f"rank {sender} reads chunk {read[2]} of its buffer '{read[1]}', where nothing is")
            content = self.buffers[read]
            if target.get("type") in ("rrc", "re"):
                content = content + self.buffers.get(written, Counter())
            self.buffers[written] = content


def run(top: ElementTree.Element) -> None:
    """Run the algorithm as the runtime does, and compare every output with that of the collective.

    All that can happen does until nothing can; a send waits for its receive.

    Raises
    ------
    UsageError
        If it stops before its end, reads what is not there, or leaves something else in an output.
    """
    ranks, chunks, name = int(top.get("ngpus", 0)), int(top.get("nchunksperloop", 0)), top.get("coll")
    machine = _Machine(top)
    own = chunks // ranks
    for rank in range(ranks):
        first, count = (rank * own, own) if name == "allgather" else (0, chunks)
        machine.buffers.update({(rank, "i", at): Counter([(rank, first + at)]) for at in range(count)})
    waiting = list(machine.blocks)
    while waiting:
        # Every one of them, not only the first that can go on.
        if not sum([machine.go(key) for key in waiting]):
            rank, number = waiting[0]
            raise UsageError(f"the algorithm stops: rank {rank}, threadblock {number} waits for ever")
        waiting = [key for key in waiting if machine.done[key] < len(machine.steps[key])]
    for rank in range(ranks):
        first, count = (rank * own, own) if name == "reducescatter" else (0, chunks)
        for at in range(count):
            owners = [(first + at) // own] if name == "allgather" else range(ranks)
            if machine.buffers.get((rank, "o", at)) != Counter((owner, first + at) for owner in owners):
                raise UsageError(f"the algorithm leaves something else in chunk {at} of the output of rank {rank}")

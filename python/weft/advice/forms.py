"""Forms of communication: operations that together do what a recorded one does."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from weft.data_parallel import Time
from weft.estimation.pricing import Pricer
from weft.pvar import Record
from weft.pvar.facts import Facts
from weft.pvar.meter import bytes_touched


@dataclass(frozen=True)
class Form:
    """A way to do something.

    Attributes
    ----------
    name
        What it is called (`read and write`).
    code
        How it is written.
    records
        The operations in it.
    once
        Operations that are made once for all executions of the line.
    condition
        What must hold for the form to do the same, where the record does not show it.
    """

    name: str
    code: str
    records: tuple[Record, ...]
    once: tuple[Record, ...] = ()
    condition: str = ""

    def time(self, prices: Pricer, count: int = 1) -> Time:
        """Seconds of so many executions on a machine.

        Raises
        ------
        UsageError
            If the machine lacks the cost of an operation.
        """
        each = [prices.time(one) for one in self.records]
        first = [prices.time(one) for one in self.once]
        return Time(
            count * math.fsum(t.real for t in each) + math.fsum(t.real for t in first),
            count * math.fsum(t.cm for t in each) + math.fsum(t.cm for t in first),
        )


def as_recorded(record: Record) -> Form:
    """What the program does now."""
    name = _NAMES.get(record.kind, record.name)
    if record.kind == "multiple_broadcast":
        name = MODES[record.mode or "many"]
    return Form(name, code_of(record), (record,))


MODES = {"allowed": "collisions allowed", "many": "many collisions", "backward": "backward routing"}
"""The modes of multiple broadcast, by what `weft.pvar.get` calls them."""


_NAMES = {
    "fetch_single": "single fetch",
    "store_single": "single store",
    "fetch": "general fetch",
    "store": "general store",
    "news_fetch": "NEWS fetch",
    "news_store": "NEWS store",
    "spread": "spread",
    "multiple_reduction": "multiple reduction",
}


def code_of(record: Record) -> str:
    """How an operation is written."""
    if record.name == "get":
        return f"weft.pvar.get(x, address, collisions={record.mode!r})"
    if record.name.startswith("send"):
        operator = record.name.removeprefix("send ")
        return (
            "weft.pvar.send(x, address)" if operator == "plain" else f"weft.pvar.send(x, address, combine={operator!r})"
        )
    if record.kind == "spread":
        return f"weft.pvar.spread(x, axis={record.axis}, index=…)"
    if record.kind.startswith("news"):
        form = ', form="store"' if record.kind.startswith("news_store") else ""
        return f"weft.pvar.shift(x, distance, axis={record.axis}{form})"
    return record.name


# What a rule puts in the place of a record: the same grid, word, selection and line of the program.


def read(record: Record) -> Record:
    """The front end reads one element."""
    return _other(record, name="read", kind="read")


def write(record: Record) -> Record:
    """The front end writes one element."""
    return _other(record, name="write", kind="write")


def get(record: Record, facts: Facts, mode: str = "many") -> Record:
    """A fetch through the router."""
    kind = "fetch_single" if facts.messages == 1 else "fetch" if facts.most <= 1 else "multiple_broadcast"
    return _routed(_other(record, name="get", kind=kind, mode=mode), facts)


def store(record: Record, facts: Facts) -> Record:
    """A send through the router, no two to one processor."""
    kind = "store_single" if facts.messages == 1 else "store"
    return _routed(_other(record, name="send plain", kind=kind, dtype=record.dtype), facts)


def shift(record: Record, axis: int, distance: int, form: str = "fetch") -> Record:
    """A NEWS shift."""
    extent = record.shape[axis]
    return _other(
        record, name=f"shift {form}", kind=f"news_{form}", axis=axis, extent=extent, hops=min(abs(distance), extent)
    )


def spread(record: Record, axis: int) -> Record:
    """A spread along an axis."""
    return _other(record, name="spread", kind="spread", axis=axis, extent=record.shape[axis])


def scan(record: Record, operator: str) -> Record:
    """A segmented scan along the grid's last axis."""
    kind = {"add": "scan_sum", "max": "scan_max", "min": "scan_max"}.get(operator, f"scan_{operator}")
    axis = len(record.shape) - 1
    return _other(
        record,
        name=f"scan {operator} segmented",
        kind=kind,
        axis=axis,
        extent=record.shape[axis],
        dtype=record.dtype,
        selected=record.size,
    )


def select(record: Record) -> Record:
    """A selection."""
    return _other(record, name="select", kind="select", bits=1)


def patterned(record: Record, **changed: object) -> Record:
    """The same with other facts."""
    assert record.facts is not None
    return _routed(record, facts=dataclasses.replace(record.facts, **changed))  # type: ignore[arg-type]


def _routed(record: Record, facts: Facts) -> Record:
    """With messages of other facts, which touch other lines."""
    length = max(1, record.bits // 8)
    return dataclasses.replace(record, facts=facts, touched=bytes_touched(facts, length, record.size * length))


def _other(record: Record, **changed: object) -> Record:
    fields = {"bits": record.bits, "shape": record.shape, "selected": record.selected, **changed}
    return Record(file=record.file, line=record.line, **fields)  # type: ignore[arg-type]

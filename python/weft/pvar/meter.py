"""The meter: operations of programs with parallel variables, with what their cost depends on and where they stand."""

from __future__ import annotations

import contextlib
import contextvars
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from weft._core import UsageError
from weft.data_parallel.operation import MAX_COLLISIONS
from weft.pvar import facts
from weft.pvar.native import FEW

if TYPE_CHECKING:
    from weft.data_parallel import Costs, Operation, Time
    from weft.pvar.variable import ParallelVariable
    from weft.pvar.vpset import VPSet

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclass(frozen=True, slots=True)
class Record:
    """One operation, as it was asked for.

    Attributes
    ----------
    name
        What was called: the function's or operator's name (`subtract`, `reduce max`, `send add`).
    kind
        What it counts as: a name of `weft.data_parallel.KINDS`.
    bits
        Word length.
    shape
        The grid.
    selected
        How many of its processors were selected.
    runs
        In how many stretches of consecutive addresses those are (of this process's); 1 where all are.
    file, line
        Where the program asked for it.
    axis, extent
        Of spreads, scans and NEWS shifts.
    hops
        Of NEWS shifts: how far (circular ones the shorter way).
    mode
        Of gets: how collisions are met.
    facts
        Of gets and sends: what the messages are like.
    dtype
        Of arithmetic, reductions, scans and sends: numpy's name of what they compute with; empty where elements are
        only moved.
    scalar
        Of arithmetic: whether an operand was a number of the front end; of NEWS shifts: whether the boundary is one; of
        sends: whether that is what all send.
    selects
        Whether the result became a condition of `where` and nothing else so far: its time is then part of the
        selection's, where a machine's costs of selecting include evaluating the condition.
    stores
        Whether this is the end of an operation in place (`x += …`) under a selection: processors that are told one by
        one whether to store do it within the operation.
    converted
        Of arithmetic: whether the variables are of different dtypes, so that elements are converted first; of `where`:
        whether they are, or both are numbers; of gets and sends: whether addresses are.
    coordinates
        Of gets and sends: how many variables their addresses are computed from, where these are tuples; else 0. Of
        elements of processors' own arrays: how many of the indices are variables.
    passes
        Of ranks: how often the sort went through the elements, where that depends on them; else 0.
    into
        Of sends and broadcasts: whether the program gave what elements arrive in; else it is made, for a send of zeros.
    included
        Whether the operation before has done this one too on this machine, in its own time, or one that is noted does
        it; a data-parallel machine does one after the other.
    touched
        Of gets and sends: bytes of the lines of the array that is fetched from or sent to which messages touch.
    spent
        Of reductions, scans and sends by a function of the program's: seconds that this one took while it was recorded,
        which is all that is known of the function's cost. 0 for all others.
    """

    name: str
    kind: str
    bits: int
    shape: tuple[int, ...]
    selected: int
    file: str
    line: int
    axis: int | None = None
    extent: int | None = None
    hops: int | None = None
    mode: str | None = None
    facts: facts.Facts | None = None
    dtype: str = ""
    scalar: bool = False
    runs: int = 1
    selects: bool = False
    stores: bool = False
    converted: bool = False
    coordinates: int = 0
    passes: int = 0
    into: bool = False
    touched: int = 0
    included: bool = False
    spent: float = 0.0

    @property
    def size(self) -> int:
        """Virtual processors of the grid."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def density(self) -> float:
        """Share of the processors that were selected; 0 where there are none."""
        return self.selected / self.size if self.size else 0.0

    def operation(self, processors: int) -> Operation:
        """The operation on a machine with so many processors, as cost models price it."""
        from weft.data_parallel import Operation
        from weft.pvar.vpset import vp_ratio

        more: dict[str, Any] = {}
        if self.extent is not None:
            more["extent"] = max(1, self.extent)
        if self.hops is not None:
            more["hops"] = max(1, self.hops)
        if self.mode is not None:
            more["mode"] = self.mode
        if self.facts is not None:
            more |= {"pattern": self.facts.pattern, "ratio": self.facts.ratio}
        return Operation(self.kind, self.bits, vp_ratio(self.shape, processors), self.density, **more)


Reach = tuple[tuple[int, int], ...]
"""Of each array of an operation: its distance, and its own bytes. The distance is how many different bytes the program
has touched since it last touched the array, those of the array itself included (Mattson's stack distance: a cache of
so many bytes that keeps what was used last still has the array)."""

Touched = str | tuple[int, int]
"""What a stack of what was touched has: the code of operations of a name, or addresses from the first to the end."""

NEVER = 1 << 40
"""The distance of an array that was not touched before, or too long ago: its pages may be fresh."""

FORGOTTEN = 1 << 30
"""Distances from here on are not counted: no cache is as large."""

LOCAL = "local"
"""The kind of what a data-parallel machine has no operation for: its processors know their addresses."""

LINE = 64
"""Bytes of a line of the cache: what a scattered message touches."""

CODE = 8 << 10
"""Bytes of code and tables of the interpreter, numpy and the kernels that an operation goes through: what small arrays
push out of the first-level cache, and of the tables that branches are predicted by, is not each other's elements."""

SHARED = 6 << 10
"""Bytes of those that operations of a family have in common: additions, comparisons and bitwise operations differ in
the loop over the elements, and hardly in what leads there. Of programs that a calibration of 3,000 had not seen, totals
are 7.1% off at the median so, and 7.7% with code that no two operations share."""

ELEMENTWISE = ("add", "multiply", "divide", "float_add", "float_multiply", "float_divide")
"""Kinds of which all operations but choices are one family."""

DATA_BESIDE_CODE = 16
"""Elements are in caches of their own where they are nearest to the processor, and only farther away in those that hold
code too, which are so many times as large and more: to code, so many bytes of elements are as one."""


class Meter:
    """Records operations.

    Attributes
    ----------
    sequence
        What was done, in order; equal operations of one line are one object.
    reaches
        Of each operation of the sequence, how far back its arrays were touched last: in which cache they may be.
    since
        Of each, how far back there was one of the same name, and of the same family: the distance of its code. Other
        operations since count with their code, and a `DATA_BESIDE_CODE`th of the bytes touched.
    aside
        What takes time here and is no operation of a data-parallel machine (kind `LOCAL`): VP sets, coordinates,
        addresses, arrays of the front end and elements of processors' own arrays, with their `since` and reach.
    aside_before
        Of each of those, which operation of the sequence came after it.
    """

    def __init__(self) -> None:
        self.sequence: list[Record] = []
        self.reaches: list[Reach] = []
        self.since: list[int] = []
        self.aside: list[tuple[Record, int, Reach]] = []
        self.aside_before: list[int] = []
        self._stack: dict[Touched, int] = {}
        self._known: dict[Record, Record] = {}
        self._mask: Any = None
        self._of_mask = (0, 0)

    @property
    def footprint(self) -> tuple[int, int]:
        """How far back arrays and code are that were touched first, once the program runs again."""
        return _rounded(sum(self._stack.values())), _rounded(sum(map(_beside_code, self._stack.items())))

    def counts(self) -> Counter[Record]:
        """How often each operation was done."""
        return Counter(self.sequence)

    def clear(self) -> None:
        """Forget all."""
        self.sequence.clear()
        self.reaches.clear()
        self.since.clear()
        self.aside.clear()
        self.aside_before.clear()
        self._known.clear()

    def time(self, costs: Costs) -> Time:
        """What a machine takes for all of it: the sum of what each operation takes.

        Raises
        ------
        UsageError
            For operations that the machine has no costs of, with all of their names.
        """
        from weft.data_parallel import Time

        real = cm = 0.0
        lacking: dict[str, str] = {}
        for record, count in self.counts().items():
            if record.stores:
                continue
            try:
                time = costs.time(record.operation(costs.processors))
            except UsageError as error:
                lacking.setdefault(
                    record.name, f"{record.name} ({os.path.basename(record.file)}:{record.line}): {error}"
                )
                continue
            real, cm = real + count * time.real, cm + count * time.cm
        if lacking:
            raise UsageError(
                f"{costs.machine} has no costs of {len(lacking)} of the operations: " + "; ".join(lacking.values())
            )
        return Time(real, cm)

    def record(
        self,
        vp: VPSet,
        name: str,
        kind: str,
        bits: int,
        *,
        arrays: Sequence[Any] = (),
        parts: Sequence[int] | None = None,
        **more: Any,
    ) -> Record:
        """An operation of a VP set, and the arrays that it reads and writes: whole, or so many bytes (`parts`)."""
        if any(one.dtype.kind == "c" for one in arrays):
            raise UsageError(
                f"{name}: what operations on complex numbers cost is not known; keep real and imaginary part in two "
                "variables"
            )
        selected, runs = (vp.size, 1) if vp.mask is None else self._selection(vp)
        file, line = caller()
        record = Record(name, kind, bits, vp.shape, selected, file, line, runs=runs, **more)
        record = self._known.setdefault(record, record)
        self.sequence.append(record)
        self.reaches.append(self._reach(arrays, parts))
        self.since.append(self._since(name, _family(name, kind)))
        return record

    def note(self, vp: VPSet, name: str, *arrays: Any, coordinates: int = 0) -> None:
        """Something that takes time here, and is no operation of a data-parallel machine; what it writes, and reads."""
        bits = 8 * int(arrays[0].itemsize) if arrays else 8
        record = Record(name, LOCAL, bits, vp.shape, vp.size, *caller(), coordinates=coordinates)
        reach = self._reach(arrays)
        since = self._since(name, _family(name, LOCAL))
        self.aside_before.append(len(self.sequence))
        self.aside.append((self._known.setdefault(record, record), since, reach))

    @contextlib.contextmanager
    def elsewhere(self, vp: VPSet) -> Iterator[Meter]:
        """A block whose operations on a VP set another meter records."""
        other = Meter()
        vp.meter = other
        try:
            yield other
        finally:
            vp.meter = self

    def include(self, other: Meter) -> None:
        """What another meter has recorded: a data-parallel machine does it, and this one something else, which is
        noted."""
        for record, since, reach in zip(other.sequence, other.since, other.reaches, strict=True):
            included = replace(record, included=True)
            self.sequence.append(self._known.setdefault(included, included))
            self.since.append(since)
            self.reaches.append(reach)

    def _since(self, name: str, family: str) -> int:
        """How far back there was an operation of a name; now is the latest.

        Of its code, what it shares with its family is as near as the last of these.
        """
        own, shared = self._code_distance(name), self._code_distance(family)
        self._touch(name, CODE - SHARED)
        self._touch(family, SHARED)
        return _rounded(own if own == NEVER else (own * (CODE - SHARED) + shared * SHARED) // CODE)

    def _code_distance(self, code: str) -> int:
        """What was gone through since this code was last, and the code itself."""
        if code not in self._stack:
            return NEVER
        distance = 0
        for other in reversed(self._stack.items()):
            distance += _beside_code(other)
            if other[0] == code:
                break
        return distance

    def _reach(self, arrays: Sequence[Any], parts: Sequence[int] | None = None) -> Reach:
        """How far back the arrays were touched; from now on, that is now. Arrays are known by the addresses they have,
        so that a result which takes the place of freed ones, of whatever lengths, is as near as those were. One that an
        operation has twice (`x * x`, `x += y`) comes into a cache once."""
        lengths: dict[int, int] = {}
        touched: dict[int, int] = {}
        for one, part in zip(arrays, parts or [int(one.nbytes) for one in arrays], strict=True):
            where = _address(one)
            lengths[where] = max(lengths.pop(where, 0), int(one.nbytes))
            touched[where] = max(touched.pop(where, 0), part)
        distances = [_rounded(self._distance(where, where + length)) for where, length in lengths.items()]
        for where, length in touched.items():
            self._touch_addresses(where, where + lengths[where], length)
        return tuple(zip(distances, touched.values(), strict=True))

    def _touch(self, what: Touched, length: int) -> None:
        """Code, or addresses that nothing else in the stack has, are the latest that was touched."""
        self._stack.pop(what, None)
        self._stack[what] = length

    def _touch_addresses(self, first: int, end: int, length: int) -> None:
        """So many bytes of these addresses are the latest that was touched.

        What an array that is no more has left at the same addresses is gone from the caches with it: of older entries
        only the rest stays, so that no byte of memory is counted twice.
        """
        if (first, end) not in self._stack:
            older, self._stack = self._stack, {}
            for what, bytes_ in older.items():
                if isinstance(what, str) or what[1] <= first or end <= what[0]:
                    self._stack[what] = bytes_
                    continue
                for rest in ((what[0], first), (end, what[1])):
                    if rest[0] < rest[1]:
                        self._stack[rest] = bytes_ * (rest[1] - rest[0]) // (what[1] - what[0])
        if first < end:
            self._touch((first, end), length)

    def _distance(self, first: int, end: int) -> int:
        """The bytes of all that was touched since half of these addresses were, the latest first; and their own."""
        distance, left = 0, (end - first) / 2
        for what in reversed(self._stack):
            bytes_ = self._stack[what]
            if not isinstance(what, str) and what[0] < end and first < what[1]:
                own = min(what[1], end) - max(what[0], first)
                bytes_ -= bytes_ * own // (what[1] - what[0])
                left -= own
                if left <= 0:
                    return distance + end - first
            distance += bytes_
            if distance >= FORGOTTEN:
                break
        return NEVER

    def _selection(self, vp: VPSet) -> tuple[int, int]:
        """How many are selected, in how many stretches; counted once for each selection."""
        if vp.mask is not self._mask:
            flat = vp.mask.reshape(-1)
            begun = int(flat[0]) + int(np.count_nonzero(flat[1:] & ~flat[:-1])) if flat.size else 0
            self._mask, self._of_mask = vp.mask, (vp.execution.count(vp.mask), begun)
        return self._of_mask

    def selected(self, vp: VPSet, condition: ParallelVariable) -> None:
        """A selection was made of those that are selected now."""
        arrays = () if vp.mask is None else (condition.data, vp.mask)
        self.record(vp, "select", "select", 1, arrays=arrays)
        record = condition.record
        if record is None or record.kind not in ("add", "float_add") or record.selects:
            return
        # The last of its kind is this one: nothing else has been done with the condition since it was made.
        for index in range(len(self.sequence) - 2, max(-1, len(self.sequence) - 12), -1):
            if self.sequence[index] is record:
                changed = _selecting(record)
                self.sequence[index] = self._known.setdefault(changed, changed)
                condition.record = None
                return

    def shifted(
        self, vp: VPSet, bits: int, form: str, distance: int, axis: int, circular: bool, arrays: Sequence[Any]
    ) -> None:
        """A NEWS shift."""
        extent = vp.shape[axis]
        hops = min(abs(distance), extent)
        if circular and extent:
            hops = min(distance % extent, -distance % extent)
        selected = vp.size if vp.mask is None else vp.execution.count(vp.mask)
        kind = f"news_{form}_single" if selected == 1 else f"news_{form}"
        self.record(
            vp, f"shift {form}", kind, bits, axis=axis, extent=extent, hops=hops, scalar=not circular, arrays=arrays
        )

    def routed(
        self,
        vp: VPSet,
        name: str,
        bits: int,
        moved: tuple[Any, Any, Any],
        mode: str,
        within: bool,
        dtype: str = "",
        spent: float | None = None,
        coordinates: int = 0,
        into: bool = False,
        scalar: bool = False,
    ) -> None:
        """A get or a send: of what, by which addresses, to what; within this VP set, or from or to another.

        `spent`: seconds of a send that is combined by a function of the program's, which no router knows.
        `coordinates`: variables that the addresses are computed from. `into`: whether messages arrive in a variable of
        the program's. `scalar`: whether all send one number.
        """
        run, addresses = vp.execution, moved[1]
        # Kernels read addresses of 32 and 64 bits; numpy, which fetches few, those of 64.
        by_numpy = name == "get" and vp.mask is None and vp.size < FEW
        converted = addresses.dtype != np.int64 and (by_numpy or addresses.itemsize < 4)
        routing = facts.of(
            run.whole(addresses), None if vp.mask is None else run.whole(vp.mask), vp.shape if within else None
        )
        if mode == "allowed" and routing.most > MAX_COLLISIONS and vp.machine != "here":
            raise UsageError(
                f"get: {routing.most} processors fetch from one; with collisions allowed {vp.machine} takes at most "
                f"{MAX_COLLISIONS}: use 'many' or 'backward'"
            )
        many = routing.ratio > 1 or routing.most > 1
        far = moved[0] if name == "get" else moved[2]
        touched = bytes_touched(routing, int(far.itemsize), int(far.nbytes))
        parts = [int(one.nbytes) for one in moved]
        if name == "get":
            parts[0] = touched
        elif into:
            parts[2] = touched
        if name == "get":
            kind = "fetch_single" if routing.messages == 1 else "multiple_broadcast" if many else "fetch"
            more: dict[str, Any] = {"mode": mode}
        else:
            kind = "store_single" if routing.messages == 1 else "multiple_reduction" if many else "store"
            more = {"dtype": dtype}
            if spent is not None:
                kind, more["spent"] = "send_function", spent
        more |= {"facts": routing, "converted": converted, "coordinates": coordinates, "into": into, "touched": touched}
        if scalar:
            more["scalar"] = True
        self.record(vp, name, kind, bits, arrays=moved, parts=parts, **more)


def bytes_touched(routing: facts.Facts, itemsize: int, of: int) -> int:
    """Bytes of the lines which messages touch in an array of `of` bytes: targets that are packed share lines, scattered
    ones have each its own.

    >>> from weft.pvar.facts import Facts
    >>> packed = Facts(64, 8, 8, "clustering", True, None, False, None)
    >>> bytes_touched(packed, 4, 4096), bytes_touched(packed, 4, 16)
    (32, 16)
    """
    return min(of, routing.targets * (itemsize if routing.pattern == "clustering" else LINE))


def _beside_code(touched: tuple[Touched, int]) -> int:
    """What so many bytes of code, or of an array, are to other code."""
    what, length = touched
    return length if isinstance(what, str) else length // DATA_BESIDE_CODE


def _family(name: str, kind: str) -> str:
    """What operations have code in common: all that compute element by element; scans, whatever they combine by."""
    if kind in ELEMENTWISE and name != "where":
        return "code of elementwise operations"
    return f"code of {name.split(maxsplit=1)[0]}"


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _rounded(distance: int) -> int:
    """Up to a quarter of a power of two: equal operations shall be equal in this too."""
    below = max(0, distance.bit_length() - 3)
    return -(-distance >> below) << below


def _selecting(record: Record) -> Record:
    from dataclasses import replace

    return replace(record, selects=True)


def caller() -> tuple[str, int]:
    """File and line of the program that called this package."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_HERE) and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


_CURRENT: contextvars.ContextVar[Meter | None] = contextvars.ContextVar("weft_meter", default=None)


def current() -> Meter | None:
    """The meter of the block around."""
    return _CURRENT.get()


@contextlib.contextmanager
def metered(*vp_sets: VPSet) -> Iterator[Meter]:
    """A block in which operations are recorded: those of VP sets made in it, and of the ones given.

    >>> import weft
    >>> with weft.pvar.metered() as meter:
    ...     vp = weft.pvar.VPSet(8)
    ...     x = vp.coordinate(0) + 1
    >>> [(record.name, record.bits, record.size) for record in meter.sequence]
    [('add', 32, 8)]
    """
    meter = Meter()
    before = [vp.meter for vp in vp_sets]
    for vp in vp_sets:
        vp.meter = meter
    token = _CURRENT.set(meter)
    try:
        yield meter
    finally:
        _CURRENT.reset(token)
        for vp, one in zip(vp_sets, before, strict=True):
            vp.meter = one

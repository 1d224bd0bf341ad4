"""What kind of operation a record is on this machine, and what its cost depends on.

Kinds are finer than those of a Connection Machine: a processor with caches adds, compares and divides at different
rates, and moves elements by where they lie rather than by who asks. The name of a kind is what a person would say: `add
float64`, `scan max int32 along the last axis, segmented`, `get 8 bytes, scattered, selected`.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from weft.estimation.curves import Work
from weft.pvar import Record, domains, vectorized
from weft.pvar.facts import Facts
from weft.pvar.meter import LOCAL, Reach
from weft.pvar.native import FEW, TESTS, WITHOUT_WARNING

NEAR = 32 << 10
"""Bytes of targets that the first-level cache holds, on processors of today; beyond, scattered addresses miss it."""

FILLED = ("multiply", "max", "min", "logand", "and")
"""How elements combine that arrive in a new variable which is not all zeros at first: filled with what changes nothing,
and zero again, in a pass of its own, where nothing arrived."""

SAME_KERNEL = {
    "subtract": "add",
    "minimum": "maximum",
    **dict.fromkeys(("less_equal", "greater", "greater_equal"), "less"),
    "not_equal": "equal",
    **dict.fromkeys(("bitwise_or", "bitwise_xor"), "bitwise_and"),
}
"""Arithmetic that differs in one instruction of equal time takes equal times, within 3% at 4096 and at 50,000 elements
of each dtype: it is one kind, of which there are as many more observations."""

SAME_OPERATOR = {"min": "max", "logior": "logand", "logxor": "logand"}
"""The same of what reductions, scans and sends combine by."""

OTHER_BY_A_NUMBER = (
    *("divide", "floor_divide", "remainder", "pow"),
    *("maximum", "minimum", "bitwise_left_shift", "bitwise_right_shift"),
)
"""What is computed otherwise where an operand is one number: division multiplies by its inverse, and loops of numpy's
are not of vectors then: an element of a maximum takes twice as long, of one byte eight times. Kernels compute those of
more elements."""

USUAL_PASSES = 5
"""Passes of a sort that does not say how many it made: of whole numbers of some 32 bits."""


FEW_JUMPS = 16
"""Messages that come one after another are in order where only one of more than so many comes to somewhere else."""

IN_FLIGHT = 32
"""Messages that a processor works on at once, about: it looks some hundreds of instructions ahead, and each takes some
ten."""

SHORT_LINE, NARROW_ROW = 48, 64
"""Elements of a line along the last axis, and of a row beside another axis, below which kernels take several at a
time."""


class Kind(NamedTuple):
    """A kind of operation.

    Attributes
    ----------
    name
        Its name.
    group
        What it is alike to: kinds of a group have similar curves.
    work
        What the cost depends on.
    """

    name: str
    group: str
    work: Work


def family(group: str) -> str:
    """What a group is alike to: the same with elements of any length. A dtype that few programs have is there at few
    sizes, and says little of others by itself."""
    return re.sub(r"\b\d bytes", "bytes", group)


def of(record: Record, since: int = 0, reach: Reach = (), recurs: int = 0) -> Kind:
    """The kind of a record.

    Parameters
    ----------
    record
        The operation.
    since
        How far back the program did an operation of this name (`weft.pvar.Meter.since`).
    reach
        How far back its arrays were touched (`weft.pvar.Meter.reaches`).
    recurs
        How many operations ago the program executed the statement last; 0 where that is not known.
    """
    kind = _of(record)
    return kind._replace(work=replace(kind.work, since=since, reach=reach, recurs=recurs))


def _of(record: Record) -> Kind:
    length = f"{_bytes(record)} bytes"
    selected = ", selected" if record.selected < record.size else ""
    if record.kind == LOCAL:
        # Neither has elements of its own; the others write some.
        is_call = record.name in ("VP set", "own element")
        name = record.name if is_call else f"{record.name} {length}"
        work = Work(1, 1) if is_call else replace(_work(record, selects=False), coordinates=record.coordinates)
        return Kind(name, re.sub(r" \d bytes", "", name), work)
    if record.facts is not None:
        return _routed(record, selected)
    if record.kind.startswith("scan"):
        return _scanned(record, selected)
    if record.kind == "rank":
        return _ranked(record, selected)
    if record.kind.startswith("reduce"):
        return Kind(f"{_of_kernel(record.name)} {_type(record)}{selected}", f"reduce {length}{selected}",
                    _work(record))  # fmt: skip
    if record.kind in ("read", "write"):
        # One element: but the larger the grid, the farther it is from the processor.
        return Kind(record.kind, record.kind, Work(1, record.size * _bytes(record)))
    if record.kind.startswith("news"):
        return _moved(record, f"{record.name} {length}{selected}", 2 * _before(record))
    if record.kind == "spread":
        last = math.prod(record.shape[(record.axis or 0) + 1 :]) == 1
        pieces = _before(record) * (1 if last else record.extent or 1)
        return _moved(record, f"spread {length}{' along the last axis' * last}", pieces, selects=False)
    if record.kind in ("select", "convert"):
        return _moved(record, f"{record.kind} {length}" if record.kind == "convert" else "select", selects=False)
    if record.kind == "broadcast" and not record.into:
        # Of a variable that is made for it: whoever is selected.
        return _moved(record, f"broadcast {length}, new", selects=False)
    if record.kind in ("assign", "broadcast"):
        return _moved(record, f"{record.kind} {length}{selected}")
    return _elementwise(record)


def _of_kernel(name: str) -> str:
    """Operators that differ in one instruction of equal time are one kind, as in `SAME_KERNEL`."""
    what, operator = name.split()
    return f"{what} {SAME_OPERATOR.get(operator, operator)}"


def _moved(record: Record, name: str, pieces: int = 0, *, selects: bool = True) -> Kind:
    work = replace(_work(record, selects=selects, pieces=pieces), scalar=record.scalar)
    return Kind(name, re.sub(r"\d bytes", "", name), work)


def _before(record: Record) -> int:
    """Everything under one index of the axes before is contiguous."""
    return math.prod(record.shape[: record.axis])


def _elementwise(record: Record) -> Kind:
    """All elements are computed, whoever is selected: of a selection only that there is one makes a difference."""
    density = 1.0 if record.selected < record.size else None
    work = replace(_work(record), density=density, runs=0, scalar=record.scalar, converted=record.converted)
    if record.name == "where":
        # Its dtype is the condition's; what is chosen is moved. numpy branches at each element.
        by_numpy = " by numpy" if record.converted else ""
        name = f"where {_bytes(record)} bytes{by_numpy}"
        return Kind(name, name, replace(work, converted=False))
    slow = record.kind in ("divide", "float_divide", "float_sqrt", "float_function")
    # Under a selection, functions with a kernel that is silent are told from those that numpy is kept silent for.
    silent = record.name in WITHOUT_WARNING and _type(record) in domains.dtypes_of(record.name)
    pace = "slow" if slow else "silent" if silent else "comparing" if record.name in TESTS else "fast"
    group = f"{pace} elementwise {_bytes(record)} bytes"
    if record.kind == "random":
        # Many operations of numpy's in one: nothing else has calls as long.
        group = "random"
    dtype, computed = _type(record), _floating_of_whole(record)
    bitwise = dtype == "bool" and record.name.startswith("bitwise")
    loop = " by a number" if record.scalar and (record.name in OTHER_BY_A_NUMBER or bitwise) else ""
    if (loop or slow) and vectorized.is_by_kernel(record.name, dtype, record.size):
        loop += ", by a kernel"
    if computed:
        work = replace(work, converted=True)
    return Kind(f"{SAME_KERNEL.get(record.name, record.name)} {computed or dtype}{loop}", group, work)


def _floating_of_whole(record: Record) -> str:
    """In what floating point a function of whole numbers is computed, which are converted first; empty for others."""
    dtype = _type(record)
    if record.kind not in ("float_function", "float_sqrt") or record.name == "pow" or dtype.startswith("float"):
        return ""
    return "float64" if dtype in ("int32", "int64") else "float32"


def _scanned(record: Record, selected: str) -> Kind:
    """A scan, or a reduction along an axis."""
    assert record.axis is not None
    what, operator, *forms = record.name.split()
    extent, after = record.extent or 1, math.prod(record.shape[record.axis + 1 :])
    if extent == record.size:
        where = " along one line"
    elif after == 1:
        where = f" along the last axis{', short' if extent < SHORT_LINE else ''}"
    else:
        where = f" along another axis{', narrow' if after < NARROW_ROW else ''}"
    where += f"{', segmented' * ('segmented' in forms)}{selected}"
    # Lines along the last axis, and along another one rows of all the lines.
    work = _work(record, pieces=record.size // (extent if after == 1 else after or 1))
    work = replace(work, exclusive="exclusive" in forms, down="down" in forms)
    name = f"{_of_kernel(f'{what} {operator}')} {_type(record)}{where}"
    return Kind(name, f"{what} {_bytes(record)} bytes{where}", work)


def _ranked(record: Record, selected: str) -> Kind:
    """What is in order is only looked at.

    Else all elements are gone through twice, and those that are selected once more for each digit.
    """
    passes = record.passes or USUAL_PASSES
    order = ", in order" if passes == 1 else ""
    work = _work(record)
    if passes > 1:
        work = replace(work, elements=2 * record.size + (passes - 2) * record.selected)
    return Kind(f"rank{order}{selected}", f"rank{order}{selected}", work)


def _routed(record: Record, selected: str) -> Kind:
    assert record.facts is not None
    facts, length = record.facts, _bytes(record)
    computes = record.name not in ("get", "send plain", "send overwrite")
    what = f"{_of_kernel(record.name)} {_type(record)}" if computes else f"{record.name} {length} bytes"
    if facts.ascending or facts.shift is not None or facts.line is not None:
        order = "in order"
    elif record.touched <= NEAR:
        order = "scattered near"
    else:
        order = "in order" if facts.jumps * FEW_JUMPS < facts.messages else "scattered"
    # Few are fetched by numpy's own indexing.
    few = ", few" if record.name == "get" and not selected and record.size < FEW else ""
    filled = ", filled" if computes and not record.into and record.name.split()[1] in FILLED else ""
    suffix = f", {order}{few}{filled}{selected}"
    waiting = _waiting(facts) if record.name.startswith("send") else 0.0
    scattered = facts.jumps * math.log2(record.touched / NEAR) if order == "scattered" else 0.0
    # Selected senders are copied by vectors, without branches: how they lie makes no difference.
    work = replace(_work(record), runs=0, converted=record.converted, waiting=waiting, scattered=scattered,
                   coordinates=record.coordinates, scalar=record.scalar)  # fmt: skip
    floats = " floats" if computes and _type(record).startswith("float") else ""
    return Kind(what + suffix, f"{f'send combining{floats}' if computes else record.name}{suffix}", work)


def _waiting(facts: Facts) -> float:
    """How many messages wait for one to the same target that is in flight.

    Of those in order, the ones to a target follow one another, and a processor goes on with the next targets' only
    where these are not too many; of scattered ones, any two are as likely to meet.
    """
    if not facts.targets:
        return 0.0
    each = facts.messages / facts.targets
    return facts.messages * (each - 1) / (each - 1 + IN_FLIGHT) if facts.ascending else each


def _work(record: Record, *, selects: bool = True, pieces: int = 0) -> Work:
    """`selects`: whether the selection around changes what is done."""
    under = selects and record.selected < record.size
    return Work(
        elements=record.size,
        bytes=record.size * _bytes(record),
        density=record.density if under else None,
        runs=record.runs if under else 0,
        pieces=pieces,
    )


def _bytes(record: Record) -> int:
    """Of an element in memory: words are kept in the next longer type."""
    return next(length for length in (1, 2, 4, 8) if record.bits <= 8 * length)


def _type(record: Record) -> str:
    """A dtype; unsigned integers compute as signed ones do."""
    if record.dtype:
        return np.dtype(record.dtype).name.removeprefix("u")
    return f"{'float' if record.kind.startswith('float') else 'int'}{8 * _bytes(record)}"

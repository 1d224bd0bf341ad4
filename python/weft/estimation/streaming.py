"""Prices operations on a described node that streams parallel variables through its memory: a GPU, a vector node.

The model is a roofline for each operation (S. Williams, A. Waterman, D. Patterson, Roofline: an insightful visual
performance model for multicore architectures, Communications of the ACM 52, 2009): a launch, then the longer of what
moving its bytes takes and what computing its elements takes. Bytes are those of the arrays that the meter saw it read
and write, at the rate of the cache where the array was touched recently enough to be in it. Addresses in order stream;
others take a time each, and updates of one address follow each other. On a machine with `[shifts]` a shift is a call of
CSHIFT, which also crosses the network of its nodes.
"""

from __future__ import annotations

import json
import math
from typing import Any

from weft import _core
from weft._core import Machine, MachineError
from weft.data_parallel import Time, layout
from weft.distributed.plans import Polyshift
from weft.pvar import Record
from weft.pvar.meter import Reach

TABLE = "parallel"
"""The table of a machine file with the figures."""

ERROR = 0.5
"""Relative error that is allowed for where a machine file says nothing of it: figures are peak rates of data sheets,
and estimates. An assumption."""

ERROR_FACT = "estimate_error"
"""The fact of a machine file with the relative error that its estimates had where they could be compared."""

_DIGIT = 8
"""Bits of a key that a pass of a radix sort orders by."""

_PERCENT = ("%", "percent")
"""Units in which an error would be taken for a hundred times itself."""

_WORD = 32
"""Bits of the integers that `integer_time` is of."""

_SLICE = 4
"""Bytes that the least element has where shifts are by CSHIFT."""

_DIVISIONS = ("divide", "float_divide", "float_sqrt")


def streams(machine: Machine) -> bool:
    """Whether the machine's file has what is needed."""
    return TABLE in json.loads(machine.to_json())


def shifts(machine: Machine) -> bool:
    """Whether the machine's file has costs of planned shifts."""
    return "shifts" in json.loads(machine.to_json())


def _known_error(machine: Machine, fact: dict[str, Any] | None) -> float:
    """The relative error of a machine's estimates, from its file or the one assumed."""
    if fact is None:
        return ERROR
    value, unit = float(fact["value"]), fact["unit"]
    if unit in _PERCENT or value < 0:
        meant = f"; did you mean {value / 100:g}?" if unit in _PERCENT and value >= 0 else ""
        raise MachineError(
            f"{machine.name}: facts.{ERROR_FACT}: expected a ratio of at least 0, as "
            f'{{ value = 0.2, unit = "ratio" }} for 20%, found {value:g} {unit}{meant}'
        )
    return value


class Streaming:
    """Prices operations on one machine.

    Parameters
    ----------
    machine
        One whose file has a table `[parallel]`.

    Examples
    --------
    >>> import weft
    >>> def program():
    ...     x = weft.pvar.VPSet(1 << 24).zeros("float32")
    ...     y = x + 1
    >>> estimated = weft.estimate(program, "hgx-h100")
    >>> f"{estimated.table().filter(operation='add')['real_s'][0] * 1e6:.1f} us"
    '42.6 us'
    """

    has_context_flags = False

    def __init__(self, machine: Machine) -> None:
        file: dict[str, Any] = json.loads(machine.to_json())
        self.name = machine.name
        self._machine = machine
        self._f = {key: float(figure["value"]) for key, figure in file[TABLE].items()}
        self._has_shifts = shifts(machine)
        error = _known_error(machine, file.get("facts", {}).get(ERROR_FACT))
        self.model_error: float | None = error
        self.program_error: float | None = error

    @property
    def result(self) -> float:
        """Seconds from the end of an operation to its result on the front end."""
        return self._f["result"]

    def time(self, record: Record, since: int = 0, reach: Reach = (), recurs: int = 0) -> Time:
        """What an operation takes; there is no sequencer, so CM time is not a number."""
        return Time(self._seconds(record, reach), float("nan"))

    def error(self, record: Record) -> float:
        """The same for all."""
        return self.model_error or 0.0

    def planned(self, plan: Polyshift) -> Time | None:
        """A call of the plan; without `[shifts]` one launch, and what its arrays stream."""
        return Time(plan.estimate(self._machine).planned_s, float("nan"))

    def _seconds(self, record: Record, reach: Reach) -> float:
        launch, result = self._f["launch"], self._f["result"]
        if record.kind in ("read", "write"):
            return launch + result
        if record.kind.startswith("news") and self._has_shifts:
            return self._shift(record)
        if record.kind == "rank" and len(reach) > 1:
            return self._ranked(record, reach[0][1], reach[1][1])
        moved = self._routed(record, reach) if record.facts is not None else self._streamed(record, reach)
        busy = launch + max(moved, record.size * self._element(record))
        # A reduction over all ends with one over what its parts found.
        return busy + launch + result if record.kind.startswith("reduce") else busy

    def _streamed(self, record: Record, reach: Reach) -> float:
        return math.fsum(self._bytes(distance, own) for distance, own in reach) + self._selection(record)

    def _selection(self, record: Record) -> float:
        """A byte of the selection for each element."""
        return self._bytes(record.size, record.size) if record.selected < record.size else 0.0

    def _bytes(self, distance: int, own: float) -> float:
        """An array from where it is."""
        in_cache = distance <= self._f["cache_bytes"]
        return own * (self._f["cache_byte_time"] if in_cache else self._f["byte_time"])

    def _routed(self, record: Record, reach: Reach) -> float:
        """Messages by addresses; the meter's arrays are what is read, the addresses, and what is written."""
        facts = record.facts
        assert facts is not None
        if len(reach) < 3 or facts.ascending or facts.shift is not None or facts.line is not None:
            moved = self._streamed(record, reach)
        else:
            writes = record.name.startswith("send")
            scattered = reach[2] if writes else reach[0]
            rest = [one for one in reach if one is not scattered]
            moved = self._streamed(record, tuple(rest)) + (1 + writes) * self._scattered(facts.messages, *scattered)
        # Who updates an address waits for who did before; whoever reads it does not.
        return max(moved, facts.most * self._f["collision_time"] if record.name.startswith("send") else 0.0)

    def _scattered(self, messages: int, distance: int, own: int) -> float:
        """Elements at scattered addresses of an array; one that fits the cache is at most read into it first."""
        each = messages * self._f["scattered_time"]
        if own > self._f["cache_bytes"]:
            return each
        cached = each * self._f["cache_byte_time"] / self._f["byte_time"]
        return min(each, cached + (0.0 if distance <= self._f["cache_bytes"] else own * self._f["byte_time"]))

    def _ranked(self, record: Record, keys: int, positions: int) -> float:
        """A radix sort of eight bits a pass, and the positions sent back to where the keys came from.

        A pass counts the keys, then moves them with their positions (D. Merrill, A. Grimshaw, High performance and
        scalable radix sorting, Parallel Processing Letters 21, 2011; M. Zagha, G. Blelloch, Radix sort for vector
        multiprocessors, Supercomputing 1991).
        """
        both = keys + positions
        one_pass = 2 * self._f["launch"] + self._bytes(2 * both, keys + 2 * both)
        back = self._bytes(2 * both, positions) + 2 * self._scattered(record.size, 2 * both, positions)
        return math.ceil(record.bits / _DIGIT) * one_pass + self._f["launch"] + back

    def _element(self, record: Record) -> float:
        """Computing one element."""
        f, kind = self._f, record.kind
        if record.facts is not None or kind in ("assign", "broadcast", "spread", "select"):
            return 0.0
        if kind.startswith(("news", "scan_copy")):
            return 0.0
        if kind.startswith("float") or record.dtype.startswith("float"):
            slower = f["float64_time"] / f["float32_time"] if record.bits > _WORD else 1.0
            return slower * self._single(kind)
        words = max(1, math.ceil(record.bits / _WORD))
        if kind in _DIVISIONS:
            return words * f["divide_time"]
        return f["integer_time"] * (words**2 if kind == "multiply" else words)

    def _single(self, kind: str) -> float:
        """An operation of a kind in single precision."""
        if kind in _DIVISIONS:
            return self._f["divide_time"]
        return self._f["function_time"] if kind == "float_function" else self._f["float32_time"]

    def _shift(self, record: Record) -> float:
        """A call of CSHIFT on the subgrid that every node has."""
        axis, hops = record.axis or 0, record.hops or 0
        subgrid = layout.subgrid(record.shape, self._machine.nodes).extents
        element = _SLICE * math.ceil(record.bits / (8 * _SLICE))
        times = json.loads(_core.shift_times(self._machine, list(subgrid), element, [(axis, hops)]))
        return float(times["cshift"]["elapsed_s"])

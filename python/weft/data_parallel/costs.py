"""The cost of an operation on a CM-2, from the figures of its machine file.

CM time is what the sequencer executes, real time what the front end sees. An instruction is issued without waiting, so
that its real time is the longer of front end and sequencer; what gives the front end a result is waited for. With more
virtual processors the sequencer works longer on the same instruction, whose start is shared; the front end does not.

Where the machine is mechanistic the model is: integers bit by bit, a multiplication by pairs of bits, floating point by
the chip of 32 processors, a sum over the dimensions of the hypercube of chips, NEWS by hops, the router by cycles of a
simulated combining router (`crates/network/src/combining.rs`). Groups of processors are consecutive ones; the processor
that a group sends to or fetches from is its first ('distributing') or that of the group's number ('clustering'): the
paper does not say, and these are the ones with which the simulated router shows its times.
"""

from __future__ import annotations

import copy
import functools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from weft import _core
from weft._core import Machine, UsageError
from weft.data_parallel.operation import KINDS, Operation


@dataclass(frozen=True)
class Time:
    """Seconds of an operation.

    Attributes
    ----------
    real
        By the wall clock of the front end.
    cm
        While the sequencer executed.
    """

    real: float
    cm: float


class Costs:
    """Prices operations on one machine.

    Parameters
    ----------
    machine
        One whose file has a table `[primitives]`.
    Raises
    ------
    UsageError
        If the machine has no such costs.

    Examples
    --------
    >>> import weft
    >>> from weft.data_parallel import Operation
    >>> time = Costs(weft.machine("cm2-8k")).time(Operation("float_add"))
    >>> round(time.real, 6), round(time.cm, 8)
    (0.000169, 6.861e-05)
    """

    def __init__(self, machine: Machine) -> None:
        file: dict[str, Any] = json.loads(machine.to_json())
        if "primitives" not in file:
            raise UsageError(
                f"{machine.name} has no costs of data-parallel operations: its machine file has no table [primitives]; "
                "cm2-8k has"
            )
        self._file = machine.to_toml()
        self._f = {key: float(figure["value"]) for key, figure in file["primitives"].items()}
        self.machine = machine.name
        """The machine's name."""
        self.processors = int(self._f["processors"])
        """How many processors the machine has."""
        self._dimensions = math.log2(self._f["processors"] / self._f["processors_per_chip"])

    def with_figures(self, figures: Mapping[str, float]) -> Costs:
        """The same machine with other figures in place of those of its file, by key; for fits."""
        other = copy.copy(self)
        other._f = self._f | dict(figures)
        return other

    def time(self, operation: Operation) -> Time:
        """What an operation takes.

        Raises
        ------
        UsageError
            For an operation that this machine has no figures of.
        """
        if operation.kind not in _KINDS:
            raise UsageError(
                f"the machine file of {self.machine} has no time of {operation.kind} ({KINDS[operation.kind]}): "
                "the tests that its figures are from do not have it"
            )
        if operation.kind.startswith("float") and operation.bits != 32:
            raise UsageError(
                f"{operation.kind}: the floating-point chips of {self.machine} are of single precision, not "
                f"{operation.bits} bits; use float32"
            )
        return _KINDS[operation.kind](self, operation)

    def _work(self, o: Operation, work: float) -> float:
        """An instruction: its start once, its work for each virtual processor."""
        return self._f["issue"] + o.vp_ratio * work

    def _issued(self, cm: float, *front_end: str) -> Time:
        """Nobody waits: the slower of the two decides."""
        return Time(max(cm, sum(self._f[f"front_end_{name}"] for name in front_end)), cm)

    def _awaited(self, cm: float, *front_end: str) -> Time:
        """The front end waits for the sequencer to end."""
        return Time(cm + sum(self._f[f"front_end_{name}"] for name in front_end), cm)

    def add(self, o: Operation) -> Time:
        """Bit by bit."""
        return self._issued(self._work(o, o.bits * self._f["add_bit"]), "integer")

    def multiply(self, o: Operation) -> Time:
        """By pairs of bits."""
        return self._issued(self._work(o, o.bits**2 * self._f["multiply_bit"]), "integer")

    def divide(self, o: Operation) -> Time:
        """Both operands to floating point, a division there, the quotient back (section 3)."""
        converted = 3 * self._work(o, self._f["convert"])
        divided = self._work(o, self._f["float_divide"])
        return self._issued(converted + divided, "integer", "integer", "integer", "float", "integer")

    def convert(self, o: Operation) -> Time:
        """Between integer and floating point, through the chip."""
        return self._issued(self._work(o, self._f["convert"]), "float")

    def floating(self, o: Operation) -> Time:
        """Through the floating-point chip; a division tests its divisor first."""
        test = ("integer",) if o.kind == "float_divide" else ()
        return self._issued(self._work(o, self._f[o.kind]), "float", *test)

    def write(self, o: Operation) -> Time:
        """Over the memory bus."""
        return self._awaited(self._f["issue"] + o.bits * self._f["bus_bit"], "integer")

    def read(self, o: Operation) -> Time:
        """Over the wire, and waited for."""
        return self._awaited(self._f["issue"] + o.bits * self._f["wire_bit"], "integer", "result")

    def broadcast(self, o: Operation) -> Time:
        """Over the instruction bus, into a temporary variable."""
        return self._issued(self._work(o, o.bits * self._f["bus_bit"]), "integer", "temporary")

    def reduce_sum(self, o: Operation) -> Time:
        """Within each processor, then an addition for each dimension of the hypercube of chips."""
        addition = o.bits * self._f["add_bit"]
        cm = self._dimensions * (self._f["issue"] + addition) + (o.vp_ratio - 1) * addition
        return self._awaited(cm, "integer", "result")

    def reduce_max(self, o: Operation) -> Time:
        """From the highest bit down: who has a one, and who drops out."""
        cm = self._work(o, o.bits * self._f["compare_bit"])
        waited = self._f["front_end_integer"] + self._f["front_end_result"]
        return Time(max(o.bits * self._f["front_end_compare_bit"] + waited, cm), cm)

    def reduce_max_grid(self, o: Operation) -> Time:
        """Within each processor, then over processors."""
        return self._awaited(self._work(o, self._f["reduce_within"]) + self._f["reduce_across"], "result")

    def reduce_logior(self, o: Operation) -> Time:
        """Each bit over the global-or wire, other virtual processors combined before."""
        combined = (o.vp_ratio - 1) * o.bits * self._f["add_bit"]
        return self._awaited(self._f["issue"] + o.bits * self._f["wire_bit"] + combined, "integer", "result")

    def reduce_logand(self, o: Operation) -> Time:
        """The same of the complement, which is made while the front end gets a temporary variable for it."""
        complement = self._issued(self._work(o, o.bits * self._f["add_bit"]), "temporary")
        rest = self.reduce_logior(o)
        return Time(complement.real + rest.real, complement.cm + rest.cm)

    def reduce_or(self, o: Operation) -> Time:
        """The global-or wire, read."""
        return self._awaited(o.vp_ratio * self._f["wire"], "result")

    def reduce_and(self, o: Operation) -> Time:
        """The same of the complement."""
        return self._awaited(o.vp_ratio * (self._f["invert"] + self._f["wire"]), "boolean", "result")

    def select(self, o: Operation) -> Time:
        """A condition evaluated and made the selection."""
        return self._issued(self._work(o, self._f["select"]), "select")

    def general(self, o: Operation) -> Time:
        """Through the router, without combining."""
        name, _, single = o.kind.partition("_")
        routed = self._alone(o) if single else self._routed(o, "uniform")
        return self._awaited(self._f[f"{name}_startup"] + self._f[f"{name}_share"] * routed, name)

    def multiple_reduction(self, o: Operation) -> Time:
        """Through the router, combining."""
        return self._awaited(self._f["combine_startup"] + self._routed(o, o.pattern), "combine")

    def multiple_broadcast(self, o: Operation) -> Time:
        """In one of the three modes."""
        return {"allowed": self._allowed, "many": self._many, "backward": self._backward}[o.mode](o)

    def _allowed(self, o: Operation) -> Time:
        """A round for each processor that fetches from the same one, those still waiting held in memory."""
        rounds = o.ratio * o.vp_ratio
        one = self._f["round_scattered"]
        if o.pattern == "clustering":
            one = self._f["round_clustered"] + rounds * self._f["round_backlog"]
        front_end = self._f["front_end_fetch"] + o.ratio * self._f["front_end_round"]
        return Time(rounds * one + front_end, rounds * one)

    def _many(self, o: Operation) -> Time:
        """Sorted by a store for each bit of the groups' numbers, so that collisions do not matter."""
        groups = max(self._f["processors"] * o.vp_ratio / o.ratio, 1.0)
        store = self.general(Operation("store", o.bits, o.vp_ratio, o.density)).cm
        return self._awaited(o.vp_ratio * self._f["sort_startup"] + math.log2(groups) * store, "sort")

    def _backward(self, o: Operation) -> Time:
        """There as a reduction, whose way is kept in memory, and back."""
        routed = self._f["backward_share"] * self._routed(o, o.pattern)
        return self._awaited(self._f["backward_startup"] + routed, "backward")

    def news(self, o: Operation) -> Time:
        """Over hops of the grid."""
        _, name, *single = o.kind.split("_")
        more = 0.0 if single else self._f["front_end_news_all"]
        steps = news_steps(o.hops)
        cm = self._f[f"news_{name}_startup"] + o.vp_ratio * steps * self._f[f"news_{name}_hop"]
        front_end = self._f[f"front_end_news_{name}"] + more
        if name == "store":
            return Time(cm + front_end, cm)
        return Time(max(cm, front_end + steps * self._f["front_end_news_hop"]), cm)

    def spread(self, o: Operation) -> Time:
        """By doubling, over the dimensions of the axis and within processors."""
        doublings = math.log2(o.extent)
        cm = (
            self._f["spread_startup"]
            + doublings * self._f["spread_dimension"]
            + math.log2(o.vp_ratio) * self._f["spread_within"]
        )
        return Time(cm + self._f["front_end_spread"] + doublings * self._f["front_end_spread_dimension"], cm)

    def scan(self, o: Operation) -> Time:
        """Over the dimensions of all processors; sums and maxima compute at each."""
        what = o.kind.removeprefix("scan_")
        bits = 1 if what in ("and", "or") else o.bits
        cm = self._f["scan_startup"] + bits * self._f["scan_bit"]
        computed = bits * self._f["add_bit"]
        if what in ("sum", "max"):
            cm += math.log2(self._f["processors"]) * computed
        elif what == "copy":
            cm += self._f["scan_copy"]
        # Within a processor first and last.
        cm += 2 * (o.vp_ratio - 1) * computed
        return Time(max(cm + self._f["front_end_result"], self._f["front_end_scan"]), cm)

    def _routed(self, o: Operation, pattern: str) -> float:
        """Seconds of all messages of a pattern in the combining router."""
        cycles, steps, overflow = _passage(self._file, pattern, o.ratio, o.density)
        return o.vp_ratio * _length(o) * self._passed(cycles, steps, overflow)

    def _alone(self, o: Operation) -> float:
        """Seconds of one message over half of the dimensions, the average distance."""
        return _length(o) * self._passed(1, self._dimensions / 2, 0)

    def _passed(self, cycles: float, steps: float, overflow: float) -> float:
        costs = self._f
        return cycles * costs["router_cycle"] + steps * costs["router_step"] + overflow * costs["router_overflow"]


NEWS_HOPS = 5
"""The most hops that NEWS was fitted over (Wu and Shu 1989, table 10)."""


def news_steps(hops: int) -> int:
    """Steps between neighbours in the hypercube that a shift along an axis of the grid is charged.

    Up to `NEWS_HOPS` they are the hops, as table 10 of Wu and Shu 1989 has them. Nothing was published beyond. A grid
    is embedded by the binary-reflected Gray code, in which indices a power of two apart, from 2 on, are two steps
    from each other (S. L. Johnsson, Communication efficient basic linear algebra computations on hypercube
    architectures, J. Parallel Distrib. Comput. 4 (1987)), so that a long shift is one by each power of two in its
    signed binary form of fewest digits. It is charged no less than the longest that was measured.

    Examples
    --------
    >>> [news_steps(hops) for hops in (1, 5, 8, 85, 4096)]
    [1, 5, 5, 7, 5]
    """
    if hops <= NEWS_HOPS:
        return hops
    # Digits of the non-adjacent form: those of three times the number against those of the number.
    digits = ((hops ^ 3 * hops) >> 1).bit_count()
    return max(NEWS_HOPS, 2 * digits - hops % 2)


def priced_kinds() -> tuple[str, ...]:
    """The kinds that machines with primitives have figures of."""
    return tuple(_KINDS)


def _length(o: Operation) -> float:
    """A message is an address of 32 bits and the word; times are of 32-bit words. An estimate: no other is known."""
    return (32 + o.bits) / 64


@functools.lru_cache(maxsize=1024)
def _passage(file: str, pattern: str, ratio: int, density: float) -> tuple[int, int, int]:
    """What the router of the machine that `file` describes does with a pattern."""
    machine = Machine.parse(file, "the machine")
    processors = int(json.loads(machine.to_json())["primitives"]["processors"]["value"])
    return _core.route_combining(machine, destinations(pattern, ratio, density, processors))


def destinations(pattern: str, ratio: int, density: float, processors: int) -> list[int]:
    """Where each processor sends, -1 where it is not selected.

    Parameters
    ----------
    pattern
        `clustering`, `distributing`, or `uniform`: each to another, scattered.
    ratio
        Consecutive processors of a group.
    density
        Share that is selected; who is, is scattered but always the same.
    processors
        How many.
    """
    scattered = sorted(range(processors), key=_scrambled)
    to: Callable[[int], int] = {
        "clustering": lambda processor: processor // ratio,
        "distributing": lambda processor: processor // ratio * ratio,
        "uniform": scattered.__getitem__,
    }[pattern]
    selected = set(scattered[: round(density * processors)])
    return [to(processor) if processor in selected else -1 for processor in range(processors)]


def _scrambled(number: int) -> int:
    """Two rounds of multiplication and shift: an order without a pattern, the same on every machine."""
    for factor in (0x9E3779B1, 0x85EBCA77):
        number = (number * factor) & 0xFFFFFFFF
        number ^= number >> 15
    return number


_KINDS: dict[str, Callable[[Costs, Operation], Time]] = {
    **dict.fromkeys(("add", "assign"), Costs.add),
    "multiply": Costs.multiply,
    "divide": Costs.divide,
    "convert": Costs.convert,
    **dict.fromkeys(("float_add", "float_multiply", "float_divide"), Costs.floating),
    "write": Costs.write,
    "read": Costs.read,
    "broadcast": Costs.broadcast,
    "reduce_sum": Costs.reduce_sum,
    "reduce_max": Costs.reduce_max,
    "reduce_max_grid": Costs.reduce_max_grid,
    "reduce_logand": Costs.reduce_logand,
    "reduce_logior": Costs.reduce_logior,
    "reduce_and": Costs.reduce_and,
    "reduce_or": Costs.reduce_or,
    "select": Costs.select,
    **dict.fromkeys(("store", "store_single", "fetch", "fetch_single"), Costs.general),
    "multiple_reduction": Costs.multiple_reduction,
    "multiple_broadcast": Costs.multiple_broadcast,
    **dict.fromkeys(("news_store", "news_store_single", "news_fetch", "news_fetch_single"), Costs.news),
    "spread": Costs.spread,
    **dict.fromkeys(
        ("scan_copy", "scan_sum", "scan_max", "scan_logand", "scan_logior", "scan_and", "scan_or"), Costs.scan
    ),
}

"""Which processors ranks may run on, how far apart that makes them, and what is wrong with it.

A launcher binds ranks to processors, or leaves them free. Two ranks on one processor take turns, a rank that is free
wanders between sockets, and both look like slow hardware to whoever measures times only.
"""

from __future__ import annotations

import enum
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weft._core import UsageError
from weft.inputs import quoted

_UNBOUND = 2
"""A rank that may run on so many times as many processors as most ranks is not bound as they are."""

_MIN_RANKS = 3
"""The fewest ranks, and the fewest nodes, of which most can differ from one."""

MAX_LISTED = 8
"""Ranks of a list in a sentence."""

Processors = frozenset[int]


class Level(enum.IntEnum):
    """The smallest part of a node that two ranks are in together; a larger number is farther apart."""

    PROCESSOR = 0
    CORE = 1
    CACHE = 2
    NUMA = 3
    SOCKET = 4
    NODE = 5


_NAMES = {
    Level.PROCESSOR: "same processor",
    Level.CORE: "same core",
    Level.CACHE: "same L3 cache",
    Level.NUMA: "same NUMA node",
    Level.SOCKET: "same socket",
    Level.NODE: "other socket",
}

PARTS = {Level.CACHE: "L3 cache", Level.NUMA: "NUMA node", Level.SOCKET: "socket"}
"""Parts of a node that hold several cores, as sentences have them."""


class Distance(NamedTuple):
    """How far apart two ranks of a node are.

    Attributes
    ----------
    level
        The smallest part of the node that both are in whatever the system does.
    varies
        Whether the system may also run them nearer to each other, as they are not bound to cores of their own.
    """

    level: Level
    varies: bool

    @property
    def name(self) -> str:
        """As tables and sentences have it.

        Examples
        --------
        >>> Distance(Level.SOCKET, False).name, Distance(Level.NODE, True).name
        ('same socket', 'same node, cores vary')
        """
        if not self.varies:
            return _NAMES[self.level]
        return f"{'same node' if self.level is Level.NODE else _NAMES[self.level]}, cores vary"


@dataclass(frozen=True)
class Binding:
    """The processors that a rank may run on, and what they are part of; a set is empty where the system does not say.

    Attributes
    ----------
    parts
        By level, the numbers of the parts of the node that its processors are in.
    cores_of_node
        Cores of the whole node; 0 where that is not known.
    """

    parts: tuple[Processors, ...]
    cores_of_node: int

    @property
    def processors(self) -> Processors:
        """The processors."""
        return self.parts[Level.PROCESSOR]

    def within(self, level: Level) -> int | None:
        """The one part of this level that the rank is in; None where it may be in several, or nobody knows."""
        return next(iter(self.parts[level])) if len(self.parts[level]) == 1 else None

    @staticmethod
    def parse(text: str) -> Binding:
        """A binding as samples have it.

        Raises
        ------
        weft.UsageError
            If the text is none.

        Examples
        --------
        >>> binding = Binding.parse("cpu=0-1,8 core=0-1 numa=0 socket=0 of=16")
        >>> sorted(binding.processors), binding.within(Level.SOCKET), binding.cores_of_node
        ([0, 1, 8], 0, 16)
        """
        try:
            words = dict(word.split("=", 1) for word in text.split())
            parts = tuple(_numbers(words.get(name, "")) for name in _KEYS)
            cores = int(words.get("of", 0))
        except ValueError:
            raise UsageError(
                f"{quoted(text)} is no binding; it is written as `cpu=0-3 core=0,2 l3=0 numa=0 socket=0 of=64`"
            ) from None
        if not parts[Level.PROCESSOR]:
            raise UsageError(f"the binding {quoted(text)} has no processors (cpu=…)")
        return Binding(parts, cores)


_KEYS = ("cpu", "core", "l3", "numa", "socket")


def _numbers(text: str) -> Processors:
    """Numbers as Linux lists them, `0-3,8`."""
    runs = [run.split("-") for run in text.split(",") if run]
    return frozenset(number for run in runs for number in range(int(run[0]), int(run[-1]) + 1))


def distance(one: Binding, other: Binding) -> Distance:
    """How far apart two ranks of a node are.

    Examples
    --------
    >>> ranks = [Binding.parse(f"cpu={c} core={c % 4} numa={c % 4 // 2} socket=0 of=4") for c in (0, 4, 2)]
    >>> [distance(ranks[0], other).name for other in ranks[1:]]
    ['same core', 'same socket']
    >>> free = Binding.parse("cpu=0-7 core=0-3 numa=0-1 socket=0 of=4")
    >>> distance(ranks[0], free).name
    'same socket, cores vary'
    """
    may_be_nearer = False
    for level in Level:
        if level is Level.NODE:
            break
        a, b = one.parts[level], other.parts[level]
        if a and b and len(a | b) == 1:
            return Distance(level, may_be_nearer)
        may_be_nearer = may_be_nearer or not a.isdisjoint(b)
    return Distance(Level.NODE, may_be_nearer)


@dataclass(frozen=True)
class Rank:
    """A rank, and where it runs.

    Attributes
    ----------
    number
        Its number.
    node
        What its node is called.
    binding
        Where on the node.
    """

    number: int
    node: str
    binding: Binding


@dataclass(frozen=True)
class WrongBinding:
    """A binding that nobody can have meant.

    Attributes
    ----------
    kind
        `shared` (more ranks than processors), `siblings` (ranks on the hardware threads of one core, and cores left
        over), `unbound` (a rank that is free where most are not) or `otherwise` (a node whose ranks are bound in
        another manner than those of most nodes).
    node
        What the node is called.
    ranks
        The ranks, ascending.
    text
        A sentence.
    """

    kind: str
    node: str
    ranks: tuple[int, ...]
    text: str


def wrong(ranks: Iterable[Rank]) -> list[WrongBinding]:
    """The bindings that are wrong, node by node.

    Examples
    --------
    >>> bound = [Binding.parse(f"cpu={cpu} core={cpu} socket=0 of=4") for cpu in (0, 1, 1, 3)]
    >>> for each in wrong([Rank(number, "n1", binding) for number, binding in enumerate(bound)]):
    ...     print(each.text)
    ranks 1 and 2 on node n1 are bound to the same processor, 1
    """
    nodes: dict[str, list[Rank]] = defaultdict(list)
    for rank in sorted(ranks, key=lambda rank: rank.number):
        nodes[rank.node].append(rank)
    usual = _usual(len(rank.binding.processors) for own in nodes.values() for rank in own)
    results: list[WrongBinding] = []
    for node, own in nodes.items():
        results += _shared(node, own) + _siblings(node, own) + _unbound(node, own, usual)
    named = {each.node for each in results}
    return results + [each for each in _otherwise(nodes) if each.node not in named]


def _usual(counts: Iterable[int]) -> int | None:
    """What more than half have; None where nothing is."""
    listed = [*counts]
    value, times = Counter(listed).most_common(1)[0] if listed else (0, 0)
    return value if len(listed) >= _MIN_RANKS and 2 * times > len(listed) else None


def _shared(node: str, ranks: Sequence[Rank]) -> list[WrongBinding]:
    """Sets of processors that more ranks are bound to than there are processors in them; of nested sets the least."""
    results: list[WrongBinding] = []
    excess: list[tuple[Processors, int]] = []
    for processors in sorted({rank.binding.processors for rank in ranks}, key=lambda each: (len(each), min(each))):
        inside = [rank for rank in ranks if rank.binding.processors <= processors]
        over = len(inside) - len(processors) - sum(known for part, known in excess if part <= processors)
        if over <= 0:
            continue
        excess.append((processors, over))
        who, where = listed_ranks([rank.number for rank in inside]), _listed(processors)
        text = (
            f"{who} on node {node} are bound to the same processor, {where}"
            if len(processors) == 1
            else f"{who} on node {node} share the processors {where}, of which there are {len(processors)} for "
            f"{len(inside)} ranks"
        )
        results.append(WrongBinding("shared", node, tuple(rank.number for rank in inside), text))
    return results


def _siblings(node: str, ranks: Sequence[Rank]) -> list[WrongBinding]:
    """Ranks on different hardware threads of one core, where the node has a core for each."""
    cores = max(rank.binding.cores_of_node for rank in ranks)
    if cores < len(ranks):
        return []
    by_core: dict[int, list[Rank]] = defaultdict(list)
    for rank in ranks:
        core = rank.binding.within(Level.CORE)
        if core is not None:
            by_core[core].append(rank)
    results = []
    for core, own in by_core.items():
        processors = frozenset().union(*(rank.binding.processors for rank in own))
        # Ranks without a processor each are named for that.
        if 1 < len(own) <= len(processors):
            text = (
                f"{listed_ranks([rank.number for rank in own])} on node {node} share core {core}, on its hardware "
                f"threads {_listed(processors)}, where the node has {cores} cores for {len(ranks)} ranks"
            )
            results.append(WrongBinding("siblings", node, tuple(rank.number for rank in own), text))
    return results


def _unbound(node: str, ranks: Sequence[Rank], usual: int | None) -> list[WrongBinding]:
    """Ranks that may run on many more processors than most ranks."""
    results: list[WrongBinding] = []
    for rank in ranks:
        count = len(rank.binding.processors)
        if usual is not None and count >= _UNBOUND * usual:
            text = (
                f"rank {rank.number} on node {node} is not bound as most ranks are: it may run on the processors "
                f"{_listed(rank.binding.processors)}, they on {usual} each"
            )
            results.append(WrongBinding("unbound", node, (rank.number,), text))
    return results


def _otherwise(nodes: dict[str, list[Rank]]) -> list[WrongBinding]:
    """Nodes whose ranks are bound in another manner than those of most nodes like them."""
    alike: dict[tuple[int, int], list[str]] = defaultdict(list)
    for node, ranks in nodes.items():
        alike[len(ranks), ranks[0].binding.cores_of_node].append(node)
    results = []
    for (count, _), names in alike.items():
        manners = {name: _manner(nodes[name]) for name in names}
        manner, times = Counter(manners.values()).most_common(1)[0]
        if len(names) < _MIN_RANKS or 2 * times <= len(names):
            continue
        for name in names:
            if manners[name] != manner:
                text = (
                    f"node {name} binds its {count} ranks otherwise than {times} other nodes: "
                    f"{_spread(manners[name])}, they {_spread(manner)}"
                )
                results.append(WrongBinding("otherwise", name, tuple(rank.number for rank in nodes[name]), text))
    return results


class _Manner(NamedTuple):
    """How the ranks of a node are bound, whatever the numbers of its processors."""

    processors: tuple[int, ...]
    numa_nodes: int
    sockets: int


def _manner(ranks: Sequence[Rank]) -> _Manner:
    counts = tuple(sorted(len(rank.binding.processors) for rank in ranks))
    numa, sockets = (
        len(frozenset().union(*(rank.binding.parts[level] for rank in ranks))) for level in (Level.NUMA, Level.SOCKET)
    )
    return _Manner(counts, numa, sockets)


def _spread(manner: _Manner) -> str:
    low, high = manner.processors[0], manner.processors[-1]
    each = f"{low} processor{'s' * (low != 1)}" if low == high else f"{low} to {high} processors"
    over = [
        f"{count} {name}{'s' * (count > 1)}"
        for count, name in ((manner.numa_nodes, "NUMA node"), (manner.sockets, "socket"))
        if count
    ]
    return f"{each} a rank" + (f" over {' and '.join(over)}" if over else "")


def listed_ranks(numbers: Sequence[int]) -> str:
    """Ranks as sentences have them.

    Examples
    --------
    >>> listed_ranks([3]), listed_ranks([3, 4]), listed_ranks(range(12))
    ('rank 3', 'ranks 3 and 4', 'ranks 0, 1, 2, 3, 4, 5, 6, 7 and 4 others')
    """
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    shown = [str(number) for number in numbers]
    if len(shown) > MAX_LISTED:
        shown = [*shown[:MAX_LISTED], f"{len(shown) - MAX_LISTED} others"]
    return f"ranks {', '.join(shown[:-1])} and {shown[-1]}"


def _listed(numbers: Iterable[int]) -> str:
    """Numbers as Linux lists them.

    >>> _listed([0, 1, 2, 8])
    '0-2,8'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)

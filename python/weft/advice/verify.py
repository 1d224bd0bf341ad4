"""Both forms of a suggestion, measured here on data like the program's, and compared with one another.

Operands are made from what the meter recorded: grid, word length, how many are selected, and what addresses are like.
Both forms run in turn, so that what else the machine does falls on both; and their results have to be equal, which is
what makes them forms of the same.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft import pvar
from weft._core import RunError
from weft.advice.engine import Suggestion
from weft.pvar import ParallelVariable, Record, VPSet

Array = np.ndarray[tuple[int, ...], np.dtype[Any]]
Run = Callable[[], Any]

SECONDS = 0.2
"""For each suggestion."""

MIN_ROUNDS = 5


@dataclass(frozen=True)
class Measured:
    """Both forms, as they were measured.

    Attributes
    ----------
    now_s, better_s
        Seconds of one execution: medians.
    rounds
        How often each was run.
    """

    now_s: float
    better_s: float
    rounds: int

    @property
    def factor(self) -> float:
        """How many times faster the suggested form is here."""
        return self.now_s / self.better_s


@dataclass(frozen=True)
class Case:
    """Both forms as programs.

    Attributes
    ----------
    now, better
        Make the result once.
    same
        Whether two results are the same.
    """

    now: Run
    better: Run
    same: Callable[[Any, Any], bool]


def verify(suggestion: Suggestion, seconds: float = SECONDS) -> Measured:
    """Measure both forms of a suggestion here.

    Raises
    ------
    RunError
        If their results differ: then they are not forms of the same, and that is a defect of weft.
    """
    forms = case(suggestion)
    if not forms.same(forms.now(), forms.better()):
        raise RunError(
            f"{suggestion.now.name} and {suggestion.better.name} differ on {suggestion.example.shape}: "
            "a defect of weft's rules"
        )
    taken: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while len(taken[0]) < MIN_ROUNDS or time.perf_counter() < end:
        for run, times in zip((forms.now, forms.better), taken, strict=True):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
    return Measured(statistics.median(taken[0]), statistics.median(taken[1]), len(taken[0]))


def case(suggestion: Suggestion) -> Case:
    """Both forms on operands like those of the suggestion's operation."""
    return _CASES[suggestion.better.name](_Operands(suggestion.example), suggestion)


class _Operands:
    """Variables like those of a recorded operation; always the same ones."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.rng = np.random.default_rng(1)
        self.vp = VPSet(record.shape)
        self.size = record.size
        self.indices = np.arange(self.size)
        self.x = self.vp.array(self._elements())
        self.selected = self._mask()
        self.to = self._addresses()

    def variable(self, flat: Array) -> ParallelVariable:
        """A variable with these elements."""
        return self.vp.array(flat.reshape(self.vp.shape))

    def under(self, mask: Array | None, run: Run) -> Run:
        """A step under a selection; the selection is entered once, since both forms need it."""
        if mask is None:
            return run
        condition = self.variable(mask)

        def within() -> Any:
            with self.vp.where(condition):
                return run()

        return within

    def _elements(self) -> Array:
        record = self.record
        dtype = record.dtype or {1: "bool", 8: "int8", 16: "int16", 32: "float32", 64: "float64"}.get(
            record.bits, "int64"
        )
        if dtype == "bool":
            return self.rng.random(record.shape) < 0.5
        # Small whole numbers: sums in any order are equal.
        return self.rng.integers(1, 5, record.shape).astype(dtype)

    def _mask(self) -> Array | None:
        if self.record.selected == self.size:
            return None
        mask = np.zeros(self.size, bool)
        mask[self._chosen(self.record.selected)] = True
        return mask

    def _chosen(self, count: int) -> Array:
        """So many processors; of each line one, where all are on lines and no two wanted the same element."""
        facts = self.record.facts
        if facts is None or facts.line is None or facts.most > 1:
            return self.rng.permutation(self.size)[:count]
        lines = np.moveaxis(self.indices.reshape(self.record.shape), facts.line[0], -1)
        lines = lines.reshape(-1, lines.shape[-1])
        return lines[self.rng.permutation(len(lines))[:count], self.rng.integers(0, lines.shape[1], count)]

    def _addresses(self) -> Array:
        """Of all processors, as the facts have them."""
        facts, shape = self.record.facts, self.record.shape
        if facts is None:
            return self.indices
        if facts.shift is not None:
            return self.moved(*facts.shift)
        if facts.line is not None:
            return self.on_line(*facts.line)
        targets = max(1, facts.targets)
        if facts.most <= 1 and self.selected is not None:
            chosen = np.flatnonzero(self.selected)
            to = self.indices.copy()
            to[chosen] = np.sort(self.rng.permutation(self.size)[: len(chosen)])
            if not facts.ascending:
                to[chosen] = self.rng.permutation(to[chosen])
            return to
        if facts.most <= 1:
            return self.indices if facts.ascending else self.rng.permutation(self.size)
        group = self.indices * targets // self.size
        if not facts.ascending:
            group = self.rng.permutation(group)
        return group if facts.pattern == "clustering" else group * (math.prod(shape) // targets)

    def moved(self, axis: int, distance: int) -> Array:
        """The addresses of who is so far along an axis, around its ends."""
        grid = self.indices.reshape(self.record.shape)
        return np.roll(grid, -distance, axis).reshape(-1)

    def on_line(self, axis: int, index: int) -> Array:
        """The addresses of who is at one place of an axis."""
        grid = self.indices.reshape(self.record.shape)
        return np.broadcast_to(np.take(grid, [index], axis), grid.shape).reshape(-1).copy()

    def now(self) -> Run:
        """The recorded operation."""
        record, x = self.record, self.x
        if record.name == "get":
            to, mode = self.variable(self.to), record.mode
            return self.under(self.selected, lambda: pvar.get(x, to, collisions=mode))  # type: ignore[arg-type]
        if record.name.startswith("send"):
            to, operator = self.variable(self.to), record.name.removeprefix("send ")
            combine = None if operator == "plain" else operator
            return self.under(self.selected, lambda: pvar.send(x, to, combine=combine))
        axis = record.axis or 0
        if record.kind == "spread":
            return lambda: pvar.spread(x, axis=axis, index=0)
        form: Any = "store" if record.kind.startswith("news_store") else "fetch"
        hops = record.hops or 0
        return self.under(self.selected, lambda: pvar.shift(x, hops, axis=axis, form=form))

    def agrees(self, where: Array | None) -> Callable[[Any, Any], bool]:
        """Equal where something was wanted."""
        chosen = slice(None) if where is None else where

        def same(first: Any, second: Any) -> bool:
            return bool(np.array_equal(np.asarray(first).reshape(-1)[chosen], np.asarray(second).reshape(-1)[chosen]))

        return same

    def inverse(self, to: Array) -> tuple[Array, Array]:
        """Who is sent to, and from where: only of addresses without collisions."""
        chosen = self.indices if self.selected is None else self.indices[self.selected]
        reached = np.zeros(self.size, bool)
        reached[to[chosen]] = True
        back = self.indices.copy()
        back[to[chosen]] = chosen
        return reached, back


def _read_and_write(o: _Operands, suggestion: Suggestion) -> Case:
    assert o.selected is not None or o.size == 1
    one = 0 if o.selected is None else int(np.flatnonzero(o.selected)[0])
    other = int(o.to[one])
    source, target = (other, one) if o.record.name == "get" else (one, other)
    at, to = np.unravel_index(source, o.record.shape), np.unravel_index(target, o.record.shape)
    source_at, target_at = tuple(map(int, at)), tuple(map(int, to))
    written = o.vp.zeros(o.x.dtype)

    def better() -> Any:
        written[target_at] = o.x[source_at]
        return written

    return Case(o.now(), better, o.agrees(None))


def _stored(o: _Operands, suggestion: Suggestion) -> Case:
    """Instead of fetching, by the general router or the grid."""
    if o.record.kind.startswith("news_store"):
        ahead = o.variable(o.moved(o.record.axis or 0, o.record.hops or 0))
        return Case(o.now(), o.under(o.selected, lambda: pvar.send(o.x, ahead)), o.agrees(None))
    if o.record.name != "get":
        o.to = o.moved(o.record.axis or 0, _fetched_from(o.record))
    reached, back = o.inverse(o.to)
    address = o.variable(back)
    better = o.under(None if o.selected is None else reached, lambda: pvar.send(o.x, address))
    return Case(o.now(), better, o.agrees(_gets(o)))


def _fetched(o: _Operands, suggestion: Suggestion) -> Case:
    """Instead of storing, or of fetching over the grid."""
    if o.record.facts is None:
        address = o.variable(o.moved(o.record.axis or 0, _fetched_from(o.record)))
        return Case(o.now(), lambda: pvar.get(o.x, address), o.agrees(_gets(o)))
    reached, back = o.inverse(o.to)
    address = o.variable(back)
    better = o.under(None if o.selected is None else reached, lambda: pvar.get(o.x, address))
    return Case(o.now(), better, o.agrees(reached))


def _fetched_from(record: Record) -> int:
    """The distance of a recorded shift, as a fetch sees it."""
    hops = record.hops or 0
    return -hops if record.kind.startswith("news_store") else hops


def _gets(o: _Operands) -> Array | None:
    """Who gets something by the recorded operation."""
    if o.selected is None:
        return None
    if o.record.kind.startswith("news_store"):
        return o.selected[o.moved(o.record.axis or 0, _fetched_from(o.record))]
    return o.selected


def _other_mode(mode: Any) -> Callable[[_Operands, Suggestion], Case]:
    def build(o: _Operands, suggestion: Suggestion) -> Case:
        to = o.variable(o.to)
        return Case(o.now(), o.under(o.selected, lambda: pvar.get(o.x, to, collisions=mode)), o.agrees(None))

    return build


def _spread(o: _Operands, suggestion: Suggestion) -> Case:
    assert o.record.facts is not None
    assert o.record.facts.line is not None
    axis, index = o.record.facts.line
    return Case(o.now(), lambda: pvar.spread(o.x, axis=axis, index=index), o.agrees(o.selected))


def _broadcast(o: _Operands, suggestion: Suggestion) -> Case:
    to = o.variable(o.on_line(o.record.axis or 0, 0))
    return Case(o.now(), lambda: pvar.get(o.x, to, collisions="backward"), o.agrees(None))


def _news(form: Any) -> Callable[[_Operands, Suggestion], Case]:
    def build(o: _Operands, suggestion: Suggestion) -> Case:
        record = o.record
        if record.facts is not None and record.facts.shift is not None:
            axis, distance = record.facts.shift
            by = distance if record.name == "get" else -distance
            reached = o.selected if record.name == "get" else o.inverse(o.to)[0]
        else:
            axis, by = record.axis or 0, _fetched_from(record)
            reached = _gets(o)
        by = -by if form == "store" else by
        return Case(o.now(), lambda: pvar.shift(o.x, by, axis=axis, form=form), o.agrees(reached))

    return build


def _renumbered(pattern: str) -> Callable[[_Operands, Suggestion], Case]:
    """The groups' processors elsewhere: what each of them has, or gives, is the same."""

    def build(o: _Operands, suggestion: Suggestion) -> Case:
        used, group = np.unique(o.to, return_inverse=True)
        stride = 1 if pattern == "clustering" else max(1, o.size // len(used))
        there = np.arange(len(used)) * stride
        to = o.variable(there[group])
        if o.record.name == "get":
            # What was at the old places has to be at the new ones.
            elements = np.array(o.x.numpy()).reshape(-1)
            elements[there] = o.x.numpy().reshape(-1)[used]
            x, mode = o.variable(elements), o.record.mode
            better = o.under(o.selected, lambda: pvar.get(x, to, collisions=mode))  # type: ignore[arg-type]
            return Case(o.now(), better, o.agrees(None))
        operator = o.record.name.removeprefix("send ")
        better = o.under(o.selected, lambda: pvar.send(o.x, to, combine=operator))

        def same(first: Any, second: Any) -> bool:
            return bool(np.array_equal(np.asarray(first).reshape(-1)[used], np.asarray(second).reshape(-1)[there]))

        return Case(o.now(), better, same)

    return build


def _sent_sorted(o: _Operands, suggestion: Suggestion) -> Case:
    """Sorted by where they go (once), combined by a scan over all processors as one line, sent by the last of each."""
    # Who is not selected comes last, in a group of its own that sends nothing.
    key = o.to if o.selected is None else np.where(o.selected, o.to, o.size)
    order = np.argsort(key, kind="stable")
    rank = np.empty(o.size, np.int64)
    rank[order] = o.indices
    line = VPSet(o.size)
    x, position = line.array(o.x.numpy().reshape(-1)), line.array(rank)
    combined = _scan_and_send(line, key[order], key[order] < o.size, o.record)
    return Case(o.now(), lambda: combined(pvar.send(x, position)), o.agrees(None))


def _scanned_and_sent(o: _Operands, suggestion: Suggestion) -> Case:
    """The same of addresses that rise already."""
    line = VPSet(o.size)
    x = line.array(o.x.numpy().reshape(-1))
    taking_part = np.ones(o.size, bool) if o.selected is None else o.selected
    combined = _scan_and_send(line, o.to, taking_part, o.record)
    if o.selected is None:
        return Case(o.now(), lambda: combined(x), o.agrees(None))
    condition = line.array(o.selected)

    def better() -> Any:
        with line.where(condition):
            return combined(x)

    return Case(o.now(), better, o.agrees(None))


def _scan_and_send(line: VPSet, to: Array, taking_part: Array, record: Record) -> Callable[[ParallelVariable], Any]:
    """Of elements whose addresses rise along the line."""
    positions = np.flatnonzero(taking_part)
    first, last = np.zeros(line.size, bool), np.zeros(line.size, bool)
    first[positions[np.diff(to[positions], prepend=-1) != 0]] = True
    last[positions[np.diff(to[positions], append=line.size) != 0]] = True
    segments, senders = line.array(first), line.array(last)
    address = line.array(np.minimum(to, line.size - 1))
    operator = record.name.removeprefix("send ")

    def run(x: ParallelVariable) -> Any:
        combined = pvar.scan(x, operator, segments=segments)
        with line.where(senders):
            return pvar.send(combined, address)

    return run


_CASES: dict[str, Callable[[_Operands, Suggestion], Case]] = {
    "read and write": _read_and_write,
    "general store": _stored,
    "general fetch": _fetched,
    "collisions allowed": _other_mode("allowed"),
    "many collisions": _other_mode("many"),
    "backward routing": _other_mode("backward"),
    "spread": _spread,
    "multiple broadcast": _broadcast,
    "NEWS fetch": _news("fetch"),
    "NEWS store": _news("store"),
    "clustered destinations": _renumbered("clustering"),
    "scattered destinations": _renumbered("distributing"),
    "scan and send": _scanned_and_sent,
    "sorted send": _sent_sorted,
}

"""Random programs: short, with statements of all kinds between one another, some under a selection, run as loops
are."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weft.estimation import kinds, statements
from weft.estimation.statements import Scene, Statement, Step
from weft.pvar import ParallelVariable, Record, metered
from weft.pvar.vpset import Selection

LENGTHS = (5, 40)
"""Statements of a program, at least and at most: what loops of programs have."""

SMALLEST, LARGEST = 1 << 5, 1 << 21
"""Elements of a VP set."""

LARGE = 1 << 19
"""From so many elements on only cheap statements are drawn, and fewer passes made."""

PASSES = {LARGE: 2, 1 << 15: 4, 0: 9}
"""How often a program is run for its times, from so many elements on."""

UNDISTURBED = 0.97
"""Share of a pass in which the process must have a processor."""

AGAIN = 2
"""So many times the passes are made at most, where many are disturbed."""

Array = np.ndarray[Any, np.dtype[Any]]

WARM_UP = 1
"""Passes before those: memory is allocated, caches hold what they will."""


@dataclass(frozen=True)
class Timed:
    """A program with the times of its operations.

    Attributes
    ----------
    shape
        Of its VP set.
    operations
        Kind and seconds of each operation.
    seconds
        Of the whole program, run without looking at the clock in between.
    disturbed
        Share of passes in which the process did not have a processor all the time.
    """

    shape: tuple[int, ...]
    operations: tuple[tuple[kinds.Kind, float], ...]
    seconds: float
    disturbed: float = 0.0
    steps: tuple[int, ...] = ()
    """Which of the program's steps the operations are."""


@dataclass(frozen=True)
class _Program:
    """Steps; a selection is entered and left by steps of their own."""

    steps: tuple[Step, ...]
    left_by: dict[int, int]
    """Of steps that enter a selection: the step that leaves it."""


def draw(number: int, seed: int, earlier: Timed | None = None) -> Timed:
    """Makes and times one program.

    Other work makes this machine slower for seconds at a time, and programs longer than that are not what it
    calibrates. So each is timed again later, and what is kept of each operation is the lesser time.

    Parameters
    ----------
    number
        Which one: sizes are spread evenly over any beginning of their sequence.
    seed
        Of the random numbers.
    earlier
        What was timed of the same program before.
    """
    made = np.random.default_rng([seed, number])
    shape = _shape(made, number)
    size = math.prod(shape)
    chosen = _statements(made, size >= LARGE)
    dtypes = tuple(sorted({"bool", *(one.dtype for one in chosen)}))
    scene = statements.scene(made, shape, dtypes)
    program = _program(scene, chosen)
    if earlier is None:
        with np.errstate(all="ignore"):
            found = _operations(scene, program.steps)
    else:
        found = {at: kind for at, (kind, _) in zip(earlier.steps, earlier.operations, strict=True)}
    passes = next(passes for from_, passes in PASSES.items() if size >= from_)
    with np.errstate(all="ignore"):
        whole, steps, disturbed = _times(program.steps, passes)
    operations = []
    for at, kind in found.items():
        taken = steps[at] + (steps[program.left_by[at]] if at in program.left_by else 0.0)
        operations.append((kind, max(float(taken), 1e-9)))
    timed = Timed(shape, tuple(operations), whole, disturbed, tuple(found))
    return timed if earlier is None else _least(earlier, timed)


def _least(first: Timed, second: Timed) -> Timed:
    """The lesser times of two visits."""
    pairs = zip(first.operations, second.operations, strict=True)
    operations = tuple((kind, min(one, other)) for (kind, one), (_, other) in pairs)
    disturbed = min(first.disturbed, second.disturbed)
    return replace(first, operations=operations, seconds=min(first.seconds, second.seconds), disturbed=disturbed)


def _operations(scene: Scene, steps: Sequence[Step]) -> dict[int, kinds.Kind]:
    """Steps that are operations, and of which kind."""
    records = {at: record for at, record in enumerate(_records(scene, steps)) if record is not None}
    # Passes follow one another: what the first of two has touched comes before the second.
    since = list(kinds.distances([*records.values(), *records.values()]))[len(records) :]
    return {at: kinds.of(record, bytes_) for (at, record), bytes_ in zip(records.items(), since, strict=True)}


def _shape(made: np.random.Generator, number: int) -> tuple[int, ...]:
    """Sizes from the smallest to the largest, small ones more often since they take less time; 1 to 3 axes."""
    # The golden section spreads any beginning of the sequence evenly.
    share = (number * 0.6180339887498949) % 1.0
    span = math.log2(LARGEST / SMALLEST)
    size = SMALLEST * 2 ** (span * share**2.6)
    axes = int(made.choice((1, 2, 2, 3)))
    extents = []
    for left in range(axes, 1, -1):
        extents.append(max(2, round(size ** (1 / left) * 2 ** made.uniform(-1, 1))))
        size = max(2.0, size / extents[-1])
    return (*extents, max(2, round(size)))


def _statements(made: np.random.Generator, large: bool) -> list[Statement]:
    """Few dtypes in one program, as in most; then statements of these by their weights."""
    number = int(made.choice((1, 1, 2, 2)))
    some = set(made.choice(statements.DTYPES, number, replace=False, p=(0.19, 0.22, 0.18, 0.19, 0.12, 0.1)))
    there = [one for one in statements.menu() if one.dtype in some and (one.cheap or not large)]
    # All alike in large ones: there are few of these, and each kind shall be in some.
    weights = np.array([1 if large else one.weight for one in there], float)
    return [there[at] for at in made.choice(len(there), made.integers(*LENGTHS), p=weights / weights.sum())]


def _program(scene: Scene, chosen: Sequence[Statement]) -> _Program:
    """Statements in order, about half of them in selections, some of those in two."""
    made = scene.made
    steps: list[Step] = []
    open_: list[tuple[int, _Entry]] = []
    left_by: dict[int, int] = {}

    def leave() -> None:
        entered, entry = open_.pop()
        left_by[entered] = len(steps)
        steps.append(entry.leave)

    for one in chosen:
        if open_ and made.random() < 0.3:
            leave()
        elif len(open_) < 2 and made.random() < (0.22 if not open_ else 0.08):
            wanted = statements.condition(scene)
            entry = _Entry(scene, wanted)
            open_.append((len(steps), entry))
            steps.append(entry.enter)
        steps.append(one.step(scene))
    while open_:
        leave()
    return _Program(tuple(steps), left_by)


class _Entry:
    """A selection that is made anew in each pass, as `with vp.where(…)` does."""

    def __init__(self, scene: Scene, wanted: ParallelVariable) -> None:
        self._vp, self._wanted = scene.vp, wanted
        self._selection: Selection | None = None

    def enter(self) -> None:
        """Enter it."""
        self._selection = self._vp.where(self._wanted)
        self._selection.__enter__()

    def leave(self) -> None:
        """Leave it."""
        assert self._selection is not None
        self._selection.__exit__(None, None, None)


def _records(scene: Scene, steps: Iterable[Step]) -> list[Record | None]:
    """What each step counts as; None of one that counts as nothing."""
    found: list[Record | None] = []
    with metered(scene.vp) as meter:
        for step in steps:
            before = len(meter.sequence)
            step()
            new = meter.sequence[before:]
            found.append(new[0] if len(new) == 1 else None)
    return found


def _times(steps: Sequence[Step], passes: int) -> tuple[float, list[float], float]:
    """Seconds of a whole pass and of each step, and the share of disturbed passes.

    Times are medians over passes, the clock's own time taken off. A pass is disturbed if this process did not have a
    processor for all of it; then another is made, up to so many again, and the least disturbed are taken.
    """
    whole: list[tuple[float, float]] = []
    single: list[tuple[float, Array]] = []
    for number in range(-WARM_UP, AGAIN * passes):
        undisturbed = sum(had >= UNDISTURBED for had, _ in single)
        if number >= passes and undisturbed >= passes:
            break
        found = _pass(steps), _stamped_pass(steps)
        if number >= 0:
            whole.append(found[0])
            single.append(found[1])
    disturbed = 1 - sum(had >= UNDISTURBED for had, _ in single) / len(single)
    seconds = float(np.median([taken for _, taken in _best(whole, passes)]))
    each = np.median([stamps for _, stamps in _best(single, passes)], axis=0) - _clock_time()
    return seconds * 1e-9, list(each * 1e-9), disturbed


def _best(found: list[tuple[float, Any]], number: int) -> list[tuple[float, Any]]:
    """Those in which the process had a processor longest."""
    return sorted(found, key=lambda one: -min(one[0], UNDISTURBED))[:number]


def _pass(steps: Sequence[Step]) -> tuple[float, float]:
    """The share of a pass in which this process had a processor, and nanoseconds of all steps."""
    had, start = time.process_time_ns(), time.perf_counter_ns()
    for step in steps:
        step()
    taken = time.perf_counter_ns() - start
    return (time.process_time_ns() - had) / taken, float(taken)


def _stamped_pass(steps: Sequence[Step]) -> tuple[float, Array]:
    """The same with nanoseconds of each step."""
    clock = time.perf_counter_ns
    had = time.process_time_ns()
    stamps = [clock()]
    for step in steps:
        step()
        stamps.append(clock())
    return (time.process_time_ns() - had) / (stamps[-1] - stamps[0]), np.diff(stamps)


def _clock_time() -> float:
    """Nanoseconds that a look at the clock and the call of an empty step take."""
    clock = time.perf_counter_ns

    def step() -> None: ...

    stamps = [clock()]
    for _ in range(300):
        step()
        stamps.append(clock())
    return float(np.median(np.diff(stamps)))

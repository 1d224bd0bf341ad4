"""Random programs: short, with statements of all kinds between one another, some under a selection, run as loops
are."""

from __future__ import annotations

import math
import time
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.estimation import kinds, scenes, statements
from weft.estimation.pace import FULL, Pace, Probe
from weft.estimation.scenes import Scene, Step
from weft.estimation.statements import Statement
from weft.pvar import ParallelVariable, VPSet, metered
from weft.pvar.vpset import Selection

LENGTHS = (5, 40)
"""Statements of a program, at least and at most: what loops of programs have."""

DIFFERENT = (3, 30)
"""Of how many different statements: loops of programs use a few again and again."""

SMALLEST, LARGEST = 1 << 6, 1 << 20
"""Elements of a VP set."""

SMALL_OFTENER = 1.3
"""The logarithm of the size goes with this power of evenly spread numbers: small programs take less time, so there are
more of them, but no size is rare."""

NARROW, FEW = 0.3, (2, 24)
"""Share of grids of several axes that have one of few elements, and how many those are: coordinates, candidates, the
fields of a record."""

LARGE = 1 << 18
"""From so many elements on only cheap statements are drawn, and fewer passes made."""

PASSES = {LARGE: 2, 1 << 15: 4, 0: 9}
"""How often a program is run for its times, from so many elements on."""

AGAIN = 2
"""So many times the passes are made at most, where few were at full pace."""

Array = np.ndarray[Any, np.dtype[Any]]

WARM_UP = 1
"""Passes before those: memory is allocated, caches hold what they will."""

PASS_SECONDS = 1e-3
"""Seconds that a pass is repeated for, without a look at the pace in between: loops of programs go on for so long and
longer, so that branches are predicted and code is in caches. Right after a probe a short pass takes some 15% more."""

SHORT = 200e-6
"""Seconds of a pass up to which it is told what looks at the clock add to it: of longer ones that is the difference of
large numbers, and no operation is short beside it."""

USUAL_BETWEEN, MAX_BETWEEN = 2.0, 3.0
"""A look at the clock and what is around an operation take so many times what they take in a loop of nothing else: of
programs whose passes are not short, and of others at most. Of these it is 1.8 at the median."""

MAX_ROUNDS, MIN_ROUNDS = 25, 2
"""Repetitions of a pass at most, and at least: right after a probe a pass of many megabytes takes some 5%
more, too."""


@dataclass(frozen=True)
class Timed:
    """A program with the times of its operations.

    Attributes
    ----------
    shape
        Of its VP set.
    operations
        Kind and seconds of each operation.
    probe
        Seconds of the probes beside them (`weft.estimation.pace`).
    steps
        Which of the program's steps the operations are.
    """

    shape: tuple[int, ...]
    operations: tuple[tuple[kinds.Kind, float], ...]
    probe: Probe
    steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Program:
    """Steps; a selection is entered and left by steps of their own."""

    steps: tuple[Step, ...]
    left_by: dict[int, int]
    """Of steps that enter a selection: the step that leaves it."""


@dataclass(frozen=True)
class Small:
    """A program of few elements, and what it computes with."""

    scene: Scene
    program: _Program


def draw(number: int, seed: int, pace: Pace, earlier: Timed | None = None) -> Timed:
    """Makes and times one program.

    Other work makes this machine slower for seconds at a time, and programs longer than that are not what it
    calibrates. So each is timed again later, and what is kept is what was timed at the better pace; of the same pace,
    the visit that took less in all.

    Parameters
    ----------
    number
        Which one: sizes are spread evenly over any beginning of their sequence.
    seed
        Of the random numbers.
    pace
        Of the processor.
    earlier
        What was timed of the same program before.
    """
    rng = np.random.default_rng([seed, number])
    shape = _shape(rng, number)
    size = math.prod(shape)
    scene, program = _drawn(rng, shape)
    if earlier is None:
        with np.errstate(all="ignore"):
            kind_of = _operations([scene.vp], program.steps)
    else:
        kind_of = {at: kind for at, (kind, _) in zip(earlier.steps, earlier.operations, strict=True)}
    passes = next(passes for from_, passes in PASSES.items() if size >= from_)
    with np.errstate(all="ignore"):
        steps, probe = _times(program.steps, scene.nothing("bool"), passes, pace)
    timed = Timed(shape, _with_times(kind_of, steps, program.left_by), probe, tuple(kind_of))
    return timed if earlier is None else better(earlier, timed)


def small(numbers: Iterable[int], seed: int) -> list[Small]:
    """Programs of few elements, which :func:`together` times: calls are nearly all that they take."""
    programs = []
    for number in numbers:
        rng = np.random.default_rng([seed, number, SMALLEST])
        scene, program = _drawn(rng, (SMALLEST,))
        programs.append(Small(scene, program))
    return programs


def together(programs: Sequence[Small], pace: Pace) -> tuple[tuple[kinds.Kind, float], ...]:
    """Kind and seconds of each operation of programs that are run one after the other, again and again."""
    steps: list[Step] = []
    left_by: dict[int, int] = {}
    for one in programs:
        left_by |= {entered + len(steps): left + len(steps) for entered, left in one.program.left_by.items()}
        steps += map(_of_own_code, one.program.steps)
    with np.errstate(all="ignore"):
        kind_of = _operations([one.scene.vp for one in programs], steps)
        seconds, _ = _times(steps, programs[0].scene.nothing("bool"), PASSES[0], pace)
    return _with_times(kind_of, seconds, left_by)


def _of_own_code(step: Any) -> Any:
    """A step, and all functions that it calls by its closure, with copies of their code: statements of programs do not
    share the interpreter's, which keeps in it what it has learned of each."""
    if not isinstance(step, types.FunctionType):
        return step
    cells = []
    for cell in step.__closure__ or ():
        is_step = isinstance(cell.cell_contents, types.FunctionType) and cell.cell_contents.__module__ in _OF_STEPS
        cells.append(types.CellType(_of_own_code(cell.cell_contents)) if is_step else cell)
    code = step.__code__.replace()
    return types.FunctionType(code, step.__globals__, step.__name__, step.__defaults__, tuple(cells))


_OF_STEPS = (scenes.__name__, statements.__name__)
"""Modules whose functions are made for one statement each."""


def _drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Scene, _Program]:
    """A program of some size, and what it computes with."""
    chosen = _statements(rng, math.prod(shape) >= LARGE)
    dtypes = tuple(sorted({"bool", *(one.dtype for one in chosen)}))
    scene = scenes.scene(rng, shape, dtypes)
    return scene, _program(scene, chosen)


def _with_times(
    kind_of: dict[int, kinds.Kind], seconds: Sequence[float], left_by: dict[int, int]
) -> tuple[tuple[kinds.Kind, float], ...]:
    """Operations with their times, selections with those of leaving them."""
    taken = {at: seconds[at] + (seconds[left_by[at]] if at in left_by else 0.0) for at in kind_of}
    return tuple((kind, max(float(taken[at]), 1e-9)) for at, kind in kind_of.items())


def better(first: Timed, second: Timed) -> Timed:
    """What to keep of two visits.

    A visit is kept whole: the least time of each operation, of several visits, is what no run of a program adds up to.
    """
    least = first.probe.least(second.probe)
    first, second = sorted((first, second), key=lambda one: one.probe.over(least))
    if second.probe.over(least) > FULL * first.probe.over(least):
        return first
    return min(first, second, key=lambda one: math.fsum(seconds for _, seconds in one.operations))


def _operations(vp_sets: Sequence[VPSet], steps: Sequence[Step]) -> dict[int, kinds.Kind]:
    """Steps that are operations, and of which kind."""
    # Passes follow one another: what the first of two has touched comes before the second.
    twice = _kinds(vp_sets, [*steps, *steps])[len(steps) :]
    return {at: kind for at, kind in enumerate(twice) if kind is not None}


def _shape(rng: np.random.Generator, number: int) -> tuple[int, ...]:
    """Sizes from the smallest to the largest, small ones more often since they take less time; 1 to 3 axes."""
    # The golden section spreads any beginning of the sequence evenly.
    share = (number * 0.6180339887498949) % 1.0
    span = math.log2(LARGEST / SMALLEST)
    size = SMALLEST * 2 ** (span * share**SMALL_OFTENER)
    axes = int(rng.choice((1, 2, 2, 3)))
    extents: list[int] = []
    if axes > 1 and rng.random() < NARROW:
        extents.append(round(2 ** rng.uniform(math.log2(FEW[0]), math.log2(FEW[1]))))
        size = max(2.0, size / extents[0])
    for left in range(axes - len(extents), 1, -1):
        extents.append(max(2, round(size ** (1 / left) * 2 ** rng.uniform(-1, 1))))
        size = max(2.0, size / extents[-1])
    extents.append(max(2, round(size)))
    first = extents.pop(0)
    # Of a narrow grid any axis may be the short one.
    extents.insert(int(rng.integers(axes)) if first <= FEW[1] else 0, first)
    return tuple(extents)


def _statements(rng: np.random.Generator, large: bool) -> list[Statement]:
    """Few dtypes in one program, as in most; of their statements some by their weights; then any of these."""
    few, many = map(math.log2, DIFFERENT)
    number = int(rng.choice((1, 1, 2, 2)))
    some = set(rng.choice(scenes.DTYPES, number, replace=False, p=(0.175, 0.2, 0.165, 0.18, 0.08, 0.11, 0.09)))
    there = [one for one in statements.menu() if one.dtype in some and (one.cheap or not large)]
    # Less unlike in large ones: there are few of these, and each kind shall be in some.
    weights = np.array([math.sqrt(one.weight) if large else one.weight for one in there])
    number = min(round(2 ** rng.uniform(few, many)), int(np.count_nonzero(weights)))
    vocabulary = rng.choice(len(there), number, replace=False, p=weights / weights.sum())
    return [there[at] for at in rng.choice(vocabulary, rng.integers(*LENGTHS))]


def _program(scene: Scene, chosen: Sequence[Statement]) -> _Program:
    """Statements in order, about half of them in selections, some of those in two."""
    rng = scene.rng
    steps: list[Step] = []
    open_: list[tuple[int, _Entry]] = []
    left_by: dict[int, int] = {}

    def leave() -> None:
        entered, entry = open_.pop()
        left_by[entered] = len(steps)
        steps.append(entry.leave)

    for one in chosen:
        if open_ and rng.random() < 0.3:
            leave()
        elif len(open_) < 2 and rng.random() < (0.22 if not open_ else 0.08):
            wanted = scenes.condition(scene)
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


def _kinds(vp_sets: Sequence[VPSet], steps: Iterable[Step]) -> list[kinds.Kind | None]:
    """What kind of operation each step is; None of one that counts as nothing."""
    of_steps: list[kinds.Kind | None] = []
    with metered(*vp_sets) as meter:
        for step in steps:
            before, aside = len(meter.sequence), len(meter.aside)
            step()
            new = list(zip(meter.sequence[before:], meter.since[before:], meter.reaches[before:], strict=True))
            # Random numbers take addresses once, before the steps that are timed.
            new = [one for one in new if not one[0].included] or meter.aside[aside:]
            of_steps.append(kinds.of(*new[0]) if len(new) == 1 else None)
    return of_steps


def _times(steps: Sequence[Step], nothing: Step, passes: int, pace: Pace) -> tuple[list[float], Probe]:
    """Seconds of each step, and of the probes beside them.

    A pass is repeated for `PASS_SECONDS`; the median of its later repetitions counts. Times are medians over the passes
    that were made at the best pace, half of them, what is not the operations' taken off (`_own`). More passes are made,
    up to so many again, until half were at full pace.
    """
    enough = passes // 2 + 1
    timings: list[tuple[Probe, Array]] = []
    repetitions, short = 1, False
    for number in range(-WARM_UP, AGAIN * passes):
        before, nanoseconds = pace.probe(), _repeated_pass(steps, nothing, repetitions, short)
        if number < 0:
            seconds = nanoseconds[: len(steps)].sum() * 1e-9
            short = seconds < SHORT
            of_round = max(seconds, 1e-9) * (3 if short else 1)
            repetitions = min(MAX_ROUNDS, max(MIN_ROUNDS, round(PASS_SECONDS / of_round)))
            continue
        timings.append((before.most(pace.probe()), nanoseconds))
        if len(timings) >= passes and sum(pace.full(probe) for probe, _ in timings) >= enough:
            break
    best = sorted(timings, key=lambda one: one[0].over(pace.usual))[:enough]
    each = _own(np.median([nanoseconds for _, nanoseconds in best], axis=0), _clock_time(nothing))
    return list(each * 1e-9), Probe(*map(float, np.median([probe for probe, _ in best], axis=0)))


def _own(nanoseconds: Array, alone: float) -> Array:
    """What steps take of themselves, of what `_repeated_pass` gives.

    To look at the clock holds the processor up, which works on several operations at once; and between operations the
    code of the clock and of what is around an operation is less at hand than in a loop of nothing else, in which both
    together take `alone` nanoseconds. So what they take is told by passes without looks at the clock, and with twice as
    much around each operation.
    """
    *each, whole, padded = nanoseconds
    between = (sum(each) - 2 * whole + padded) / len(each)
    if not math.isfinite(between):
        between = USUAL_BETWEEN * alone
    own: Array = np.array(each) - min(max(between, alone), MAX_BETWEEN * alone)
    return own


def _repeated_pass(steps: Sequence[Step], nothing: Step, repetitions: int, short: bool) -> Array:
    """Nanoseconds of each step of a pass, as they are after some repetitions; of a pass without looks at the clock; and
    of one with a step around no operation after each. Of those that are not short the last two are not numbers."""
    passes = []
    for _ in range(repetitions):
        stamps = _stamped_pass(steps)
        others = (_whole_pass(steps), _padded_pass(steps, nothing)) if short else (math.nan, math.nan)
        passes.append([*stamps, *others])
    settled: Array = np.median(passes[(repetitions + 1) // 3 :], axis=0)
    return settled


def _stamped_pass(steps: Sequence[Step]) -> Array:
    """Nanoseconds of each step of a pass."""
    clock = time.perf_counter_ns
    stamps = [clock()]
    for step in steps:
        step()
        stamps.append(clock())
    return np.diff(stamps)


def _whole_pass(steps: Sequence[Step]) -> int:
    """Nanoseconds of a pass."""
    start = time.perf_counter_ns()
    for step in steps:
        step()
    return time.perf_counter_ns() - start


def _padded_pass(steps: Sequence[Step], nothing: Step) -> int:
    """Nanoseconds of a pass, each step of which is followed by another."""
    start = time.perf_counter_ns()
    for step in steps:
        step()
        nothing()
    return time.perf_counter_ns() - start


def _clock_time(nothing: Step) -> float:
    """Nanoseconds that a look at the clock and a step around no operation take in a loop of nothing else."""
    clock = time.perf_counter_ns
    stamps = [clock()]
    for _ in range(300):
        nothing()
        stamps.append(clock())
    return float(np.median(np.diff(stamps)))

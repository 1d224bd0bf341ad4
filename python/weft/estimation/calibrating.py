"""Calibration: random programs are timed on this machine, and the cost of every kind of operation is fitted to them.

An operation alone in a hot loop is not what it is in a program: its operands are in the caches, its branches are
predicted, memory is where it was. So each is timed between others, in programs of all sizes, with selections of all
densities. Some programs are left out of a first fit, which says how well totals of programs are predicted.
"""

from __future__ import annotations

import datetime
import math
import os
import platform
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from weft._core import UsageError, __version__
from weft.estimation import costs_file, kinds, random_programs, recurrence
from weft.estimation.costs_file import MeasuredCosts
from weft.estimation.curves import Curve, Work, fit
from weft.estimation.drift import references
from weft.estimation.kinds import Kind
from weft.estimation.pace import FAR, FULL, Pace, Probe, usual
from weft.estimation.random_programs import Timed
from weft.files import check_output, deliver
from weft.journal import Journal, path_beside

PROGRAMS = 2000
"""How many random programs; by their number every common kind has some dozens of observations."""

KNOTS = tuple(16 * 1024 * 4**k for k in range(7))
"""Distances of operands between which element times are linear: 16 KiB to 64 MiB, from what every first-level cache
holds to what hardly any cache does."""

VISITS = 2
"""How often each program is timed, spread over the calibration: other work comes and goes. More programs tell more of
kinds of operations that few have than a third visit of each."""

MORE_VISITS = 8
"""How often a program is timed at most, where none of these was at the processor's full pace."""

BUDGET = 180.0
"""Seconds after which no program is timed again. A machine that does nothing else needs some 150 of them."""

SYNCED = 1.0
"""Seconds between two waits for the disk: a program takes some 20 milliseconds, and such a wait some 5."""

EVERY = 8
"""One program of so many is held out."""

MIN_PROGRAMS = 2 * EVERY
"""The fewest programs that a fit can be made of."""

Opens = Callable[..., AbstractContextManager[Journal | None]]
"""Opens a journal, as :class:`weft.journal.Journal` does."""

Progress = Callable[[int, int], None]
"""Is told how many programs were timed, of how many; each counts as often as it is timed."""


def calibrate(
    output: str | os.PathLike[str] | None = None,
    *,
    programs: int = PROGRAMS,
    seed: int = 1,
    budget: float = BUDGET,
    resume: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    journal: Opens = Journal,
    clock: Callable[[], float] = time.monotonic,
) -> MeasuredCosts:
    """Measure what operations of parallel variables cost on this machine, and keep it for estimates.

    Takes some 150 seconds on a machine that does nothing else, and its budget where other work slows it down: then
    programs are timed fewer times, and the costs say what that makes of their intervals. Every program that was timed
    is kept in a journal beside the output, so that a calibration that was ended goes on where it was.

    Parameters
    ----------
    output
        Where to write the costs (.toml). Default: `weft.estimation.costs_file.default_path()`, weft's own file, which
        is replaced.
    programs
        How many random programs.
    seed
        Of the random programs.
    budget
        Seconds after which no further program is timed; at least `MIN_PROGRAMS` are.
    resume, force
        Whether to go on with the journal that an unfinished calibration of the same programs left; whether to discard
        it, and to replace an output that exists.
    progress
        Is called after each program that was timed. The number to be timed grows where programs are timed again.
    journal
        How the journal is opened.
    clock
        Seconds, for tests.

    Returns
    -------
    MeasuredCosts
        What was written; `about` has `programs` and `visits` (how often each was timed on average), and `unfinished`
        where the budget ended it.

    Raises
    ------
    UsageError
        For fewer programs than a fit needs; if the output exists and is not to be replaced, or an unfinished
        calibration left a journal and it is not said what becomes of it; if the file cannot be written: before anything
        is measured.
    NotWrittenError
        If the file cannot be written at the end: the costs are then in another, which the message names.

    Examples
    --------
    >>> costs = calibrate("here-costs.toml")  # doctest: +SKIP
    >>> calibrate(programs=3)
    Traceback (most recent call last):
    weft._core.UsageError: a calibration needs at least 16 programs, not 3; the default is 2000
    """
    if programs < MIN_PROGRAMS:
        raise UsageError(
            f"a calibration needs at least {MIN_PROGRAMS} programs, not {programs}; the default is {PROGRAMS}"
        )
    path = Path(output) if output is not None else costs_file.default_path()
    if output is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    check_output(path, (".toml",), force=force or resume or output is None, instead="--resume goes on with its journal")
    if resume and not force and output is not None and path.exists() and not path_beside(path).exists():
        raise UsageError(
            f"{path} is finished, so there is nothing to go on with: --force (force=True) measures it again"
        )
    about = {key: value for key, value in _about().items() if key != "date"}
    with journal(path, {"calibrate": programs, "seed": seed, **about}, resume=resume, force=force) as kept:
        timing = _Timing(programs, seed, [] if kept is None else kept.records)
        ends = clock() + budget
        while (number := timing.next()) is not None and (clock() < ends or len(timing.done) < MIN_PROGRAMS):
            program = timing.draw(number)
            if kept is not None:
                kept.append(_record(number, program), every=SYNCED)
            if progress is not None:
                progress(timing.visits, timing.visits + timing.left)
        costs = costs_of(timing.programs(), {**timing.about(), "seed": seed})
        costs = replace(costs, reference=references(timing.at_full_pace()),
                        recurrence=recurrence.measured(costs.curves, programs, seed))  # fmt: skip
        deliver(costs.to_toml().encode(), path)
        if kept is not None:
            kept.finish()
    return costs


class _Timing:
    """Which program is timed when: all of them several times, then those again that were never at full pace."""

    def __init__(self, programs: int, seed: int, records: Iterable[dict[str, Any]]) -> None:
        self.done: dict[int, Timed] = {}
        """What is known of each program: the last record has what was least."""
        self._programs, self._seed, self._pace = programs, seed, Pace()
        self._visited = [0] * programs
        for record in records:
            number, program = _timed(record)
            self._visited[number] += 1
            self.done[number] = program
        for one in self.done.values():
            self._pace.learn(one.probe)

    @property
    def visits(self) -> int:
        """How often programs were timed."""
        return sum(self._visited)

    @property
    def left(self) -> int:
        """How many visits there may be yet, as far as is known."""
        return sum(self._wanted(number) - visited for number, visited in enumerate(self._visited))

    def next(self) -> int | None:
        """The program to time next, of those that want it the one with the fewest visits; None if none does."""
        left = (number for number, visited in enumerate(self._visited) if visited < self._wanted(number))
        return min(left, key=lambda number: self._visited[number], default=None)

    def draw(self, number: int) -> Timed:
        """Time a program."""
        timed = random_programs.draw(number, self._seed, self._pace, self.done.get(number))
        self._visited[number] += 1
        self.done[number] = timed
        return timed

    def programs(self) -> list[Timed]:
        """What was timed, in the order of the numbers."""
        return [self.done[number] for number in sorted(self.done)]

    def at_full_pace(self) -> dict[int, Timed]:
        """What was timed at full pace, by its number."""
        return {number: one for number, one in self.done.items() if self._pace.full(one.probe)}

    def about(self) -> dict[str, str | int | float]:
        """How much was timed."""
        facts: dict[str, str | int | float] = {
            "programs": len(self.done),
            "visits": round(self.visits / len(self.done), 2),
        }
        return facts if self.left == 0 else {**facts, "unfinished": self.left}

    def _wanted(self, number: int) -> int:
        """How often a program is to be timed."""
        one = self.done.get(number)
        visited = self._visited[number]
        if one is None or visited < VISITS or self._pace.full(one.probe):
            return max(VISITS, visited)
        return MORE_VISITS


def costs_of(programs: Sequence[Timed], about: dict[str, str | int | float]) -> MeasuredCosts:
    """Costs fitted to timed programs; `about` is added to what is said of this machine."""
    programs, slow = _at_full_pace(programs)
    seen = [one for at, one in enumerate(programs) if at % EVERY]
    unseen = [one for at, one in enumerate(programs) if not at % EVERY]
    errors = held_out_errors(curves_of(seen), unseen)
    return MeasuredCosts(curves_of(programs), errors, {**_about(), **about, "slow": round(slow, 3)})


def _at_full_pace(programs: Sequence[Timed]) -> tuple[list[Timed], float]:
    """Programs as they would have been timed at full pace, and the share of those that were not.

    What the probes beside those took longer than at full pace is taken from them: of arrays that are farther away than
    the probe's by the memory's part of it, of others by the core's. At full pace probes differ by some 10% of
    themselves, which is nothing that the programs beside them took: to take that off too made all 3% too short.
    """
    at_full = usual([one.probe for one in programs])
    corrected, slow = [], 0
    for one in programs:
        if one.probe.over(at_full) <= FULL:
            corrected.append(one)
            continue
        slow += 1
        core, memory = (max(1.0, taken / best) for taken, best in zip(one.probe, at_full, strict=True))
        operations = []
        for kind, seconds in one.operations:
            far = _share_beyond(kind.work, FAR)
            operations.append((kind, seconds / (core * (1 - far) + memory * far)))
        corrected.append(replace(one, operations=tuple(operations)))
    return corrected, slow / len(programs)


def _share_beyond(work: Work, distance: int) -> float:
    """The share of an operation's bytes that are at a distance or farther."""
    lengths = [(length, at >= distance) for at, length in work.arrays()]
    return sum(length for length, far in lengths if far) / max(1, sum(length for length, _ in lengths))


def curves_of(programs: Iterable[Timed]) -> dict[str, Curve]:
    """A curve for each kind of operation, helped by that of all kinds which are alike, and this one by that of the same
    with elements of any length."""
    by_kind: dict[str, list[tuple[Work, float]]] = defaultdict(list)
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    by_group: dict[str, list[tuple[Work, float]]] = defaultdict(list)
    by_family: dict[str, list[tuple[Work, float]]] = defaultdict(list)
    for program in programs:
        for kind, seconds in program.operations:
            by_kind[kind.name].append((kind.work, seconds))
            # Operands of two dtypes may put a kind into a group of longer elements now and then.
            groups[kind.name][kind.group] += 1
            by_group[kind.group].append((kind.work, seconds))
            by_family[kinds.family(kind.group)].append((kind.work, seconds))
    families = {family: fit(observations, KNOTS) for family, observations in by_family.items()}
    priors = {group: _of_group(observations, families[kinds.family(group)]) for group, observations in by_group.items()}
    return {
        name: fit(observations, KNOTS, priors[groups[name].most_common(1)[0][0]].at_the_pace_of(observations))
        for name, observations in by_kind.items()
    }


def _of_group(observations: Sequence[tuple[Work, float]], family: Curve) -> Curve:
    """The curve of a group, helped by its family's; of which it is all, there is nothing else to know."""
    if family.observations == len(observations):
        return family
    return fit(observations, KNOTS, family.at_the_pace_of(observations))


def held_out_errors(curves: dict[str, Curve], programs: Iterable[Timed]) -> tuple[float, ...]:
    """Predicted over measured time of whole programs, less 1.

    Operations of kinds that are in no program of the fit are taken as they were timed: an estimate names them instead.
    """
    errors = []
    for program in programs:
        predicted = math.fsum(
            curves[kind.name].seconds(kind.work) if kind.name in curves else seconds
            for kind, seconds in program.operations
        )
        # Operations that count as nothing are in the whole time but in no other: their share is taken from it.
        measured = math.fsum(seconds for _, seconds in program.operations)
        errors.append(predicted / measured - 1)
    return tuple(errors)


def _about() -> dict[str, str | int | float]:
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), processor)
    except OSError:
        pass
    return {
        "machine": platform.node(),
        "processor": processor,
        "date": datetime.date.today().isoformat(),
        "weft": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _record(number: int, program: Timed) -> dict[str, Any]:
    """A program as a journal has it."""
    operations = [[kind.name, kind.group, asdict(kind.work), seconds] for kind, seconds in program.operations]
    return {"number": number, **asdict(replace(program, operations=())), "operations": operations}


def _timed(record: dict[str, Any]) -> tuple[int, Timed]:
    """The program of a record, and its number."""
    fields = dict(record)
    number = int(fields.pop("number"))
    operations = tuple(
        (Kind(name, group, _work(dict(work))), float(seconds))
        for name, group, work, seconds in fields.pop("operations")
    )
    shape, steps, probe = tuple(fields.pop("shape")), tuple(fields.pop("steps")), Probe(*fields.pop("probe"))
    return number, Timed(shape=shape, operations=operations, steps=steps, probe=probe, **fields)


def _work(fields: dict[str, Any]) -> Work:
    reach = tuple((int(distance), int(length)) for distance, length in fields.pop("reach"))
    return Work(**fields, reach=reach)

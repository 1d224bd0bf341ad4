"""How much a program may communicate, what in it sends most, and which grain is best (Taki 1988, section 8)."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

from weft import model
from weft.fghc.running import Run, Site, run
from weft.fghc.table import table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from weft._core import Machine

PES = "PEs"
"""A variable of the goal that stands for the number of PEs."""
EVERY_UP_TO = 24
"""Grains are all tried up to so many; of more, every other one twice as far apart first, then those around the best."""


@dataclasses.dataclass(frozen=True)
class Standing:
    """Where one run stands."""

    grain: int | None
    """The value of the grain, where there is one."""
    run: Run
    """The run itself."""
    ideal: float
    """Reductions per second of one PE times their number."""
    relative_time: float | None
    """Reductions that a message costs, from what the run lost; None without messages."""
    largest_rate: float | None
    """The largest communication rate that keeps the wanted share of the ideal performance; None without messages."""

    @property
    def share(self) -> float:
        """Of the ideal performance that is reached."""
        return self.run.performance / self.ideal

    @property
    def keeps(self) -> bool:
        """Whether the communication rate is at most the largest."""
        return self.largest_rate is None or self.run.communication_rate <= self.largest_rate


@dataclasses.dataclass(frozen=True)
class Advice:
    """What to do about a program's communication."""

    lowest: float
    """The share of the ideal performance that communication is to leave."""
    standings: list[Standing]
    """A run for each grain that was tried, by grain."""

    @property
    def best(self) -> Standing:
        """The run with the highest performance; of equal ones that with the fewest messages."""
        return max(self.standings, key=lambda standing: (standing.run.performance, -standing.run.messages))

    @property
    def sites(self) -> list[Site]:
        """What sends most in the best run, the busiest first."""
        return self.best.run.sites


def advise(
    *paths: str | os.PathLike[str],
    goal: str = "main",
    pes: int = 2,
    on: str | os.PathLike[str] | Machine | None = None,
    lowest: float = 0.5,
    grain: str | None = None,
    grains: tuple[int, int] | None = None,
    launches: int = 5,
    progress: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> Advice:
    """Run a program, over a range of grains where one is given, and say how much it may communicate.

    Parameters
    ----------
    paths
        Files with modules.
    goal
        The goal. The variable `PEs` in it stands for the number of PEs, the one named by `grain` for the grain.
    pes
        Processing elements.
    on
        A described machine, or None for threads of this process.
    lowest
        The share of the ideal performance that communication is to leave.
    grain, grains
        Name of a variable of the goal, and its least and largest value.
    launches
        Runs here of which the fastest counts; a simulated run is the same every time.
    progress
        Is told what is run.
    options
        Others of :func:`weft.fghc.run`.

    Raises
    ------
    weft.UsageError
        For a share that is none, a grain that the goal does not have, too few PEs.
    weft.RunError
        For a program that has errors, fails, or does not come to an end.
    """
    from weft._core import UsageError

    if not 0.0 < lowest < 1.0:
        raise UsageError(
            f"--lowest: expected a share of the ideal performance above 0% and below 100%, found {lowest:.0%}"
        )
    if pes < 2:
        raise UsageError("one PE sends no messages: give at least 2")
    if (grain is None) != (grains is None):
        raise UsageError("a grain is a variable of the goal and a range, as --grain Depth 1:8")
    if grain is not None and not re.search(rf"\b{re.escape(grain)}\b", goal):
        raise UsageError(f"the goal {goal} has no variable {grain}; name one that it has, as t([1,2,3],PEs,{grain})")
    if grains is not None and grains[0] > grains[1]:
        raise UsageError(f"the range of grains {grains[0]}:{grains[1]} is empty")
    asked = _Asked(paths, goal, grain, on, launches, progress, options)
    values: Sequence[int | None] = [None] if grains is None else _first(*grains)
    standings = {value: asked.standing(value, pes, lowest) for value in values}
    if grains is not None:
        _refine(standings, grains, lambda value: asked.standing(value, pes, lowest))
    return Advice(lowest, [standings[value] for value in sorted(standings, key=lambda value: value or 0)])


def _first(low: int, high: int) -> list[int]:
    """All of a short range; of a longer one the ends and what doubles between them."""
    if high - low < EVERY_UP_TO:
        return list(range(low, high + 1))
    values, step = [low], 1
    while low + step < high:
        values.append(low + step)
        step *= 2
    return [*values, high]


def _refine(
    standings: dict[int | None, Standing], grains: tuple[int, int], standing: Callable[[int], Standing]
) -> None:
    """Halves the gaps beside the best grain until there are none."""
    while True:
        known = sorted(value for value in standings if value is not None)
        best = max(known, key=lambda value: standings[value].run.performance)
        index = known.index(best)
        beside = [known[at] for at in (index - 1, index + 1) if 0 <= at < len(known)]
        gaps = [(best + other) // 2 for other in beside if abs(other - best) > 1]
        new = [value for value in gaps if value not in standings and grains[0] <= value <= grains[1]]
        if not new:
            return
        for value in new:
            standings[value] = standing(value)


@dataclasses.dataclass
class _Asked:
    paths: Sequence[str | os.PathLike[str]]
    goal: str
    grain: str | None
    on: str | os.PathLike[str] | Machine | None
    launches: int
    progress: Callable[[str], None]
    options: dict[str, Any]
    single: dict[str, float] = dataclasses.field(default_factory=dict)

    def standing(self, grain: int | None, pes: int, lowest: float) -> Standing:
        done = self.fastest(grain, pes)
        of_one = 1.0 / done.reduction_time if done.reduction_time else self.of_one(grain)
        rates = model.rates(table([done]), of_one).row(0, named=True)
        time = rates["relative_time"]
        largest = model.largest_rate(lowest, time) if time is not None and time > 0.0 else None
        return Standing(grain, done, rates["ideal"], time, largest)

    def of_one(self, grain: int | None) -> float:
        """Reductions per second of one PE here."""
        goal = self.named(grain, 1)
        if goal not in self.single:
            self.single[goal] = self.fastest(grain, 1).performance
        return self.single[goal]

    def named(self, grain: int | None, pes: int) -> str:
        goal = re.sub(rf"\b{PES}\b", str(pes), self.goal)
        return goal if self.grain is None else re.sub(rf"\b{re.escape(self.grain)}\b", str(grain), goal)

    def fastest(self, grain: int | None, pes: int) -> Run:
        goal = self.named(grain, pes)
        self.progress(f"{goal} on {pes} PE{'s' if pes > 1 else ''}")
        times = 1 if self.on is not None else self.launches
        runs = [finished(run(*self.paths, goal=goal, pes=pes, on=self.on, **self.options)) for _ in range(times)]
        return min(runs, key=lambda done: done.seconds)


def finished(done: Run) -> Run:
    """A run that came to its end.

    Raises RunError for one that failed, waits for ever, or was interrupted: its counts mean nothing.
    """
    from weft._core import RunError

    if done.status == "interrupted":
        raise KeyboardInterrupt
    if done.status == "failed":
        raise RunError(f"{done.goal}: {done.message}")
    if done.status == "suspended":
        waiting = "\n".join(f"    {waiting}" for waiting in done.waiting[:5])
        raise RunError(f"{done.goal}: the program cannot go on, goals wait for ever:\n{waiting}")
    return done

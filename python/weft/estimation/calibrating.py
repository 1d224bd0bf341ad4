"""Calibration: random programs are timed on this machine, and the cost of every kind of operation is fitted to them.

An operation alone in a hot loop is not what it is in a program: its operands are in the caches, its branches are
predicted, memory is where it was. So each is timed between others, in programs of all sizes, with selections of all
densities. Some programs are left out of a first fit, which says how well totals of programs are predicted.
"""

from __future__ import annotations

import datetime
import functools
import json
import math
import os
import platform
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from weft._core import UsageError, __version__
from weft.estimation import costs_file, random_programs
from weft.estimation.costs_file import MeasuredCosts
from weft.estimation.curves import Curve, Work, fit
from weft.estimation.kinds import Kind
from weft.estimation.pace import FAR, FULL, Pace, Probe
from weft.estimation.random_programs import Timed

PROGRAMS = 700
"""How many random programs; by their number every common kind has some dozens of observations."""

KNOTS = tuple(16 * 1024 * 4**k for k in range(7))
"""Distances of operands between which element times are linear: 16 KiB to 64 MiB, from what every first-level cache
holds to what hardly any cache does."""

VISITS = 4
"""How often each program is timed, spread over the calibration: other work comes and goes."""

MORE_VISITS = 8
"""How often in all where none of these was at the processor's full pace."""

EVERY = 8
"""One program of so many is held out."""

Progress = Callable[[int, int], None]
"""Is told how many programs were timed, of how many; each counts as often as it is timed."""


def calibrate(
    output: str | os.PathLike[str] | None = None,
    *,
    programs: int = PROGRAMS,
    seed: int = 1,
    resume: bool = True,
    progress: Progress | None = None,
) -> MeasuredCosts:
    """Measure what operations of parallel variables cost on this machine, and keep it for estimates.

    Takes a minute or two on a machine that does nothing else, and up to twice that where other work slows it down.
    What was measured is kept beside the output after each program, so that a calibration that was ended goes on where
    it was.

    Parameters
    ----------
    output
        Where to write the costs (.toml). Default: `weft.estimation.costs_file.default_path()`.
    programs
        How many random programs.
    seed
        Of the random programs.
    resume
        Whether to go on with what an interrupted calibration of the same programs left.
    progress
        Is called after each program that was timed. The number to be timed grows where programs are timed again.

    Returns
    -------
    MeasuredCosts
        What was written.

    Raises
    ------
    UsageError
        For fewer programs than a fit needs.
    OSError
        If the file cannot be written: before anything is measured.
    """
    if programs < 2 * EVERY:
        raise UsageError(
            f"a calibration needs at least {2 * EVERY} programs, not {programs}; the default is {PROGRAMS}"
        )
    path = Path(output) if output is not None else costs_file.default_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = _Kept(path, programs, seed, resume)
    done, pace = kept.programs, Pace()
    pace.least = functools.reduce(Probe.least, (one.probe for one in done.values()), pace.least)
    slow = list(range(programs))
    while kept.visits < VISITS * programs or (slow and kept.visits < MORE_VISITS * programs):
        number = kept.visits % programs if kept.visits < VISITS * programs else slow[kept.visits % len(slow)]
        done[number] = random_programs.draw(number, seed, pace, done.get(number))
        kept.add(number, done[number])
        slow = [at for at, one in sorted(done.items()) if not pace.full(one.probe)]
        if progress is not None:
            more = len(slow) if kept.visits < MORE_VISITS * programs else 0
            progress(kept.visits, max(VISITS * programs, kept.visits + more))
    found = costs_of([done[number] for number in range(programs)], {"programs": programs, "seed": seed})
    found.write(path)
    kept.remove()
    return found


def costs_of(programs: Sequence[Timed], about: dict[str, str | int | float]) -> MeasuredCosts:
    """Costs fitted to timed programs; `about` is added to what is said of this machine."""
    programs, slow = _at_full_pace(programs)
    seen = [one for at, one in enumerate(programs) if at % EVERY]
    unseen = [one for at, one in enumerate(programs) if not at % EVERY]
    errors = held_out_errors(curves_of(seen), unseen)
    return MeasuredCosts(curves_of(programs), errors, {**_about(), **about, "slow": round(slow, 3)})


def _at_full_pace(programs: Sequence[Timed]) -> tuple[list[Timed], float]:
    """Programs as they would have been timed at full pace, and the share of those that were not.

    What the probes beside them took longer than the fastest is taken from them: of arrays that are farther away than
    the probe's by the memory's part of it, of others by the core's.
    """
    least = functools.reduce(Probe.least, (one.probe for one in programs))
    found, slow = [], 0
    for one in programs:
        slow += one.probe.over(least) > FULL
        core, memory = (taken / best for taken, best in zip(one.probe, least, strict=True))
        operations = []
        for kind, seconds in one.operations:
            far = _share_beyond(kind.work, FAR)
            operations.append((kind, seconds / (core * (1 - far) + memory * far)))
        found.append(replace(one, operations=tuple(operations)))
    return found, slow / len(programs)


def _share_beyond(work: Work, distance: int) -> float:
    """The share of an operation's bytes that are at a distance or farther."""
    lengths = [(length, at >= distance) for at, length in work.arrays()]
    return sum(length for length, far in lengths if far) / max(1, sum(length for length, _ in lengths))


def curves_of(programs: Iterable[Timed]) -> dict[str, Curve]:
    """A curve for each kind of operation, helped by that of all kinds which are alike."""
    by_kind: dict[str, list[tuple[Work, float]]] = defaultdict(list)
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    by_group: dict[str, list[tuple[Work, float]]] = defaultdict(list)
    for program in programs:
        for kind, seconds in program.operations:
            by_kind[kind.name].append((kind.work, seconds))
            # Operands of two dtypes may put a kind into a group of longer elements now and then.
            groups[kind.name][kind.group] += 1
            by_group[kind.group].append((kind.work, seconds))
    priors = {group: fit(observations, KNOTS) for group, observations in by_group.items()}
    return {
        name: fit(observations, KNOTS, priors[groups[name].most_common(1)[0][0]].at_the_pace_of(observations))
        for name, observations in by_kind.items()
    }


def held_out_errors(curves: dict[str, Curve], programs: Iterable[Timed]) -> tuple[float, ...]:
    """Predicted over measured time of whole programs, less 1.

    Operations of kinds that are in no program of the fit are taken as they were timed: an estimate names them instead.
    """
    found = []
    for program in programs:
        predicted = math.fsum(
            curves[kind.name].seconds(kind.work) if kind.name in curves else seconds
            for kind, seconds in program.operations
        )
        # Operations that count as nothing are in the whole time but in no other: their share is taken from it.
        measured = math.fsum(seconds for _, seconds in program.operations)
        found.append(predicted / measured - 1)
    return tuple(found)


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


class _Kept:
    """What an unfinished calibration has measured, one line a program."""

    def __init__(self, output: Path, programs: int, seed: int, resume: bool) -> None:
        self._path = output.with_name(f".{output.name}.unfinished")
        about = {key: value for key, value in _about().items() if key != "date"}
        self._head = json.dumps({"programs": programs, "seed": seed, **about})
        lines = self._lines() if resume else []
        self.visits = len(lines)
        """How often programs were timed."""
        self.programs = dict(map(_timed, lines))
        """What is known of each: the last line has what was least."""
        self._path.write_text("\n".join([self._head, *lines]) + "\n", encoding="utf-8")

    def _lines(self) -> list[str]:
        """Nothing where there is nothing, or it is of other programs or another machine."""
        try:
            head, *lines = self._path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            return []
        if head != self._head:
            return []
        for at, line in enumerate(lines):
            try:
                _timed(line)
            except (ValueError, TypeError, KeyError):
                return lines[:at]  # the line that was being written when the calibration was ended
        return lines

    def add(self, number: int, program: Timed) -> None:
        """A program was timed."""
        self.visits += 1
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_line(number, program) + "\n")

    def remove(self) -> None:
        """It is finished."""
        self._path.unlink(missing_ok=True)


def _line(number: int, program: Timed) -> str:
    operations = [[kind.name, kind.group, asdict(kind.work), seconds] for kind, seconds in program.operations]
    return json.dumps({"number": number, **asdict(replace(program, operations=())), "operations": operations})


def _timed(line: str) -> tuple[int, Timed]:
    found = json.loads(line)
    number = int(found.pop("number"))
    operations = tuple(
        (Kind(name, group, _work(work)), float(seconds)) for name, group, work, seconds in found.pop("operations")
    )
    shape, steps, probe = tuple(found.pop("shape")), tuple(found.pop("steps")), Probe(*found.pop("probe"))
    return number, Timed(shape=shape, operations=operations, steps=steps, probe=probe, **found)


def _work(found: dict[str, Any]) -> Work:
    reach = tuple((int(distance), int(length)) for distance, length in found.pop("reach"))
    return Work(**found, reach=reach)

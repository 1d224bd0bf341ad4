"""Calibration: random programs are timed on this machine, and the cost of every kind of operation is fitted to them.

An operation alone in a hot loop is not what it is in a program: its operands are in the caches, its branches are
predicted, memory is where it was. So each is timed between others, in programs of all sizes, with selections of all
densities. Some programs are left out of a first fit, which says how well totals of programs are predicted.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from weft._core import UsageError, __version__
from weft.estimation import costs_file, random_programs
from weft.estimation.costs_file import MeasuredCosts
from weft.estimation.curves import Curve, Work, fit
from weft.estimation.kinds import Kind
from weft.estimation.random_programs import Timed

PROGRAMS = 600
"""How many random programs; by their number every common kind has some dozens of observations."""

KNOTS = tuple(512 * 4**k for k in range(9))
"""Lengths of an operand between which element times are linear: 512 bytes to 32 MiB."""

VISITS = 5
"""How often each program is timed, spread over the calibration: other work comes and goes."""

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

    Takes about a minute. What was measured is kept beside the output after each program, so that a calibration that was
    ended goes on where it stopped.

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
        Is called after each program that was timed.

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
    done = kept.programs
    for visit in range(kept.visits, VISITS * programs):
        number = visit % programs
        done[number] = random_programs.draw(number, seed, done.get(number))
        kept.add(number, done[number])
        if progress is not None:
            progress(visit + 1, VISITS * programs)
    found = costs_of([done[number] for number in range(programs)], {"programs": programs, "seed": seed})
    found.write(path)
    kept.remove()
    return found


def costs_of(programs: Sequence[Timed], about: dict[str, str | int | float]) -> MeasuredCosts:
    """Costs fitted to timed programs; `about` is added to what is said of this machine."""
    seen = [one for at, one in enumerate(programs) if at % EVERY]
    unseen = [one for at, one in enumerate(programs) if not at % EVERY]
    errors = held_out_errors(curves_of(seen), unseen)
    disturbed = float(np.mean([one.disturbed for one in programs]))
    return MeasuredCosts(curves_of(programs), errors, {**_about(), **about, "disturbed": round(disturbed, 3)})


def curves_of(programs: Iterable[Timed]) -> dict[str, Curve]:
    """A curve for each kind of operation, helped by that of all kinds which are alike."""
    by_kind: dict[tuple[str, str], list[tuple[Work, float]]] = defaultdict(list)
    by_group: dict[str, list[tuple[Work, float]]] = defaultdict(list)
    for program in programs:
        for kind, seconds in program.operations:
            by_kind[kind.group, kind.name].append((kind.work, seconds))
            by_group[kind.group].append((kind.work, seconds))
    priors = {group: fit(observations, KNOTS) for group, observations in by_group.items()}
    return {name: fit(observations, KNOTS, priors[group]) for (group, name), observations in by_kind.items()}


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
        (Kind(*names, Work(**work)), float(seconds)) for *names, work, seconds in found.pop("operations")
    )
    shape, steps = tuple(found.pop("shape")), tuple(found.pop("steps"))
    return number, Timed(shape=shape, operations=operations, steps=steps, **found)

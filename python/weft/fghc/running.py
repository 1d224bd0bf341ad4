"""Run programs, and what was counted meanwhile."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from weft.fghc.checking import sources

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Waiting:
    """A goal that is suspended."""

    goal: str
    """The goal with its arguments."""
    variables: list[str]
    """The variables of which any would wake it."""

    def __str__(self) -> str:
        return f"{self.goal} waits for {', '.join(self.variables)}" if self.variables else self.goal


@dataclasses.dataclass(frozen=True)
class ProcessingElement:
    """What was counted on one processing element (paper, section 7.2)."""

    pe: int
    """Its number, from 0."""
    reductions: int
    """Commitments to clauses of predicates; guard goals and builtins count nothing."""
    suspensions: int
    """Times that a goal suspended."""
    resumptions: int
    """Times that a goal woke."""
    collections: int
    """Collections of garbage."""
    work_s: float
    """Seconds of work."""
    idle_s: float
    """Seconds without a goal that could go on."""
    messages: int
    """Messages sent."""
    throw_goal: int
    """Those of them that carried a goal."""


@dataclasses.dataclass(frozen=True)
class Run:
    """How a run ended."""

    status: str
    """`done`; `suspended`: goals wait for ever; `failed`; `exit`: the program ended itself; `interrupted`."""
    message: str
    """What failed."""
    exit_code: int | None
    """The code that the program ended itself with."""
    answers: list[tuple[str, str]]
    """The variables of the goal and their values."""
    output: str | None
    """What the program wrote, where it was captured."""
    waiting: list[Waiting]
    """Goals that are suspended for ever, or were when the run was interrupted."""
    ready: list[str]
    """The next goals of a run that was interrupted."""
    failures: list[str]
    """Failures under metacalls, which the program saw as results."""
    counts: dict[str, int] | None
    """Reductions by predicate, where they were asked for."""
    pes: list[ProcessingElement]
    """What was counted, by processing element."""
    seconds: float
    """Elapsed time."""

    @property
    def reductions(self) -> int:
        """Reductions of all processing elements."""
        return sum(pe.reductions for pe in self.pes)


def run(
    *paths: str | os.PathLike[str],
    goal: str = "main",
    pes: int = 1,
    seed: int | None = None,
    heap: int | None = None,
    arguments: Sequence[str] = (),
    counts: bool = False,
    collect_every: int | None = None,
    interpret: bool = False,
    capture: bool = True,
) -> Run:
    """Run a goal of the modules in some files, on one processing element or on several, which are then threads.

    `heap` is the largest number of bytes in use on a processing element. With a `seed`, goals are taken in random
    order, and with `collect_every` there is a collection at least every so many reductions: both are for tests.
    Programs are translated to native code; with `interpret` they are not, and give the same answers and counts.
    With `capture`, what the program writes is part of the result, otherwise it goes to standard output.

    Raises UsageError for options that cannot be meant, RunError for a program with errors. A program that fails,
    deadlocks or is interrupted (Ctrl-C) is a result, see `Run.status`.
    """
    from weft._core import fghc_run, fghc_run_threads

    if pes > 1 and counts:
        from weft._core import UsageError

        raise UsageError("reductions by predicate are counted on one PE only")
    options = _options(seed, heap, arguments, collect_every, interpret)
    options["counts"] = counts
    if pes == 1:
        return _read(fghc_run(sources(paths), goal, json.dumps(options), capture))
    return _read(fghc_run_threads(sources(paths), goal, pes, json.dumps(options), capture))


def run_rank(
    *paths: str | os.PathLike[str],
    library: str,
    goal: str = "main",
    seed: int | None = None,
    heap: int | None = None,
    arguments: Sequence[str] = (),
    interpret: bool = False,
) -> Run | None:
    """Run a goal on the ranks of an MPI job, of which this process is one: each rank is a processing element.

    `library` is the MPI library to use where the environment names none. The first rank gets the result, the others
    `None`; what the program writes goes to each rank's standard output. Raises UsageError, RunError.
    """
    from weft._core import fghc_run_mpi

    options = _options(seed, heap, arguments, None, interpret)
    found = fghc_run_mpi(sources(paths), goal, json.dumps(options), library)
    return None if found is None else _read(found)


def _options(
    seed: int | None, heap: int | None, arguments: Sequence[str], collect_every: int | None, interpret: bool
) -> dict[str, object]:
    if heap is not None and heap < 65536:
        from weft._core import UsageError

        raise UsageError(f"a heap of {heap} bytes is too small: give at least 64K")
    return {
        "seed": seed,
        "heap": heap,
        "arguments": list(arguments),
        "collect_every": collect_every,
        "interpret": interpret,
    }


def _read(text: str) -> Run:
    found = json.loads(text)
    found["answers"] = [(name, value) for name, value in found["answers"]]
    found["waiting"] = [Waiting(**waiting) for waiting in found["waiting"]]
    found["pes"] = [ProcessingElement(**pe) for pe in found["pes"]]
    if found["counts"] is not None:
        found["counts"] = dict(found["counts"])
    return Run(**found)

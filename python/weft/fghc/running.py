"""Run programs, and what was counted meanwhile."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft import files
from weft.fghc.checking import sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from weft._core import Machine


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
    communication_s: float = 0.0
    """Seconds of work that messages took; known in virtual time only."""
    sent: dict[str, int] = dataclasses.field(default_factory=dict)
    """Messages sent by kind, those of the control of the run too."""
    received: dict[str, int] = dataclasses.field(default_factory=dict)
    """Messages received by kind, those of the control of the run too."""


@dataclasses.dataclass(frozen=True)
class Site:
    """What a goal with a pragma sent, on all processing elements together."""

    file: str
    """Where it stands."""
    line: int
    """Where it stands, from 1."""
    text: str
    """The goal with its pragma."""
    throws: int
    """Goals thrown."""
    words: int
    """Constants, cells and references in their arguments."""
    references: int
    """References in their arguments."""
    reads: int
    """Values that other processing elements asked for by these references."""
    unifications: int
    """Values that other processing elements sent for these references."""
    messages: int
    """Messages that there would not be without it: goals, questions with their answers, values."""


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
    """Goals that are suspended for ever, or were when the run was interrupted: the first thousand (of each PE)."""
    waiting_count: int
    """How many such goals there are."""
    ready: list[str]
    """The next goals of a run that was interrupted."""
    failures: list[str]
    """Failures under metacalls, which the program saw as results: the first thousand, of a run on one PE."""
    failure_count: int
    """How many such failures there were."""
    counts: dict[str, int] | None
    """Reductions by predicate, where they were asked for."""
    pes: list[ProcessingElement]
    """What was counted, by processing element."""
    seconds: float
    """Elapsed time, virtual on a described machine."""
    sites: list[Site] = dataclasses.field(default_factory=list)
    """Goals with a pragma that sent something, the busiest first."""
    machine: str = "here"
    """Where it ran: a described machine, or here."""
    goal: str = "main"
    """The goal that was run."""
    program: str = ""
    """The program's first file, without its folder and ending."""
    assumed: list[str] = dataclasses.field(default_factory=list)
    """What was assumed of a described machine, a line each."""
    packets: int | None = None
    """Packets that crossed a described machine's network; messages to one processing element may share one."""
    reduction_time: float | None = None
    """Seconds that a described machine was charged for a reduction."""

    @property
    def reductions(self) -> int:
        """Reductions of all processing elements."""
        return sum(pe.reductions for pe in self.pes)

    @property
    def messages(self) -> int:
        """Messages of all processing elements."""
        return sum(pe.messages for pe in self.pes)

    @property
    def work_rate(self) -> float:
        """Mean share of the elapsed time that processing elements worked (paper, section 7.5)."""
        return sum(pe.work_s for pe in self.pes) / len(self.pes) / self.seconds if self.seconds else 0.0

    @property
    def communication_rate(self) -> float:
        """Messages per reduction (paper, section 5.3)."""
        return self.messages / self.reductions if self.reductions else 0.0

    @property
    def performance(self) -> float:
        """Reductions per second."""
        return self.reductions / self.seconds if self.seconds else 0.0

    def samples(self, repetition: int = 0) -> pl.DataFrame:
        """What was counted, as samples: see :func:`weft.fghc.table`."""
        from weft.fghc.table import table

        return table([self], repetition)


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
    on: str | os.PathLike[str] | Machine | None = None,
    reduction_time: float | None = None,
    step_time: float | None = None,
    enlarge: bool = False,
    look_every: int | None = None,
    trace: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Run:
    """Run a goal of the modules in some files, on one processing element or on several, which are then threads.

    `heap` is the largest number of bytes in use on a processing element, of its heap (twice that while it is collected)
    and of what the program makes beside it. With a `seed`, goals are taken in random
    order, and with `collect_every` there is a collection at least every so many reductions: both are for tests.
    Programs are translated to native code; with `interpret` they are not, and give the same answers and counts.
    With `capture`, what the program writes is part of the result, otherwise it goes to standard output.

    With `on`, the processing elements are nodes of that machine (a name of the catalogue, the path of a machine file,
    or a machine) and time is virtual: reductions and the software of messages take what the machine file's table
    `[fghc]` says, the rest of messages what its protocols and network say. A file without that table gets a reduction
    derived from the time of an addition and software in proportion to it, as `Run.assumed` tells; `reduction_time` and
    `step_time` (seconds of a reduction, of a step of the software) go before both. `enlarge` simulates a larger machine
    of the same parts where there are more processing elements than nodes. A processing element looks for messages
    every `look_every` reductions: default 1 in virtual time, 10,000 otherwise. `trace` is a file for the timeline of
    a run (Chrome trace JSON, for Perfetto), which is replaced with `force` only.

    Raises UsageError for options that cannot be meant, RunError for a program with errors. A program that fails,
    deadlocks or is interrupted (Ctrl-C) is a result, see `Run.status`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     program = Path(folder) / "hello.fghc"
    ...     _ = program.write_text(":- module hello. :- public main/1. main(X) :- true | X = [1,2].")
    ...     run(program, goal="main(X)").answers
    [('X', '[1,2]')]
    """
    from weft._core import UsageError
    from weft.fghc.core import fghc_run, fghc_run_threads, fghc_simulate

    if trace is not None:
        files.check_output(trace, (), force=force)
    if look_every is not None and look_every < 1:
        raise UsageError(f"a look for messages every {look_every} reductions: give at least 1")
    options = _options(seed, heap, arguments, collect_every, interpret)
    options |= {"counts": counts, "slice": look_every, "trace": None if trace is None else os.fspath(trace)}
    options |= {"reduction_time": reduction_time, "step_time": step_time, "enlarge": enlarge and on is not None}
    named = {"goal": goal, "program": Path(paths[0]).stem if paths else ""}
    text = sources(paths)
    if on is not None:
        from weft.catalogue import machine as find_machine

        machine = find_machine(on) if isinstance(on, str | os.PathLike) else on
        outcome = fghc_simulate(text, goal, machine, pes, json.dumps(options), capture)
        return _read(outcome, text, machine=machine.name, **named)
    if pes == 1 and trace is None:
        return _read(fghc_run(text, goal, json.dumps(options), capture), text, **named)
    return _read(fghc_run_threads(text, goal, pes, json.dumps(options), capture), text, **named)


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
    `None`; what the program writes goes to each rank's standard output. Ctrl-C ends the run, which is a result,
    where the launcher passes it on to the ranks, as MPICH's does. Raises UsageError, RunError.
    """
    from weft.fghc.core import fghc_run_mpi

    options = _options(seed, heap, arguments, None, interpret)
    text = sources(paths)
    with _passed_on() as signals:
        outcome = fghc_run_mpi(text, goal, json.dumps(options), library, signals)
    return None if outcome is None else _read(outcome, text, goal=goal, program=Path(paths[0]).stem if paths else "")


@contextlib.contextmanager
def _passed_on() -> Iterator[socket.socket]:
    """Has Ctrl-C go to a socket, the other end of which is to be detached.

    A rank computes in the thread that Python's handlers run in, and comes back only at the end.
    """
    own, other = socket.socketpair()
    own.setblocking(False)
    before: Any = None
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, signal.SIG_DFL, None):
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        descriptor = signal.set_wakeup_fd(own.fileno(), warn_on_full_buffer=False)
    try:
        yield other
    finally:
        if before is not None:
            signal.set_wakeup_fd(descriptor)
            signal.signal(signal.SIGINT, before)
        own.close()
        other.close()


def _options(
    seed: int | None, heap: int | None, arguments: Sequence[str], collect_every: int | None, interpret: bool
) -> dict[str, object]:
    return {
        "seed": seed,
        "heap": heap,
        "arguments": list(arguments),
        "collect_every": collect_every,
        "interpret": interpret,
    }


def _read(result: str, text: str, **named: str) -> Run:
    fields = json.loads(result) | named
    fields["sites"] = _sites(fields["sites"], text, named["goal"])
    fields["answers"] = [(name, value) for name, value in fields["answers"]]
    fields["waiting"] = [Waiting(**waiting) for waiting in fields["waiting"]]
    fields["pes"] = [ProcessingElement(**pe) for pe in fields["pes"]]
    if fields["counts"] is not None:
        fields["counts"] = dict(fields["counts"])
    return Run(**fields)


def _sites(counts: list[dict[str, int]], text: str, goal: str) -> list[Site]:
    if not any(any(count.values()) for count in counts):
        return []
    from weft.fghc.core import fghc_sites

    positions = json.loads(fghc_sites(text, goal))
    # A clause that is compiled twice has its goals twice.
    joined: dict[tuple[str, int, str], dict[str, int]] = {}
    for position, count in zip(positions, counts, strict=True):
        before = joined.setdefault(tuple(position), dict.fromkeys(count, 0))
        for name, value in count.items():
            before[name] += value
    sites = [
        Site(file, line, goal_text, **count) for (file, line, goal_text), count in joined.items() if any(count.values())
    ]
    return sorted(sites, key=lambda site: (-site.messages, site.file, site.line))

"""Running a program of MPI in virtual time, from Python or the command line."""

from __future__ import annotations

import collections
import contextlib
import json
import logging
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft import files
from weft._core import Machine, RunError, UsageError
from weft.catalogue import machine as find_machine
from weft.catalogue import passes_messages
from weft.extras import require
from weft.hosting import here, limits, lines, sleeping
from weft.hosting.binary import (
    Kind,
    Linkage,
    brings_mpi,
    kind,
    libraries,
    libraries_of_mpi4py,
    linkage,
    needs_processes,
)
from weft.hosting.library import OF_MPI4PY, OPEN_MPI_NAME, STANDARD_NAMES, open_mpi_path, standard_path
from weft.hosting.library import path as library_path
from weft.hosting.placing import nodes_of
from weft.hosting.rates import Rate, factor, rates
from weft.hosting.waiting import wait

__all__ = ["HostedRun", "run"]

PATIENCE = 20.0
"""Seconds that a rank may go without a call before the others go on without it: what programs compute between two calls
is shorter, as a rule, and runs in which it is longer are not repeatable."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HostedRun:
    """What a run of a program came to.

    Attributes
    ----------
    machine
        The name of the machine; `here` for a run on real MPI.
    ranks
        How many ranks ran.
    makespan
        When the last rank finished, in seconds of virtual time; on real MPI, how long the launch took.
    finished
        When each rank finished, in seconds of virtual time; empty on real MPI.
    messages
        Messages that entered the network; None on real MPI, which does not tell.
    codes
        The exit code of each rank's program; on real MPI, that of the launcher.
    compute
        The factor on processor time measured here that computation between calls counts with; None: it takes no time.
    unreceived
        Messages that were sent and never received; not known on real MPI.
    open_requests
        Requests that were neither complete nor freed when ranks ended MPI, without persistent ones that were not
        started; not known on real MPI.
    remarks
        What the program should have cleaned up, and what it did that the standard forbids, in sentences.
    rates
        What the factor on computation was found by, where it was.
    """

    machine: str
    ranks: int
    makespan: float
    finished: tuple[float, ...]
    messages: int | None
    codes: tuple[int, ...]
    compute: float | None
    unreceived: int = 0
    open_requests: int = 0
    remarks: tuple[str, ...] = ()
    rates: tuple[Rate, ...] = ()

    @property
    def code(self) -> int:
        """The exit code of the whole: the largest of the ranks'."""
        return max(self.codes)


class HostedError(RunError):
    """A program that failed, or whose ranks cannot go on. `code` is its exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def run(
    program: str | os.PathLike[str],
    *arguments: str,
    on: str | os.PathLike[str] | Machine,
    ranks: int,
    compute: float | str | None = None,
    isolate: bool | None = None,
    ranks_per_node: int | None = None,
    placement: str | Sequence[int] | None = None,
    patience: float = PATIENCE,
    trace: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> HostedRun:
    """Run an unmodified program of MPI on the ranks of a described machine, in virtual time.

    A script with mpi4py has all ranks in one process and one interpreter, where they take turns; each has a main module
    of its own, the modules that lie beside the script for itself, and random numbers of its own. A compiled program has
    a process for each rank, and so have some scripts (`isolate`). Output is what the ranks print.

    Parameters
    ----------
    program
        Path of a script of Python, or of a program that was compiled against MPICH, an MPI with its binary interface
        (Intel MPI, MVAPICH, Cray MPI), or Open MPI 3 to 5; without a slash, also one in PATH.
    *arguments
        What it is called with.
    on
        Name of a machine of the catalogue, path of a machine file, or a machine; `here` runs the program on real MPI
        on this one, with the launcher that `weft measure` takes.
    ranks
        How many ranks run, rank r on node r unless one of the next says otherwise.
    compute
        The factor on processor time measured here that computation between calls of MPI takes in virtual time, as a
        number or as text (`50`, `scale=50`). `measured`: the ratio of the two machines' node rates, which some seconds
        of measuring here find; ranks that share a node have equal parts of it. `none`, `declared` or None: computation
        takes no time but for what the program declares by `weft.compute`, and two runs are equal to the bit.
    isolate
        Whether the ranks of a script have a process each, as those of compiled programs have. Default: where the script
        imports weft and no mpi4py, and where computation counts and there are at most 16 ranks: in one process they
        have one heap and the caches of one processor, which changes what their computation takes.
    ranks_per_node
        How many ranks share a node, each with an equal part of its processors. A message between two of them takes what
        a self-message takes; they share the node's links, and memory by `MPI_Win_allocate_shared`.
    placement
        `block`, the default: ranks that follow each other share a node; `cyclic`: they are dealt out over the nodes in
        turn; or a list of nodes, one for each rank, as numbers or as text (`0-3,8,8`).
    patience
        Seconds of processor time (or of sleep) that a rank with a process of its own may go without a call of MPI: if
        others could do something, they then go on without it, since it may be waiting for what they do outside of MPI,
        and another run may differ. Infinite: they wait for it for ever.
    trace
        File for a timeline of the run (Chrome trace JSON, for Perfetto). Every message is four to six events of it.
    force
        Replaces the file if there is one.

    Raises
    ------
    weft.UsageError
        For a machine that passes no messages, a program that there is not or that was built for another MPI, or where
        mpi4py, greenlet or the library that stands in for MPI is missing.
    weft.RunError
        Where a rank fails or no rank can go on; the message names ranks, calls and lines of the script.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     script = pathlib.Path(folder) / "barrier.py"
    ...     _ = script.write_text("from mpi4py import MPI; MPI.COMM_WORLD.Barrier()")
    ...     run(script, on="ipsc860", ranks=8).messages  # a barrier takes three rounds, and MPI_Finalize one more
    48
    """
    if on == here.HERE:
        if ranks_per_node is not None or placement is not None:
            raise UsageError("on real MPI its launcher places ranks: leave out where they run")
        if trace is not None:
            raise UsageError("a timeline is drawn in virtual time: name a described machine")
        return _run_here(program, arguments, ranks, compute, isolate=isolate)
    described = on if isinstance(on, Machine) else find_machine(on)
    if trace is not None:
        files.check_output(trace, (), force=force)
    path = _resolved(program)
    if not patience > 0.0:
        raise UsageError(f"the patience with a rank is a number of seconds above 0, or inf; found {patience}")
    scale, compared = _compute(compute, described)
    _check(path, described, scale)
    nodes = nodes_of(described, ranks, ranks_per_node, placement)
    if compared and nodes is not None:
        scale = (scale or 1.0) * max(collections.Counter(nodes).values())
    sort = kind(path)
    isolate = sort is Kind.SCRIPT and _is_isolated(path, isolate, ranks, scale)
    library = _check_kind(path, sort, ranks, isolate=isolate)
    _log.info("run %s on %d ranks of %s", path, ranks, described.name)
    writes = contextlib.nullcontext() if trace is None else files.replaced(trace)
    with tempfile.TemporaryDirectory(prefix="weft-run-") as folder, writes as timeline:
        report = Path(folder) / "report.json"
        request = {
            "ranks": ranks,
            "machine": described.to_toml(),
            "path": described.name,
            "nodes": nodes,
            "compute": scale,
            "report": str(report),
            "patience": None if math.isinf(patience) else patience,
            "trace": None if timeline is None else (str(timeline), os.fspath(trace or "")),
        }
        if sort is Kind.SCRIPT and not isolate:
            # Computation that counts takes place on the pages that the program would have by itself.
            wanted = HEAP if scale is None else {}
            heap = {name: value for name, value in wanted.items() if name not in os.environ}
            own = {"script": str(path.resolve()), "arguments": list(arguments), "heap": list(heap)}
            code, interrupted = _start("weft.hosting", request | own, heap)
        else:
            command = _command(path, sort, arguments)
            # Python has its modules to load; a program has at least the libraries of C and of MPI.
            each = _PYTHON_BYTES if sort is Kind.SCRIPT else _PROGRAM_BYTES
            processes = {"program": command, "each": each, "library": str(library)}
            variables = _names(Path(folder))
            if sort is Kind.SCRIPT and scale is None:
                variables |= {name: value for name, value in ONE_THREAD.items() if name not in os.environ}
            code, interrupted = _start("weft.hosting.processes", request | processes, variables)
        if not report.exists():
            raise _without_report(path.name, code, interrupted)
        outcome = json.loads(report.read_text())
        if outcome["error"] is not None:
            raise HostedError(_message(outcome), code or 1)
        if outcome["trace_error"] is not None:
            raise HostedError(f"{trace} could not be written: {outcome['trace_error']}", 1)
    return HostedRun(
        described.name,
        ranks,
        outcome["makespan"],
        tuple(outcome["finished"]),
        outcome["messages"],
        tuple(outcome["codes"]),
        scale,
        outcome["unreceived_count"],
        outcome["unfreed"].get("request", {"count": 0})["count"],
        tuple(_remarks(outcome, sort)),
        tuple(compared),
    )


MAX_MEASURED_APART = 16
"""So many ranks of a script have a process each where computation counts, unless the caller chooses: each costs the
start of an interpreter."""


def _is_isolated(script: Path, wanted: bool | None, ranks: int, scale: float | None) -> bool:
    """Whether the ranks of a script have a process each."""
    if needs_processes(script):
        return True
    if brings_mpi(os.environ.get("LD_PRELOAD", "")):
        # What wraps functions of MPI keeps its state once a process, and finds there the MPI that it was linked with.
        if wanted is False:
            raise UsageError(
                "LD_PRELOAD names a library of MPI or one that wraps its functions, and such libraries need a process "
                "for each rank: leave --no-isolate out"
            )
        return True
    return bool(scale) and ranks <= MAX_MEASURED_APART if wanted is None else wanted


def _compute(compute: float | str | None, machine: Machine) -> tuple[float | None, Sequence[Rate]]:
    """The factor that is meant, and what it was found by."""
    if not isinstance(compute, str):
        return compute, ()
    if compute in ("none", "declared"):
        return None, ()
    if compute == "measured":
        compared = rates(machine)
        return factor(compared), compared
    try:
        return float(compute.removeprefix("scale=")), ()
    except ValueError:
        raise UsageError(
            f"compute: expected measured, declared, none, or a factor such as 50 or scale=50, found {compute!r}"
        ) from None


def _remarks(outcome: Mapping[str, Any], sort: Kind) -> Iterator[str]:
    """What the standard forbids, and what a program should have received, completed or freed."""
    yield from _forbidden(outcome)
    if count := (absences := outcome["remarks"].get("absences", {"count": 0}))["count"]:
        times = "once" if count == 1 else f"{count} times"
        yield (
            f"the other ranks went on {times} without one that did not call MPI for long, so that another run may "
            f"differ: {_some(absences['first'], count)}"
        )
    if count := outcome["unreceived_count"]:
        first = [
            f"{bytes} bytes from rank {start} to rank {end}, tag {tag}"
            for start, end, tag, bytes in outcome["unreceived"]
        ]
        yield f"{count} {'message was' if count == 1 else 'messages were'} never received: {_some(first, count)}"
    if count := outcome["mismatched_count"]:
        first = [
            f"{kind} #{number} from rank {start} to rank {end}" for start, end, kind, number in outcome["mismatched"]
        ]
        what = "message of a collective was" if count == 1 else "messages of collectives were"
        yield f"{count} {what} never received, since ranks made different calls: {_some(first, count)}"
    for what, listed in outcome["unfreed"].items():
        if sort is not Kind.SCRIPT or what not in NOT_FREED_IN_SCRIPTS:
            yield _unfreed(what, listed["count"], listed["first"])


def _unfreed(what: str, count: int, first: Sequence[tuple[int, int]]) -> str:
    """That ranks have left objects of a sort."""
    which, was = (what, "was") if count == 1 else (f"{what}s", "were")
    missing = MISSING.get(what, "not freed")
    ranks = [f"{number} of rank {rank}" for rank, number in first]
    return f"{count} {which} {was} {missing} before MPI_Finalize: {_some(ranks, len(ranks))}"


MISSING = {"request": "neither completed nor freed", "file": "not closed"}
"""What a program should have done with an object, where that is not freeing it."""

NOT_FREED_IN_SCRIPTS = ("communicator", "group", "datatype", "operation")
"""What scripts of mpi4py leave to the end of the program, and cannot free where a property gives it."""

FORBIDDEN = {
    "collectives": ("collective call in which ranks do not agree", "collective calls in which ranks do not agree"),
    "datatypes": (
        "message was received as other elements than sent",
        "messages were received as other elements than sent",
    ),
    "buffers": ("call used memory of a request that was pending", "calls used memory of requests that were pending"),
    "windows": (
        "access of a window met another that was not complete",
        "accesses of windows met others that were not complete",
    ),
}
"""What is said of one, and of several calls that the standard forbids."""


def _forbidden(outcome: Mapping[str, Any]) -> Iterator[str]:
    """Calls that the standard forbids, and that came to an end all the same."""
    for subject, (one, several) in FORBIDDEN.items():
        listed = outcome["remarks"].get(subject, {"count": 0})
        if count := listed["count"]:
            yield f"{count} {one if count == 1 else several}: {_some(listed['first'], count)}"


def _some(listed: Sequence[str], count: int) -> str:
    """The first of a list, and that there are more."""
    return "; ".join(listed[:SHOWN]) + ("; …" if count > SHOWN else "")


SHOWN = 3
"""At most so many messages or ranks are named in a remark."""


def _run_here(
    program: str | os.PathLike[str],
    arguments: Sequence[str],
    ranks: int,
    compute: float | str | None,
    *,
    isolate: bool | None,
) -> HostedRun:
    """Run a program on real MPI."""
    path = _resolved(program)
    if not path.is_file():
        raise UsageError(f"{path}: there is no such program")
    if compute is not None or isolate:
        raise UsageError("on real MPI every rank is a process and computation takes its time: leave out what says more")
    code, seconds = here.launch(_command(path, kind(path), arguments), ranks)
    return HostedRun(here.HERE, ranks, seconds, (), None, (code,), None)


def _command(path: Path, sort: Kind, arguments: Sequence[str]) -> list[str]:
    """What starts one rank."""
    interpreter = [sys.executable] if sort is Kind.SCRIPT else []
    return [*interpreter, str(path.absolute()), *arguments]


_PYTHON_BYTES = 24 << 20
_PROGRAM_BYTES = 2 << 20
"""Memory that a rank with a process of its own takes at least, in bytes, before the program asks for any."""


def _resolved(program: str | os.PathLike[str]) -> Path:
    """The path of a program that is named."""
    path = Path(program)
    if not path.exists() and path.name == os.fspath(program):
        in_path = shutil.which(path.name)
        return path if in_path is None else Path(in_path)
    return path


def _check(path: Path, machine: Machine, compute: float | None) -> None:
    """Refuse what cannot run, before anything is started."""
    if not library_path().exists():
        raise UsageError(
            "running programs needs the library that stands in for MPI, which this installation of weft lacks: "
            "build it from the sources with `make setup`"
        )
    if not path.is_file():
        raise UsageError(f"{path}: there is no such program")
    if not passes_messages(machine):
        raise UsageError(f"{machine.name} is a data-parallel machine: its nodes pass no messages between programs")
    if compute is not None and not 0.0 <= compute < math.inf:
        raise UsageError(f"expected a factor on computation that is not negative, found {compute}")


def _check_kind(path: Path, sort: Kind, ranks: int, *, isolate: bool) -> Path:
    """Refuse a program that cannot run as what it is; the library that it finds in place of MPI."""
    library = library_path()
    if sort is Kind.SCRIPT:
        if not isolate:
            require("running scripts with mpi4py in virtual time", "greenlet", "mpi4py")
    else:
        if not os.access(path, os.X_OK):
            raise UsageError(f"{path} may not be run: `chmod +x` allows it")
        if sort is Kind.COMPILED:
            library = _check_linkage(path)
    if sort is not Kind.SCRIPT or isolate:
        limits.check(ranks)
    return library


_MPICH = ("libmpi.so.12", "libmpich.so.12")
"""Names by which programs that were built for MPICH's interface ask for MPI: upstream's and Debian's."""

_OTHERS = {"libmpi.so.20": "Open MPI 2", "libmpi.so.1": "Open MPI 1"}
"""Libraries of MPI whose interface none of weft's has; `libmpi.so.12` is MPICH's."""


def _check_linkage(path: Path) -> Path:
    """The library that a compiled program finds in place of its MPI; refuses one that would not, and says why."""
    try:
        linked: Linkage = linkage(path)
    except ValueError as error:
        raise UsageError(f"{path} cannot be run: {error}") from None
    here = os.uname().machine.replace("_", "-").replace("aarch64", "64-bit Arm")
    if linked.architecture != here:
        raise UsageError(f"{path} was compiled for {linked.architecture}, and this processor is {here}")
    if linked.needed is None:
        raise UsageError(
            f"{path} is linked statically: its MPI cannot be replaced; link it with the shared library of MPICH or "
            "Open MPI"
        )
    loaded = libraries(path)
    if path.name.startswith("python"):
        # The interpreter finds MPI by what its scripts import.
        loaded = (*loaded, *libraries_of_mpi4py(path))
    if OPEN_MPI_NAME in loaded:
        if not open_mpi_path().exists():
            raise UsageError(f"{path} was built for Open MPI, whose interface this installation of weft lacks")
        return open_mpi_path()
    if set(STANDARD_NAMES) & set(loaded):
        if not standard_path().exists():
            raise UsageError(
                f"{path} was built for the interface of the standard, which this installation of weft lacks"
            )
        return standard_path()
    for name in set(loaded) - set(_MPICH):
        other = next((other for start, other in _OTHERS.items() if name == start or name.startswith(f"{start}.")), None)
        if other is not None:
            raise UsageError(
                f"{path} was built for {other} ({name}); programs built for MPICH, what shares its binary interface, "
                "Open MPI 3 to 5 or the interface of the MPI 5 standard run in virtual time"
            )
    return library_path()


def _names(folder: Path) -> dict[str, str]:
    """The environment of ranks: the library under all names that programs ask for, and lines that stay whole."""
    names = folder / "names"
    names.mkdir()
    for name in _MPICH:
        (names / name).symlink_to(library_path())
    for name in STANDARD_NAMES:
        (names / name).symlink_to(standard_path())
    (names / "sitecustomize.py").symlink_to(Path(lines.__file__))
    (names / f"{lines.SLEEPING}.py").symlink_to(Path(sleeping.__file__))
    return {
        "LD_LIBRARY_PATH": _first(names, "LD_LIBRARY_PATH"),
        "PYTHONPATH": _first(names, "PYTHONPATH"),
        **OF_MPI4PY,
        "WEFT_RUN_LIBRARY": str(library_path()),
        # Ranks that use weft's arrays exchange by messages, which have a price in virtual time; memory has none.
        "WEFT_MPI_LIBRARY": str(library_path()),
        "WEFT_SHARED_MEMORY": "0",
    }


def _first(folder: Path, variable: str) -> str:
    """A variable that lists folders, with this one before the rest."""
    rest = os.environ.get(variable)
    return f"{folder}:{rest}" if rest else str(folder)


ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Threads that numpy's BLAS starts when it is imported never call MPI. But a rank of several threads that may all call
asks the simulator several times about a message where one thread asks once. Only where computation takes no time: where
it does, programs have the threads that they have elsewhere."""

HEAP = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""How the objects of all ranks of one process lie: in one heap of large pages. What a rank needs when it goes on is out
of the caches where there are many; with small pages their addresses are, too."""


def _start(module: str, request: dict[str, object], variables: Mapping[str, str] | None = None) -> tuple[int, bool]:
    """Run the process that holds the ranks, or starts theirs; its exit code, and whether it was interrupted."""
    command = [sys.executable, "-m", module, json.dumps(request)]
    with subprocess.Popen(command, env=os.environ | dict(variables or {})) as process:
        return wait(process)


def _without_report(name: str, code: int, interrupted: bool) -> HostedError:
    """What is said where the process that holds the ranks, or starts theirs, has ended before the run did."""
    if interrupted or -code in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        return HostedError("the run was interrupted", 128 + signal.SIGINT)
    if code < 0:
        number = -code
        known = next((f" ({one.name})" for one in signal.Signals if one == number), "")
        return HostedError(f"the process that runs {name} was ended by signal {number}{known}", 128 + number)
    return HostedError(f"{name} ended with exit code {code} before the run did", code or 1)


def _message(report: Mapping[str, Any]) -> str:
    lines = [str(report["error"])]
    lines += [f"  {remark}" for remark in _forbidden(report)]
    blocked: Sequence[dict[str, object] | list[object]] = report["blocked"]
    lines += [f"  {_blocked(one)}" for one in blocked[:LISTED]]
    if len(blocked) > LISTED:
        lines.append(f"  and {len(blocked) - LISTED} more")
    return "\n".join(lines)


def _blocked(one: dict[str, object] | list[object]) -> str:
    """Which call a rank is in, and where in its program, where that is known."""
    if isinstance(one, list):
        rank, call = one
        return f"rank {rank}: {call or 'before its first call of MPI'}"
    return f"rank {one['rank']}: {one['call']} at {one['where'] or 'the end of the program'}"


LISTED = 32
"""At most so many ranks are listed in a message; the rest are counted."""

"""Running a program of MPI in virtual time, from Python or the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft._core import Machine, RunError, UsageError
from weft.catalogue import machine as find_machine
from weft.catalogue import passes_messages
from weft.extras import require
from weft.hosting.library import path as library_path

__all__ = ["HostedRun", "run"]


@dataclass(frozen=True)
class HostedRun:
    """What a run of a program came to.

    Attributes
    ----------
    machine
        The name of the machine.
    ranks
        How many ranks ran.
    makespan
        When the last rank finished, in seconds of virtual time.
    finished
        When each rank finished, in seconds of virtual time.
    messages
        Messages that entered the network.
    codes
        The exit code of each rank's program.
    compute
        The factor on processor time measured here that computation between calls counts with; None: it takes no time.
    """

    machine: str
    ranks: int
    makespan: float
    finished: tuple[float, ...]
    messages: int
    codes: tuple[int, ...]
    compute: float | None

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
    script: str | os.PathLike[str],
    *arguments: str,
    on: str | os.PathLike[str] | Machine,
    ranks: int,
    compute: float | None = None,
) -> HostedRun:
    """Run an unmodified script with mpi4py on the ranks of a described machine, in virtual time.

    All ranks share one process and one interpreter and take turns; each has a main module of its own, the modules that
    lie beside the script for itself, and random numbers of its own. Output is what the ranks print.

    Parameters
    ----------
    script
        Path of a Python script.
    *arguments
        What it finds in `sys.argv`.
    on
        Name of a machine of the catalogue, path of a machine file, or a machine.
    ranks
        How many ranks run, rank r on node r.
    compute
        The factor on processor time measured here that computation between calls of MPI takes in virtual time. Where it
        is None, computation takes no time, and two runs are equal to the bit.

    Raises
    ------
    weft.UsageError
        For a machine that passes no messages, a script that there is not, or where mpi4py, greenlet or the library that
        stands in for MPI is missing.
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
    described = on if isinstance(on, Machine) else find_machine(on)
    path = Path(script)
    _check(path, described, ranks, compute)
    with tempfile.TemporaryDirectory(prefix="weft-run-") as folder:
        report = Path(folder) / "report.json"
        request = {
            "script": str(path.resolve()),
            "arguments": list(arguments),
            "ranks": ranks,
            "machine": described.to_toml(),
            "path": described.name,
            "nodes": None,
            "compute": compute,
            "report": str(report),
        }
        code = _start(request)
        if not report.exists():
            raise HostedError(f"{path.name} ended with exit code {code} before the run did", code or 1)
        outcome = json.loads(report.read_text())
    if outcome["error"] is not None:
        raise HostedError(_message(outcome), code or 1)
    return HostedRun(
        described.name,
        ranks,
        outcome["makespan"],
        tuple(outcome["finished"]),
        outcome["messages"],
        tuple(outcome["codes"]),
        compute,
    )


def _check(path: Path, machine: Machine, ranks: int, compute: float | None) -> None:
    """Refuse what cannot run, before anything is started."""
    require("running programs in virtual time", "run")
    if not library_path().exists():
        raise UsageError(
            "running programs needs the library that stands in for MPI, which this installation of weft lacks: "
            "build it from the sources with `make setup`"
        )
    if not path.is_file():
        raise UsageError(f"{path}: there is no such script")
    if path.read_bytes()[:4] == b"\x7fELF":
        raise UsageError(f"{path} is a compiled program; only scripts of Python with mpi4py run in virtual time so far")
    if not passes_messages(machine):
        raise UsageError(f"{machine.name} is a data-parallel machine: its nodes pass no messages between programs")
    if not 1 <= ranks <= machine.nodes:
        raise UsageError(f"expected 1 to {machine.nodes} ranks, the nodes of {machine.name}, found {ranks}")
    if compute is not None and compute < 0.0:
        raise UsageError(f"expected a factor on computation that is not negative, found {compute}")


HEAP = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""How the objects of all ranks lie: in one heap of large pages. What a rank needs when it goes on is out of the caches
where there are many; with small pages their addresses are, too."""


def _start(request: dict[str, object]) -> int:
    """Run the process that holds the ranks; its exit code."""
    heap = {name: value for name, value in HEAP.items() if name not in os.environ}
    command = [sys.executable, "-m", "weft.hosting", json.dumps({**request, "heap": list(heap)})]
    with subprocess.Popen(command, env={**os.environ, **heap}) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                # The process has got the signal too, and says where its ranks were.
                continue


def _message(report: dict[str, object]) -> str:
    lines = [str(report["error"])]
    blocked: Sequence[dict[str, object]] = report["blocked"]  # type: ignore[assignment]
    lines += [f"  rank {one['rank']}: {one['call']} at {one['where']}" for one in blocked[:LISTED]]
    if len(blocked) > LISTED:
        lines.append(f"  and {len(blocked) - LISTED} more")
    return "\n".join(lines)


LISTED = 32
"""At most so many ranks are listed in a message; the rest are counted."""

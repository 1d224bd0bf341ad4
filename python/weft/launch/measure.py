"""Measuring this machine over real MPI: launches through mpiexec, or this process as a rank."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

import polars as pl

from weft import _core
from weft._core import UsageError
from weft.journal import Journal
from weft.launch import data_parallel, environment, mpiexec, node, primitives
from weft.launch import protocol as measuring
from weft.launch.protocol import Progress, Protocol, Row
from weft.launch.rank import memory_of
from weft.launch.request import Request, by_ranks, find
from weft.launch.table import table
from weft.samples import median_interval

HERE = "here"
"""What this machine is called where nobody says otherwise."""

_PROTOCOL_COLUMNS = (*measuring.POINT, "repetition", "seconds")


@dataclass
class Measurement:
    """What was measured, and how well it is known.

    Attributes
    ----------
    table
        Samples: one row a point and launch, those of earlier launches first.
    interrupted
        Whether someone stopped it.
    failure
        What ended it, if a launch failed after some points were measured; the table has those.
    writes
        Whether this process is the one that shows and writes (all but the first rank of a job are silent).
    is_rank
        Whether this process was itself a rank.
    spent
        Seconds it took.
    """

    table: pl.DataFrame
    interrupted: bool = False
    writes: bool = True
    is_rank: bool = False
    spent: float = 0.0
    status: dict[tuple[object, ...], str] = field(default_factory=dict)
    failure: _core.RunError | None = None

    @property
    def widest(self) -> float | None:
        """The largest half-width of an interval as a share of its median, of points with two launches or more."""
        rows = [row for row in _protocol_rows(self.table) if row["benchmark"] not in measuring.ASKED]
        values = measuring.seconds_by_point(rows).values()
        widths = [median_interval(launches).half_width for launches in values if len(launches) > 1]
        return max(widths, default=None)

    def count(self, status: str) -> int:
        """How many points ended so."""
        return sum(value == status for value in self.status.values())


def measure_requests(
    wanted: Sequence[Request],
    protocol: Protocol,
    *,
    name: str = HERE,
    progress: Progress | None = None,
    before: pl.DataFrame | None = None,
    journal: Journal | None = None,
) -> Measurement:
    """Measure requests here; continues the launches of `before`, and says how well points are known.

    Every launch is kept in `journal` when it ends; launches of these requests that the journal has are continued too.
    """
    for request in wanted:
        check(request)
    if launcher := environment.launcher():
        return _as_rank(wanted, protocol, name, before, journal, launcher)
    earlier = _rows(before, name)
    kept = _kept(journal, wanted, earlier)
    constants = conditions()

    def keep(number: int, rows: Sequence[Row]) -> None:
        if journal is not None:
            journal.append({"launch": number, "rows": [{**constants, **row} for row in rows]})

    outcome = measuring.run(wanted, _launch, protocol, progress, [*earlier, *kept], keep=keep)
    status = measuring.status([*earlier, *kept, *outcome.rows], protocol, outcome.interrupted, is_rank=False)
    return Measurement(
        _joined(before, [*kept, *outcome.rows], name, status, constants),
        outcome.interrupted,
        spent=outcome.spent,
        status=status,
        failure=outcome.failure,
    )


def check(request: Request) -> None:
    """Refuse at once what a launch would refuse.

    Raises
    ------
    UsageError
        If the request means nothing, whatever the machine.
    """
    if request.node:
        return  # The names are checked, and so are numbers; a launch says what lengths this machine cannot have.
    _core.check_request(request.to_json())


def conditions() -> dict[str, str | int]:
    """What all launches have in common."""
    return {
        "processor": environment.processor(), "system": environment.system(), "host": environment.host(),
        "cores": environment.cores(), "numa_nodes": environment.numa_nodes(),
    }  # fmt: skip


def _launch(wanted: Sequence[Request]) -> Iterator[tuple[int, list[Row]]]:
    """One launch: a process for the node suite, and a job for each number of ranks."""
    for program in (node.PROGRAM, primitives.PROGRAM, data_parallel.SHIFTS_PROGRAM):
        alone = [index for index, request in enumerate(wanted) if request.node and _program(request) is program]
        if alone:
            for index, rows in mpiexec.Job([wanted[i] for i in alone], 1, program, alone=True):
                yield alone[index], rows
    # MPI is started otherwise for calls of several threads, which makes all others slower.
    for threaded in (False, True):
        messages = [
            index for index, request in enumerate(wanted) if not request.node and _is_threaded(request) is threaded
        ]
        for ranks, positions in by_ranks([wanted[i] for i in messages]):
            indices = [messages[position] for position in positions]
            for index, rows in mpiexec.Job([wanted[i] for i in indices], ranks):
                yield indices[index], rows


def _is_threaded(request: Request) -> bool:
    """Whether several threads of a rank send messages at one time."""
    return not request.node and "threads" in find(request.benchmark).takes


def _program(request: Request) -> tuple[str, ...]:
    """What measures a benchmark that sends no messages."""
    if request.benchmark in primitives.GROUPS:
        return primitives.PROGRAM
    return data_parallel.SHIFTS_PROGRAM if request.benchmark in data_parallel.BENCHMARKS else node.PROGRAM


def _as_rank(
    wanted: Sequence[Request],
    protocol: Protocol,
    name: str,
    before: pl.DataFrame | None,
    journal: Journal | None,
    launcher: environment.Launcher,
) -> Measurement:
    """One launch whose rank this process is: its peers run the same."""
    for request in wanted:
        if request.node:
            raise UsageError(
                f"{request.benchmark} is of one node and starts its own process, but {launcher.name} has made this "
                "one a rank: measure it by itself"
            )
        if request.ranks > launcher.size:
            raise UsageError(f"{request.ranks} ranks were asked for, but {launcher.name} started {launcher.size}")

    # Every rank must run the same in the same order, and only the first may be able to read the earlier table.
    measured: list[Row] = []
    interrupted = False
    start = time.monotonic()
    try:
        measured.extend(measuring.launched(wanted, _run_rank, 0))
    except KeyboardInterrupt:
        interrupted = True
    if launcher.rank != 0:
        return Measurement(table([], "measured", name), writes=False, is_rank=True)
    earlier = _rows(before, name)
    kept = _kept(journal, wanted, earlier)
    number = 1 + max((row["repetition"] for row in [*earlier, *kept]), default=-1)
    constants = conditions()
    rows = [{**constants, **row, "repetition": number} for row in measured]
    failure = None
    if journal is not None and rows:
        try:
            journal.append({"launch": number, "rows": rows})
        except _core.RunError as error:
            failure = error
    status = measuring.status([*earlier, *kept, *rows], protocol, interrupted, is_rank=True)
    joined = _joined(before, [*kept, *rows], name, status, constants)
    spent = time.monotonic() - start
    return Measurement(joined, interrupted, is_rank=True, spent=spent, status=status, failure=failure)


def _run_rank(wanted: Sequence[Request]) -> Iterator[tuple[int, list[Row]]]:
    default = mpiexec.library()
    device: object = None
    for index, request in enumerate(wanted):
        device = device or memory_of(request.parameters)
        rows = json.loads(_core.run_mpi_rank(request.to_json(), default, device) or "[]")
        library = mpiexec.first_line(json.loads(_core.mpi_version(default))["version"])
        yield index, [{**row, "library": library} for row in rows]


def _rows(before: pl.DataFrame | None, name: str) -> list[Row]:
    """The measured rows of an earlier table for this machine, as the protocol reads them."""
    if before is None:
        return []
    mine = before.filter((pl.col("source") == "measured") & (pl.col("machine") == name))
    return _protocol_rows(mine)


def _kept(journal: Journal | None, wanted: Sequence[Request], earlier: Sequence[Row]) -> list[Row]:
    """The rows of some requests in a journal, without those that the earlier table has."""
    if journal is None:
        return []
    names = {request.benchmark for request in wanted}
    known = {(measuring.point(row), row["repetition"]) for row in earlier}
    rows = [row for record in journal.records if "launch" in record for row in record["rows"]]
    return [row for row in rows if row["benchmark"] in names and (measuring.point(row), row["repetition"]) not in known]


def request_of(wanted: Sequence[Request], name: str) -> Row:
    """What a journal of these requests is told apart by."""
    return {"measure": [asdict(request) for request in wanted], "name": name}


def _protocol_rows(table: pl.DataFrame) -> list[Row]:
    """What the protocol reads of a table; parameters that it does not have are empty."""
    missing = [pl.lit(None).alias(name) for name in _PROTOCOL_COLUMNS if name not in table.columns]
    return table.with_columns(missing).select(_PROTOCOL_COLUMNS).to_dicts()


def _joined(
    before: pl.DataFrame | None,
    rows: Iterable[Row],
    name: str,
    status: dict[tuple[object, ...], str],
    constants: dict[str, str | int],
) -> pl.DataFrame:
    """Earlier and new rows; those of this machine say what their point came to."""
    joined = table(rows, "measured", name, constants)
    if before is not None:
        joined = pl.concat([before, joined], how="diagonal_relaxed")
    ended = [
        status.get(measuring.point(row)) if (row["source"], row["machine"]) == ("measured", name) else row["status"]
        for row in joined.iter_rows(named=True)
    ]
    return joined.with_columns(pl.Series("status", ended, pl.String))

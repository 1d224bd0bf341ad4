"""Measuring this machine over real MPI: launches through mpiexec, or this process as a rank."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

import polars as pl

from weft import _core
from weft._core import UsageError
from weft.journal import Journal
from weft.launch import environment, mpiexec, node, primitives, protocol, ranges
from weft.launch.protocol import Plan, Progress, Row
from weft.launch.request import Request, Settings, by_ranks, requests
from weft.launch.simulate import Numbers, simulate
from weft.launch.table import table
from weft.samples import median_interval

HERE = "here"
"""What this machine is called where nobody says otherwise."""

_PROTOCOL_COLUMNS = (*protocol.POINT, "repetition", "seconds")


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
    in_place
        Whether this process was itself a rank.
    spent
        Seconds it took.
    """

    table: pl.DataFrame
    interrupted: bool = False
    writes: bool = True
    in_place: bool = False
    spent: float = 0.0
    status: dict[tuple[object, ...], str] = field(default_factory=dict)
    failure: _core.RunError | None = None

    @property
    def widest(self) -> float | None:
        """The largest half-width of an interval as a share of its median, of points with two launches or more."""
        rows = [row for row in _protocol_rows(self.table) if row["benchmark"] not in protocol.ASKED]
        values = protocol.seconds_by_point(rows).values()
        widths = [median_interval(launches).half_width for launches in values if len(launches) > 1]
        return max(widths, default=None)

    def count(self, status: str) -> int:
        """How many points ended so."""
        return sum(value == status for value in self.status.values())


def measure(
    benchmark: str | Sequence[str],
    *,
    on: str | os.PathLike[str] | _core.Machine = HERE,
    ranks: Numbers | None = None,
    bytes: Numbers | None = None,
    hops: Numbers | None = None,
    algorithm: str | None = None,
    iterations: int | None = None,
    warmup: int | None = None,
    window: int | None = None,
    lengths: Numbers | None = None,
    threads: Numbers | None = None,
    variants: Sequence[str] = (),
    neighbours: Numbers | None = None,
    background: str | None = None,
    background_bytes: Numbers | None = None,
    probe: str | tuple[int, int] | None = None,
    shape: str | Iterable[Iterable[int]] | None = None,
    vp_ratio: Numbers | None = None,
    seconds_per_point: float | None = None,
    name: str = HERE,
    launches: int = 6,
    half_width: float = 0.05,
    budget: float = 60.0,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Measure benchmarks here over MPI, or run them in virtual time on another machine.

    Parameters
    ----------
    benchmark
        One or more names; `weft measure --help` lists them.
    on
        `here`, or a machine as for :func:`weft.simulate`.
    ranks
        How many ranks, or several numbers. Default: the benchmark's own (2, or 1 for messages to oneself).
    bytes, hops
        Lengths and distances: one number, several, or text such as `8:8192`. Default: the benchmark's own.
    algorithm
        Of collectives: `auto`, `native` (the MPI library's own) or a name.
    iterations, warmup, window
        Timed and untimed iterations of a point; messages in flight (bandwidth). Default: the benchmark's own.
    lengths, threads, variants
        Of the node suite: elements of vectors or bytes of arrays, numbers of threads (stream), names of rows.
    neighbours
        Numbers of neighbours (fan-in, fan-out).
    background, background_bytes, probe
        Of contention: the pattern of background traffic (`stream`, `shift:2`, `random`, `all-to-all`, `0-7,2-6`), the
        lengths of its messages, and between which ranks the probe sends (`1-3`).
    vp_ratio
        Of the groups of primitives (processor, router, …): virtual processors in units of 8192.
    shape
        Shapes of the block of one rank (halo, stencil): `128x128x128`, `8x8:64x64`, or sequences of extents.
    seconds_per_point
        Time for the timed iterations of one point.
    name
        What the samples call this machine.
    launches, half_width, budget
        The protocol: at least so many separate launches, until the half-width of every point's 95% interval is within
        this share of its median, or so many seconds are spent.
    progress
        Who is told how it comes along.

    Returns
    -------
    polars.DataFrame
        Samples: one row a point and launch. On ranks other than the first of a job that started Python itself, none.

    Raises
    ------
    weft.UsageError
        For unknown names and impossible requests.
    weft.RunError
        If MPI is missing or a launch fails.
    """
    if on != HERE:
        return simulate(
            on, benchmark, ranks=ranks, bytes=bytes, hops=hops, algorithm=algorithm, iterations=iterations,
            window=window, lengths=lengths, variants=variants, neighbours=neighbours, background=background,
            background_bytes=background_bytes, probe=probe, shape=shape, vp_ratio=vp_ratio, progress=progress,
        )  # fmt: skip
    settings = Settings(
        algorithm=algorithm, iterations=iterations, warmup=warmup, window=window, seconds_per_point=seconds_per_point,
        words=ranges.numbers(lengths, "lengths", "double", lowest=1),
        threads=ranges.numbers(threads, "threads", "double", lowest=1),
        variants=tuple(variants),
        neighbours=ranges.numbers(neighbours, "neighbours", "one", lowest=1),
        background=background,
        background_bytes=ranges.numbers(background_bytes, "background-bytes", "double"),
        probe=ranges.pair(probe, "probe"),
        shapes=ranges.shapes(shape, "shape"),
        vp_ratios=ranges.numbers(vp_ratio, "vp-ratio", "double", lowest=1),
    )  # fmt: skip
    wanted = requests(
        [benchmark] if isinstance(benchmark, str) else list(benchmark),
        ranges.numbers(ranks, "ranks", "double", lowest=1),
        ranges.numbers(bytes, "bytes", "double"),
        ranges.numbers(hops, "hops", "one", lowest=1),
        settings,
    )
    found = measure_requests(wanted, Plan(launches, half_width, budget), name=name, progress=progress)
    if found.failure is not None:
        raise found.failure
    return found.table


def measure_requests(
    wanted: Sequence[Request],
    plan: Plan,
    *,
    name: str = HERE,
    progress: Progress | None = None,
    before: pl.DataFrame | None = None,
    journal: Journal | None = None,
) -> Measurement:
    """As :func:`measure`, for requests; continues the launches of `before`, and says how well points are known.

    Every launch is kept in `journal` when it ends; launches of these requests that the journal has are continued too.
    """
    for request in wanted:
        check(request)
    if launcher := environment.launcher():
        return _in_place(wanted, plan, name, before, journal, launcher)
    earlier = _rows(before, name)
    kept = _kept(journal, wanted, earlier)
    constants = conditions()

    def keep(number: int, rows: Sequence[Row]) -> None:
        if journal is not None:
            journal.append({"launch": number, "rows": [{**constants, **row} for row in rows]})

    outcome = protocol.run(wanted, _launch, plan, progress, [*earlier, *kept], keep=keep)
    status = protocol.status([*earlier, *kept, *outcome.rows], plan, outcome.interrupted, in_place=False)
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


def conditions() -> dict[str, str]:
    """What all launches have in common."""
    return {"processor": environment.processor(), "system": environment.system()}


def _launch(wanted: Sequence[Request]) -> Iterator[tuple[int, list[Row]]]:
    """One launch: a process for the node suite, and a job for each number of ranks."""
    for program in (node.PROGRAM, primitives.PROGRAM):
        alone = [index for index, request in enumerate(wanted) if request.node and _program(request) is program]
        if alone:
            for index, rows in mpiexec.Job([wanted[i] for i in alone], 1, program, alone=True):
                yield alone[index], rows
    messages = [index for index, request in enumerate(wanted) if not request.node]
    for ranks, places in by_ranks([wanted[i] for i in messages]):
        indices = [messages[place] for place in places]
        for index, rows in mpiexec.Job([wanted[i] for i in indices], ranks):
            yield indices[index], rows


def _program(request: Request) -> tuple[str, ...]:
    """What measures a benchmark that sends no messages."""
    return primitives.PROGRAM if request.benchmark in primitives.GROUPS else node.PROGRAM


def _in_place(
    wanted: Sequence[Request],
    plan: Plan,
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
    found: list[Row] = []
    interrupted = False
    start = time.monotonic()
    try:
        found.extend(protocol.launched(wanted, _run_rank, 0))
    except KeyboardInterrupt:
        interrupted = True
    if launcher.rank != 0:
        return Measurement(table([], "measured", name), writes=False, in_place=True)
    earlier = _rows(before, name)
    kept = _kept(journal, wanted, earlier)
    number = 1 + max((row["repetition"] for row in [*earlier, *kept]), default=-1)
    constants = conditions()
    rows = [{**constants, **row, "repetition": number} for row in found]
    failure = None
    if journal is not None and rows:
        try:
            journal.append({"launch": number, "rows": rows})
        except _core.RunError as error:
            failure = error
    status = protocol.status([*earlier, *kept, *rows], plan, interrupted, in_place=True)
    joined = _joined(before, [*kept, *rows], name, status, constants)
    spent = time.monotonic() - start
    return Measurement(joined, interrupted, in_place=True, spent=spent, status=status, failure=failure)


def _run_rank(wanted: Sequence[Request]) -> Iterator[tuple[int, list[Row]]]:
    default = mpiexec.library()
    for index, request in enumerate(wanted):
        rows = json.loads(_core.run_mpi_rank(request.to_json(), default) or "[]")
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
    known = {(protocol.point(row), row["repetition"]) for row in earlier}
    rows = [row for record in journal.records if "launch" in record for row in record["rows"]]
    return [row for row in rows if row["benchmark"] in names and (protocol.point(row), row["repetition"]) not in known]


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
    constants: dict[str, str],
) -> pl.DataFrame:
    """Earlier and new rows; those of this machine say what their point came to."""
    joined = table(rows, "measured", name, constants)
    if before is not None:
        joined = pl.concat([before, joined], how="diagonal_relaxed")
    ended = [
        status.get(protocol.point(row)) if (row["source"], row["machine"]) == ("measured", name) else row["status"]
        for row in joined.iter_rows(named=True)
    ]
    return joined.with_columns(pl.Series("status", ended, pl.String))

"""The study of this machine: measured, fitted, compared with lengths the fit has not seen and against the catalogue."""

from __future__ import annotations

import json
import os
import shlex
import typing
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

import weft
from weft import _core, model, samples, units
from weft._core import Machine, RunError, UsageError
from weft.catalogue import operation_time
from weft.files import NotWrittenError, check_output, deliver
from weft.journal import Journal, path_beside
from weft.launch import environment
from weft.launch.measure import HERE, Measurement, conditions, measure_requests, request_of
from weft.launch.protocol import Progress as Rows
from weft.launch.protocol import Protocol
from weft.launch.request import Request, benchmarks, every
from weft.launch.simulate import simulate
from weft.launch.table import table
from weft.model.grain import grains
from weft.model.loggp import PARTS
from weft.papers import dunigan1991
from weft.parameters import Benchmark
from weft.reports import check_report, report
from weft.reports.tables import half_words
from weft.study.undisturbed import LEFT_OUT, chosen_again, undisturbed

SHORTEST, LONGEST = 8, 1 << 21
MAX_SELF = 1 << 20
"""Longest message of a rank to itself, in bytes: of longer ones, two buffers of which outgrow a processor's own cache,
a copy is measured."""

RANKS = 2
PRICED = ("arithmetic", "dot_product")
"""Benchmarks of one node that machine files price."""
SWEPT = ("barrier", "broadcast", "allreduce", "alltoall")
"""Collectives that are simulated on several numbers of ranks."""


class Progress(Rows, typing.Protocol):
    """Who is told how a study comes along."""

    def title(self, title: str) -> None:
        """What is done from now on."""


MESSAGES = ("point-to-point", "throughput", "collective")
"""The groups of a study of messages."""

WHOLE = (*MESSAGES, "exchange", "node", "traffic", "program", "files")
"""The groups of the whole suite, in the order in which they are measured."""

_PLAIN = ("copy", "scale", "add", "triad")
"""STREAM proper; non-temporal stores are another measurement, and large arrays take long."""


@dataclass(frozen=True)
class Extent:
    """How thorough a study is.

    Attributes
    ----------
    seconds_per_point
        Time for the timed iterations of one point in one launch, s.
    thin
        Of the lengths of everything but echo every so manieth is measured.
    protocol
        When measuring ends.
    echo
        The same for echo, which the fit needs well: launches differ more than the iterations of one, so there are many
        short ones.
    groups
        Groups of benchmarks.
    """

    seconds_per_point: float
    thin: int
    protocol: Protocol
    echo: Protocol
    groups: tuple[str, ...] = MESSAGES


ECHO_SECONDS = 0.0025
"""Time for the timed iterations of one length of what is fitted, in one launch, s."""

ECHO_PASSES = 2
"""How often a launch goes through the lengths of messages to another node: what disturbs one pass seldom disturbs both.
"""

TOLERANCE = 0.125
"""Relative error of a length that is good enough: finer pieces follow the caches and pages of some launches, and two
studies of one machine put them at different lengths. Two lines come within 9 to 11% of self-messages, whose
buffers outgrow a first-level cache little by little, so that a tenth would draw them in one study and not in another.
"""

KNOWN = 6
"""The fewest undisturbed launches that tell what is fitted."""

_SHORT_ECHO = Protocol(launches=12, half_width=0.02, budget=14.0, limit=20.0)

FULL = Extent(
    0.02,
    1,
    Protocol(budget=50.0, limit=70.0),
    Protocol(launches=60, most=400, half_width=0.02, budget=100.0, limit=110.0),
)
QUICK = Extent(0.006, 3, Protocol(budget=18.0, limit=24.0), _SHORT_ECHO)
SUITE = Extent(0.01, 3, Protocol(budget=120.0, limit=180.0), _SHORT_ECHO, WHOLE)


@dataclass
class Findings:
    """What a study found.

    Attributes
    ----------
    lines
        The findings in words.
    report, samples, machine
        The files; None for those that were not written because someone interrupted.
    interrupted
        Whether someone did.
    failure
        Why a file could not be written, if one could not.
    """

    lines: list[str] = field(default_factory=list)
    report: Path | None = None
    samples: Path | None = None
    machine: Path | None = None
    interrupted: bool = False
    failure: NotWrittenError | None = None


def lengths() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The lengths that are fitted, four an octave without the third, and those held out of the fit, 3*2^k.

    One length an octave would leave three or four points to a protocol, and where messages get slower within one, as
    where they outgrow a page, its figures would hang on which of them a line happens to pass through.
    """
    octaves = [1 << k for k in range(SHORTEST.bit_length() - 1, LONGEST.bit_length() - 1)]
    fitted = [n * quarters // 4 for n in octaves for quarters in (4, 5, 7)]
    return (*fitted, LONGEST), tuple(3 * n // 2 for n in octaves)


def requests(extent: Extent) -> list[Request]:
    """What is measured here."""
    return [_request(benchmark, extent) for benchmark in every().values() if _belongs(benchmark, extent)]


def _belongs(benchmark: Benchmark, extent: Extent) -> bool:
    # A machine measured over MPI has no host of its own.
    return benchmark.group in extent.groups and not benchmark.host and not benchmark.name.endswith("-host")


def _request(benchmark: Benchmark, extent: Extent) -> Request:
    if benchmark.alone:
        variants = _PLAIN if benchmark.name == "stream" else ()
        seconds = extent.seconds_per_point
        return Request(benchmark.name, parameters={"variant": variants, "seconds_per_point": seconds})
    fitted = benchmark.name in model.BENCHMARKS
    longest = MAX_SELF if benchmark.name == "echo-self" else LONGEST
    drawn = tuple(sorted(n for n in sum(lengths(), ()) if n <= longest))
    chosen = drawn if fitted else benchmark.lengths[:: extent.thin]
    ranks = min(RANKS, benchmark.default_ranks)
    if benchmark.group not in MESSAGES:
        ranks = max(_fewest(benchmark), min(benchmark.default_ranks, environment.cores()))
    return Request(
        benchmark.name,
        ranks=ranks,
        parameters={
            "bytes": chosen,
            "seconds_per_point": ECHO_SECONDS if fitted else extent.seconds_per_point,
        },
        passes=ECHO_PASSES if benchmark.name == "echo" else 1,
    )


def _fewest(benchmark: Benchmark) -> int:
    """The fewest ranks that mean something here."""
    # The probe is between ranks 1 and 3, and two others load the network.
    return max(4, benchmark.min_ranks) if "probe" in benchmark.takes else benchmark.min_ranks


FILES = ("samples.csv", "here.toml", "report.html")
"""What a study writes."""

SPACE = 16 << 20
"""Bytes that a study may need: most are its report's."""

Opens = Callable[..., AbstractContextManager[Journal | None]]
"""Opens a journal, as :class:`weft.journal.Journal` does."""


def study(
    folder: str | os.PathLike[str],
    *,
    quick: bool = False,
    resume: bool = False,
    force: bool = False,
    whole: bool = False,
    progress: Progress,
    journal: Opens = Journal,
) -> Findings:
    """Measure this machine over MPI, fit it, simulate the catalogue, and write what was found.

    Parameters
    ----------
    folder
        Where `samples.csv`, `here.toml` (undisturbed times, and typical ones as its alternative) and `report.html` are
        written; made if it does not exist. Every launch is kept in `samples.csv.journal` there as soon as it ends.
    quick
        Whether to be done within a minute.
    resume
        Whether to go on with the launches that the folder's samples, and the journal of an unfinished study, hold.
    force
        Whether to replace a study that the folder holds.
    whole
        Whether to measure every group of the suite, not only messages.
    progress
        Who is told how it comes along.
    journal
        How the journal is opened.

    Raises
    ------
    UsageError
        If this process is itself a rank, the folder holds a study and neither `resume` nor `force` is set, or it holds
        none and `resume` is.
    RunError
        If MPI is missing or a launch fails.
    """
    command = "suite" if whole else "study"
    if job := environment.launcher():
        raise UsageError(f"weft {command} starts its own ranks, but {job.name} has made it one: run it by itself")
    folder = Path(folder)
    _prepare(folder, resume, force, command)
    extent = SUITE if whole else QUICK if quick else FULL
    path = folder / FILES[0]
    before = _earlier(path) if resume else None
    wanted = requests(extent)
    with journal(path, request_of(wanted, HERE), resume=resume, force=force) as kept:
        needed = not whole and (before is None or "variant" not in before.columns)
        multiplied = multiplications(extent, kept) if needed else []
        measured = _measured(wanted, extent, progress, before, kept)
        if measured.table.is_empty():
            return Findings(interrupted=True)
        # What comes after can fail; what took minutes is then still there.
        known = pl.concat([measured.table, *multiplied], how="diagonal_relaxed")
        deliver(samples.content(known, path), path)
        if kept is not None:
            kept.finish()
    if measured.interrupted:
        return Findings(samples=path, interrupted=True)
    if measured.failure is not None:
        saved = f"the {len(measured.table)} samples measured before are in {path}; go on with --resume"
        raise RunError(f"{measured.failure}\n{saved}")
    return _concluded(folder, path, measured, multiplied, whole, progress)


def _prepare(folder: Path, resume: bool, force: bool, command: str) -> None:
    """Refuse a study that could not be written at its end, or would replace another unasked; make the folder."""
    check_report()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; a study needs a folder")
    if resume and not any(path.exists() for path in (folder / FILES[0], path_beside(folder / FILES[0]))):
        raise UsageError(
            f"{folder} holds no study to go on with, neither {FILES[0]} nor its journal; "
            f"to begin one: weft {command} -o {shlex.quote(str(folder))}"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {folder} cannot be made: {error.strerror}") from None
    for name in FILES:
        check_output(
            folder / name, (), force=resume or force, instead="--resume adds launches to this study", space=SPACE
        )


def _measured(
    wanted: Sequence[Request], extent: Extent, progress: Progress, before: pl.DataFrame | None, journal: Journal | None
) -> Measurement:
    """Echo by its own plan, then everything else; what was measured before an interruption is kept."""
    parts: list[Measurement] = []
    for is_fitted, plan in ((True, extent.echo), (False, extent.protocol)):
        chosen = [request for request in wanted if (request.benchmark in model.BENCHMARKS) == is_fitted]
        fitted = pl.col("benchmark").is_in(model.BENCHMARKS)
        earlier = None if before is None else before.filter(fitted == is_fitted)
        ended = bool(parts) and (parts[-1].interrupted or parts[-1].failure is not None)
        # Where nothing more is measured, what earlier runs have measured of it is taken over as it is.
        limited = replace(plan, most=0) if ended else plan
        part = measure_requests(chosen, limited, progress=progress, before=earlier, journal=journal)
        parts.append(part)
    return Measurement(
        pl.concat([part.table for part in parts], how="diagonal_relaxed"),
        interrupted=any(part.interrupted for part in parts),
        spent=sum(part.spent for part in parts),
        status={key: value for part in parts for key, value in part.status.items()},
        failure=next((part.failure for part in parts if part.failure is not None), None),
    )


def _earlier(path: Path) -> pl.DataFrame | None:
    if not path.exists():
        return None
    earlier = samples.read(path).filter(pl.col("source") == "measured")
    return None if earlier.is_empty() else earlier


def multiplications(extent: Extent, journal: Journal | None = None) -> list[pl.DataFrame]:
    """The time of an 8-byte floating-point multiplication here, as often as there are launches.

    For the ratio of table 7 of Dunigan 1991. Those that a journal has are taken from it, the others added to it.
    """
    request = json.dumps({"variant": ["float64_multiply"], "seconds_per_point": 10 * extent.seconds_per_point})
    records = [] if journal is None else journal.records
    known = {record["multiplication"]: record["rows"] for record in records if "multiplication" in record}
    parts = []
    for repetition in range(extent.protocol.launches):
        rows = known.get(repetition)
        if rows is None:
            measured = json.loads(_core.run_node("arithmetic", request))
            rows = [{**row, "ranks": 1, "repetition": repetition} for row in measured]
            if journal is not None:
                journal.append({"multiplication": repetition, "rows": rows})
        variants = pl.Series("variant", [row["variant"] for row in rows])
        parts.append(table(rows, "measured", HERE, conditions()).with_columns(variants))
    return parts


def _concluded(
    folder: Path,
    path: Path,
    measured: Measurement,
    multiplied: Sequence[pl.DataFrame],
    whole: bool,
    progress: Progress,
) -> Findings:
    """Fit, simulate, write; the whole suite is drawn over what was published."""
    fitted, typical = fit(measured.table), fit_typical(measured.table)
    text = fitted.to_machine(HERE, path.name, alternative=typical)
    described = _core.Machine.parse(text, str(folder / "here.toml"))
    progress.title("simulating")
    machines = weft.machines()
    # A study that goes on finds its own multiplications among what was measured; they are for one ratio alone.
    asked = measured.table if whole else measured.table.filter(~pl.col("benchmark").is_in(PRICED))
    simulated = simulated_tables([*machines, described, described.with_estimand("typical")], asked, progress)
    printed = [dunigan1991.data_rates(), dunigan1991.operations("arithmetic")] if whole else []
    everything = pl.concat([measured.table, *multiplied, *simulated, *printed], how="diagonal_relaxed")
    failure = None
    try:
        deliver(samples.content(everything, path), path)
        deliver(text.encode(), folder / "here.toml")
        report(
            everything,
            folder / "report.html",
            machines=machines,
            fits=[fitted, typical],
            title="What messages cost here",
            origin=path.name,
            force=True,
        )
    except NotWrittenError as error:
        failure = error
    return Findings(
        _lines(measured, fitted, typical, machines, everything),
        folder / "report.html",
        path,
        folder / "here.toml",
        failure=failure,
    )


def simulated_tables(machines: Sequence[Machine], measured: pl.DataFrame, progress: Rows) -> list[pl.DataFrame]:
    """The benchmarks that were measured in virtual time on some machines: echo over every distance, others by ranks."""
    parts = []
    progress.launch(0, len(machines), len(machines))
    node = [name for name in PRICED if (measured["benchmark"] == name).any()]
    for machine in machines:
        parts += _echoes(machine)
        for name in node:
            parts += _tried(machine, name, notes=[])
        for name in measured["benchmark"].unique(maintain_order=True):
            if name == "echo" or name not in benchmarks():
                continue
            own = measured.filter(pl.col("benchmark") == name)["bytes"].drop_nulls().unique().sort().to_list() or None
            if benchmarks()[name].group not in MESSAGES:
                parts += _tried(machine, name, bytes=own)
                continue
            parts += _tried(machine, name, ranks=RANKS if name != "echo-self" else 1, bytes=own)
            if name in SWEPT and machine.nodes > RANKS:
                parts += _tried(machine, name, ranks=list(_sweep(machine)), bytes=[8] if own else None)
        progress.rows(1)
    return parts


def _echoes(machine: Machine) -> list[pl.DataFrame]:
    """Echo over 1, 2, … links, as far as the machine reaches; two lengths an octave, which is enough to look at."""
    drawn = sorted(n for n in sum(lengths(), ()) if n & (n - 1) == 0 or n % 3 == 0)
    echoes: list[pl.DataFrame] = []
    for hops in range(1, 7):
        over = _tried(machine, "echo", bytes=drawn, hops=hops)
        if echoes and not over:
            break
        echoes += over
    return echoes or _tried(machine, "echo", ranks=RANKS, bytes=drawn)


def _sweep(machine: Machine) -> Iterable[int]:
    ranks = 2 * RANKS
    while ranks <= min(64, machine.nodes):
        yield ranks
        ranks *= 2


def _tried(machine: Machine, name: str, **parameters: object) -> list[pl.DataFrame]:
    """A simulation, or nothing where the machine has no such ranks or distance."""
    try:
        return [simulate(machine, name, **parameters)]  # type: ignore[arg-type]
    except (UsageError, RunError):
        return []


def fit(measured: pl.DataFrame) -> model.Fit:
    """The fit of the launches that nothing disturbed, compared with the lengths held out of it."""
    steady = undisturbed(measured, (*model.BENCHMARKS, *PARTS))
    again = chosen_again(measured, model.BENCHMARKS)
    fitted = model.fit(steady, HERE, tolerance=TOLERANCE, held_out=lengths()[1], chosen_again=again, left_out=LEFT_OUT)
    few, of = fitted_launches(measured, fitted)
    source = f"the {few} of {of} launches that nothing disturbed" if few >= KNOWN else "what was disturbed least"
    notes = (
        f"made from times between lower decile and median of {source}: they are below the medians over all launches",
        "its intervals have which launches were chosen: they were chosen again, with a fifth of all left out each time",
        f"against typical times, the medians over all launches: {held_out_words(typical_errors(fitted, measured))} at "
        f"lengths it has not seen; the typical estimand of the machine file is fitted to those",
    )
    return replace(fitted, notes=(*notes, *fitted.notes), estimand="undisturbed")


def fit_typical(measured: pl.DataFrame) -> model.Fit:
    """The fit of the medians over all launches, compared with the lengths held out of it."""
    fitted = model.fit(measured, HERE, "measured", tolerance=TOLERANCE, held_out=lengths()[1])
    note = "made from the medians over all launches, disturbed ones too: the undisturbed estimand is below them"
    return replace(fitted, notes=(note, *fitted.notes), estimand="typical")


def typical_errors(fitted: model.Fit, measured: pl.DataFrame) -> pl.Series:
    """Relative errors of a fit of echo against the medians over all launches, at the lengths held out of it."""
    rows = measured.filter((pl.col("benchmark") == "echo") & pl.col("bytes").is_in(lengths()[1]))
    medians = rows.group_by("bytes").agg(pl.col("seconds").median()).sort("bytes")
    return pl.Series([fitted.echo.seconds(length) / seconds - 1.0 for length, seconds in medians.iter_rows()])


def held_out_words(errors: pl.Series) -> str:
    """How far a fit is off at lengths that it has not seen."""
    sizes = errors.abs()
    median, worst = (float(str(one)) if one is not None else 0.0 for one in (sizes.median(), sizes.max()))
    return f"median error {units.share(median)}, worst {units.share(worst)}"


def _lines(
    measured: Measurement,
    fitted: model.Fit,
    typical: model.Fit,
    machines: Sequence[Machine],
    everything: pl.DataFrame,
) -> list[str]:
    """The five lines."""
    echo = samples.summarise(measured.table.filter(pl.col("benchmark") == "echo"), by=["source", "bytes"])
    seconds = dict(echo.select("bytes", "seconds").iter_rows())
    own, of_medians = (one.held_out.filter(pl.col("benchmark") == "echo")["error"] for one in (fitted, typical))
    pieces = len(fitted.echo.pieces)
    here = everything.filter((pl.col("source") == "measured") & (pl.col("machine") == HERE))
    convergence = samples.convergence(samples.summarise(here))
    return [
        *_node_lines(everything),
        f"Messages between two ranks here, typical times (medians over all launches): "
        f"{SHORTEST} B take {units.seconds(seconds[SHORTEST])}, "
        f"{units.length(LONGEST)} take {units.seconds(seconds[LONGEST])} ({units.rate(LONGEST / seconds[LONGEST])}).",
        f"Fit of undisturbed times in {pieces} piece{'s' if pieces > 1 else ''}: "
        f"startup {units.seconds(fitted.startup.value)}, "
        f"byte time {units.seconds(fitted.byte_time.value)}, half the rate at {half_words(fitted.half_bandwidth)}.",
        f"Lengths the fit has not seen: {held_out_words(own)} against the undisturbed launches it is of, "
        f"{held_out_words(typical_errors(fitted, measured.table))} against typical times; the fit of "
        f"typical times (startup {units.seconds(typical.startup.value)}): {held_out_words(of_medians)}.",
        _against(machines, everything, seconds[SHORTEST]),
        f"Protocol: {measured.table['repetition'].n_unique()} launches in {measured.spent:.0f} s; {convergence}; "
        f"{agreement(measured.table, fitted)}.",
    ]


def fitted_launches(measured: pl.DataFrame, fitted: model.Fit) -> tuple[int, int]:
    """Of how many launches of echo the fit is, and how many there are; fewer than `KNOWN` tell little."""
    points, launches = (table.filter(pl.col("benchmark") == "echo") for table in (fitted.residuals, measured))
    return int(str(points["launches"].max())), launches["repetition"].n_unique()


def agreement(measured: pl.DataFrame, fitted: model.Fit) -> str:
    """How many launches the fit is of, and whether those are enough."""
    few, of = fitted_launches(measured, fitted)
    if few >= KNOWN:
        return f"the fit is of the {few} of {of} launches of echo that nothing disturbed"
    if of < KNOWN:
        return (
            f"DISTURBED: only {of} launches of echo in that time, and {KNOWN} that agree with each other tell what the "
            f"machine itself takes; go on with --resume"
        )
    return (
        f"DISTURBED: fewer than {KNOWN} of {of} launches of echo agree with each other, so that the fit is of what was "
        f"disturbed least; when nothing else runs on this machine, go on with --resume, or measure again"
    )


def _node_lines(everything: pl.DataFrame) -> list[str]:
    """What one node does, and the grain it asks for, where that was measured."""
    grain_table = grains(everything.filter(pl.col("source") == "measured"))
    lines = []
    if not grain_table.is_empty():
        wanted = dict(grain_table.filter(pl.col("bytes") == SHORTEST).select("share", "operations").iter_rows())
        grain = ", ".join(f"{share:.0%} at {units.digits(count)}" for share, count in wanted.items())
        lines.append(f"Messages of {SHORTEST} B take this share of the time at so many multiplications each: {grain}.")
    if "variant" not in everything.columns:
        return lines
    own = everything.filter((pl.col("source") == "measured") & pl.col("variant").is_not_null())
    rates = samples.summarise(own, by=["benchmark", "variant", "threads"]).filter(pl.col("rate").is_not_null())
    named = []
    for title, benchmark, start in (
        ("LINPACK n = 1000", "linpack", "n1000"),
        ("STREAM triad", "stream", "triad"),
        ("Livermore loops", "livermore", "harmonic_mean"),
    ):
        part = rates.filter((pl.col("benchmark") == benchmark) & (pl.col("variant").str.starts_with(start)))
        for row in part.iter_rows(named=True):
            blas = row["variant"].partition("_blas_")[2]
            threads = f", {row['threads']} threads" if (row["threads"] or 1) > 1 else ""
            text = f"{title}{f' by {blas}' if blas else ''}{threads} {units.work_rate(row['rate'], row['rate_unit'])}"
            named.append(text)
    return [*([f"One node: {'; '.join(named)}."] if named else []), *lines]


def _against(machines: Sequence[Machine], everything: pl.DataFrame, here: float) -> str:
    """The catalogue's machines by their shortest messages."""
    short = everything.filter(
        (pl.col("source") == "simulated") & (pl.col("benchmark") == "echo") & (pl.col("bytes") == SHORTEST)
    )
    times = {machine.name: short.filter(pl.col("machine") == machine.name)["seconds"].min() for machine in machines}
    known = {name: float(str(time)) for name, time in times.items() if time is not None}
    if not known:
        return "The catalogue has no machine to hold it against."
    name = "ipsc860" if "ipsc860" in known else max(known, key=lambda machine: known[machine])
    title = next(machine.title for machine in machines if machine.name == name)
    multiply = operation_time(name, "float64_multiply")
    multiplies = f", or {units.digits(known[name] / multiply)} multiplications there" if multiply else ""
    return (
        f"The same {SHORTEST} B took {units.seconds(known[name])} on the {title}{multiplies}: "
        f"{units.digits(known[name] / here)} times as long."
    )

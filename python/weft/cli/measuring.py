"""`weft measure`: options of its own, and those of benchmarks, which `benchmark_options.py` makes."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli import benchmark_options, errors, estimands, faults, outputs, speaking

if TYPE_CHECKING:
    import polars as pl

    from weft._core import Machine
    from weft.launch.measure import Measurement
    from weft.launch.protocol import Protocol


class Format(enum.StrEnum):
    """How samples are shown."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


@dataclass(frozen=True)
class Delivery:
    """Where samples go, and what is said beside them."""

    output: Path | None
    shown: Format
    resume: bool
    force: bool


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=benchmark_options.Command, no_args_is_help=True)(measure)


def measure(
    context: typer.Context,
    benchmark: Annotated[
        list[str], typer.Argument(help="One or more benchmarks of the list below.", show_default=False)
    ],
    on: Annotated[
        str,
        typer.Option(help="[bold]here[/] (over MPI), or a machine of the catalogue or a machine file (virtual time)."),
    ] = "here",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write samples to this .csv or .parquet file.")
    ] = None,
    shown: Annotated[Format, typer.Option("--format", help="What goes to standard output.")] = Format.TABLE,
    launches: Annotated[
        int, typer.Option(min=1, help="Minimum number of separate launches (20 give a 95% interval).")
    ] = 6,
    half_width: Annotated[
        float, typer.Option(min=1e-4, max=1.0, help="Continue until every interval's half-width is at most this share.")
    ] = 0.05,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="End after this many seconds, though the first launch is completed; 0 for just --launches launches.",
            show_default="no launch beyond --launches after 60 s",
        ),
    ] = None,
    resume: outputs.Resume = False,
    force: outputs.Force = False,
    name: Annotated[str, typer.Option(help="What the samples call this machine.")] = "here",
    trace: Annotated[Path | None, typer.Option(help="Write a timeline (Chrome trace JSON) of a simulated run.")] = None,
    fault: faults.Faults = None,
    estimand: estimands.Chosen = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of a simulated run; the same seed gives the same result.")] = 0,
) -> None:
    """Measure benchmarks: on this machine over MPI, or in virtual time on a described one.

    A real measurement makes several separate launches, because launches differ more than repetitions within one: the
    table shows the median over launches with its interval, and the column heading says what the interval covers (95%
    from 20 launches on). Ctrl-C keeps what was measured.

    Exit code 3 if an interval is wider than requested (NOT CONVERGED); everything is written all the same.

    Every launch is kept in a journal beside the output (OUTPUT.journal) as soon as it ends. However the command ended,
    --resume continues from there. An existing file is replaced only with --force.
    """
    from weft._core import UsageError
    from weft.launch.protocol import Protocol
    from weft.launch.request import parsed
    from weft.study.measuring import exchanges, resolved

    outputs.check_choice(resume, force)
    outputs.check(output, (".csv", ".parquet"), force=force, resume=resume)
    outputs.check(trace, (".json",), force=force)
    if resume and output is None:
        raise UsageError("--resume goes on with a file; name it with -o")
    names = resolved(benchmark_options.words(benchmark))
    parameters = parsed(benchmark_options.typed(context))
    delivery = Delivery(output, shown, resume, force)
    is_exchange = exchanges(names, parameters)
    faults.refuse_here(on, fault)
    estimands.refuse_here(on, estimand)
    if on != "here":
        _simulated(
            names, parameters, faults.degraded(on, fault, estimand), bool(fault), seed, trace, is_exchange, delivery
        )
        return
    if trace is not None:
        raise UsageError("--trace is of a simulated run; name a machine with --on")
    protocol = Protocol(launches, half_width)
    if budget is not None:
        protocol = replace(protocol, budget=budget, limit=budget or math.inf)
    if is_exchange:
        if budget is not None:
            raise UsageError("--budget: exchanges are measured in just --launches launches")
        _exchanges_here(names, parameters, protocol, seed, name, delivery)
    else:
        _here(names, parameters, protocol, name, delivery)


def _simulated(
    names: Sequence[str],
    parameters: Mapping[str, Any],
    machine: Machine,
    is_degraded: bool,
    seed: int,
    trace: Path | None,
    is_exchange: bool,
    delivery: Delivery,
) -> None:
    from weft._core import UsageError
    from weft.cli.progress import Bar
    from weft.launch import flit
    from weft.launch.simulate import simulate_parsed
    from weft.study.measuring import simulate_exchanges

    if delivery.resume:
        raise UsageError("--resume goes on with a measurement here; a simulated run is never left half done")
    if is_exchange and is_degraded:
        raise UsageError("--fault: schedules are made for and carried out on the machine as it is described")
    notes: list[str] = []
    with Bar(f"exchanging {parameters['pattern']}" if is_exchange else f"simulating {machine.name}") as bar:
        if is_exchange:

            def done(runs: int, of: int) -> None:
                if runs == 1:
                    bar.launch(0, of, of)
                bar.rows(1)

            samples = simulate_exchanges(
                machine, names, parameters, seed=seed, trace=trace, force=delivery.force, progress=done
            )
        else:
            samples = simulate_parsed(
                machine, names, parameters, seed=seed, trace=trace, progress=bar, notes=notes, force=delivery.force
            )
    _deliver(samples, delivery.output, delivery.shown)
    for note in [*notes, *flit.notes(samples)]:
        outputs.note(note)
    if trace is not None and not speaking.is_quiet():
        outputs.wrote(f"timeline: {trace} (open it at ui.perfetto.dev or chrome://tracing)")


def _exchanges_here(
    names: Sequence[str],
    parameters: Mapping[str, Any],
    protocol: Protocol,
    seed: int,
    name: str,
    delivery: Delivery,
) -> None:
    from weft import samples
    from weft.cli.interrupting import terminating_is_interrupting
    from weft.cli.progress import Bar
    from weft.study.exchanging import request_of
    from weft.study.measuring import exchange_ranks, measure_exchanges

    output = delivery.output
    before = samples.read(output) if delivery.resume and output is not None and output.exists() else None
    pattern, words, compiler = parameters["pattern"], parameters.get("words", ()), parameters.get("compiler", "weft")
    request = request_of(
        names, pattern, words, compiler, exchange_ranks(parameters), parameters.get("iterations"), seed, name
    )  # fmt: skip
    with outputs.journal(output, request, resume=delivery.resume, force=delivery.force) as journal:
        with Bar(f"exchanging {pattern}") as bar, terminating_is_interrupting():
            bar.launch(0, protocol.launches, protocol.launches)
            measurement = measure_exchanges(
                names, parameters, protocol, seed=seed, name=name, progress=lambda runs, of: bar.rows(1), before=before,
                journal=journal,
            )  # fmt: skip
        if not measurement.table.is_empty():
            _deliver(measurement.table, output, delivery.shown)
        if journal is not None:
            journal.finish()
    _kept(measurement, output)


def _here(
    names: Sequence[str], parameters: Mapping[str, Any], protocol: Protocol, name: str, delivery: Delivery
) -> None:
    from weft import samples
    from weft.cli.interrupting import terminating_is_interrupting
    from weft.cli.progress import Bar
    from weft.launch import data_parallel
    from weft.launch.environment import launcher
    from weft.launch.measure import measure_requests, request_of
    from weft.launch.request import every, requests

    data_parallel.refuse_here(parameters)
    job = launcher()
    if job and job.size > 1 and "ranks" not in parameters and not all(every()[name].alone for name in names):
        parameters = {**parameters, "ranks": (job.size,)}
    wanted = requests(names, parameters)
    first = job is None or job.rank == 0
    output = delivery.output
    before = samples.read(output) if delivery.resume and first and output is not None and output.exists() else None
    kept = output if first else None
    with outputs.journal(kept, request_of(wanted, name), resume=delivery.resume, force=delivery.force) as journal:
        with Bar("measuring here", shown=job is None) as bar, terminating_is_interrupting():
            measurement = measure_requests(wanted, protocol, name=name, progress=bar, before=before, journal=journal)
        if not measurement.writes:
            return
        if not measurement.table.is_empty():
            _deliver(measurement.table, output, delivery.shown)
        if journal is not None:
            journal.finish()
    _conclude(measurement, protocol, output)


def _deliver(table: pl.DataFrame, output: Path | None, shown: Format) -> None:
    """To the file, if there is one, and to standard output; to both if the file cannot be written.

    Raises
    ------
    NotWrittenError
        If the file cannot be written: when the samples are in another, or on standard output.
    """
    from weft import samples
    from weft.cli import output as printing
    from weft.files import NotWrittenError, deliver

    lost: NotWrittenError | None = None
    if output is not None:
        try:
            deliver(samples.content(table, output), output)
            outputs.wrote(f"{len(table)} samples: {output}")
        except NotWrittenError as error:
            lost = error
    if shown is not Format.TABLE:
        printing.write_samples(table, shown.value)
    elif lost is not None and lost.saved is None:
        printing.write_samples(table, "csv")
    else:
        printing.show_table(table)
    if lost is not None:
        raise lost


def _conclude(measurement: Measurement, asked: Protocol, output: Path | None) -> None:
    """Say how well the points are known; ends with 130 if someone interrupted, with 3 if not all have converged."""
    from weft.launch import mpiexec, protocol
    from weft.samples.summary import MINIMUM_LAUNCHES

    if measurement.table["library"].is_not_null().any() and (unused := mpiexec.unused()):
        outputs.note(unused)
    points, loose = len(measurement.status), measurement.count(protocol.NOT_CONVERGED)
    launches = measurement.table["repetition"].n_unique()
    if loose and launches < MINIMUM_LAUNCHES:
        outputs.note(
            f"[bold yellow]NOT CONVERGED[/]: {launches} launch{'es' if launches > 1 else ''}; a 95% interval of the "
            f"median needs {MINIMUM_LAUNCHES} or more (--launches)."
        )
        if launches < asked.launches and measurement.spent >= asked.limit:
            outputs.note(
                f"--budget {asked.limit:g} ended it before the {asked.launches} launches that were asked for"
                + ("; go on with --resume." if output else ".")
            )
    elif loose:
        outputs.note(
            f"[bold yellow]NOT CONVERGED[/]: {loose} of {points} points; the widest interval is "
            f"±{measurement.widest or 0:.1%} of its median, ±{asked.half_width:.0%} was asked for; "
            f"{measurement.spent:.0f} s were spent. A larger --budget goes on longer."
        )
    if measurement.count(protocol.ONE_LAUNCH):
        outputs.note("One launch: no interval over launches. Start it again with -o FILE --resume to add launches.")
    _kept(measurement, output)
    # Of a rank's exit code its launcher would make a failure of the job.
    if loose and not measurement.is_rank:
        raise typer.Exit(errors.REGRESSION)


def _kept(measurement: Measurement, output: Path | None) -> None:
    """Say what was kept of a measurement that was ended early, and end as it did."""
    kept = f"what was measured is in {output}; go on with --resume" if output else "nothing was written (no -o)"
    if measurement.table.is_empty():
        kept = outputs.NOTHING_MEASURED
    if measurement.failure is not None:
        outputs.note(f"[bold yellow]not everything was measured[/]: {kept}")
        raise measurement.failure
    if measurement.interrupted:
        outputs.note(f"[bold yellow]interrupted[/]: {kept}")
        raise typer.Exit(130)

"""`weft health`."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import estimands, faults, outputs, speaking, teaching

if TYPE_CHECKING:
    import polars as pl

    from weft._core import Machine
    from weft.cli.estimands import Estimand
    from weft.health import Diagnosis, PairTimes
    from weft.health.running import Plan

_EXAMPLES = """
srun -N 64 --ntasks-per-node 1 weft health -o monday.parquet  # every pair of 64 nodes; names what is slow
weft health --hosts n1,n2,n3,n4 --html health.html  # from a login node, with a heat map
weft health --baseline monday.parquet --format prometheus  # is this normal here? Exit code 0, 3 (slow) or 4 (broken)
weft health --on frontera --ranks 64 --fault node:17=0.8 --fault noise=0.05  # with a slow node, in virtual time
weft health --baseline here.toml  # is this normal for the machine that `weft fit` described?
weft health --samples monday.parquet  # the same judgement from samples, without measuring
"""


class Format(enum.StrEnum):
    """How a diagnosis is shown."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PROMETHEUS = "prometheus"


class Each(enum.StrEnum):
    """What is judged."""

    NODE = "node"
    RANK = "rank"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=teaching.command(_EXAMPLES, long=True))(health)


def health(
    on: Annotated[
        str, typer.Option(help="[bold]here[/] (over MPI), or a machine of the catalogue or a machine file.")
    ] = "here",
    ranks: Annotated[
        int | None, typer.Option(min=1, help="Ranks here, or nodes of a described machine. Default: the job's; 64.")
    ] = None,
    hosts: Annotated[
        str | None, typer.Option(help="Start one rank on each of these hosts, as n1,n2,n3; from a login node.")
    ] = None,
    samples_file: Annotated[
        Path | None, typer.Option("--samples", help="Judge the samples of this file; nothing is measured.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="What to compare with: samples of an earlier run on the same nodes, a machine file, such as one of "
            "`weft fit`, or a machine of the catalogue."
        ),
    ] = None,
    fault: faults.Faults = None,
    estimand: estimands.Chosen = None,
    lengths: Annotated[str, typer.Option("--bytes", help="Lengths of a short and a long message.")] = "8,256K",
    launches: Annotated[
        int, typer.Option(min=1, help="How often all pairs are measured, each time in other rounds.")
    ] = 5,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Messages of a pair in one direction and launch. Default: by time.")
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=1e-4, help="Time for the messages of a pair in one direction and launch, s.")
    ] = 0.01,
    threshold: Annotated[
        float, typer.Option(min=0.001, max=10.0, help="The smallest slowdown to report, as a share of the time.")
    ] = 0.05,
    each: Annotated[Each, typer.Option(help="Judge nodes (all ranks with one host name) or every rank separately.")] = (
        Each.NODE
    ),
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write samples (.csv or .parquet).")] = None,
    watch: Annotated[
        Path | None,
        typer.Option(
            help="Append to this history (.parquet), and report since when a node is slower; for regular checks."
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with heat maps (.html).")] = None,
    shown: Annotated[Format, typer.Option("--format", help="What goes to standard output.")] = Format.TABLE,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the rounds and of noise, on a described machine.")] = 0,
    force: outputs.Replace = False,
    resume: outputs.Resume = False,
) -> None:
    """Measure every pair of nodes, and name the nodes, links and pairs that are slow.

    Pairs are measured in rounds in which every node has one partner, with short and long messages in both directions;
    after them a barrier and an allreduce over all. Times are compared with a baseline; on a described machine, with the
    machine without faults; otherwise, pairs with pairs at the same distance. Run it under srun or mpiexec with at least
    one rank on every node, or name hosts.

    Here every launch is kept in a journal beside the output (OUTPUT.journal) as soon as it ends. However the command
    ended, --resume continues from there.

    The exit code is 0 if all is healthy, 3 if something is slow, 4 if something is broken.
    """
    from weft._core import UsageError
    from weft.health import collectives, diagnose
    from weft.health.pairs import pair_times
    from weft.health.running import Plan, has_processors, trials_of
    from weft.health.within import within
    from weft.launch.ranges import values
    from weft.parameters import table

    outputs.check_choice(resume, force)
    outputs.check(output, (".csv", ".parquet"), force=force)
    outputs.check(html, (".html",), force=force)
    outputs.check(watch, (".parquet",), force=True)
    faults.refuse_here(on, fault)
    if estimand is not None and baseline is None:
        estimands.refuse_here(on, estimand)
    if hosts and (on != "here" or samples_file):
        raise UsageError("--hosts starts ranks here; it goes with neither --on nor --samples")
    plan = Plan(tuple(sorted(values(table()["bytes"], lengths))), launches, iterations, seconds)
    machine: Machine | None = None
    expected: PairTimes | None = None
    lost: list[tuple[str, str]] = []
    normal: pl.DataFrame | None = None
    normal_ranks: pl.DataFrame | None = None
    if samples_file is not None:
        rows, name = _table(samples_file), str(samples_file)
        times = pair_times(rows, each_rank=each is Each.RANK, origin=name)
    elif on != "here":
        name = estimands.described(on, estimand).name
        if has_processors(estimands.described(on, estimand)):
            rows, normal_ranks = _simulated_ranks(on, ranks, fault, estimand, plan, seed)
            times, expected = (
                pair_times(table, each_rank=each is Each.RANK, origin=name) for table in (rows, normal_ranks)
            )
        else:
            times, expected, machine, rows = _simulated(on, ranks, fault, estimand, plan, seed)
        # Without faults what was simulated is what is normal; beside a baseline nobody asks.
        if baseline is None:
            count = int(rows["ranks"].to_numpy().max())
            normal = _normal_collectives(on, fault, estimand, count, times, seed) if fault else rows
        _write(rows, output)
    else:
        measured = _here(ranks, hosts, plan, output, resume=resume, force=force)
        if measured is None:
            return
        (rows, lost), name = measured, "here"
        times = pair_times(rows, each_rank=each is Each.RANK, origin=name)
    if baseline is not None:
        expected, normal, normal_ranks = _normal(baseline, times, each, estimand if on == "here" else None)
    origin = baseline if baseline is not None else "the machine without faults"
    trial = None if machine is None or baseline is not None else trials_of(machine, times, plan, seed)
    diagnosis = diagnose(
        times, expected=expected, machine=machine, threshold=threshold, lost=lost, origin=origin, trial=trial,
        collectives=collectives.times(rows, normal),
        within=within(rows, expected=normal_ranks, threshold=threshold),
    )  # fmt: skip
    if watch is not None:
        _watch(diagnosis, name, watch, threshold)
    _deliver(diagnosis, name, html, shown)


def _normal(
    baseline: str, times: PairTimes, each: Each, estimand: Estimand | None
) -> tuple[PairTimes, pl.DataFrame | None, pl.DataFrame | None]:
    """What is normal, of pairs, of collectives and of ranks within nodes, by samples or by a machine: files of samples
    end in what those end in. By a machine only pairs are judged: which algorithm a library chooses for a collective is
    not in its file."""
    from weft._core import UsageError
    from weft.health import pair_times
    from weft.health.running import has_processors, normal_of, normal_of_computers

    if baseline.endswith((".csv", ".parquet")):
        if estimand is not None:
            raise UsageError("--estimand chooses among the costs of a machine file, and --baseline is of samples")
        table = _table(Path(baseline))
        return pair_times(table, each_rank=each is Each.RANK, origin=baseline), table, table
    machine = estimands.described(baseline, estimand)
    if has_processors(machine) and each is Each.NODE:
        expected, ranks = normal_of_computers(machine, times)
        return expected, None, ranks
    return normal_of(machine, times), None, None


def _normal_collectives(
    on: str, fault: list[str] | None, estimand: Estimand | None, ranks: int, times: PairTimes, seed: int
) -> pl.DataFrame:
    """The collectives without faults, but with the same noise, which slows them on a healthy machine too."""
    from weft.health import collectives

    machine = faults.degraded(on, faults.noise(fault), estimand)
    return collectives.simulated(machine, ranks, times.lengths, len(times.launches), seed)


def _table(path: Path) -> pl.DataFrame:
    from weft import samples

    return samples.read(path, nonempty=True)


def _simulated(
    on: str, ranks: int | None, planted: list[str] | None, estimand: Estimand | None, plan: Plan, seed: int
) -> tuple[PairTimes, PairTimes, Machine, pl.DataFrame]:
    """Measured with faults, expected without them, the machine, and what was measured as samples."""
    import polars as pl

    from weft.cli.progress import Bar
    from weft.health import collectives
    from weft.health.running import samples_of, simulate

    described, degraded = (faults.degraded(on, each, estimand) for each in (None, planted))
    with Bar(f"simulating {on}") as bar:
        times, _ = simulate(degraded, ranks, plan, seed=seed, progress=bar)
        expected, _ = simulate(described, ranks, plan, seed=seed) if planted else (times, 0.0)
    over_all = collectives.simulated(degraded, times.nodes, plan.lengths, plan.launches, seed)
    over_all = over_all.with_columns(machine=pl.lit(described.name))
    table = pl.concat([samples_of(times, described.name), over_all], how="diagonal_relaxed")
    return times, expected, described, table


def _simulated_ranks(
    on: str, ranks: int | None, planted: list[str] | None, estimand: Estimand | None, plan: Plan, seed: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of a machine whose nodes are processors of computers: samples with faults and without them."""
    import polars as pl

    from weft.cli.progress import Bar
    from weft.health import collectives
    from weft.health.running import simulate_ranks

    described, degraded = (faults.degraded(on, each, estimand) for each in (None, planted))
    with Bar(f"simulating {on}") as bar:
        rows = simulate_ranks(degraded, ranks, plan, seed=seed, progress=bar)
        normal = simulate_ranks(described, ranks, plan, seed=seed) if planted else rows
    count = int(rows["ranks"].to_numpy().max())
    over_all = collectives.simulated(degraded, count, plan.lengths, plan.launches, seed)
    over_all = over_all.with_columns(machine=pl.lit(described.name))
    rows = rows.with_columns(machine=pl.lit(described.name))
    return pl.concat([rows, over_all], how="diagonal_relaxed"), normal


def _here(
    ranks: int | None, hosts: str | None, plan: Plan, output: Path | None, *, resume: bool, force: bool
) -> tuple[pl.DataFrame, list[tuple[str, str]]] | None:
    """What was measured here, and the hosts that were lost; None on ranks that say nothing."""
    from dataclasses import asdict

    from weft._core import RunError
    from weft.cli.progress import Bar
    from weft.health.running import measure
    from weft.launch.environment import launcher

    job = launcher()
    request = {"health": asdict(plan), "ranks": ranks, "hosts": hosts}
    kept = output if job is None or job.rank == 0 else None
    with outputs.journal(kept, request, resume=resume, force=force) as journal:
        with Bar("measuring pairs and collectives", shown=job is None) as bar:
            measurement, lost = measure(plan, ranks, hosts.split(",") if hosts else None, bar, journal)
        if not measurement.writes:
            return None
        if not measurement.table.is_empty():
            _write(measurement.table, output)
        if journal is not None and (measurement.failure is None or lost):
            journal.finish()
    if measurement.failure is not None:
        outputs.note(f"[bold yellow]not everything was measured[/]: {measurement.failure}")
    if measurement.table.is_empty():
        raise measurement.failure or RunError(outputs.NOTHING_MEASURED)
    return measurement.table, lost


def _write(table: pl.DataFrame, output: Path | None) -> None:
    from weft import samples
    from weft.files import deliver

    if output is not None:
        deliver(samples.content(table, output), output)
        outputs.wrote(f"{len(table)} samples: {output}")


def _watch(diagnosis: Diagnosis, name: str, history: Path, threshold: float) -> None:
    """Append what was found to the history, and say what has changed in it."""
    from weft.files import deliver
    from weft.health import watch
    from weft.launch.environment import now

    whole = watch.appended(history, watch.check_rows(diagnosis, name, now()))
    deliver(watch.content(whole), history)
    for change in watch.changes(whole, threshold):
        outputs.note(f"[bold yellow]changed[/]: {change}")
    checks = watch.checks(whole)
    if checks < watch.MIN_CHECKS:
        outputs.wrote(f"{checks} checks in {history}; changes are told from {watch.MIN_CHECKS} on")


def _deliver(diagnosis: Diagnosis, name: str, html: Path | None, shown: Format) -> None:
    from weft.files import deliver
    from weft.health import tables
    from weft.health.diagnosis import Verdict

    if html is not None:
        deliver(tables.to_html(diagnosis, name).encode(), html)
        outputs.wrote(f"heat maps: {html}")
    match shown:
        case Format.JSON:
            typer.echo(tables.to_json(diagnosis, name))
        case Format.CSV:
            typer.echo(tables.rows(diagnosis).write_csv(), nl=False)
        case Format.PROMETHEUS:
            typer.echo(tables.to_prometheus(diagnosis, name), nl=False)
        case Format.TABLE:
            _show(diagnosis)
    if diagnosis.verdict is not Verdict.HEALTHY:
        raise typer.Exit(int(diagnosis.verdict))


def _show(diagnosis: Diagnosis) -> None:
    """The summary, then who is slow by shades."""
    from rich.console import Console
    from rich.text import Text

    from weft.health import summary, tables

    console = Console(highlight=False, soft_wrap=True)
    head, *lines = summary(diagnosis)
    console.print(Text(head, style={0: "green", 3: "yellow", 4: "red"}[int(diagnosis.verdict)]))
    for line in lines:
        console.print(Text(f"  {line}"))
    for note in diagnosis.notes:
        console.print(Text(f"  note: {note}", style="dim"))
    columns = console.width if console.is_terminal else None
    shades = "" if speaking.is_quiet() else tables.heat_map(diagnosis, columns)
    if shades:
        console.print(Text(shades))
    of_ranks = "" if speaking.is_quiet() else tables.heat_maps_of_ranks(diagnosis)
    if of_ranks:
        console.print(Text(of_ranks))

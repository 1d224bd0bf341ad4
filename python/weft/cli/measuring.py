"""`weft measure`."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli import outputs, teaching

if TYPE_CHECKING:
    import polars as pl

    from weft.launch.measure import Measurement
    from weft.launch.protocol import Plan
    from weft.launch.request import Settings

_EXAMPLES = """
weft measure echo  # one-way time of messages of 8 B to 1 MiB between two ranks here
weft measure echo bandwidth --bytes 8:64K -o here.csv  # two benchmarks into one file of samples
weft measure allreduce --ranks 2:16 --bytes 8,1K,1M  # a collective on 2, 4, 8 and 16 ranks
weft measure echo --on ipsc860 --hops 1:6 --bytes 8:8192  # in virtual time on a machine of the catalogue
weft measure alltoall --on ncube6400 --ranks 16 --bytes 1K --trace alltoall.json  # a timeline for ui.perfetto.dev
weft measure echo -o here.csv --resume  # go on where Ctrl-C, or a time limit, stopped it
weft measure arithmetic linpack stream  # one node: the Caltech tests, LINPACK with numpy's BLAS, STREAM
weft measure dot_product --lengths 8:64K --on ipsc860  # priced from a machine file's operation times
weft measure contention --background-bytes 8,1K,8K --bytes 8:8K --on ncube6400  # a probe in traffic
weft measure fan-in --neighbours 1,2,4,6 --bytes 1K --on ipsc860  # neighbours that send at once
weft measure pshift --on cm200 --rank 3 --length 2,4,8,16  # shifts planned and one by one, on the CM-200
weft measure conset,messages --on iwarp64 --pattern hypercube --words 32,256,2048,16384  # an exchange, both ways
weft measure stencil --shape 32x32x32 --ranks 1:64 --on iwarp64     # a step: faces travel while it computes
weft measure halo --shape 8x8x8:128x128x128 --ranks 2:64 --on ipsc860  # ghosts of a distributed array
weft measure processor front-end router news -o here.csv  # the same of parallel variables here
weft measure router news --on cm2-8k --vp-ratio 1,4  # primitives of a data-parallel machine, real and CM time
srun -n 2 weft measure echo -o here.csv  # as a rank that a launcher has started
"""


class Format(enum.StrEnum):
    """How samples are shown."""

    TABLE = "table"
    CSV = "csv"
    PARQUET = "parquet"


def _sections() -> dict[str, list[tuple[str, str]]]:
    from weft.conset.exchange import METHODS
    from weft.launch.request import every

    groups: dict[str, list[tuple[str, str]]] = {}
    for benchmark in every().values():
        groups.setdefault(f"Benchmarks: {benchmark.group}", []).append((benchmark.name, benchmark.summary))
    groups["Benchmarks: exchanges of connection sets (with --pattern)"] = list(METHODS.items())
    return groups


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=teaching.command(_EXAMPLES, _sections), no_args_is_help=True)(measure)


def measure(
    benchmark: Annotated[
        list[str], typer.Argument(help="One or more benchmarks of the list below.", show_default=False)
    ],
    on: Annotated[
        str,
        typer.Option(help="[bold]here[/] (over MPI), or a machine of the catalogue or a machine file (virtual time)."),
    ] = "here",
    ranks: Annotated[
        str | None,
        typer.Option(help="Ranks: 4, 2:16 (doubling), 2,3,5. Default: the benchmark's own; simulated up to 64."),
    ] = None,
    lengths: Annotated[
        str | None, typer.Option("--bytes", help="Lengths: 8:8192 (doubling), 8,1K,1M; K, M, G are powers of 1024.")
    ] = None,
    hops: Annotated[str | None, typer.Option(help="Distances in links: 1:6 (by one), 1,3.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write samples to this .csv or .parquet file.")
    ] = None,
    shown: Annotated[Format, typer.Option("--format", help="What goes to standard output.")] = Format.TABLE,
    algorithm: Annotated[
        str | None, typer.Option(help="Of collectives: auto, native (the MPI library's own), or a name.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Timed iterations of a point in a launch. Default: by time.")
    ] = None,
    window: Annotated[
        int | None, typer.Option(min=1, help="Messages in flight (bandwidth), or of each neighbour (fan-in, fan-out).")
    ] = None,
    words: Annotated[
        str | None,
        typer.Option("--lengths", help="Of one node: elements (dot_product), bytes (stream, memory_latency): 8:64K."),
    ] = None,
    threads: Annotated[
        str | None, typer.Option(help="Threads of stream: 1, 1:8 (doubling). Default: 1 and all.")
    ] = None,
    variant: Annotated[
        list[str] | None, typer.Option(help="Only this row of the node suite (float64_multiply); may be repeated.")
    ] = None,
    neighbours: Annotated[
        str | None, typer.Option(help="How many neighbours (fan-in, fan-out): 1,2,4,6. Default: these, as ranks allow.")
    ] = None,
    background: Annotated[
        str | None,
        typer.Option(
            help="Background traffic (contention): none, stream (rank 0 to 7), shift, shift:2, random, all-to-all, or "
            "pairs of ranks as 0-7,2-6. Default: stream."
        ),
    ] = None,
    background_bytes: Annotated[
        str | None, typer.Option(help="Lengths of background messages (contention): the load.")
    ] = None,
    probe: Annotated[
        str | None, typer.Option(help="From which rank to which the probe sends (contention). Default: 1-3.")
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(help="Shapes of the block of one rank (halo, stencil): 128x128x128, 8x8:64x64 (doubling)."),
    ] = None,
    order: Annotated[
        str | None, typer.Option("--n", help="Orders of matrices, points along an edge of grids (programs).")
    ] = None,
    precision: Annotated[str | None, typer.Option(help="Of programs: single or double.")] = None,
    file_system: Annotated[str | None, typer.Option(help="How files are reached (programs and files).")] = None,
    file_bytes: Annotated[str | None, typer.Option(help="Length of the file of one rank (files): 1M.")] = None,
    pattern: Annotated[
        str | None,
        typer.Option(help="Of exchanges (conset, messages): a named pattern or a file, as for [bold]weft compile[/]."),
    ] = None,
    exchanged: Annotated[
        str | None, typer.Option("--words", help="Words on every connection of an exchange: 32,256,2048,16384.")
    ] = None,
    compiler: Annotated[
        str | None, typer.Option(help="Of conset: weft, or apr for that of the paper. Default: weft.")
    ] = None,
    preallocate: Annotated[bool, typer.Option("--preallocate", help="Give files their room first (writing).")] = False,
    io_nodes: Annotated[int | None, typer.Option(min=1, help="I/O nodes of a described machine (files).")] = None,
    rank: Annotated[str | None, typer.Option(help="Axes of the array (pshift): 3, 1:4.")] = None,
    length: Annotated[
        str | None, typer.Option(help="Elements along each axis of a node's subgrid (pshift): 2:16 (doubling), 2,4,8.")
    ] = None,
    distance: Annotated[
        int | None, typer.Option(help="Elements that the array is shifted by (pshift). Default: 1.")
    ] = None,
    vp_ratio: Annotated[
        str | None, typer.Option(help="Virtual processors a processor (processor, router, news, …): 1:16 (doubling).")
    ] = None,
    seconds_per_point: Annotated[
        float | None, typer.Option(min=1e-6, help="Time for the timed iterations of a point in a launch, s.")
    ] = None,
    launches: Annotated[int, typer.Option(min=1, help="The fewest separate launches (6 give a 95% interval).")] = 6,
    half_width: Annotated[
        float, typer.Option(min=1e-4, max=1.0, help="Go on until every interval's half-width is within this share.")
    ] = 0.05,
    budget: Annotated[float, typer.Option(min=0.0, help="Begin no further launch after so many seconds.")] = 60.0,
    resume: outputs.Resume = False,
    force: outputs.Force = False,
    name: Annotated[str, typer.Option(help="What the samples call this machine.")] = "here",
    trace: Annotated[Path | None, typer.Option(help="Write a timeline (Chrome trace JSON) of a simulated run.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of a simulated run: one seed, one result.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no table.")] = False,
) -> None:
    """Measure benchmarks: on this machine over MPI, or in virtual time on a described one.

    A real measurement makes several separate launches, because launches differ more than repetitions within one: the
    table shows the median over launches with its 95% interval. Ctrl-C keeps what was measured.

    Every launch is kept in a journal beside the output (OUTPUT.journal) as soon as it ends, from which --resume goes on
    whatever ended the command. A file that exists is replaced with --force only.
    """
    outputs.check_choice(resume, force)
    outputs.check(output, (".csv", ".parquet"), force=force, resume=resume)
    outputs.check(trace, (".json",), force=force)
    if resume and output is None:
        from weft._core import UsageError

        raise UsageError("--resume goes on with a file; name it with -o")
    benchmark = [part for word in benchmark for part in word.split(",") if part]
    if exchanges := _exchanges(benchmark, pattern, exchanged, compiler):
        _measure_exchanges(
            exchanges, on, ranks, iterations, launches, seed, trace, name, output, shown, quiet, resume, force
        )
        return
    more = {
        "algorithm": algorithm, "iterations": iterations, "window": window, "neighbours": neighbours,
        "background": background, "background_bytes": background_bytes, "probe": probe, "shape": shape, "n": order,
        "precision": precision, "file_system": file_system, "file_bytes": file_bytes, "preallocate": preallocate,
        "io_nodes": io_nodes, "lengths": words, "variants": tuple(variant or ()),
    }  # fmt: skip
    if on == "here":
        from weft._core import UsageError
        from weft.launch.protocol import Plan

        if any(value is not None for value in (rank, length, distance)):
            raise UsageError("--rank, --length and --distance are of data-parallel machines; name one with --on")
        if trace is not None:
            raise UsageError("--trace is of a simulated run; name a machine with --on")
        settings = _settings(**more, threads=threads, vp_ratio=vp_ratio, seconds_per_point=seconds_per_point)
        plan = Plan(launches, half_width, budget)
        _here(benchmark, ranks, lengths, hops, settings, plan, output, shown, resume, force, name, quiet)
        return
    from weft.cli.progress import Bar
    from weft.launch.simulate import simulate

    if threads is not None:
        from weft._core import UsageError

        raise UsageError("--threads is of a measurement here: machine files describe one processor a node")
    if resume:
        from weft._core import UsageError

        raise UsageError("--resume goes on with a measurement here; a simulated run is never left half done")
    notes: list[str] = []
    with Bar(f"simulating {on}", quiet) as bar:
        samples = simulate(
            on, benchmark, ranks=ranks, bytes=lengths, hops=hops, seed=seed, trace=trace, progress=bar, notes=notes,
            rank=rank, length=length, distance=distance, vp_ratio=vp_ratio, force=force,
            **{**more, "file_bytes": _length(file_bytes)},  # type: ignore[arg-type]
        )  # fmt: skip
    _deliver(samples, output, shown, quiet)
    for note in notes:
        outputs.note(note)
    if trace is not None and not quiet:
        outputs.note(f"timeline: {trace} (open it at ui.perfetto.dev or chrome://tracing)")


def _exchanges(
    names: list[str], pattern: str | None, words: str | None, compiler: str | None
) -> tuple[list[str], str, tuple[int, ...], str] | None:
    """The exchanges that are asked for, if any are: methods, pattern, words, compiler.

    Raises
    ------
    UsageError
        For exchanges without a pattern, beside other benchmarks, or their options without them.
    """
    from weft._core import UsageError
    from weft.conset.exchange import METHODS
    from weft.launch import ranges

    methods = [name for name in names if name in METHODS]
    if not methods:
        for given, option in ((pattern, "--pattern"), (words, "--words"), (compiler, "--compiler")):
            if given is not None:
                raise UsageError(f"{option} is of exchanges: {', '.join(METHODS)}")
        return None
    if others := [name for name in names if name not in METHODS]:
        raise UsageError(f"measure {', '.join(methods)} and {', '.join(others)} one after the other")
    if pattern is None:
        raise UsageError(
            f"{' and '.join(methods)}: say what is exchanged with --pattern, as --pattern hypercube; "
            "weft compile --help lists patterns"
        )
    return methods, pattern, ranges.numbers(words, "words", "double", lowest=1), compiler or "weft"


def _measure_exchanges(
    exchanges: tuple[list[str], str, tuple[int, ...], str],
    on: str,
    ranks: str | None,
    iterations: int | None,
    launches: int,
    seed: int,
    trace: Path | None,
    name: str,
    output: Path | None,
    shown: Format,
    quiet: bool,
    resume: bool,
    force: bool,
) -> None:
    from weft._core import UsageError
    from weft.cli.progress import Bar

    if on == "here":
        if trace is not None:
            raise UsageError("--trace is of a simulated run; name a machine with --on")
        _exchanges_here(exchanges, ranks, iterations, launches, seed, name, output, shown, quiet, resume, force)
        return
    from weft.conset.exchange import simulate

    if ranks is not None:
        raise UsageError("--ranks: an exchange on a described machine is between all of its nodes")
    if resume:
        raise UsageError("--resume goes on with a measurement here; a simulated run is never left half done")
    methods, pattern, words, compiler = exchanges
    with Bar(f"exchanging {pattern}", quiet) as bar:

        def done(runs: int, of: int) -> None:
            if runs == 1:
                bar.launch(0, of, of)
            bar.rows(1)

        found = simulate(
            on, methods, pattern=pattern, words=words, compiler=compiler, seed=seed, trace=trace, force=force,
            progress=done,
        )  # fmt: skip
    _deliver(found, output, shown, quiet)
    if trace is not None and not quiet:
        outputs.note(f"timeline: {trace} (open it at ui.perfetto.dev or chrome://tracing)")


def _exchanges_here(
    exchanges: tuple[list[str], str, tuple[int, ...], str],
    ranks: str | None,
    iterations: int | None,
    launches: int,
    seed: int,
    name: str,
    output: Path | None,
    shown: Format,
    quiet: bool,
    resume: bool,
    force: bool,
) -> None:
    from weft import samples
    from weft.cli.interrupting import terminating_is_interrupting
    from weft.cli.progress import Bar
    from weft.launch import ranges
    from weft.study.exchanging import measure_here, request_of

    methods, pattern, words, compiler = exchanges
    count = (ranges.numbers(ranks, "ranks", "double", lowest=2) or (2,))[0]
    before = samples.read(output) if resume and output is not None and output.exists() else None
    request = request_of(methods, pattern, words, compiler, count, iterations, seed, name)
    with outputs.journal(output, request, resume=resume, force=force) as journal:
        with Bar(f"exchanging {pattern}", quiet) as bar, terminating_is_interrupting():
            bar.launch(0, launches, launches)
            found = measure_here(
                methods, pattern=pattern, words=words, compiler=compiler, ranks=count, launches=launches,
                iterations=iterations, seed=seed, name=name, progress=lambda runs, of: bar.rows(1), before=before,
                journal=journal,
            )  # fmt: skip
        if not found.table.is_empty():
            _deliver(found.table, output, shown, quiet)
        if journal is not None:
            journal.finish()
    _kept(found, output)


def _length(text: str | None) -> int | None:
    """One length in bytes.

    Raises
    ------
    UsageError
        For several, or what is none.
    """
    from weft._core import UsageError
    from weft.launch import ranges

    found = ranges.numbers(text, "file-bytes", "double", lowest=1)
    if len(found) > 1:
        raise UsageError(f"file-bytes: one length, not the {len(found)} of '{text}'")
    return found[0] if found else None


def _settings(**given: Any) -> Settings:
    """Words as a request has them."""
    from weft.launch import ranges
    from weft.launch.request import Settings

    words = ranges.numbers(given.pop("lengths"), "lengths", "double", lowest=1)
    neighbours = ranges.numbers(given.pop("neighbours"), "neighbours", "one", lowest=1)
    loads = ranges.numbers(given.pop("background_bytes"), "background-bytes", "double")
    threads = ranges.numbers(given.pop("threads"), "threads", "double", lowest=1)
    orders = ranges.numbers(given.pop("n"), "n", "double", lowest=1)
    shapes = ranges.shapes(given.pop("shape"), "shape")
    ratios = ranges.numbers(given.pop("vp_ratio"), "vp-ratio", "double", lowest=1)
    probe, length = ranges.pair(given.pop("probe"), "probe"), _length(given.pop("file_bytes"))
    return Settings(
        **given, words=words, neighbours=neighbours, background_bytes=loads, threads=threads, n=orders, probe=probe,
        file_bytes=length, shapes=shapes, vp_ratios=ratios,
    )  # fmt: skip


def _here(
    names: list[str],
    ranks: str | None,
    lengths: str | None,
    hops: str | None,
    settings: Settings,
    plan: Plan,
    output: Path | None,
    shown: Format,
    resume: bool,
    force: bool,
    name: str,
    quiet: bool,
) -> None:
    from weft import samples
    from weft.cli.interrupting import terminating_is_interrupting
    from weft.cli.progress import Bar
    from weft.launch import ranges
    from weft.launch.environment import launcher
    from weft.launch.measure import measure_requests, request_of
    from weft.launch.request import node_benchmarks, requests

    job = launcher()
    own = (job.size,) if job and job.size > 1 and not all(name in node_benchmarks() for name in names) else ()
    wanted = requests(
        names,
        ranges.numbers(ranks, "ranks", "double", lowest=1) or own,
        ranges.numbers(lengths, "bytes", "double"),
        ranges.numbers(hops, "hops", "one", lowest=1),
        settings,
    )
    first = job is None or job.rank == 0
    before = samples.read(output) if resume and first and output is not None and output.exists() else None
    kept = output if first else None
    with outputs.journal(kept, request_of(wanted, name), resume=resume, force=force) as journal:
        with Bar("measuring here", quiet or job is not None) as bar, terminating_is_interrupting():
            found = measure_requests(wanted, plan, name=name, progress=bar, before=before, journal=journal)
        if not found.writes:
            return
        if not found.table.is_empty():
            _deliver(found.table, output, shown, quiet)
        if journal is not None:
            journal.finish()
    _conclude(found, plan.half_width, output)


def _deliver(table: pl.DataFrame, output: Path | None, shown: Format, quiet: bool) -> None:
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
            outputs.note(f"{len(table)} samples: {output}")
        except NotWrittenError as error:
            lost = error
    if shown is not Format.TABLE:
        printing.write_samples(table, shown.value)
    elif lost is not None and lost.saved is None:
        printing.write_samples(table, "csv")
    elif not quiet or lost is not None:
        printing.show_table(table)
    if lost is not None:
        raise lost


def _conclude(found: Measurement, half_width: float, output: Path | None) -> None:
    """Say how well the points are known; ends with 130 if someone interrupted."""
    from weft.launch import protocol
    from weft.samples.summary import MINIMUM_LAUNCHES

    points, loose = len(found.status), found.count(protocol.NOT_CONVERGED)
    launches = found.table["repetition"].n_unique()
    if loose and launches < MINIMUM_LAUNCHES:
        outputs.note(
            f"[bold yellow]NOT CONVERGED[/]: {launches} launch{'es' if launches > 1 else ''}; a 95% interval of the "
            f"median needs {MINIMUM_LAUNCHES} or more (--launches)."
        )
    elif loose:
        outputs.note(
            f"[bold yellow]NOT CONVERGED[/]: {loose} of {points} points; the widest interval is "
            f"±{found.widest or 0:.1%} of its median, ±{half_width:.0%} was asked for; {found.spent:.0f} s were spent. "
            "A larger --budget goes on longer."
        )
    if found.count(protocol.ONE_LAUNCH):
        outputs.note("One launch: no interval over launches. Start it again with -o FILE --resume to add launches.")
    _kept(found, output)


def _kept(found: Measurement, output: Path | None) -> None:
    """Say what was kept of a measurement that was ended early, and end as it did."""
    kept = f"what was measured is in {output}; go on with --resume" if output else "nothing was written (no -o)"
    if found.table.is_empty():
        kept = "nothing was measured yet"
    if found.failure is not None:
        outputs.note(f"[bold yellow]not everything was measured[/]: {kept}")
        raise found.failure
    if found.interrupted:
        outputs.note(f"[bold yellow]interrupted[/]: {kept}")
        raise typer.Exit(130)

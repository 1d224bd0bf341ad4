"""`weft compile`, `weft verify` and `weft show`."""

from __future__ import annotations

import enum
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli import collectives, errors, estimands, outputs, speaking, teaching

if TYPE_CHECKING:
    import polars as pl

    from weft._core import Schedule
    from weft.journal import Journal

_COMPILE_EXAMPLES = """
weft compile all-to-all --on iwarp64 -o schedule.json  # 4032 connections on 64 cells, in 27 phases
weft compile hypercube --on iwarp64 --channels 16  # with 16 logical channels instead of 12
weft compile all-to-all --on iwarp64 --words 16384  # long transfers: link loads matter more than phases
weft compile all-to-all --on iwarp64 --compiler apr  # the compiler of 1993
weft compile exchange.csv --on iwarp64 --effort 10  # source, destination, words a line
weft compile plate.msh --on rail-h100 --method phases  # phases even where plain messages are faster
weft compile plate.msh --on iwarp64  # a mesh divided into 64 parts by METIS, its exchange of shared nodes
weft compile timeline.json --on iwarp64  # what a program sent, recorded by weft measure --trace
weft compile all-to-all --on palomar --words 1000000  # matchings on a switch of optical circuits
weft compile random:8 --on iwarp64 --effort 600 -o long.json --resume  # continues from what a killed run had found
weft compile allreduce --on rail-h100 --bytes 64M -o allreduce.json  # a collective: trees, and how near the optimum
weft compile allgather --on graph.json --bytes 1M  # on a graph: nodes, switches, links with bandwidth and latency
weft compile all-to-all --on graph.json --bytes 64M  # blocks on paths that fill no link more than they must
weft compile all-to-all --on rail-h100 --nodes 0:7 --blocks experts.csv  # blocks of unlike length, as experts have
weft compile broadcast --on tpu-v4 --nodes 0,1,16,17 --root 2 --bytes 1M  # within a group, from its rank 2
weft compile allreduce --on hgx-h100 --bytes 1M --in-network both  # switches add and copy (NVLink SHARP)
weft compile --patterns  # the named patterns
"""

_SHOW_EXAMPLES = """
weft show schedule.json  # verify it and draw it into schedule.html
weft show schedule.json --format text  # a line a phase, and its lower bounds
weft show schedule.json --format svg --phase 0 -o phase.svg  # one phase on the topology
weft show allreduce.json -o page.html  # of a collective: its trees or rounds, what limits it, what its links carry
weft show allreduce.json --format png --phase 2  # tree 2 or round 2 as a picture, in allreduce.png
weft show allreduce.json --format text  # a line for each round, or the trees of a root
"""

_VERIFY_EXAMPLES = """
weft verify schedule.json  # every rule of the machine, the figures, and the certificates of the lower bounds
weft verify schedule.json --pattern all-to-all  # and that it transfers all of that, with one word a connection
weft verify allreduce.json  # a collective: what every rank gets, the loads of links, the cut that limits it
weft verify schedule.json --pattern plate.msh --on iwarp64 --seed 3  # as it was compiled: the same parts and places
"""


class CompilerName(enum.StrEnum):
    """Which compiler."""

    WEFT = "weft"
    APR = "apr"


class Method(enum.StrEnum):
    """How a pattern is carried out, or what a collective should be good at."""

    AUTO = "auto"
    PHASES = "phases"
    MESSAGES = "messages"
    THROUGHPUT = "throughput"
    LATENCY = "latency"


class InNetwork(enum.StrEnum):
    """What switches do in a collective beside passing messages on."""

    MULTICAST = "multicast"
    REDUCTION = "reduction"
    BOTH = "both"
    NONE = "none"


_OF_PATTERNS = (Method.PHASES, Method.MESSAGES)
_OF_COLLECTIVES = (Method.THROUGHPUT, Method.LATENCY)


def _check_method(method: Method, pattern: str, is_collective: bool) -> None:
    """Refuse the method of a pattern for a collective, and the other way round."""
    from weft._core import UsageError
    from weft.inputs import quoted

    of_others, allowed = (_OF_PATTERNS, _OF_COLLECTIVES) if is_collective else (_OF_COLLECTIVES, _OF_PATTERNS)
    if method in of_others:
        what = "a collective" if is_collective else "no collective"
        known = ", ".join(["auto", *allowed])
        raise UsageError(f"--method {method}: {quoted(pattern)} is {what}, which takes {known}")


class Shown(enum.StrEnum):
    """How a schedule is shown."""

    HTML = "html"
    SVG = "svg"
    PNG = "png"
    TEXT = "text"


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(cls=teaching.command(_COMPILE_EXAMPLES, long=True))(compile)
    app.command(cls=teaching.command(_VERIFY_EXAMPLES, long=True))(verify)
    app.command(cls=teaching.command(_SHOW_EXAMPLES))(show)


def compile(
    pattern: Annotated[
        str | None,
        typer.Argument(
            help="A named pattern (see --patterns), a file of connections, a matrix or a mesh; or a collective: "
            "allgather, reduce-scatter, allreduce, broadcast, reduce, and with --bytes all-to-all."
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            "--on", help="The machine: a name of the catalogue or a machine file; for collectives also a graph (.json)."
        ),
    ] = None,
    estimand: estimands.Chosen = None,
    bytes: Annotated[
        str | None,
        typer.Option(
            "--bytes", help="Length of a collective's whole buffer, such as 1M; of an all-to-all, of each rank's."
        ),
    ] = None,
    nodes: Annotated[
        str | None, typer.Option("--nodes", help="Node of each rank of a collective, such as 0,1,4:7 (all nodes).")
    ] = None,
    root: Annotated[int, typer.Option("--root", min=0, help="The rank that broadcasts or gets the sum.")] = 0,
    element: Annotated[
        int, typer.Option("--element", min=1, help="Bytes of an element of a collective, which is never divided.")
    ] = 4,
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            help="For a pattern: phases, plain messages, or the faster of the two (auto). For a collective: forms for "
            "long buffers (throughput) or short ones (latency), or the fastest (auto).",
        ),
    ] = Method.AUTO,
    in_network: Annotated[
        InNetwork | None,
        typer.Option(
            "--in-network",
            help="What switches do in a collective beside passing messages on: copy (multicast), add (reduction), "
            "both, none (what the machine file or graph says).",
        ),
    ] = None,
    blocks: Annotated[
        Path | None,
        typer.Option(
            "--blocks",
            help="Bytes of each block of an all-to-all, where they are of unlike length: numbers (.csv) or an array "
            "(.npy), a row for each sender and a column for each receiver.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the schedule here (.json, or packed .json.gz).")
    ] = None,
    resume: outputs.Resume = False,
    force: outputs.Force = False,
    channels: Annotated[int | None, typer.Option(min=1, help="Logical channels of a node.")] = None,
    link_channels: Annotated[int | None, typer.Option(min=1, help="Channels of a link.")] = None,
    ports: Annotated[int | None, typer.Option(min=1, help="Circuits that a node may start, and end, at once.")] = None,
    access: Annotated[
        str | None, typer.Option(help="separate or shared: whether a node sends while it receives.")
    ] = None,
    access_time: Annotated[float | None, typer.Option(help="Seconds a word between a node and the network.")] = None,
    words: Annotated[int | None, typer.Option(min=1, help="Words of every connection.")] = None,
    compiler: Annotated[
        CompilerName, typer.Option(help="weft's own, or that of Feldmann, Stricker and Warfel.")
    ] = CompilerName.WEFT,
    effort: Annotated[float, typer.Option(min=0, help="Nominal seconds of search for a better schedule.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same schedule.")] = 0,
    phases: Annotated[int | None, typer.Option(min=1, help="Maximum number of phases.")] = None,
    split: Annotated[
        bool, typer.Option("--split/--whole", help="Whether transfers may be divided among phases.")
    ] = True,
    parts: Annotated[
        int | None, typer.Option(min=1, help="Parts of a matrix, graph or mesh (the machine's nodes).")
    ] = None,
    partition: Annotated[Path | None, typer.Option(help="A file with the part of each row, node or element.")] = None,
    exchange: Annotated[str | None, typer.Option(help="What parts of a mesh exchange: vertex or row.")] = None,
    placed: Annotated[
        bool, typer.Option("--place/--identity", help="Place parts near each other, or part i on node i.")
    ] = True,
    patterns: Annotated[bool, typer.Option("--patterns", help="List the named patterns.")] = False,
    shown: outputs.Shown = outputs.Format.TABLE,
) -> None:
    """Compile a connection set: divide it into phases, route it, time it, and compare it with lower bounds.

    Connections occupy logical channels of the nodes they pass (or channels of links, or ports of a switch), so only
    some can be open at once. The schedule says which are open when. Beside its figures are lower bounds, each with a
    certificate that the verifier has checked, and the time that plain messages, one for every connection, take on the
    same machine. Where messages are faster, the schedule says so and is executed by messages, unless you give --method
    phases.

    A collective is compiled to trees for every rank's data, or to rounds of exchanges. Its bandwidth is shown beside
    the highest that the network allows. A cut certifies that limit: a set of vertices that the data has to leave. An
    all-to-all of --bytes is compiled to paths for every block, and prices of links certify its limit.
    """
    from weft._core import UsageError, compile_connections
    from weft.conset import compiling, storing
    from weft.conset import pattern as find_pattern
    from weft.files import deliver
    from weft.inputs import quoted

    if patterns:
        _show_patterns(shown)
        return
    if pattern is None:
        raise UsageError("expected a pattern: a name (weft compile --patterns lists them) or a file")
    if on is None:
        raise UsageError("expected a machine: --on iwarp64, say (weft machines lists them)")
    is_collective = collectives.is_compiled(pattern, on, bytes, nodes, root, blocks)
    if in_network is not None and not is_collective:
        raise UsageError(f"--in-network is of a collective; '{quoted(pattern)}' is none")
    _check_method(method, pattern, is_collective)
    if is_collective:
        of_patterns = {
            "--channels": channels, "--link-channels": link_channels, "--ports": ports, "--access": access,
            "--access-time": access_time, "--words": words, "--phases": phases, "--parts": parts,
            "--partition": partition, "--exchange": exchange, "--resume": resume or None, "--seed": seed or None,
            "--compiler": None if compiler is CompilerName.WEFT else compiler, "--whole": None if split else True,
            "--identity": None if placed else True,
        }  # fmt: skip
        collectives.refuse(pattern, [name for name, value in of_patterns.items() if value is not None])
        collectives.compile(
            pattern,
            estimands.subject(on, estimand),
            bytes,
            nodes,
            root,
            element,
            method.value,
            effort,
            None if in_network is None else in_network.value,
            blocks,
            output,
            force,
            shown,
        )
        return
    outputs.check_choice(resume, force)
    outputs.check(output, storing.SUFFIXES, force=force)
    compiling.check_limits(channels, link_channels, ports, phases)
    machine = compiling.described_machine(on, estimand)
    connections = find_pattern(
        pattern, machine, words=words, seed=seed, parts=parts, partition=partition, exchange=exchange, placed=placed
    )
    settings = (
        channels, link_channels, ports, access, access_time, compiler.value, effort, seed, phases, split
    )  # fmt: skip
    request = {
        "command": "compile", "pattern": pattern, "connections": compiling.fingerprint(connections), "machine": on,
        "estimand": estimand,
        "settings": [None if value is None else str(value) for value in settings],
    }  # fmt: skip
    with outputs.journal(output, request, resume=resume, force=force) as journal:
        with _Status() as status:
            schedule, interrupted = compile_connections(
                connections, machine, *settings, status.tell, *_candidates(journal)
            )  # fmt: skip
        if not interrupted:
            schedule = compiling.beside_messages(
                schedule, connections, machine, seed=seed, method=method.value,
                charges_alike=access is None and access_time is None,
            )  # fmt: skip
        schedule.verify(connections)
        if journal is not None and output is not None:
            deliver(storing.content(schedule.to_json(), output), output)
            journal.finish()
    if not outputs.show_plainly(_figures(schedule, len(connections)), shown):
        _summary(schedule, len(connections))
    if output is not None:
        outputs.written(output, plainly=shown is not outputs.Format.TABLE)
    if interrupted:
        kept = f"is in {output}; --force looks for a better one" if output else "is above; nothing was written (no -o)"
        typer.echo(f"interrupted: the best schedule so far {kept}", err=True)
        raise typer.Exit(errors.INTERRUPTED)


def _candidates(journal: Journal | None) -> tuple[str | None, Callable[[str], object] | None]:
    """The best plan that a journal has, and what appends a better one; of a plan only the last counts."""
    if journal is None:
        return None, None
    kept = journal.records[-1]["plan"] if journal.records else None
    return kept, lambda plan: journal.append({"plan": plan}, every=1.0)


class _Status:
    """What the compiler does, on standard error; nothing where that is no terminal."""

    def __init__(self) -> None:
        from rich.console import Console

        console = Console(stderr=True)
        self._status = console.status("compiling") if speaking.shows_progress(console.is_terminal) else None

    def __enter__(self) -> _Status:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def tell(self, doing: str, spent: float, phases: int | None, seconds: float | None) -> None:
        from weft import units

        best = "" if phases is None or seconds is None else f"; best so far {phases} phases, {units.seconds(seconds)}"
        speaking.log.info("%s (%s of the effort%s)", doing, f"{spent:.0%}", best)
        if self._status is not None:
            self._status.update(f"{doing} ({spent:.0%} of the effort{best}); Ctrl-C keeps the best")


def _show_patterns(shown: outputs.Format) -> None:
    import polars as pl
    from rich import box
    from rich.table import Table

    from weft.cli.printing import show as show_whole
    from weft.conset import patterns as known

    if outputs.show_plainly(pl.DataFrame(known.summaries()), shown):
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", style="cyan")
    table.add_column("what it is")
    for entry in known.summaries():
        table.add_row(entry["name"], entry["summary"])
    show_whole(table)


def _figures(schedule: Schedule, connections: int) -> pl.DataFrame:
    """The figures of a schedule in one row, for other tools; seconds."""
    import polars as pl

    def bound(unit: str) -> float | None:
        return max((value for _, value, of in schedule.lower_bounds if of == unit), default=None)

    row = {
        "pattern": schedule.pattern, "machine": schedule.machine, "connections": connections,
        "phases": schedule.phases, "least_phases": bound("phases"), "seconds": schedule.predicted_seconds,
        "least_seconds": bound("s"), "message_seconds": schedule.message_seconds, "faster": schedule.faster,
        "link_load_sum": schedule.link_load_sum,
    }  # fmt: skip
    return pl.DataFrame([row])


def _summary(schedule: Schedule, connections: int) -> None:
    """The figures of a schedule, each beside its lower bounds."""
    from weft import units
    from weft.inputs import quoted

    if speaking.is_quiet():
        return
    typer.echo(f"{quoted(schedule.pattern)} on {schedule.machine}: {connections:,} connections")
    phases, seconds = str(schedule.phases), units.seconds(schedule.predicted_seconds)
    if "phases" in schedule.optimal:
        phases += ", optimal: none has fewer phases"
    if "seconds" in schedule.optimal:
        seconds += ", optimal among schedules of phases"
    _line("phases", phases, [b for b in schedule.lower_bounds if b[2] == "phases"], lambda value: f"{value:.0f}")
    _line("predicted", seconds, [b for b in schedule.lower_bounds if b[2] == "s"], units.seconds)
    typer.echo(f"  largest link loads  {schedule.link_load_sum}, added up over the phases")
    _messages(schedule)


def _messages(schedule: Schedule) -> None:
    """What plain messages take, and whether to send them instead."""
    from weft import units

    if schedule.message_seconds is None:
        return
    phases, messages = schedule.predicted_seconds, schedule.message_seconds
    if schedule.faster == "messages":
        comparison = f"faster than the phases, {_times(phases, messages)}"
    else:
        comparison = f"slower than the phases, {_times(messages, phases)}"
    typer.echo(f"  by messages         {units.seconds(messages)}, {comparison}")
    typer.echo(f"  carried out by      {schedule.method}")


def _times(slower: float, faster: float) -> str:
    return f"{slower / faster:.3g} times" if faster > 0 else "which take no time"


def _line(name: str, figure: str, bounds: list[tuple[str, float, str]], show: Any) -> None:
    typer.echo(f"  {name:<19} {figure}")
    for bound, value, _ in sorted(bounds, key=lambda bound: -bound[1]):
        typer.echo(f"    at least          {show(value)}  ({bound})")


def verify(
    schedule: Annotated[Path, typer.Argument(help="A schedule that weft compile wrote.")],
    pattern: Annotated[
        str | None,
        typer.Option("--pattern", help="What the schedule must transfer: a named pattern or a file, as for compile."),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option("--on", help="The pattern's machine, if the schedule's is not in the catalogue."),
    ] = None,
    words: Annotated[int | None, typer.Option(min=1, help="Words of every connection.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed that it was compiled with.")] = 0,
    parts: Annotated[int | None, typer.Option(min=1, help="Parts of a matrix, graph or mesh.")] = None,
    partition: Annotated[Path | None, typer.Option(help="A file with the part of each row, node or element.")] = None,
    exchange: Annotated[str | None, typer.Option(help="What parts of a mesh exchange: vertex or row.")] = None,
    placed: Annotated[
        bool, typer.Option("--place/--identity", help="Whether parts were placed near each other.")
    ] = True,
) -> None:
    """Check a schedule with code that shares nothing with the compiler.

    The verifier checks that the schedule respects the machine's channels and links, that its times are those of its
    phases, and that the certificates of its lower bounds hold. With --pattern it also checks that the schedule
    transfers exactly that pattern: no connection is missing, added, of another length, or out of order.
    """
    from weft import catalogue
    from weft._core import UsageError
    from weft.conset import compiling
    from weft.conset import pattern as find_pattern

    if collectives.is_one(schedule):
        collectives.verify(schedule, pattern)
        return
    compiled = compiling.read(schedule)
    if pattern is None:
        against = ", of whatever pattern it is: --pattern says which it should be"
    else:
        connections = find_pattern(
            pattern, catalogue.machine(on or compiled.machine), words=words, seed=seed, parts=parts,
            partition=partition, exchange=exchange, placed=placed,
        )  # fmt: skip
        try:
            compiled.verify(connections)
        except UsageError as error:
            raise UsageError(f"{schedule}: refused: {error}") from None
        against = f", of the {len(connections):,} connections of {pattern}"
    phases = "1 phase" if compiled.phases == 1 else f"{compiled.phases} phases"
    bounds = f"{len(compiled.lower_bounds)} lower bounds"
    typer.echo(f"verified: {phases} on {compiled.machine}, {bounds}{against}")


def show(
    schedule: Annotated[Path, typer.Argument(help="A schedule that weft compile wrote.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to draw it (SCHEDULE.html).")] = None,
    force: outputs.Replace = False,
    shown: Annotated[
        Shown, typer.Option("--format", help="A page; one phase, tree or round as a picture (svg, png); or text.")
    ] = Shown.HTML,
    phase: Annotated[
        int,
        typer.Option(
            min=0,
            help="What svg and png draw: a phase; of a collective a round, or a tree counted over all stages.",
        ),
    ] = 0,
    verified: Annotated[
        bool, typer.Option("--verify/--unverified", help="Refuse a schedule that breaks a rule.")
    ] = True,
) -> None:
    """Draw a schedule: its phases on the topology, what links carry, when each processor is busy.

    The schedule is verified first: a file that was edited or breaks a rule is refused, with the reason. Of a compiled
    collective the page shows its trees or rounds, the cut that limits it, and what its links carry.
    """
    import json

    from weft import files
    from weft._core import UsageError
    from weft.conset import compiling, drawing, raster, schedule_page
    from weft.pages import document

    target = output or outputs.beside(schedule, shown.value)
    if shown is not Shown.TEXT:
        outputs.check(target, (f".{shown.value}",), force=force)
    elif output is not None:
        raise UsageError(f"-o {output}: --format text is printed; redirect it, or leave out -o")
    if shown is Shown.PNG:
        raster.check("a picture in PNG")
    if shown is Shown.HTML:
        document.check_pages("the page of a schedule")
    if collectives.is_one(schedule):
        collectives.show(schedule, shown.value, target, phase, verified)
        return
    compiled = compiling.read(schedule, verified)
    content = json.loads(compiled.to_json(written_out=True))
    if shown is Shown.TEXT:
        typer.echo(drawing.text(content), nl=False)
        return
    if shown is Shown.HTML:
        files.deliver(schedule_page.page(content).encode(), target)
    else:
        if phase >= len(content["phases"]):
            last = len(content["phases"]) - 1
            raise UsageError(
                f"there is no phase {phase}: {schedule} has {f'phases 0 to {last}' if last >= 0 else 'none'}"
            )
        picture = drawing.svg(content, phase)
        files.deliver(raster.png(picture) if shown is Shown.PNG else picture.encode(), target)
    typer.echo(f"{compiled.phases} phases, {'verified; ' if verified else ''}drawn in {target}")

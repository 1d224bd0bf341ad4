"""Collectives in `weft compile` and `weft verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from weft.cli import errors, outputs, speaking

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    import polars as pl

    from weft._core import CollectiveSchedule, Machine
    from weft.conset.collectives import Collective

_NEAR = 0.99
"""Below this part of the optimum it is said what reaches it."""


def is_compiled(pattern: str, on: str, length: str | None, nodes: str | None, root: int, blocks: Path | None) -> bool:
    """Whether `weft compile` is asked for a collective: an all-to-all is also a pattern, of words.

    Raises
    ------
    UsageError
        For one without a length, for a length or a group of a pattern, and for a root where there is none.
    """
    from weft._core import UsageError
    from weft.conset import collectives, patterns
    from weft.inputs import quoted

    if pattern not in collectives.names():
        known = ", ".join(collectives.names())
        if length is not None:
            raise UsageError(
                f"--bytes is of a collective ({known}); '{quoted(pattern)}' is none, its length is --words"
            )
        if nodes is not None or root != 0:
            raise UsageError(f"--nodes and --root are of a collective ({known}); '{quoted(pattern)}' is none")
        if blocks is not None:
            raise UsageError(f"--blocks is of all-to-all; '{quoted(pattern)}' has none")
        return False
    if blocks is not None and pattern != "all-to-all":
        raise UsageError(f"--blocks is of all-to-all; {pattern} has none")
    if blocks is None and length is None and pattern in patterns.names() and not on.endswith(".json"):
        if nodes is not None or root != 0:
            raise UsageError(f"--nodes and --root are of a collective; {pattern} is one with a length: --bytes 1M, say")
        return False
    if length is None and blocks is None:
        raise UsageError(f"{pattern}: expected the length of its buffer: --bytes 1M, say")
    if root != 0 and pattern not in ("broadcast", "reduce"):
        raise UsageError(f"--root is of broadcast and reduce; {pattern} has none")
    return True


def refuse(collective: str, options: list[str]) -> None:
    """Refuse options that mean nothing to a collective.

    Raises
    ------
    UsageError
        If there are any.
    """
    from weft._core import UsageError

    if options:
        raise UsageError(f"{', '.join(options)}: of a pattern, not of {collective}; leave it out")


def compile(
    collective: str,
    on: str | Machine,
    length: str | None,
    nodes: str | None,
    root: int,
    element: int,
    method: str,
    effort: float,
    in_network: str | None,
    blocks: Path | None,
    output: Path | None,
    force: bool,
    shown: outputs.Format,
) -> None:
    """Compile a collective, print its figures, write it where that is asked for."""
    from weft.conset import collectives, storing
    from weft.files import deliver

    outputs.check(output, storing.SUFFIXES, force=force)
    group = None if nodes is None else _group(nodes)
    table = None if blocks is None else _table(blocks)

    def compiled(method: str) -> Collective:
        return collectives.compile(
            collective, on, length, nodes=group, root=root, element_bytes=element, method=method, effort=effort,
            in_network=in_network, blocks=table,
        )  # fmt: skip

    chosen = compiled(method)
    schedule = chosen.schedule
    plainly = outputs.show_plainly(_figures(schedule, chosen.predict()), shown)
    says = not plainly and not speaking.is_quiet()
    if says:
        _summary(schedule, chosen.predict(), chosen.unpredicted)
        _considered(chosen)
    is_of_form = (
        schedule.form not in ("trees", "reduce-broadcast trees", "in-network trees", "packed paths")
        and schedule.efficiency < _NEAR
    )
    if says and not chosen.interrupted and method == "auto" and is_of_form:
        typer.echo(f"  --method throughput {_by_trees(compiled)}")
    if output is not None:
        deliver(storing.content(schedule.to_json(), output), output)
        outputs.written(output, plainly=plainly)
    if chosen.interrupted:
        kept = f"is in {output}" if output else "is above; nothing was written (no -o)"
        typer.echo(f"interrupted: the best schedule so far {kept}", err=True)
        raise typer.Exit(errors.INTERRUPTED)


def _by_trees(compiled: Callable[[str], Collective]) -> str:
    """What trees would reach beside a form that is chosen instead."""
    from weft import units
    from weft._core import UsageError

    try:
        others = compiled("throughput")
    except UsageError as error:
        return f"is not possible: {error}"
    share = f"{others.schedule.efficiency:.2%} of the certified optimum for long buffers"
    return f"{share}; this one {units.seconds(others.predict())}"


def _table(path: Path) -> npt.NDArray[Any]:
    """The bytes of blocks that a file has, as whole numbers.

    Raises
    ------
    UsageError
        For a file that cannot be read, or has something else.
    """
    import numpy as np

    from weft._core import UsageError
    from weft.inputs import path_shown, read_text

    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        lines = read_text(path, "bytes of blocks, rows of whole numbers", factor=8).splitlines()
        rows = [line.replace(",", " ").split() for line in lines if line.strip()]
        return np.array([[int(number) for number in row] for row in rows])
    except (OSError, ValueError, EOFError, OverflowError, MemoryError) as error:
        raise UsageError(f"{path_shown(path)}: no bytes of blocks, rows of as many whole numbers: {error}") from error


def _group(nodes: str) -> list[int]:
    from weft.launch.ranges import parse

    # In the order in which they are named: it is that of the ranks.
    return [node for part in nodes.split(",") for node in parse(part, "nodes", "one")]


def _figures(schedule: CollectiveSchedule, predicted: float) -> pl.DataFrame:
    """The figures of a schedule in one row, for other tools; seconds and bytes a second."""
    import polars as pl

    optimum = schedule.bytes / schedule.bound_seconds
    row = {
        "collective": schedule.collective, "root": schedule.root, "machine": schedule.machine,
        "ranks": schedule.ranks, "bytes": schedule.bytes, "trees": schedule.trees,
        "seconds": predicted, "least_seconds": schedule.bound_seconds,
        "bandwidth": optimum * schedule.efficiency, "largest_bandwidth": optimum,
    }  # fmt: skip
    return pl.DataFrame([row])


def _summary(schedule: CollectiveSchedule, predicted: float, unpredicted: str | None) -> None:
    from weft import units

    of_root = f" with root {schedule.root}" if schedule.root is not None else ""
    what = f"{schedule.form}, {_rounds(schedule)}" if schedule.rounds else _parts(schedule)
    typer.echo(
        f"{schedule.collective}{of_root} on {schedule.machine}: {schedule.ranks:,} ranks, "
        f"{units.length(schedule.bytes)}, {what}"
    )
    optimum = schedule.bytes / schedule.bound_seconds
    typer.echo(f"  predicted           {units.seconds(predicted)}")
    if unpredicted is not None:
        typer.echo(f"    not knowing       {unpredicted}")
    if schedule.has_switches:
        typer.echo("    not in            virtual time, which knows no switches that copy or add")
    typer.echo(f"    at least          {units.seconds(schedule.bound_seconds)}  ({_scope(schedule)})")
    typer.echo(f"  bandwidth           {units.rate(optimum * schedule.efficiency)}  (buffer by time, for long buffers)")
    typer.echo(f"    at most           {units.rate(optimum)}  (certified; {schedule.efficiency:.2%} of it is reached)")
    for operation, chunks, rate, bound, cut in schedule.stages:
        of_one = f"{chunks} {'chunk' if chunks == 1 else 'chunks'} a {_noun(schedule)}"
        pieces = "merged messages" if schedule.merged else of_one
        whose = "of the buffer," if operation == "reduce-broadcast" else "a root of"
        typer.echo(f"  {operation:<19} {units.rate(rate)} {whose} at most {units.rate(bound)}, {pieces}")
        if cut:
            typer.echo(f"    limited by        {_cut(cut)}")
    if priced := schedule.priced_links:
        typer.echo(f"    limited by        {_priced(priced)}")
    if schedule.exchange_cut:
        limit = _cut(schedule.exchange_cut, schedule.exchange_others)
        typer.echo(f"    limited by        {limit}")


def _noun(schedule: CollectiveSchedule) -> str:
    return "path" if schedule.collective == "all-to-all" else "tree"


def _parts(schedule: CollectiveSchedule) -> str:
    """How many trees there are, or paths and what they are."""
    form = f", {schedule.form}" if schedule.collective == "all-to-all" else ""
    return f"{schedule.trees:,} {_noun(schedule)}s{form}"


def _priced(links: list[tuple[str, str, float]]) -> str:
    """The links that earn most of a bound by prices."""
    shown = ", ".join(f"{start} to {end}" for start, end, _ in links[:3])
    more = f" and {len(links) - 3:,} more links" if len(links) > 3 else ""
    return f"what links carry: {shown}{more}"


def _scope(schedule: CollectiveSchedule) -> str:
    """What the bound leaves out, and which schedules it holds for."""
    if len(schedule.stages) > 1:
        return "by bandwidth alone, for reducing first and copying then"
    if schedule.exchange_others:
        return "by bandwidth alone, without coding elements"
    return "by bandwidth alone, whatever the form"


def _considered(chosen: Collective) -> None:
    """What was chosen from, the fastest first: by virtual time, or by the model where that was not looked at."""
    from rich import box
    from rich.table import Table

    from weft import units
    from weft.cli import printing

    if len(chosen.considered) < 2:
        return
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column("considered")
    shown.add_column("in virtual time", justify="right")
    shown.add_column("predicted", justify="right")
    seen: set[tuple[str, float | None]] = set()
    for form, predicted, simulated in sorted(chosen.considered, key=lambda one: (one[2] is None, one[2] or one[1])):
        if (form, simulated) in seen:
            continue
        seen.add((form, simulated))
        shown.add_row(form, "-" if simulated is None else units.seconds(simulated), units.seconds(predicted))
    printing.show(shown)


def _rounds(schedule: CollectiveSchedule) -> str:
    return "1 round" if schedule.rounds == 1 else f"{schedule.rounds:,} rounds"


def _cut(cut: list[str], others: int = 0) -> str:
    """The smallest description of a cut: its vertices, or how many; of several sets of vertices, the first."""
    shown = f"{', '.join(cut[:4])}{f' and {len(cut) - 4:,} more' if len(cut) > 4 else ''}"
    if others:
        return f"what leaves each of {others + 1:,} sets, such as {shown}"
    return f"what crosses between {shown} and the rest"


def is_one(path: Path) -> bool:
    """Whether a file has a compiled collective."""
    from weft.conset import collectives

    return collectives.is_one(path)


def show(path: Path, shown: str, target: Path, number: int, verified: bool) -> None:
    """Draw a compiled collective, or print its rounds or trees.

    Raises
    ------
    UsageError
        For one that breaks a rule, and for a tree or round that there is not.
    """
    import json

    from weft import files
    from weft._core import UsageError
    from weft.conset import collective_drawing, collective_page, collective_pictures, collectives, raster
    from weft.inputs import path_shown

    schedule = collectives.read(path, verified)
    if shown == "text":
        typer.echo(collective_drawing.text(schedule), nl=False)
        return
    try:
        if shown == "html":
            files.deliver(collective_page.page(schedule).encode(), target)
        else:
            picture = collective_pictures.svg(json.loads(schedule.to_json()), number)
            files.deliver(raster.png(picture) if shown == "png" else picture.encode(), target)
    except IndexError:
        if verified:
            raise
        raise UsageError(
            f"{path_shown(path)}: names a link, a route or a vertex that it has not; weft verify says where"
        ) from None
    what = f"{schedule.form} in {schedule.rounds:,} rounds" if schedule.rounds else _parts(schedule)
    typer.echo(f"{schedule.collective}, {what}, {'verified; ' if verified else ''}drawn in {target}")


def verify(path: Path, pattern: str | None) -> None:
    """Verify the file of a compiled collective; with `pattern`, also that it is that collective.

    Raises
    ------
    UsageError
        For one that breaks a rule or is another.
    """
    from weft._core import UsageError
    from weft.conset import collectives
    from weft.inputs import path_shown, quoted

    schedule = collectives.read(path)
    if pattern is not None and pattern != schedule.collective:
        raise UsageError(f"{path_shown(path)}: refused: it is of {schedule.collective}, not '{quoted(pattern)}'")
    what = f"{schedule.form} in {_rounds(schedule)}" if schedule.rounds else _parts(schedule)
    typer.echo(
        f"verified: {schedule.collective} on {schedule.machine}, {schedule.ranks:,} ranks, {what}, "
        f"{schedule.efficiency:.2%} of the certified optimum"
    )

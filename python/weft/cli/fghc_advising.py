"""`weft fghc advise`."""

from __future__ import annotations

import enum
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli import outputs

if TYPE_CHECKING:
    from weft.fghc.advising import Advice, Standing

_SHOWN_SITES = 10


class Format(enum.StrEnum):
    """How advice is shown: it is no table, but a few."""

    TABLE = "table"
    JSON = "json"


def advise(
    files: Annotated[list[Path], typer.Argument(help="Files with modules; a goal without a module means the first.")],
    goal: Annotated[str, typer.Option(help="The goal. The variable PEs in it stands for the number of PEs.")] = "main",
    pes: Annotated[int, typer.Option("-n", "--pes", min=2, help="Processing elements.")] = 2,
    on: Annotated[
        str | None, typer.Option(help="A described machine, in virtual time. Default: threads of this process.")
    ] = None,
    lowest: Annotated[
        str, typer.Option(help="Share of the ideal performance that communication must leave, as 50%.")
    ] = "50%",
    grain: Annotated[
        tuple[str, str] | None,
        typer.Option(help="A variable of the goal and its range, to find the best value: --grain Depth 1:8."),
    ] = None,
    reduction_time: Annotated[
        float | None, typer.Option(help="Seconds of a reduction on the described machine, instead of its file's.")
    ] = None,
    step_time: Annotated[
        float | None, typer.Option(help="Seconds of a step of the communication software there.")
    ] = None,
    enlarge: Annotated[
        bool, typer.Option("--enlarge", help="With more PEs than nodes, simulate a larger machine of the same parts.")
    ] = False,
    shown: Annotated[Format, typer.Option("--format", help="For people, or all of it as JSON.")] = Format.TABLE,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write what was counted as samples: .csv or .parquet.")
    ] = None,
    force: outputs.Replace = False,
    as_json: Annotated[bool, typer.Option("--json", help="What --format json was called.", hidden=True)] = False,
) -> None:
    """Say how much a program may communicate, what in it sends most, and which grain is best.

    A program loses by PEs that do not work and by messages. From a run: the work rate, the messages per reduction
    (communication rate), and how many reductions a message costs; and from these the largest communication rate at
    which messages alone leave the given share of the ideal performance (Taki 1988, section 8).
    """
    from weft.cli import progress
    from weft.fghc.advising import advise as find

    outputs.check(output, (".csv", ".parquet"), force=force)
    options: dict[str, Any] = (
        {"reduction_time": reduction_time, "step_time": step_time, "enlarge": enlarge} if on is not None else {}
    )
    with progress.status() as tell:
        advice = find(
            *files, goal=goal, pes=pes, on=on, lowest=_share(lowest), grain=None if grain is None else grain[0],
            grains=None if grain is None else _range(grain[1]), progress=tell, **options,
        )  # fmt: skip
    for assumption in advice.best.run.assumed:
        typer.echo(f"assumed: {assumption}", err=True)
    if output is not None:
        from weft import samples
        from weft.fghc import table
        from weft.files import deliver

        deliver(samples.content(table(standing.run for standing in advice.standings), output), output)
        outputs.wrote(f"samples: {output}")
    if as_json or shown is Format.JSON:
        typer.echo(json.dumps(_plain(advice), indent=2))
    else:
        _show(advice)


def _share(text: str) -> float:
    from weft._core import UsageError

    match = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*(%?)", text.strip())
    if match is None:
        raise UsageError(f"--lowest: '{text}' is no share; expected for example 50% or 0.5")
    return float(match[1]) / (100.0 if match[2] else 1.0)


def _range(text: str) -> tuple[int, int]:
    from weft._core import UsageError

    match = re.fullmatch(r"\s*(-?[0-9]+)\s*:\s*(-?[0-9]+)\s*", text)
    if match is None:
        raise UsageError(f"--grain: '{text}' is no range; expected the least and the largest value, as 1:8")
    return int(match[1]), int(match[2])


def _show(advice: Advice) -> None:
    best = advice.best
    typer.echo(f"{best.run.machine}, {len(best.run.pes)} PEs, {best.run.goal}")
    for name, value in _lines(best):
        typer.echo(f"  {name:<28}{value}")
    if len(advice.standings) > 1:
        typer.echo()
        _table(advice)
    typer.echo()
    typer.echo(_verdict(advice))
    _sites(advice)


def _lines(best: Standing) -> list[tuple[str, str]]:
    done = best.run
    time = "no messages" if best.relative_time is None else f"{best.relative_time:.3g} reductions a message"
    return [
        ("ideal performance", f"{_rate(best.ideal)} reductions/s"),
        ("performance", f"{_rate(done.performance)} reductions/s, {best.share:.1%} of the ideal"),
        ("average work rate", f"{done.work_rate:.1%}"),
        ("communication rate", f"{done.communication_rate:.3g} messages a reduction"),
        ("relative communication time", time),
    ]


def _rate(value: float) -> str:
    from weft import units

    return units.digits(value)


def _table(advice: Advice) -> None:
    from rich.table import Table

    from weft.cli import printing

    shown = Table("grain", "performance", "of the ideal", "work rate", "communication rate", "within the bound")
    for standing in advice.standings:
        mark = " best" if standing is advice.best else ""
        shown.add_row(
            f"{standing.grain}{mark}", _rate(standing.run.performance), f"{standing.share:.1%}",
            f"{standing.run.work_rate:.1%}", f"{standing.run.communication_rate:.3g}",
            "yes" if standing.keeps else "no",
        )  # fmt: skip
    printing.show(shown)


def _verdict(advice: Advice) -> str:
    best = advice.best
    if best.largest_rate is None:
        return "It sends no messages that cost anything: communication takes nothing from its performance."
    rate = best.run.communication_rate
    margin = best.largest_rate / rate if rate else float("inf")
    where = f"{margin:.3g} times below it" if best.keeps else f"{1 / margin:.3g} times above it"
    text = (
        f"Messages alone leave {advice.lowest:.0%} of the ideal performance up to {best.largest_rate:.3g} messages a "
        f"reduction; this run is {where}."
    )
    if not best.keeps:
        return f"{text} Send larger pieces of work, or fewer references with them."
    if best.run.work_rate < advice.lowest:
        return f"{text} It loses by PEs without work: send smaller pieces."
    return text


def _sites(advice: Advice) -> None:
    sites = advice.sites
    if not sites:
        return
    from rich.table import Table

    from weft.cli import printing

    total = max(1, advice.best.run.messages)
    typer.echo("\nWhat sends most:")
    shown = Table("goal with a pragma", "place", "goals", "words a goal", "references a goal", "messages", "of all")
    for site in sites[:_SHOWN_SITES]:
        shown.add_row(
            site.text, f"{site.file}:{site.line}", f"{site.throws}", f"{site.words / max(1, site.throws):.1f}",
            f"{site.references / max(1, site.throws):.1f}", f"{site.messages}", f"{site.messages / total:.0%}",
        )  # fmt: skip
    printing.show(shown)


def _plain(advice: Advice) -> dict[str, object]:
    def of(standing: Standing) -> dict[str, object]:
        done = standing.run
        return {
            "grain": standing.grain, "goal": done.goal, "performance": done.performance, "ideal": standing.ideal,
            "work_rate": done.work_rate, "communication_rate": done.communication_rate,
            "relative_time": standing.relative_time, "largest_rate": standing.largest_rate, "keeps": standing.keeps,
        }  # fmt: skip

    import dataclasses

    return {
        "machine": advice.best.run.machine, "pes": len(advice.best.run.pes), "lowest": advice.lowest,
        "best": of(advice.best), "tried": [of(standing) for standing in advice.standings],
        "sites": [dataclasses.asdict(site) for site in advice.sites],
    }  # fmt: skip

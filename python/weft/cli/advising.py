"""`weft advise`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import outputs, teaching
from weft.cli.estimating import CostsFile, File, On, Size, Words, running, words_for

if TYPE_CHECKING:
    import polars as pl

    from weft.advice import Advice
    from weft.advice.verify import Measured

_EXAMPLES = """
weft advise programs/fft.py --on cm2-8k  # what to change for a Connection Machine
weft advise programs/histogram.py --on here  # other advice: this machine has caches and no NEWS wires
weft advise programs/fft.py --on here --verify  # measure both forms here
weft advise programs/spmv.py --on cm2-8k --format csv  # for other tools
"""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=teaching.command(_EXAMPLES, long=True), no_args_is_help=True)(advise)


def advise(
    file: File,
    words: Words = None,
    on: On = "here",
    size: Size = None,
    costs: CostsFile = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Measure both forms here, on data like the program's.")
    ] = False,
    shown: outputs.Shown = outputs.Format.TABLE,
) -> None:
    """Say which communication of a program would cost less in another form on a machine, where, and how much.

    Runs the program once, here, and compares equivalent forms by what their operations cost on the machine: reading and
    writing one element or fetching it; fetching or storing; multiple broadcast in three modes or a spread; the router
    or the NEWS grid, by distance; many sends or one sorted send; clustered or scattered destinations.
    """
    from weft.advice import advise as advised

    with running(file):
        advice = advised(file, on, arguments=words_for(size, words), costs=costs)
    measured: list[Measured | None] = [None] * len(advice.suggestions)
    if verify:
        measured = _verified(advice)
    table = _table(advice, measured)
    if shown is outputs.Format.CSV:
        sys.stdout.write(table.write_csv())
    elif shown is outputs.Format.JSON:
        import json

        content = {"machine": advice.machine, "program": advice.program, "suggestions": table.to_dicts()}
        sys.stdout.write(json.dumps(content, indent=2) + "\n")
    else:
        _show(advice, measured)
    for note in advice.unpriced:
        typer.echo(f"note: a form was not compared: {note}", err=True)


def _verified(advice: Advice) -> list[Measured | None]:
    from weft.advice.verify import verify
    from weft.cli.progress import status

    measured: list[Measured | None] = []
    with status() as tell:
        for number, suggestion in enumerate(advice.suggestions, 1):
            tell(f"measuring both forms, {number} of {len(advice.suggestions)}")
            measured.append(verify(suggestion))
    return measured


def _table(advice: Advice, measured: list[Measured | None]) -> pl.DataFrame:
    import polars as pl

    rows = [
        {
            "file": one.file,
            "line": one.line,
            "rule": one.rule.name,
            "count": one.count,
            "now": one.now.name,
            "better": one.better.name,
            "code": one.better.code,
            "condition": one.better.condition,
            "now_s": one.now_s,
            "better_s": one.better_s,
            "measured_now_s": None if of is None else of.now_s,
            "measured_better_s": None if of is None else of.better_s,
        }
        for one, of in zip(advice.suggestions, measured, strict=True)
    ]
    texts = ("file", "rule", "now", "better", "code", "condition")
    counts = ("line", "count")
    times = ("now_s", "better_s", "measured_now_s", "measured_better_s")
    schema: dict[str, pl.DataType] = {}
    for name in rows[0] if rows else (*texts, *counts, *times):
        schema[name] = pl.String() if name in texts else pl.Int64() if name in counts else pl.Float64()
    return pl.DataFrame(rows, schema=schema)


def _show(advice: Advice, measured: list[Measured | None]) -> None:
    from rich.text import Text

    from weft.cli.printing import show
    from weft.units import digits, seconds

    if not advice.suggestions:
        show(Text(str(advice)))
        return
    for one, of in zip(advice.suggestions, measured, strict=True):
        show(Text.assemble((f"{one.file}:{one.line}", "bold"), f"  {one.better.name} instead of {one.now.name}"))
        show(Text(f"    {one.now.code}  ->  {one.better.code}"))
        saved = (
            f"saves {seconds(one.saved_s)} of {seconds(one.now_s)} on {advice.machine}, {digits(one.factor, 2)} times"
        )
        show(Text(f"    {saved}, in {one.count} executions"))
        if one.better.condition:
            show(Text(f"    if {one.better.condition}", style="dim"))
        if of is not None:
            verdict = (
                f"{digits(of.factor, 2)} times faster" if of.factor >= 1 else f"{digits(1 / of.factor, 2)} times slower"
            )
            show(Text(f"    measured here: {seconds(of.now_s)} and {seconds(of.better_s)}, {verdict}", style="cyan"))

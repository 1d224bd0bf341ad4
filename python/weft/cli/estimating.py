"""`weft estimate` and `weft calibrate`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import outputs, teaching

if TYPE_CHECKING:
    from weft.estimation import Estimate, MeasuredCosts

_EXAMPLES = """
weft estimate programs/gauss.py --size 63 --on cm2-8k  # as tables 14 and 15 of Wu and Shu 1989
weft estimate programs/life.py --on hgx-h100  # a GPU: launches, memory, scattered addresses
weft estimate programs/gauss.py --on here  # this machine, which `weft calibrate` has measured
weft estimate programs/gauss.py --on here --now  # at the pace that it has now, where others share its hardware
weft estimate programs/fft.py --on cm2-8k --format csv > fft.csv  # for other tools; the last row is the total
weft estimate programs/jacobi.py --on cm2-8k -- --size 128 --sweeps 50  # arguments of the program after --
"""

_CALIBRATE_EXAMPLES = """
weft calibrate  # two to three minutes; then `weft estimate FILE.py --on here`
weft calibrate --device -o gpu.toml  # a GPU or TPU that JAX has; then `weft estimate FILE.py --on gpu.toml`
weft calibrate -o node17.toml  # costs of a compute node, to estimate with elsewhere:
weft estimate FILE.py --costs node17.toml
"""


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(cls=teaching.command(_EXAMPLES, long=True), no_args_is_help=True)(estimate)
    app.command(cls=teaching.command(_CALIBRATE_EXAMPLES, long=True))(calibrate)


def words_for(size: int | None, words: list[str] | None) -> list[str]:
    """The words that a program is started with."""
    return [*(["--size", str(size)] if size is not None else []), *(words or [])]


File = Annotated[Path, typer.Argument(metavar="FILE.py", help="A program with parallel variables (weft.pvar.VPSet).")]
Words = Annotated[list[str] | None, typer.Argument(metavar="[-- WORDS]", help="Arguments of the program.")]
On = Annotated[
    str,
    typer.Option("--on", help="here, cm2-8k, cm200, hgx-h100, tpu-v4, or a machine file with costs of operations."),
]
Size = Annotated[int | None, typer.Option("--size", min=1, help="Passed to the program as --size.")]
CostsFile = Annotated[
    Path | None, typer.Option("--costs", help="Costs for --on here: a file of weft calibrate. Default: this machine's.")
]

Now = Annotated[
    bool,
    typer.Option("--now", help="Of here: time parts of the calibration again first, for the pace that it has now."),
]


def estimate(
    file: File,
    words: Words = None,
    on: On = "here",
    size: Size = None,
    costs: CostsFile = None,
    now: Now = False,
    shown: outputs.Shown = outputs.Format.TABLE,
) -> None:
    """Estimate a program's time on a machine, from the operations that it executes.

    Runs the program once, here, records its operations on parallel variables, and adds up what they take on the
    machine: real time, and on a Connection Machine also CM time. The program's own output is not shown.
    """
    from weft.estimation import estimate as estimate_program

    with running(file):
        estimated = estimate_program(file, on, arguments=words_for(size, words), costs=costs, now=now)
    if shown is outputs.Format.CSV:
        sys.stdout.write(estimated.table().write_csv())
    elif shown is outputs.Format.JSON:
        sys.stdout.write(_json(estimated))
    else:
        _show(estimated)
        return
    for note in estimated.notes:
        typer.echo(f"note: {note}", err=True)


@contextlib.contextmanager
def running(file: Path) -> Iterator[None]:
    """A sign of life while the program runs, on a terminal."""
    from weft.cli.progress import status

    with status() as tell:
        tell(f"running {file.name} for its operations")
        yield


def _json(estimated: Estimate) -> str:
    import json
    from dataclasses import asdict

    return json.dumps(asdict(estimated), indent=2) + "\n"


def _show(estimated: Estimate) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from weft.cli.printing import show
    from weft.units import seconds, share

    total = estimated.total
    cm = total.cm_s is not None
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_footer=True, title=f"{estimated.program} on {estimated.machine}"
    )
    table.title_justify = "left"
    table.add_column("operation", footer="total")
    table.add_column("count", justify="right", footer=str(total.count))
    table.add_column("real time", justify="right", footer=seconds(total.real_s))
    table.add_column("share", justify="right")
    if cm:
        table.add_column("CM time", justify="right", footer=seconds(total.cm_s))
    for line in estimated.lines:
        part = line.real_s / total.real_s if total.real_s else None
        table.add_row(
            line.operation,
            str(line.count),
            seconds(line.real_s),
            share(part),
            *([seconds(line.cm_s)] if cm else []),
        )
    show(table)
    show(Text(f"{estimated.interval} of the total: {seconds(total.low_s)} to {seconds(total.high_s)}"))
    for note in estimated.notes:
        show(Text(f"note: {note}", style="dim"))


def calibrate(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file (.toml). Default: in your cache folder.")
    ] = None,
    programs: Annotated[int, typer.Option(min=16, help="Random programs to time: more are more exact.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random programs.")] = 1,
    budget: Annotated[
        float,
        typer.Option(min=0.0, help="Time no further program after this many seconds; fewer programs are less exact."),
    ] = 180.0,
    device: Annotated[
        bool,
        typer.Option(
            "--device", help="Measure JAX's first device instead, and write it as a machine file (device.toml)."
        ),
    ] = False,
    resume: outputs.Resume = False,
    force: outputs.Force = False,
) -> None:
    """Measure what operations on parallel variables cost on this machine, for `weft estimate --on here`.

    Times random programs of all sizes, with selections of all densities, and fits the cost of each operation to them.
    This takes some 150 seconds on an otherwise idle machine. If other work (on this system, or of others on the same
    processor) slows it down, programs that were not timed at full speed are timed again until the budget is spent; the
    effect on the intervals of estimates is reported. Every program that was timed is kept in a journal beside the
    costs. However the command ended, --resume continues from there.

    With --device the figures of a GPU or a TPU are measured through JAX, in a minute or two, and operations that they
    were not made of are compared with what the figures say. The options of random programs do not apply.
    """
    if device:
        _calibrate_device(output or Path("device.toml"), force)
        return
    from weft.cli.interrupting import terminating_is_interrupting
    from weft.cli.progress import Bar
    from weft.estimation import calibrate as calibrated
    from weft.estimation.calibrating import VISITS
    from weft.estimation.costs_file import default_path

    outputs.check_choice(resume, force)
    with terminating_is_interrupting(), Bar("timing random programs") as bar:
        bar.launch(0, VISITS * programs, VISITS * programs)
        done = 0

        def progress(now: int, of: int) -> None:
            nonlocal done
            bar.rows(now - done)
            done = now
            if of > VISITS * programs:
                bar.launch(1, of, of - now)

        costs = calibrated(
            output, programs=programs, seed=seed, budget=budget, resume=resume, force=force, progress=progress,
            journal=outputs.journal,
        )  # fmt: skip
    _show_costs(costs)
    outputs.wrote(f"costs: {output or default_path()}")


def _calibrate_device(output: Path, force: bool) -> None:
    """Measure JAX's first device, compare other operations with what was measured, and write a machine file."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from weft import files
    from weft.cli.printing import show
    from weft.cli.progress import status
    from weft.estimation.device import measure_device
    from weft.estimation.device_check import compare_operations, error_of
    from weft.units import seconds, share

    outputs.check(output, [".toml"], force=force)
    with status() as tell:
        costs = measure_device(lambda done, of: tell(f"measuring the device: {done} of {of} groups of figures"))
        compared = []
        for one in compare_operations(costs.machine(output.stem)):
            tell(f"comparing operations: {one.operation}, {one.size} elements")
            compared.append(one)
    error = error_of(compared)
    if costs.device.endswith("(cpu)"):
        outputs.note("JAX has no GPU or TPU here: this was the processor, for which `weft calibrate` does better")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("operation")
    for title in ("elements", "measured", "estimated", "error"):
        table.add_column(title, justify="right")
    for one in compared:
        table.add_row(
            one.operation, f"{one.size:,}", seconds(one.measured_s), seconds(one.estimated_s), f"{one.error:+.0%}"
        )
    show(table)
    show(Text(f"{costs.device}: nine of ten operations were estimated within {share(error)}"))
    files.write_text(costs.machine(output.stem, error).to_toml(), output)
    outputs.wrote(f"machine: {output}")


SLOW = 0.1
"""Share of programs not timed at full pace that is worth a word."""


def _show_costs(costs: MeasuredCosts) -> None:
    import statistics

    from rich.text import Text

    from weft.cli.printing import show
    from weft.estimation.estimates import coverage, quantiles
    from weft.units import share

    errors = [abs(error) for error in costs.held_out]
    unfinished = int(costs.about.get("unfinished", 0))
    show(
        Text(
            f"{len(costs.curves)} kinds of operations; programs that the fit had not seen were predicted to "
            f"{share(statistics.median(errors))} (median), {share(max(errors))} (worst of {len(errors)})"
        )
    )
    if unfinished:
        off, under = quantiles(costs.held_out)
        show(
            Text(
                f"the budget ended it: {costs.about['programs']} programs were timed, each "
                f"{costs.about['visits']:g} times on average; {unfinished} more visits were wanted. A program that is "
                f"estimated at 1 s takes {1 / (1 + off):.2f} to {1 / (1 + under):.2f} s ({coverage(len(errors)):.0%}); "
                "a longer --budget, or a machine that does nothing else, makes that narrower"
            )
        )
    slow = float(costs.about.get("slow", 0.0))
    if slow > SLOW:
        show(
            Text(
                f"{share(slow)} of the programs were never timed at the processor's full pace, and their times are "
                "corrected: calibrate again when the machine is free"
            )
        )

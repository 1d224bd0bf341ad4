"""`weft fghc run`."""

from __future__ import annotations

import dataclasses
import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import estimands, outputs

if TYPE_CHECKING:
    from weft.fghc import Run

_SHOWN_WAITING = 20
_FACTORS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def run(
    files: Annotated[list[Path], typer.Argument(help="Files with modules; a goal without a module means the first.")],
    goal: Annotated[str, typer.Option(help="The goal to run; values of its variables are shown at the end.")] = "main",
    pes: Annotated[
        int | None,
        typer.Option(
            "-n", "--pes", min=1, help="Processing elements: threads of this process. Default: 1, or the ranks."
        ),
    ] = None,
    stats: Annotated[
        outputs.Format | None, typer.Option(help="Show the counts of each PE and in total, and the elapsed time.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Take goals in a random order: a program must not depend on it.")
    ] = None,
    heap: Annotated[str | None, typer.Option(help="Largest heap of a PE in use, in bytes or as 64M, 2G.")] = None,
    interpret: Annotated[
        bool, typer.Option("--interpret", help="Interpret instead of translating to native code.")
    ] = False,
    argument: Annotated[list[str] | None, typer.Option(help="An argument of the program (argv); repeatable.")] = None,
    on: Annotated[
        str | None, typer.Option(help="A described machine, in virtual time: multi-psi-v1, or a machine file.")
    ] = None,
    estimand: estimands.Chosen = None,
    reduction_time: Annotated[
        float | None, typer.Option(help="Seconds of a reduction on the described machine, instead of its file's.")
    ] = None,
    step_time: Annotated[
        float | None,
        typer.Option(help="Seconds of a step of the communication software there: message, word, reference, AND-tree."),
    ] = None,
    enlarge: Annotated[
        bool, typer.Option("--enlarge", help="With more PEs than nodes, simulate a larger machine of the same parts.")
    ] = False,
    look_every: Annotated[
        int | None,
        typer.Option(min=1, help="Reductions between checks for messages. Default: 10,000; in virtual time 1."),
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Write the timeline to this .json file, for Perfetto or Chrome's tracing page.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write what was counted as samples: .csv or .parquet.")
    ] = None,
    force: outputs.Replace = False,
) -> None:
    """Run a program on one processing element or on several, here or on a described machine.

    Started by an MPI launcher (mpiexec -n 4 weft fghc run ...), each rank is a processing element. Goal@node(N) numbers
    PEs from 0, alloc(P)@@Goal as the Multi-PSI's programs do: from 7-n to 6 or from 1 to n, where 6 is the PE that the
    program starts on.

    With --on, PEs are nodes of a described machine and time is virtual and repeatable: reductions and the software of
    messages cost what the machine file's table [fghc] says, or what is derived and then said on standard error.

    --heap is what a PE may have in use: its heap, twice that while it is collected, and what the program makes
    beside it.
    Unification makes cyclic values without a check, as in Prolog; they are rational trees, equal where nothing on any
    path differs, and X = f(X) is written @(_S1,[_S1=f(_S1)]).

    Exits with 0 when all goals have ended, 1 when one fails or goals wait for ever (they are shown, with the variables
    they wait for), 130 after Ctrl-C, or with the program's own code.
    """
    from weft import fghc
    from weft.cli import errors

    words, size = argument or [], _bytes(heap)
    outputs.check(trace, (".json",), force=force)
    outputs.check(output, (".csv", ".parquet"), force=force)
    if on is None and estimand is not None:
        estimands.refuse_here("here", estimand)
    if on is not None or _ranks(pes) is None:
        done = fghc.run(
            *files, goal=goal, pes=pes or 1, seed=seed, heap=size, arguments=words, interpret=interpret, capture=False,
            on=None if on is None else estimands.subject(on, estimand), reduction_time=reduction_time,
            step_time=step_time, enlarge=enlarge, look_every=look_every,
            trace=trace, force=force,
        )  # fmt: skip
        for assumption in done.assumed:
            typer.echo(f"assumed: {assumption}", err=True)
        if trace is not None:
            outputs.wrote(f"timeline: {trace}")
    else:
        from weft._core import UsageError
        from weft.launch import mpiexec

        if trace is not None:
            raise UsageError("--trace: a timeline needs all PEs in one process; leave the MPI launcher out")
        # Ctrl-C that reaches a rank after its part of the run would end it with an error, for which the launcher
        # kills the first rank while that says what the run was doing.
        signal.signal(signal.SIGINT, lambda number, frame: None)
        of_all = fghc.run_rank(
            *files,
            library=mpiexec.library(),
            goal=goal,
            seed=seed,
            heap=size,
            arguments=words,
            interpret=interpret,
        )
        if of_all is None:
            return
        done = of_all
    if done.status in ("done", "suspended"):
        for name, value in done.answers:
            typer.echo(f"{name} = {value}")
    if stats is not None:
        _show(done, stats)
    if output is not None:
        from weft import samples
        from weft.files import deliver

        deliver(samples.content(done.samples(), output), output)
        outputs.wrote(f"samples: {output}")
    match done.status:
        case "failed":
            errors.say(done.message)
        case "suspended":
            errors.say(_waiting(done, "the program cannot go on: goals wait for variables that nothing will bind"))
        case "interrupted":
            errors.say(_interrupted(done))
    codes = {"done": 0, "suspended": errors.FAILURE, "failed": errors.FAILURE, "interrupted": errors.INTERRUPTED}
    code = done.exit_code if done.exit_code is not None else codes[done.status]
    if code:
        raise typer.Exit(code & 0xFF)


def _ranks(pes: int | None) -> int | None:
    """The number of ranks of the MPI job that this process belongs to; `None` without one of several ranks."""
    from weft._core import UsageError
    from weft.launch.environment import launcher

    job = launcher()
    if job is None or job.size == 1:
        return None
    if pes not in (None, job.size):
        raise UsageError(f"-n {pes}, but {job.name} has started {job.size} ranks: each is a processing element")
    return job.size


def _bytes(text: str | None) -> int | None:
    if text is None:
        return None
    from weft._core import UsageError

    digits, factor = text, 1
    if text and text[-1].upper() in _FACTORS:
        digits, factor = text[:-1], _FACTORS[text[-1].upper()]
    if not digits.isdecimal():
        raise UsageError(f"--heap: '{text}' is no number of bytes; expected for example 67108864, 64M or 2G")
    return int(digits) * factor


def _waiting(done: Run, opening: str) -> str:
    lines = [f"    {waiting}" for waiting in done.waiting[:_SHOWN_WAITING]]
    if done.waiting_count > len(lines):
        lines.append(f"    and {done.waiting_count - len(lines):,} more")
    return "\n".join([opening, *lines])


def _interrupted(done: Run) -> str:
    lines = [f"interrupted after {done.reductions:,} reductions in {done.seconds:.2f} s; the next goals:"]
    lines += [f"    {goal}" for goal in done.ready]
    if done.waiting:
        lines.append(_waiting(done, "goals that wait:"))
    return "\n".join(lines)


def _rows(done: Run) -> list[dict[str, object]]:
    shown = [field.name for field in dataclasses.fields(done.pes[0]) if field.name not in ("sent", "received")]
    if done.machine == "here":
        shown.remove("communication_s")
    rows = [{name: getattr(pe, name) for name in shown} for pe in done.pes]
    total = {name: sum(row[name] for row in rows) for name in rows[0] if name != "pe"}
    return [*rows, {"pe": "total", **total}]


def _show(done: Run, shown: outputs.Format) -> None:
    rows = _rows(done)
    if shown is outputs.Format.JSON:
        typer.echo(json.dumps({"pes": rows[:-1], "total": rows[-1], "elapsed_s": done.seconds}))
        return
    if shown is outputs.Format.CSV:
        typer.echo(",".join([*rows[0], "elapsed_s"]))
        for row in rows:
            typer.echo(",".join(str(value) for value in [*row.values(), done.seconds]))
        return
    from rich.table import Table

    from weft.cli import printing

    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(f"{value:.6f}" if isinstance(value, float) else f"{value}" for value in row.values()))
    printing.show(table)
    typer.echo(f"elapsed {done.seconds:.6f} s")

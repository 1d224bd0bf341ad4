"""`weft run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import errors, estimands, outputs, speaking, teaching

if TYPE_CHECKING:
    from weft.hosting.run import HostedRun

_EXAMPLES = """
weft run --on ipsc860 -n 64 program.py  # a script with mpi4py on 64 nodes of an iPSC/860
weft run --on frontera -n 256 program.py --steps 10  # what follows the script is the script's
weft run --on frontera -n 256 ./program  # a compiled program, as it was built against MPICH: a process for each rank
weft run --on frontera -n 8 --isolate program.py  # a script whose ranks are processes too
weft run --on frontera -n 64 --ranks-per-node 16 program.py  # sixteen ranks on each of four nodes
weft run --on ipsc860 -n 4 --placement 0,1,3,2 program.py  # rank by rank, the node that it runs on
weft run --on ipsc860 -n 4 --trace timeline.json program.py  # what each rank did when, for Perfetto
weft run --on ipsc860 -n 4 --compute measured program.py  # computation takes what it would on its nodes
weft run --on here.toml -n 2 --compute 1 program.py  # computation takes what it takes here
weft run --on here -n 2 ./program  # on real MPI, on this machine: nothing is replaced
"""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    settings = {"allow_interspersed_args": False, "ignore_unknown_options": True}
    app.command(cls=teaching.command(_EXAMPLES, long=True), no_args_is_help=True, context_settings=settings)(run)


def run(
    program: Annotated[
        Path, typer.Argument(help="A Python script that uses mpi4py, or a compiled MPI program; both unmodified.")
    ],
    arguments: Annotated[list[str] | None, typer.Argument(help="Arguments of the program.")] = None,
    on: Annotated[
        str, typer.Option("--on", help="The machine: a name of the catalogue or a machine file; here means real MPI.")
    ] = "",
    ranks: Annotated[int, typer.Option("-n", "--ranks", min=1, help="How many ranks run.")] = 2,
    compute: Annotated[
        str | None,
        typer.Option(
            help="How to count computation between calls. measured: processor time here, times the ratio of the node "
            "rates of the two machines; 50 or scale=50: processor time here, times that factor; declared (the "
            "default): only what the program declares takes time, and two runs are identical."
        ),
    ] = None,
    isolate: Annotated[
        bool | None,
        typer.Option(
            "--isolate/--no-isolate",
            help="Give every rank of a script its own process, as compiled programs always have. Default: scripts with "
            "weft's own arrays, and up to 16 ranks whose computation counts.",
        ),
    ] = None,
    ranks_per_node: Annotated[
        int | None,
        typer.Option(min=1, help="Ranks on each node, which share its processors equally. Default: 1."),
    ] = None,
    placement: Annotated[
        str | None,
        typer.Option(
            help="block: consecutive ranks share a node; cyclic: ranks are dealt out to nodes in turn; or a list with "
            "the node of each rank: 0-3,8,8. Default: block."
        ),
    ] = None,
    patience: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="How long a rank with its own process may go without a call of MPI, in processor time or asleep, "
            "before the others go on without it: it may be waiting for them outside of MPI. inf: never. Default: 20.",
        ),
    ] = None,
    estimand: estimands.Chosen = None,
    trace: Annotated[Path | None, typer.Option(help="Write a timeline (Chrome trace JSON) of the run.")] = None,
    force: outputs.Replace = False,
) -> None:
    """Run an MPI program on any machine, in virtual time: an unmodified mpi4py script or a compiled program.

    All ranks of a script run in one process; a compiled program has a process for each rank. MPI_Wtime returns the
    time on the machine. When the last rank has finished, the makespan (the time of the whole run) is reported on
    standard error. The exit code is the program's. A deadlock is reported with each rank's call and, in a script, its
    line.
    """
    from weft._core import UsageError
    from weft.hosting.run import PATIENCE, HostedError
    from weft.hosting.run import run as run_program

    if not on:
        raise UsageError("--on: which machine? `weft machines` lists those there are")
    estimands.refuse_here(on, estimand)
    try:
        outcome = run_program(
            program,
            *(arguments or ()),
            on=estimands.subject(on, estimand),
            ranks=ranks,
            compute=compute,
            isolate=isolate,
            ranks_per_node=ranks_per_node,
            placement=placement,
            patience=PATIENCE if patience is None else patience,
            trace=trace,
            force=force,
        )
    except HostedError as error:
        errors.say(str(error))
        raise typer.Exit(error.code) from None
    if not speaking.is_quiet():
        _tell(outcome, ranks)
    for remark in outcome.remarks:
        print(f"weft: {remark}", file=sys.stderr)
    if outcome.code:
        raise typer.Exit(outcome.code)


def _tell(outcome: HostedRun, ranks: int) -> None:
    """How long it took, on standard error: standard output is the program's."""
    from weft import units

    if outcome.messages is None:
        print(f"weft: {ranks} ranks on real MPI: {units.seconds(outcome.makespan)} with their start", file=sys.stderr)
        return
    counted = (
        "takes no time" if outcome.compute is None else f"takes {outcome.compute:.4g} times its processor time here"
    )
    if outcome.rates:
        counted += f" ({'; '.join(map(str, outcome.rates))})"
    print(
        f"weft: {ranks} ranks on {outcome.machine}: {units.seconds(outcome.makespan)} of virtual time, "
        f"{outcome.messages} messages; computation {counted}",
        file=sys.stderr,
    )

"""`weft machines`."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli import estimands, outputs, teaching

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table
    from typer.core import TyperGroup

    from weft import Machine

_EXAMPLES = """
weft machines  # every machine of the catalogue, a line each
weft machines show ipsc860  # every figure of one, with its source
weft machines show ipsc860 --format toml > mine.toml  # a machine file to start from
weft machines grain  # what a message costs in multiplications, and the grain that a program needs
weft machines grain study/samples.csv  # the same with this machine
weft machines show ./mine.toml  # check a machine file of your own
"""


class Format(enum.StrEnum):
    """How a machine is shown."""

    TABLE = "table"
    TOML = "toml"
    JSON = "json"


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(cls=_group_that_knows_machines(), invoke_without_command=True)
    group.callback()(machines)
    group.command(cls=teaching.command(_EXAMPLES))(show)
    group.command(cls=teaching.command(_EXAMPLES))(grain)
    app.add_typer(group, name="machines")


def _group_that_knows_machines() -> type[TyperGroup]:
    """The group of `weft machines`, which tells who names a machine right after it the command that shows one."""

    class Machines(teaching.group(_EXAMPLES)):  # type: ignore[misc]
        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            import weft

            word = args[0]
            if self.get_command(ctx, word) is None and (
                word.endswith(".toml") or word in {machine.name for machine in weft.machines()}
            ):
                raise weft.UsageError(f"machines {word}: `weft machines show {word}` shows a machine")
            return super().resolve_command(ctx, args)

    return Machines


def machines(context: typer.Context, shown: outputs.Shown = outputs.Format.TABLE) -> None:
    """The catalogue of machines: hypercubes of 1987-1991 and machines of today."""
    if context.invoked_subcommand is not None:
        return
    listed = _listed()
    if outputs.show_plainly(listed, shown):
        return
    from rich import box
    from rich.table import Table

    from weft.cli.printing import show as show_whole

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in listed.columns:
        table.add_column(
            name, style="cyan" if name == "name" else "", justify="right" if name in ("year", "nodes") else "left"
        )
    for name, machine, year, nodes, topology, switching in listed.iter_rows():
        table.add_row(name, machine, str(year or ""), f"{nodes:,}", topology, switching)
    show_whole(table)


def _listed() -> pl.DataFrame:
    """A row a machine, the oldest first."""
    import polars as pl

    import weft

    rows = []
    for machine in weft.machines():
        facts = _facts(machine)
        topology = str(facts.get("topology", {}).get("kind", ""))
        rows.append((machine.name, machine.title, facts.get("year"), machine.nodes, topology, _technique(facts)))
    columns = ["name", "machine", "year", "nodes", "topology", "switching"]
    return pl.DataFrame(rows, schema=columns, orient="row").sort("year", "name", nulls_last=False)


def show(
    name: Annotated[str, typer.Argument(help="A machine of the catalogue, or the path of a machine file.")],
    shown: Annotated[Format, typer.Option("--format", help="How it is shown.")] = Format.TABLE,
    estimand: estimands.Chosen = None,
) -> None:
    """One machine: every figure with its source."""
    import weft

    machine = weft.machine(name, estimand)
    if shown is Format.TOML:
        typer.echo(machine.to_toml(), nl=False)
        return
    if shown is Format.JSON:
        typer.echo(machine.to_json())
        return
    from rich.console import Console

    from weft.cli.printing import show as show_whole

    console = Console(highlight=False)
    facts = _facts(machine)
    console.print(f"[bold]{machine.title}[/] ({machine.name})")
    if "description" in facts:
        console.print(facts["description"], style="dim")
    console.print("Times are in seconds, lengths in bytes.", style="dim")
    show_whole(_figures(facts))
    for line in _in_short(machine):
        console.print(line)


def grain(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(help="Files of samples (of this machine, say) and machine files, besides the catalogue."),
    ] = None,
    estimand: estimands.Chosen = None,
    shown: outputs.Shown = outputs.Format.TABLE,
) -> None:
    """Communication against computation: the grain at which messages take 50%, 20% and 5% of the time.

    A program that computes g operations of m seconds for each message of t seconds spends t / (t + g m) of its time
    communicating; g = (t / m) (1 - f) / f. The ratio t / m for 8 bytes is that of table 7 of Dunigan 1991.
    """
    from weft.study.grain import conclusion

    grains, notes = conclusion(subjects or [], estimand)
    if not outputs.show_plainly(grains, shown):
        _show_grains(grains)
    for note in notes:
        typer.echo(note, err=True)


def _show_grains(grains: pl.DataFrame) -> None:
    from rich import box
    from rich.table import Table

    from weft import units
    from weft.cli.printing import show as show_whole

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("machine", style="cyan")
    names = ("message", "transfer", "8-byte multiply", "transfer ÷ multiply")
    shares = grains["share"].unique(maintain_order=True).to_list()
    for name in (*names, *(f"operations at {share:.0%}" for share in shares)):
        table.add_column(name, justify="right")
    for (machine, source, length), part in grains.group_by("machine", "source", "bytes", maintain_order=True):
        first = part.row(0, named=True)
        operations = dict(part.select("share", "operations").iter_rows())
        label = f"{machine}" if source == "simulated" else f"{machine} ({source})"
        table.add_row(
            label, units.length(float(str(length))), units.seconds(first["transfer"]),
            units.seconds(first["multiply"]), units.digits(first["ratio"]),
            *(units.digits(operations[share]) for share in shares),
        )  # fmt: skip
    show_whole(table)


def _facts(machine: Any) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(machine.to_toml())


def _figures(facts: dict[str, Any]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("key", style="cyan")
    table.add_column("value", justify="right")
    table.add_column("that is", justify="right")
    table.add_column("source", style="dim")
    _walk(facts, "", table)
    return table


def _in_short(machine: Machine) -> list[str]:
    """What messages take by these figures, in which a figure in another unit than seconds and bytes is seen at once."""
    import weft
    from weft import units
    from weft.catalogue import passes_messages

    if machine.nodes < 2 or not passes_messages(machine):
        return []
    if not machine.message_time(8, len(machine.route(0, 1))):
        return ["From node 0 to node 1, messages take no time: their overheads, hop_time and byte_time are 0."]
    short, long = weft.simulate(machine, "echo", bytes=[8, 1 << 20]).sort("bytes").iter_rows(named=True)
    links = f"{short['hops']} link{'s' * (short['hops'] != 1)}"
    return [
        f"From node 0 to node 1, over {links}: 8 bytes take {units.seconds(short['seconds'])}, 1 MiB takes "
        f"{units.seconds(long['seconds'])}, a rate of {units.rate(long['rate'])}."
    ]


def _walk(value: Any, key: str, table: Table, source: str = "") -> None:
    """A line for every figure; tables and lists of tables are gone through with their path as key.

    A figure's source is its own, or that of the table it stands in.
    """
    if isinstance(value, dict) and "value" in value:
        reading = str(value["unit"]) if key.startswith("facts.") and "unit" in value else _reading(key, value["value"])
        table.add_row(key, _shown(value["value"]), reading, str(value.get("source", source)))
    elif isinstance(value, dict):
        source = str(value.get("source", source))
        for name, inner in value.items():
            _walk(inner, f"{key}.{name}" if key else name, table, source)
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for number, inner in enumerate(value, start=1):
            _walk(inner, f"{key} {number}", table, source)
    elif key not in ("name", "title", "description") and not key.endswith("source"):
        table.add_row(key, _shown(value), _reading(key, value), source)


_LENGTHS = ("bytes", "up_to", "memory_available")
_TIMES = ("_time", "_overhead", "startup", "parallel.launch", "parallel.result")
_SHORTEST = 1e-10
"""Seconds below which a time is one of many elements at once, and a rate says more."""


def _reading(key: str, value: Any) -> str:
    """A figure as data sheets have it: a time in its unit, the time of a byte or of an operation as a rate."""
    from weft import units

    if isinstance(value, bool) or not isinstance(value, int | float) or not value:
        return ""
    if key.endswith(("byte_time", "copy_byte")):
        return units.rate(1 / value)
    if key.endswith(_LENGTHS):
        return units.length(value)
    if key.startswith("operations.") or (key.endswith("_time") and value < _SHORTEST):
        return f"{units.count(1 / value)} a second"
    return units.seconds(value) if key.endswith(_TIMES) else ""


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _technique(facts: dict[str, Any]) -> str:
    technique = facts.get("switching", {}).get("technique", "")
    return str(technique["value"] if isinstance(technique, dict) else technique)

"""Help that teaches: examples, and lists that are looked up when help is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand, TyperGroup

from weft.cli import speaking

Sections = Callable[[], dict[str, list[tuple[str, str]]]]
"""Titled lists of `(name, meaning)`."""


def without_types(parameters: list[Any]) -> list[Any]:
    """Options as help shows them: behind a flag stands nothing that could be typed."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def command(examples: str, sections: Sections | None = None, *, long: bool = False) -> type[TyperCommand]:
    """The class of a command whose help ends with lists and examples; one that works `long` can be quiet or verbose."""

    class Command(TyperCommand):
        def get_params(self, ctx: Any) -> list[Any]:
            own = super().get_params(ctx)
            return without_types([*own[:-1], *speaking.options(), *own[-1:]] if long else own)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            super().format_help(ctx, formatter)
            show(examples, sections)

    return Command


def group(examples: str, sections: Sections | None = None) -> type[TyperGroup]:
    """The class of a group of commands whose help ends with lists and examples."""

    class Group(TyperGroup):
        def get_params(self, ctx: Any) -> list[Any]:
            return without_types(super().get_params(ctx))

        def format_help(self, ctx: Any, formatter: Any) -> None:
            super().format_help(ctx, formatter)
            show(examples, sections)

    return Group


def show(examples: str, sections: Sections | None) -> None:
    """Print lists in panels like those of options, then examples."""
    from rich import box
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    for title, entries in (sections() if sections else {}).items():
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), expand=True)
        table.add_column(no_wrap=True, style="cyan")
        table.add_column(ratio=1)
        for name, meaning in entries:
            table.add_row(name, meaning)
        console.print(Panel(table, title=title, title_align="left", border_style="dim", box=box.ROUNDED))
    lines = Text()
    for line in examples.strip().splitlines():
        code, comment, note = line.partition("  #")
        lines.append(f"{code.rstrip()}\n", style="bold") if code.strip() else lines.append("\n")
        if comment:
            lines.append(f"   {note.strip()}\n", style="dim")
    console.print(Panel(lines[:-1], title="Examples", title_align="left", border_style="dim", box=box.ROUNDED))

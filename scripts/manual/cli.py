"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import contextlib
import enum
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scripts.manual.markdown import code, plain, table

INTRODUCTION = """# Command line

Every command with its arguments, options, defaults and examples. The page is generated from the commands themselves, so
it says what `weft COMMAND --help` says in this version. Exit codes are 0 for success, 1 if the command failed, 2 if the
request was invalid, 3 if the command completed but found something that is not good enough (each command says what), 4
if `weft health` found something broken, and 130 after Ctrl-C.
"""

_TYPES = {bool: "", str: "text", int: "whole number", float: "number", Path: "path"}


def page() -> str:
    """The page of all commands."""
    import typer

    from weft.cli.commands import app

    return "\n".join([INTRODUCTION, *_commands(typer.main.get_command(app), None, "weft")])


def _commands(command: Any, parent: Any, path: str) -> Iterator[str]:
    context = command.context_class(command, info_name=path.rpartition(" ")[2], parent=parent)
    if not command.hidden:
        yield from _command(command, context, path)
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, context, f"{path} {name}")


def _command(command: Any, context: Any, path: str) -> Iterator[str]:
    pieces = " ".join(command.collect_usage_pieces(context))
    yield f"## {path} {{ #{path.replace(' ', '-')} }}\n\n{plain(command.help or '')}\n"
    yield f"```text\n{path} {pieces}\n```\n"
    parameters = [parameter for parameter in command.get_params(context) if not getattr(parameter, "hidden", False)]
    arguments = [parameter for parameter in parameters if parameter.param_type_name == "argument"]
    if arguments:
        rows = [(code(_argument(parameter)), plain(parameter.help or "")) for parameter in arguments]
        yield table(["argument", "meaning"], rows)
    options = [parameter for parameter in parameters if parameter.param_type_name == "option"]
    for panel in dict.fromkeys(getattr(parameter, "rich_help_panel", None) for parameter in options):
        chosen = [parameter for parameter in options if getattr(parameter, "rich_help_panel", None) == panel]
        if panel:
            yield f"**{panel}**\n"
        yield table(["option", "meaning"], [_option(parameter) for parameter in chosen])
    examples, lists = _taught(command, context)
    for title, entries in lists.items():
        yield f"**{title}**\n"
        yield table(["name", "meaning"], [(code(name), plain(meaning)) for name, meaning in entries])
    if examples.strip():
        yield f"**Examples**\n\n```sh\n{examples.strip()}\n```\n"


def _argument(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper()) + ("..." if parameter.nargs == -1 else "")


def _option(parameter: Any) -> tuple[str, str]:
    names = ", ".join(code(name) for name in [*parameter.opts, *parameter.secondary_opts])
    default = f" Default: {shown}." if (shown := _default(parameter)) else ""
    return f"{names} {_value(parameter)}", f"{plain(parameter.help or '')}{default}"


def _value(parameter: Any) -> str:
    if parameter.is_flag:
        return ""
    if parameter.metavar:
        return code(parameter.metavar)
    kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", str)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return ", ".join(code(choice.value) for choice in kind)
    return _TYPES.get(kind, "text")


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.is_flag or value is None or callable(value) or value in ((), []):
        return ""
    return code(value.value if isinstance(value, enum.Enum) else value)


def _taught(command: Any, context: Any) -> tuple[str, dict[str, list[tuple[str, str]]]]:
    """The examples and lists that the help of a command ends with."""
    from weft.cli import teaching

    taught: list[tuple[str, Callable[[], dict[str, list[tuple[str, str]]]] | None]] = []
    show = teaching.show
    teaching.show = lambda examples, sections: taught.append((examples, sections))
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            command.format_help(context, context.make_formatter())
    finally:
        teaching.show = show
    examples, sections = taught[-1] if taught else ("", None)
    return examples, sections() if sections else {}

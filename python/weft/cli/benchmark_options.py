"""The options of benchmarks: made from the table of parameters, shown for the benchmarks that are asked about."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from weft.cli import speaking, teaching

if TYPE_CHECKING:
    from weft.parameters import Benchmark, Parameter

_EXAMPLES = """
weft measure echo --help  # what echo is, its options with units and defaults
weft measure echo  # one-way time of messages of 8 B to 1 MiB between two ranks here
weft measure echo bandwidth --bytes 8:64K -o here.csv  # two benchmarks into one file of samples
weft measure osu_latency  # what others call echo
weft measure echo --on ipsc860 --hops 1:6 --bytes 8:8192  # in virtual time on a machine of the catalogue
weft measure alltoall --on ncube6400 --ranks 16 --bytes 1K --trace alltoall.json  # a timeline for ui.perfetto.dev
weft measure echo -o here.csv --resume  # go on where Ctrl-C, or a time limit, stopped it
weft measure arithmetic linpack stream  # one node: the Caltech tests, LINPACK with numpy's BLAS, STREAM
srun -n 2 weft measure echo -o here.csv  # as a rank that a launcher has started
"""

_ASKED, _TYPED, _HELPING = "weft.asked", "weft.typed", "weft.helping"


def words(arguments: Sequence[str]) -> list[str]:
    """The names of benchmarks, which commas may separate too."""
    return [part for word in arguments for part in word.split(",") if part]


def typed(context: Any) -> dict[str, Any]:
    """The parameters of benchmarks as they were typed; what was not typed is not in it."""
    from weft.parameters import is_said

    return {name: value for name, value in context.meta.get(_TYPED, {}).items() if is_said(value)}


class Command(TyperCommand):
    """A command that takes the parameters of all benchmarks, and shows those of the ones that it is asked about."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its own options and those of the table; in help those of the benchmarks asked about alone."""
        own = teaching.without_types(super().get_params(ctx))
        chosen = _options(ctx.meta.get(_HELPING))
        return [*own[:1], *chosen, *own[1:-1], *teaching.without_types([*speaking.options()]), *own[-1:]]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the words for help, which is shown before they have been understood."""
        ctx.meta[_ASKED] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Hand over the parameters of benchmarks apart from the command's own options."""
        from weft.parameters import table

        ctx.meta[_TYPED] = {name: ctx.params.pop(name) for name in table() if name in ctx.params}
        return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The command's help, or that of the benchmarks that stand before `--help`."""
        asked = _asked(ctx)
        ctx.meta[_HELPING] = asked
        own = self.help
        if asked:
            self.help = "\n\n".join(f"{benchmark.name}: {benchmark.summary}." for benchmark in asked)
        try:
            super().format_help(ctx, formatter)
        finally:
            self.help = own
        if not asked:
            teaching.show(_EXAMPLES, _lists)
            return
        examples = dict.fromkeys(benchmark.example for benchmark in asked if benchmark.example)
        teaching.show("\n".join(examples), lambda: _about(asked))


def _asked(ctx: Any) -> list[Benchmark]:
    """The benchmarks that the command's words name."""
    from weft._core import UsageError
    from weft.study.measuring import known, resolved

    asked: dict[str, Benchmark] = {}
    for word in words([word for word in ctx.meta.get(_ASKED, ()) if not word.startswith("-")]):
        try:
            asked |= {name: known()[name] for name in resolved([word])}
        except UsageError:
            continue  # The value of an option, or a benchmark that there is not.
    return list(asked.values())


def _options(asked: Sequence[Benchmark] | None) -> list[Any]:
    """The options of some benchmarks; those of all for None."""
    from weft.parameters import table

    if asked is None:
        return _click_options(dict.fromkeys(table().values(), ()))
    takes = {name for benchmark in asked for name in benchmark.takes}
    return _click_options({parameter: asked for parameter in table().values() if parameter.name in takes})


def _click_options(wanted: Mapping[Parameter, Sequence[Benchmark]]) -> list[Any]:
    """Options as typer makes them of a function whose keywords are these parameters."""

    def takes_them(**values: object) -> None: ...

    annotations = {parameter.name: _annotation(parameter, asked) for parameter, asked in wanted.items()}
    keywords = [
        inspect.Parameter(
            parameter.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if parameter.kind == "flag" else None,
            annotation=annotations[parameter.name],
        )
        for parameter in wanted
    ]
    takes_them.__annotations__ = annotations
    takes_them.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False)
    app.command()(takes_them)
    return list(get_command(app).params)


def _annotation(parameter: Parameter, asked: Sequence[Benchmark]) -> Any:
    """The type and option of a keyword."""
    names = ", ".join(benchmark.name for benchmark in asked)
    option = typer.Option(
        parameter.option,
        help=_help(parameter, asked),
        show_default=False,
        metavar=_metavar(parameter),
        rich_help_panel=f"Options of {names}" if names else None,
    )
    if parameter.kind == "flag":
        return Annotated[bool, option]
    return Annotated[list[str] | None, option] if parameter.kind == "names" else Annotated[str | None, option]


def _metavar(parameter: Parameter) -> str | None:
    """What a value looks like."""
    if parameter.kind == "doublings" and parameter.unit is None:
        return "2:16"
    return _METAVARS.get(parameter.kind)


_METAVARS = {
    "counts": "1:6",
    "doublings": "8:8192",
    "count": "NUMBER",
    "real": "NUMBER",
    "reals": "NUMBERS",
    "shapes": "SHAPES",
    "pair": "A-B",
    "name": "NAME",
    "names": "NAME",
}
"""What a value of a kind looks like."""

_UNITS = {"B": "bytes (K, M and G are powers of 1024)", "s": "seconds"}


def _help(parameter: Parameter, asked: Sequence[Benchmark]) -> str:
    """The sentence with unit, default and, where several benchmarks are asked about, who takes it."""
    text = parameter.help
    general, colon, _ = text.partition(": of ")
    takers = [benchmark for benchmark in asked if parameter.name in benchmark.takes]
    things = dict.fromkeys(takes.of for takes in (b.takes[parameter.name] for b in takers) if takes.of is not None)
    if colon and things:
        text = f"{general} of {' or '.join(_with_article(thing) for thing in things)}"
    if parameter.unit is not None:
        text += f", in {_UNITS[parameter.unit]}"
    text += "."
    choices = {choice: None for benchmark in takers for choice in benchmark.takes[parameter.name].choices}
    if choices:
        text += f" One of {', '.join(choices)}."
    defaults = {_default(parameter, benchmark): None for benchmark in takers}
    if len(defaults) == 1 and (default := next(iter(defaults))):
        text += f" Default: {default}."
    if 0 < len(takers) < len(asked):
        text += f" ({', '.join(benchmark.name for benchmark in takers)})"
    return text


def _with_article(thing: str) -> str:
    return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}"


def _default(parameter: Parameter, benchmark: Benchmark) -> str | None:
    """What applies to a benchmark where nothing is said, as it would be typed."""
    takes = benchmark.takes[parameter.name]
    if parameter.name == "ranks":
        return str(benchmark.default_ranks)
    if takes.shapes:
        return ",".join("x".join(map(str, shape)) for shape in takes.shapes)
    numbers = takes.default
    if len(numbers) > 2 and all(b == 2 * a for a, b in itertools.pairwise(numbers)):
        return f"{_short(numbers[0])}:{_short(numbers[-1])}"
    return ",".join(map(_short, numbers)) or parameter.default


def _short(number: int) -> str:
    for factor, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if number >= factor and number % factor == 0:
            return f"{number // factor}{letter}"
    return str(number)


def _lists() -> dict[str, list[tuple[str, str]]]:
    """All benchmarks by group."""
    from weft.study.measuring import known

    groups: dict[str, list[tuple[str, str]]] = {}
    for benchmark in known().values():
        groups.setdefault(f"Benchmarks: {benchmark.group}", []).append((benchmark.name, benchmark.summary))
    return groups


def _about(asked: Sequence[Benchmark]) -> dict[str, list[tuple[str, str]]]:
    """What others call the benchmarks asked about, and the rows that they have."""
    about: dict[str, list[tuple[str, str]]] = {}
    if aliases := [(b.name, ", ".join(b.aliases)) for b in asked if b.aliases]:
        about["What others call them"] = aliases
    if variants := [(b.name, ", ".join(b.variants)) for b in asked if b.variants]:
        about["Rows (--variant)"] = variants
    return about

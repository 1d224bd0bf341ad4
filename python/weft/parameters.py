"""The table of parameters of the Rust core: options, keywords, requests and columns of samples come from it."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypedDict

from weft import _core

Kind = Literal["counts", "doublings", "count", "real", "reals", "shapes", "pair", "name", "names", "flag"]
"""What the values of a parameter are: see `Kind` in crates/suite/src/parameters.rs."""

Numbers = str | int | Iterable[int]
"""One whole number, several, or text such as `8:8192`."""


@dataclass(frozen=True)
class Parameter:
    """One row of the table.

    Attributes
    ----------
    name
        The keyword, the option (with hyphens), the field of a request and, where there is one, the column of samples.
    kind
        What its values are.
    help
        One sentence.
    unit
        `B` where it is a size in bytes, `s` where it is a time.
    least, greatest
        Between which numbers are taken.
    default
        What applies where nothing is said, in words.
    column
        What the column of that name holds, if there is one.
    """

    name: str
    kind: Kind
    help: str
    unit: str | None = None
    least: int = 0
    greatest: int | None = None
    default: str | None = None
    column: str | None = None

    @property
    def option(self) -> str:
        """As the command line has it."""
        return "--" + self.name.replace("_", "-")


@functools.cache
def table() -> dict[str, Parameter]:
    """Every parameter by name, in the order of lists."""
    rows, _ = _core.parameters()
    return {row["name"]: Parameter(**row) for row in json.loads(rows)}


@functools.cache
def common() -> tuple[str, ...]:
    """What every benchmark of messages takes."""
    return tuple(_core.parameters()[1])


def is_said(value: object) -> bool:
    """Whether a value says anything; 0 does."""
    return value is not None and value is not False and value != () and value != []


class Parameters(TypedDict, total=False):
    """The keywords of :func:`weft.measure` and :func:`weft.simulate`; `weft measure BENCHMARK --help` explains them.

    A test compares them with the table.
    """

    ranks: Numbers | None
    hops: Numbers | None
    bytes: Numbers | None
    shape: str | Iterable[Iterable[int]] | None
    extent: Numbers | None
    window: int | None
    neighbours: Numbers | None
    threads: Numbers | None
    background: str | None
    background_bytes: Numbers | None
    probe: str | tuple[int, int] | None
    algorithm: str | None
    timing: str | None
    synchronization: str | None
    precision: str | None
    layout: str | None
    within: float | None
    file_system: str | None
    file_bytes: str | int | None
    preallocate: bool
    io_nodes: int | None
    buffers: str | None
    payload: str | None
    iterations: int | None
    warmup: int | None
    seconds_per_point: float | None
    variant: str | Iterable[str] | None
    axes: Numbers | None
    distance: int | None
    vp_ratio: Numbers | None
    pattern: str | None
    words: Numbers | None
    compiler: str | None
    load: str | float | Iterable[float] | None
    vcs: int | None
    buffer: int | None
    packet: int | None
    tail_credit: bool
    credit_cycles: int | None
    traffic: str | None
    routing: str | None
    level: str | None
    cycles: int | None


@dataclass(frozen=True)
class Takes:
    """What a parameter is to a benchmark that takes it: see `Takes` in crates/suite/src/benchmark.rs."""

    name: str
    of: str | None = None
    default: tuple[int, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()
    choices: tuple[str, ...] = ()
    least: int = 0
    multiple_of: int = 1

    @classmethod
    def read(cls, row: dict[str, object]) -> Takes:
        """As the Rust core describes it."""
        fields = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
        return cls(**fields)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Benchmark:
    """What there is to run: its name, one line, and the parameters that it takes.

    Attributes
    ----------
    name, summary, group
        As lists show it.
    takes
        What it takes, by the names of parameters.
    aliases, nearest_of
        What others call it, and benchmarks of others that weft does not have, to which this one is nearest.
    example
        A command that shows what it is for.
    default_ranks, min_ranks, host
        A sensible number of ranks, the fewest, and whether it needs a host beside the nodes.
    variants
        The rows of a benchmark of one node.
    alone
        Whether one process measures it and sends no messages.
    """

    name: str
    summary: str
    group: str
    takes: dict[str, Takes]
    aliases: tuple[str, ...] = ()
    nearest_of: tuple[str, ...] = ()
    example: str = ""
    default_ranks: int = 1
    min_ranks: int = 1
    host: bool = False
    variants: tuple[str, ...] = ()
    alone: bool = False

    @property
    def sizes(self) -> str | None:
        """The parameter of sizes: `bytes` or `extent`."""
        return next((name for name in ("extent", "bytes") if name in self.takes), None)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Lengths in bytes where nobody says."""
        return self.takes["bytes"].default if "bytes" in self.takes else ()

    @property
    def points(self) -> int:
        """About how many points there are of each length where nobody says."""
        own = [max(len(t.default), len(t.shapes)) for t in self.takes.values() if t.name not in ("bytes", "window")]
        return max([1, *own])


def taking(*names: str) -> dict[str, Takes]:
    """Parameters of which there is nothing to add."""
    return {name: Takes(name) for name in names}

"""What the columns of a table of samples mean, and the check that a table keeps to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import polars as pl

from weft.inputs import quoted
from weft.parameters import Kind as Values
from weft.parameters import Parameter, table

SOURCES = ("measured", "simulated", "predicted", "published")
"""Where a number may come from."""

Kind = Literal["text", "count", "number"]

_DTYPES: dict[Kind, pl.DataType] = {"text": pl.String(), "count": pl.Int64(), "number": pl.Float64()}


class SamplesError(ValueError):
    """A table or file of samples that does not keep to the schema; the message names file, row and column."""


@dataclass(frozen=True)
class Column:
    """One column of the table.

    Attributes
    ----------
    name
        The column's name in tables and files.
    kind
        `text`, `count` (a non-negative integer) or `number` (a finite float).
    meaning
        What it holds, with its unit.
    expected
        What a valid value is, for messages.
    required
        Whether every table has the column.
    empty
        Whether a row may leave it empty (not applicable).
    parameter
        Whether it says what was run, rather than what came out.
    valid
        An expression of the column that is true for valid values.
    """

    name: str
    kind: Kind
    meaning: str
    expected: str
    required: bool = False
    empty: bool = True
    parameter: bool = False
    valid: Callable[[pl.Expr], pl.Expr] | None = None

    @property
    def dtype(self) -> pl.DataType:
        """The polars type of the column."""
        return _DTYPES[self.kind]


_CONTROL = "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x{9f}\\x{200e}\\x{200f}\\x{2028}-\\x{202e}\\x{2066}-\\x{2069}]"
"""What a terminal reacts to: no name is made of it."""

_MIN_NUMBER, _MAX_NUMBER = 1e-40, 1e40
"""Numbers of any sense, whatever their unit: products and quotients of several of them are finite."""


def _positive(value: pl.Expr) -> pl.Expr:
    return value.is_between(_MIN_NUMBER, _MAX_NUMBER)


def _not_negative(value: pl.Expr) -> pl.Expr:
    return value.is_between(0.0, _MAX_NUMBER)


def _at_least(limit: int) -> Callable[[pl.Expr], pl.Expr]:
    return lambda value: value >= limit


def _named(value: pl.Expr) -> pl.Expr:
    return value.str.len_bytes() > 0


_KINDS: dict[Values, tuple[Kind, str]] = {
    "counts": ("count", "an integer of at least {least}"),
    "doublings": ("count", "an integer of at least {least}"),
    "count": ("count", "an integer of at least {least}"),
    "real": ("number", "a positive number"),
    "reals": ("number", "a number of at least 0"),
    "shapes": ("text", "a shape, or nothing"),
    "pair": ("text", "a pair of ranks"),
    "name": ("text", "a name, or nothing"),
    "names": ("text", "a name, or nothing"),
    "flag": ("text", "true or false"),
}
"""The kind of a column, and what a valid value of it is, by the kind of a parameter."""

_VALID: dict[Values, Callable[[pl.Expr], pl.Expr]] = {"real": _positive, "reals": _not_negative}
"""What is asked of numbers, by the kind of a parameter."""

_OUTCOMES = ("iterations", "load")
"""Parameters that do not tell points apart: a launch decides on them, or has a column of that name."""


def column_of(parameter: Parameter) -> Column:
    """The column of a parameter of benchmarks."""
    kind, expected = _KINDS[parameter.kind]
    # A row may say 0 where a request may not: a load of nothing, a message over no link.
    least = 1 if parameter.name in ("ranks", "iterations", "axes") else 0
    return Column(
        parameter.name,
        kind,
        parameter.column or parameter.help,
        expected.format(least=least),
        required=parameter.name in ("ranks", "hops", "bytes"),
        parameter=parameter.name not in _OUTCOMES,
        valid=_VALID.get(parameter.kind, _at_least(least) if kind == "count" else None),
    )


_OF_PARAMETERS = tuple(column_of(parameter) for parameter in table().values() if parameter.column is not None)

_COLUMNS = (
    Column(
        "source",
        "text",
        "where the number comes from",
        "one of " + ", ".join(SOURCES),
        required=True,
        empty=False,
        parameter=True,
        valid=lambda value: value.is_in(list(SOURCES)),
    ),
    Column("machine", "text", "name of the machine", "a name", True, False, True, _named),
    Column("benchmark", "text", "name of the benchmark", "a name", True, False, True, _named),
    Column(
        "sender",
        "count",
        "rank that sends, of a pair",
        "a rank",
        parameter=True,
        valid=_at_least(0),
    ),
    Column(
        "receiver",
        "count",
        "rank that receives, of a pair",
        "a rank",
        parameter=True,
        valid=_at_least(0),
    ),
    Column("sender_node", "text", "node of the rank that sends: its host name, or its number", "a name, or nothing"),
    Column("receiver_node", "text", "node of the rank that receives", "a name, or nothing"),
    Column(
        "sender_binding",
        "text",
        "processors that the rank that sends may run on, and the cores, L3 caches, NUMA nodes and sockets that these "
        "are of, as `cpu=0-3 core=0,2 l3=0 numa=0 socket=0 of=64`, the last being the cores of the node",
        "such a text, or nothing",
    ),
    Column("receiver_binding", "text", "the same of the rank that receives", "such a text, or nothing"),
    Column(
        "repetition",
        "count",
        "number of the launch, from 0",
        "an integer of at least 0",
        True,
        False,
        False,
        _at_least(0),
    ),
    Column(
        "seconds",
        "number",
        "time of one operation (echo: of one one-way transfer), s: the median of the launch",
        "a positive number of seconds",
        True,
        False,
        False,
        _positive,
    ),
    Column("program", "text", "a program in FGHC, by its file", "a name, or nothing", parameter=True),
    Column("goal", "text", "the goal that a program was started with", "a goal, or nothing", parameter=True),
    Column(
        "pe",
        "count",
        "the PE that a row counts, from 0; nothing for all together",
        "an integer of at least 0",
        parameter=True,
        valid=_at_least(0),
    ),
    Column(
        "seconds_p10", "number", "lower decile within the launch, s", "a positive number of seconds", valid=_positive
    ),
    Column(
        "share_above_3x",
        "number",
        "share of iterations above three times the launch's median",
        "a number from 0 to 1",
        valid=lambda value: value.is_between(0.0, 1.0),
    ),
    Column(
        "rate",
        "number",
        "work/seconds, in `rate_unit`; B/s where that is empty",
        "a number of at least 0",
        valid=_not_negative,
    ),
    Column(
        "share_late",
        "number",
        "share of iterations that a rank came to after the moment agreed on",
        "a number from 0 to 1",
        valid=lambda value: value.is_between(0.0, 1.0),
    ),
    Column("rate_unit", "text", "unit of `rate` where it is not B/s, as Mflop/s", "a unit, or nothing"),
    Column(
        "quiet_seconds",
        "number",
        "what `seconds` is without the disturbance, s",
        "a positive number of seconds",
        valid=_positive,
    ),
    Column(
        "slowdown",
        "number",
        "share of speed that the disturbance takes, 1 - quiet_seconds/seconds",
        "a finite number",
        valid=lambda value: value.is_between(-_MAX_NUMBER, _MAX_NUMBER),
    ),
    Column(
        "overlap",
        "number",
        "share of a collective that goes on beside a computation of the same length, as OSU counts it",
        "a number from 0 to 1",
        valid=lambda value: value.is_between(0.0, 1.0),
    ),
    *(
        Column(name, "count", meaning, "an integer of at least 0", valid=_at_least(0))
        for name, meaning in (
            ("reductions", "commitments to clauses of an FGHC program"),
            ("suspensions", "times that a goal suspended"),
            ("resumptions", "times that a goal woke"),
            ("collections", "collections of garbage"),
            ("messages", "messages that PEs sent each other"),
            ("throw_goal", "messages that carried a goal"),
        )
    ),
    Column("work_s", "number", "time that a PE worked, s", "a number of at least 0", valid=_not_negative),
    Column("idle_s", "number", "time that a PE had nothing to do, s", "a number of at least 0", valid=_not_negative),
    Column(
        "communication_s",
        "number",
        "time of that work that messages took, s; in virtual time only",
        "a number of at least 0",
        valid=_not_negative,
    ),
    Column("operation", "text", "primitive of a data-parallel machine, as float_add", "a name, or nothing"),
    Column("bits", "count", "length of a word of an operation", "an integer of at least 1", valid=_at_least(1)),
    Column("ratio", "count", "messages for each destination", "an integer of at least 1", valid=_at_least(1)),
    Column("mode", "text", "how a fetch treats collisions: allowed, many or backward", "a word, or nothing"),
    Column("real_s", "number", "time that a program sees of an operation, s", "a number", valid=_not_negative),
    Column("cm_s", "number", "time that the processors are busy with it, s", "a number", valid=_not_negative),
    *(
        Column(f"{call}_{time}_s", "number", f"{meaning} of {call.upper()}, s", "a number", valid=_not_negative)
        for call in ("cshift", "pshift")
        for time, meaning in (("cm", "CM time"), ("elapsed", "elapsed time"))
    ),
    Column("shifts", "count", "shifts of one call", "an integer of at least 1", valid=_at_least(1)),
    Column("by_exchange", "count", "shifts that need no fallback", "an integer of at least 0", valid=_at_least(0)),
    *(
        Column(name, "number", meaning, "a number of at least 0", valid=_not_negative)
        for name, meaning in (
            ("latency_cycles", "mean cycles from the making of a packet until its tail has arrived"),
            ("latency_half_width", "half of the 95% interval of that mean, of batch means, cycles"),
            ("accepted", "flits that arrived, a node and cycle"),
            (
                "offered",
                "flits that were made and have arrived since, a node and cycle; less than the load where saturated",
            ),
        )
    ),
    Column("saturated", "text", "whether the queues of a network's sources grew without end", "true or false"),
    Column("link_hops", "count", "links that flits crossed", "an integer of at least 0", valid=_at_least(0)),
    Column("phases", "count", "phases of a schedule", "an integer of at least 0", valid=_at_least(0)),
    Column("file_kind", "text", "kind of the file system", "a name, or nothing"),
    Column("cache", "text", "what became of the system's copy of a file before it was read", "a word, or nothing"),
    Column("unit", "text", "what the seconds are of, where the benchmark has several kinds of rows", "words"),
    Column("note", "text", "what a reader should know", "words, or nothing"),
    Column(
        "stolen",
        "number",
        "share of processor time stolen by a hypervisor",
        "a number of at least 0",
        valid=_not_negative,
    ),
    Column("time", "text", "when the launch began, UTC", "a date and time, or nothing"),
    Column("status", "text", "what became of the interval of the point", "converged, …, or nothing"),
    Column("library", "text", "MPI library", "a name, or nothing"),
    Column("processor", "text", "processor of the node", "a name, or nothing"),
    Column("system", "text", "operating system of the node", "a name, or nothing"),
    Column("host", "text", "name of the node that measured", "a name, or nothing"),
    Column("cores", "count", "cores that its processes may use", "an integer of at least 1", valid=_at_least(1)),
    Column("numa_nodes", "count", "NUMA nodes of the node", "an integer of at least 1", valid=_at_least(1)),
    Column(
        "launch",
        "count",
        "number of the launch, where it is not `repetition`",
        "an integer of at least 0",
        valid=_at_least(0),
    ),
)

_ALL = (*_COLUMNS[:3], *_OF_PARAMETERS, *_COLUMNS[3:])

COLUMNS: dict[str, Column] = {column.name: column for column in _ALL}
"""Every column that weft knows, by name; weft writes no others. A table of someone else's may have more (scalars of any
type)."""

REQUIRED: tuple[str, ...] = tuple(column.name for column in _ALL if column.required)
"""The columns of every table."""

PARAMETERS: tuple[str, ...] = tuple(column.name for column in _ALL if column.parameter)
"""The columns that say what was run: rows that agree in them are repetitions of each other."""


def validate(table: pl.DataFrame, origin: str = "the table") -> pl.DataFrame:
    """Check a table of samples and give its columns their types.

    Parameters
    ----------
    table
        The table. Columns of text are converted (as they come from a CSV file).
    origin
        What messages call the table: a file's path.

    Returns
    -------
    polars.DataFrame
        The same rows; known columns have the type of the schema, others are as they were.

    Raises
    ------
    SamplesError
        If a required column is missing or a value is not what its column expects. Rows are counted from 1, without
        the header.

    Examples
    --------
    >>> import polars as pl
    >>> validate(pl.DataFrame({"source": ["guessed"]}))
    Traceback (most recent call last):
    weft.samples.schema.SamplesError: ...
    """
    missing = [name for name in REQUIRED if name not in table.columns]
    if missing:
        raise SamplesError(
            f"{origin}: the column{'s' if len(missing) > 1 else ''} {', '.join(missing)} "
            f"{'are' if len(missing) > 1 else 'is'} missing; samples have at least {', '.join(REQUIRED)}, "
            f"found {quoted(', '.join(table.columns)) or 'none'}"
        )
    for name, dtype in table.schema.items():
        if dtype.is_nested() or isinstance(dtype, pl.Object):
            raise SamplesError(f"{origin}, column {quoted(name)}: expected one value a row, found {quoted(str(dtype))}")
    known = [COLUMNS[name] for name in table.columns if name in COLUMNS]
    return table.with_columns([_checked(table[column.name], column, origin) for column in known])


def _checked(values: pl.Series, column: Column, origin: str) -> pl.Series:
    """The column with its type, every value checked."""
    typed = _typed(values, column)
    lost = typed.is_null() & values.is_not_null()
    if not column.empty:
        lost = lost | values.is_null()
    if column.kind == "text":
        lost = lost | typed.str.contains(_CONTROL).fill_null(False)
    if column.valid is not None:
        value = pl.col(column.name)
        wrong = typed.to_frame(column.name).select((column.valid(value).not_() & value.is_not_null()).alias("wrong"))
        lost = lost | wrong["wrong"].fill_null(False)
    if lost.any():
        row = int(lost.arg_true()[0])
        entry = values[row]
        raise SamplesError(
            f"{origin}, row {row + 1}, column {column.name}: expected {column.expected}, found {_shown(entry)}"
        )
    return typed


def _shown(entry: object) -> str:
    """A value as a message names it."""
    if entry is None or entry == "":
        return "nothing"
    return f"'{quoted(entry)}'" if isinstance(entry, str) else quoted(entry)


def _typed(values: pl.Series, column: Column) -> pl.Series:
    """The column with its type; values that do not convert exactly are null."""
    if values.dtype == pl.Boolean and column.kind != "text":
        return pl.Series(values.name, [None] * len(values), dtype=column.dtype)
    if column.kind == "text" and values.dtype != pl.String:
        return values.cast(pl.String, strict=False)
    if values.dtype == pl.String and column.kind != "text":
        stripped = values.str.strip_chars()
        if column.kind == "number":
            return stripped.cast(pl.Float64, strict=False)
        values = stripped.cast(pl.Int64, strict=False).fill_null(_whole(stripped.cast(pl.Float64, strict=False)))
    if column.kind == "count" and values.dtype.is_float():
        return _whole(values)
    return values.cast(column.dtype, strict=False)


def _whole(values: pl.Series) -> pl.Series:
    """Integers of the floats that are integers; null elsewhere (another program may have written 8.0)."""
    return (
        values.to_frame("x")
        .select(
            pl.when(pl.col("x").is_finite() & (pl.col("x") == pl.col("x").round()) & (pl.col("x").abs() < 2**53))
            .then(pl.col("x"))
            .cast(pl.Int64, strict=False)
        )["x"]
        .alias(values.name)
    )

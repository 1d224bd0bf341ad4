"""Tables of one node: configurations, operation times, test programs, memory.

What the machine files hold was taken from these tables, so it says nothing about the model: such cells are inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from weft.papers.dunigan1991.published import published
from weft.papers.dunigan1991.rates import joined
from weft.papers.reproduction import INPUT, Describe, OperationTime, ReproducedTable

_KILO = 1024
"""Bytes of the kilobyte of tables 1 and 5 (8M of 8192 kilobytes)."""

_FROM_FILES = "Ours: what the machine file says, which was taken from this table: an input, no prediction."


def table_1(describe: Describe | None) -> ReproducedTable:
    """Configurations: the numbers; names of processors, systems and compilers are a footnote."""
    text = published("1")
    numbers = text.filter(pl.col("quantity").is_in(["nodes", "clock_rate", "nominal_data_rate", "memory_per_node"]))
    printed = numbers.with_columns(
        pl.col("value").map_elements(_number, pl.Float64), pl.col("unit").fill_null("KB").replace("", "KB")
    )
    facts: dict[str, Callable[[dict[str, Any]], float | None]] = {
        "nodes": lambda file: _power(_at(file, "topology", "dimension")),
        "clock_rate": lambda file: _scaled(_at(file, "facts", "clock_rate"), 1e6),
        "nominal_data_rate": lambda file: _scaled(_at(file, "facts", "nominal_data_rate"), 1e6),
        "memory_per_node": lambda file: _scaled(_at(file, "node", "memory_bytes"), _KILO),
    }
    ours = _facts(printed["machine"].unique(maintain_order=True).to_list(), facts, describe)
    names = text.filter(pl.col("quantity").is_in(["processor", "node_operating_system", "compiler"]))
    lists = [
        f"{quantity}: " + ", ".join(f"{machine} {value}" for machine, value in part.select("machine", "value").rows())
        for (quantity,), part in names.group_by("quantity", maintain_order=True)
    ]
    return _table("1", "Configurations", printed, ours, (_FROM_FILES, *lists))


def table_3(operation_time: OperationTime | None) -> ReproducedTable:
    """Times of operations."""
    printed = published("3")
    ours: list[tuple[str, str, float]] = []
    for machine, quantity in printed.select("machine", "quantity").rows():
        seconds = operation_time(machine, quantity) if operation_time and machine != "vax780" else None
        if seconds is not None:
            ours.append((machine, quantity, seconds * 1e6))
    notes = (_FROM_FILES, "The VAX 11/780 is no parallel machine and has no machine file.")
    return _table("3", "Arithmetic operation times", printed, ours, notes)


def table_4() -> ReproducedTable:
    """Times of test programs: weft has none of its own for these machines, but bounds of one of them."""
    operations, bounds = floatmath_bounds()
    seconds = _by_machine(published("4"))["floatmath"]
    within = [f"{name} {low:.3g} to {high:.3g} s ({seconds[name]:g} s)" for name, (low, high) in bounds.items()]
    notes = (
        "No figures of ours: sieve, Dhrystone, Floatmath and Whetstone are more than their operations (calls, memory, "
        "branches, built-in functions), so they cannot be derived from the operation times of a machine file; weft "
        "measures them on the machine at hand (`weft measure sieve dhrystone floatmath whetstone`).",
        "Floatmath is bounded by table 3. Of its operations each needs the result of the one before: it takes at least "
        "what an operation of a sum of three products takes, and at most one with its assignment. Only "
        f"{operations} operations a repetition are within both bounds on all machines but the iPSC/860, whose "
        f"pipelines dependent operations leave empty. With these: {', '.join(within)}.",
    )
    return _table("4", "Simple computation tests", published("4"), [], notes)


FLOATMATH_REPETITIONS = 256_000
"""Section 3.2."""

_PIPELINED = "ipsc860"


def floatmath_bounds(without: str | None = None) -> tuple[int, dict[str, tuple[float, float]]]:
    """How many dependent operations a repetition of Floatmath has, and what they take by table 3.

    Sections 3.1 and 3.2: table 3 has times of an operation with its assignment (`float64_add`, `float64_multiply`) and
    within a sum of three products, whose intermediate results stay in registers (`float64_sum_of_products`); Floatmath
    repeats a sequence of dependent operations whose number is not printed.

    Parameters
    ----------
    without
        A machine whose time is not looked at.

    Returns
    -------
    int
        The least number that is within the bounds on all machines but the iPSC/860, whose figures are of operations
        that overlap.
    dict
        For each machine the least and the most seconds of as many.

    Raises
    ------
    ValueError
        If there is no such number.
    """
    arithmetic, seconds = _by_machine(published("3")), _by_machine(published("4"))["floatmath"]
    quickest = arithmetic["float64_sum_of_products"]
    slowest = {
        name: max(time, arithmetic["float64_multiply"][name]) for name, time in arithmetic["float64_add"].items()
    }
    each = {name: value / FLOATMATH_REPETITIONS * 1e6 for name, value in seconds.items()}
    known = [name for name in each if name not in (_PIPELINED, without)]
    least = max(math.ceil(each[name] / slowest[name]) for name in known)
    if any(least * quickest[name] > each[name] for name in known):
        raise ValueError("no number of operations is within the bounds of every machine")
    repetitions = least * FLOATMATH_REPETITIONS * 1e-6
    return least, {name: (repetitions * quickest[name], repetitions * slowest[name]) for name in each}


def _by_machine(table: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Values of each quantity by machine."""
    values: dict[str, dict[str, float]] = {}
    for machine, quantity, value in table.select("machine", "quantity", "value").rows():
        values.setdefault(quantity, {})[machine] = value
    return values


def table_5(describe: Describe | None) -> ReproducedTable:
    """Memory of a node."""
    printed = published("5")
    facts: dict[str, Callable[[dict[str, Any]], float | None]] = {
        "total": lambda file: _scaled(_at(file, "node", "memory_bytes"), _KILO),
        "available": lambda file: _scaled(_at(file, "node", "memory_available"), _KILO),
    }
    ours = _facts(printed["machine"].unique(maintain_order=True).to_list(), facts, describe)
    return _table("5", "Node memory capacity, kilobytes of 1024 bytes", printed, ours, (_FROM_FILES,))


def _table(
    number: str, title: str, printed: pl.DataFrame, ours: Sequence[tuple[str, str, float]], notes: tuple[str, ...]
) -> ReproducedTable:
    cells = joined(printed, ours).with_columns(pl.lit(INPUT).alias("kind"))
    return ReproducedTable(number, title, ("quantity", "unit"), ("machine",), cells, notes)


def _facts(
    machines: Sequence[str], facts: dict[str, Callable[[dict[str, Any]], float | None]], describe: Describe | None
) -> list[tuple[str, str, float]]:
    if describe is None:
        return []
    return [
        (machine, quantity, value)
        for machine in machines
        for quantity, read in facts.items()
        if (value := read(describe(machine))) is not None
    ]


def _at(file: dict[str, Any], *path: str) -> float | None:
    """A number of a machine file, with or without a source of its own."""
    value: Any = file
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, dict):
        value = value.get("value")
    return None if value is None else float(value)


def _scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def _power(dimension: float | None) -> float | None:
    return None if dimension is None else 2.0**dimension


def _number(text: str) -> float:
    """A number of table 1; M and K are of kilobytes."""
    factor = {"M": _KILO, "K": 1}.get(text[-1])
    return float(text) if factor is None else float(text[:-1]) * factor

"""The five groups of tests of Wu and Shu 1989: priced on a described data-parallel machine, or measured here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from weft._core import Machine
from weft.data_parallel import Costs, Operation
from weft.data_parallel.operation import MAX_COLLISIONS
from weft.samples import from_rows

GROUPS = {
    "processor": "integer and floating-point arithmetic by word length, on every processor at once",
    "front-end": "elements and values between front end and processors, and reductions",
    "router": "general communication: store, fetch, reduction and broadcast by groups, with collisions",
    "news": "communication on a grid by hops, spreads and scans",
    "virtual-processors": "four operations by virtual processors a processor",
}
"""What there is, by name."""

PROGRAM = (sys.executable, "-P", "-m", "weft.pvar.timing")
"""What measures them here: a process without MPI, as for the node suite."""

_BITS = (4, 8, 16, 24, 32, 48, 64)
_RATIOS = (3, 10, 30, 100, 300, 1000)
_EXTENTS = (8, 64, 512, 4096)
_VP_RATIOS = (1, 2, 4, 8, 16)
_PATTERNS = ("clustering", "distributing")


def priced(machine: Machine, groups: Sequence[str], vp_ratios: Sequence[int] = ()) -> pl.DataFrame:
    """What the operations of some groups take.

    Parameters
    ----------
    machine
        A machine with the costs of primitives.
    groups
        Names of `GROUPS`.
    vp_ratios
        Virtual processors a processor. Default: 1, and 1 to 16 in the group of that name.

    Returns
    -------
    polars.DataFrame
        Samples of source "predicted" with `operation`, `bits`, `pattern`, `mode`, `ratio`, `hops`, `extent`,
        `vp_ratio`, `real_s` and `cm_s`; `seconds` is the real time; `variant` names operation and parameters.

    Raises
    ------
    UsageError
        For a machine without the costs.
    """
    costs = Costs(machine)
    rows = [
        _row(costs, machine.name, group, operation) for group in groups for operation in operations(group, vp_ratios)
    ]
    return from_rows(rows)


def operations(group: str, vp_ratios: Sequence[int] = ()) -> Iterator[Operation]:
    """The operations of a group, each with some numbers of virtual processors a processor, by default the group's."""
    for vp_ratio in vp_ratios or (_VP_RATIOS if group == "virtual-processors" else (1,)):
        for operation in _operations(group):
            yield replace(operation, vp_ratio=vp_ratio)


def variants(group: str) -> tuple[str, ...]:
    """What the rows of a group are called."""
    return tuple(str(described(group, operation)["variant"]) for operation in _operations(group))


def _operations(group: str) -> Iterator[Operation]:
    """Those of the paper's tables and figures."""
    if group == "processor":
        yield from (Operation(kind, bits) for kind in ("add", "multiply") for bits in _BITS)
        yield from map(Operation, ("divide", "float_add", "float_multiply", "float_divide"))
    elif group == "front-end":
        yield from map(Operation, ("write", "read", "broadcast"))
        yield from (Operation(f"reduce_{name}") for name in ("sum", "max", "logand", "logior", "and", "or"))
    elif group == "router":
        yield from map(Operation, ("store_single", "store", "fetch_single", "fetch"))
        yield from _by_groups("multiple_reduction", "many")
        for mode in ("allowed", "many", "backward"):
            yield from _by_groups("multiple_broadcast", mode)
    elif group == "news":
        for kind in ("news_store_single", "news_store", "news_fetch_single", "news_fetch"):
            yield from (Operation(kind, hops=hops) for hops in range(1, 6))
        yield from (Operation("spread", extent=extent) for extent in _EXTENTS)
        yield from (
            Operation(f"scan_{name}") for name in ("copy", "sum", "max", "logand", "logior", "and", "or")
        )  # fmt: skip
    else:
        yield Operation("add")
        yield Operation("reduce_sum")
        yield Operation("multiple_broadcast", pattern="clustering", mode="allowed", ratio=3)
        yield Operation("news_fetch")


def _by_groups(kind: str, mode: str) -> Iterator[Operation]:
    for pattern in _PATTERNS:
        for ratio in _RATIOS:
            if mode != "allowed" or ratio <= MAX_COLLISIONS:
                yield Operation(kind, pattern=pattern, mode=mode, ratio=ratio)  # type: ignore[arg-type]


def described(group: str, operation: Operation) -> dict[str, object]:
    """The columns that tell an operation of a group from others."""
    depends: dict[str, object] = {}
    if operation.kind.startswith("multiple"):
        depends = {"pattern": operation.pattern, "ratio": operation.ratio}
        if operation.kind == "multiple_broadcast":
            depends["mode"] = operation.mode
    elif operation.kind.startswith("news"):
        depends = {"hops": operation.hops}
    elif operation.kind == "spread":
        depends = {"extent": operation.extent}
    bits = 1 if operation.kind in ("reduce_and", "reduce_or", "scan_and", "scan_or") else operation.bits
    label = [operation.kind, *(f"{value}" for value in depends.values())]
    label += [f"{bits} bits"] if group == "processor" else []
    return {
        "variant": " ".join(label),
        "operation": operation.kind,
        "bits": bits,
        "vp_ratio": operation.vp_ratio,
        **dict.fromkeys(("pattern", "ratio", "mode", "hops", "extent")),
        **depends,
    }


def _row(costs: Costs, machine: str, group: str, operation: Operation) -> dict[str, object]:
    time = costs.time(operation)
    return {
        "source": "predicted",
        "machine": machine,
        "benchmark": group,
        **described(group, operation),
        "real_s": time.real,
        "cm_s": time.cm,
        "ranks": 1,
        "bytes": None,
        "repetition": 0,
        "seconds": time.real,
    }

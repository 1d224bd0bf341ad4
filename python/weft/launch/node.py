"""The node suite: launches of its own here, and prices from operation times on described machines."""

from __future__ import annotations

import sys

from weft import _core
from weft._core import Machine
from weft.catalogue import operation_time
from weft.launch.protocol import Row
from weft.launch.request import Request, find

PROGRAM = (sys.executable, "-P", "-m", "weft.launch.node_process")
"""What a launch starts: a process without MPI, for ranks that wait for messages would take a processor."""

LENGTHS = {"dot_product": tuple(1 << k for k in range(3, 17)), "stream": (1 << 20,)}
"""Lengths that are priced where nobody says: vectors of 8 to 65536 elements, an array of 1 MiB."""

MAX_LACKING = 4
"""Operations without a price that have a line each; more of them are in one line."""


def priced(machine: Machine, request: Request) -> tuple[list[Row], list[str]]:
    """The rows of a benchmark of the node suite as a machine file's operation times price them.

    Only rows whose work is nothing but priced operations have a price (crates/suite, `node::work`): the Caltech rows
    are operations themselves, a dot product is sums of products (section 6 of Dunigan 1991 rates machines so), a block
    copy is bytes copied. No memory hierarchy is in a price.

    Returns
    -------
    tuple
        Rows, and a line for each part of the request that has no price, with the reason.
    """
    rows: list[Row] = []
    whole: list[str] = []
    lacking: dict[str, list[str]] = {}
    for variant in request.several("variant") or find(request.benchmark).variants:
        asked = request.several("extent") or request.several("bytes")
        lengths: tuple[int | None, ...] = asked or LENGTHS.get(request.benchmark) or (None,)
        for length in lengths:
            work = _core.node_work(request.benchmark, variant, length)
            if work is None:
                whole.append(variant)
                continue
            operation, count = work
            seconds = operation_time(machine, operation)
            if seconds is None:
                lacking.setdefault(operation, []).append(variant)
                continue
            rows.append(_row(request.benchmark, variant, length, count, seconds))
    notes = []
    if whole:
        names = _some(list(dict.fromkeys(whole)))
        notes.append(
            f"{machine.name} has no {request.benchmark} ({names}): it is more than its operations, and a machine file "
            "prices only operations (arithmetic, dot_product, stream copy)"
        )
    if len(lacking) > MAX_LACKING:
        lacking = {_some(list(lacking)): [name for names in lacking.values() for name in names]}
    notes += [
        f"{machine.name} has no {request.benchmark} ({_some(list(dict.fromkeys(names)))}): its machine file does not "
        f"price {operation}"
        for operation, names in lacking.items()
    ]
    return rows, notes


def _some(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def _row(benchmark: str, variant: str, length: int | None, count: int, seconds: float) -> Row:
    """One row; rates as the node suite counts them."""
    total = count * seconds
    arrays = benchmark == "stream"
    work, unit = (2 * count * 1e-6, "MB/s") if arrays else (count * 1e-6, "Mflop/s" if "float" in variant else "Mop/s")
    return {
        "benchmark": benchmark,
        "variant": variant,
        "extent": None if arrays else length,
        "bytes": length if arrays else None,
        "threads": 1,
        "ranks": 1,
        "repetition": 0,
        "seconds": total,
        "rate": work / total,
        "rate_unit": unit,
        "note": "from the machine file's operation times",
    }

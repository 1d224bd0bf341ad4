"""What a plan does, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.shifts.description import Shift, is_number
from weft.units import length, rate, seconds

_STRATEGIES = {
    "nothing": "there are no elements: nothing is done",
    "lines": "line by line from a list that was worked out when the plan was made: {moves} loads ({vectors})",
    "one pass": "one pass over the sources, block by block; outputs are written by {stores} ({vectors})",
}


def explanation(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    shifts: Sequence[Shift],
    summary: dict[str, Any],
    bytes_per_second: float | None,
) -> str:
    """The text of `ShiftPlan.explain`."""
    sources = 1 + max(shift.source for shift in shifts)
    lines = [f"{len(shifts)} shifts of {sources} source{'s' * (sources > 1)}, {dtype} of shape {shape}:"]
    for number, (shift, sizes) in enumerate(zip(shifts, summary["shifts"], strict=True)):
        lines.append(f"  out[{number}]: {_shift(shift, sizes, shape, sources)}")
    stores = "non-temporal stores, being larger than the caches" if summary["streaming"] else "cached stores"
    lines.append(
        "How: " + _STRATEGIES[summary["strategy"]].format(**summary, stores=stores) + _threads(summary["threads"])
    )
    return "\n".join([*lines, *_costs(len(shifts), summary, bytes_per_second)])


def _shift(shift: Shift, sizes: dict[str, Any], shape: tuple[int, ...], sources: int) -> str:
    index = f"i {'+' if shift.by >= 0 else '-'} {abs(shift.by)}"
    array = f"source {shift.source}" if sources > 1 else "the source"
    if shift.boundary is None:
        what = f"element i is ({index}) mod {shape[shift.axis]} of {array}"
        comes = "wrap around"
    else:
        what = f"element i is {index} of {array}"
        comes = f"are {shift.boundary}" if is_number(shift.boundary) else "come from the boundary array"
    slabs = f"{sizes['slabs']} slab{'s' * (sizes['slabs'] != 1)} of {length(sizes['slab'])}"
    return f"along axis {shift.axis}, {what}; {slabs}, of which {length(sizes['incoming'])} {comes}"


def _threads(count: int) -> str:
    return "" if count == 1 else f", {count} threads"


def _costs(shifts: int, summary: dict[str, Any], bytes_per_second: float | None) -> list[str]:
    together = summary["read"] + summary["written"]
    apart = 2 * summary["written"]
    costs = f"Cost: {length(summary['read'])} read, {length(summary['written'])} written a call"
    if shifts > 1 and together < apart:
        costs += f"; {length(apart)} read and written if each shift were done by itself"
    lines = [costs]
    if bytes_per_second is not None:
        time = seconds(together / bytes_per_second)
        lines.append(f"      {time} at {rate(bytes_per_second)}, where the arrays are in memory and in no cache")
    return lines

"""What a plan of shifts takes on a described machine: with costs of shifts, or streaming through its memory."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft import _core, units
from weft._core import Machine, UsageError
from weft.catalogue import machine as find
from weft.data_parallel import layout
from weft.shifts.description import Shift, is_number

_SLICE = 4
"""Bytes that an element is rounded up to."""


@dataclass(frozen=True)
class ShiftEstimate:
    """The time of one call of a plan on a machine (George, Brickner and Johnsson 1994, section 6).

    Attributes
    ----------
    machine
        Its name.
    subgrid
        What a node holds of each array, in elements along each axis.
    planned_s, planned_cm_s
        Seconds of the call of PSHIFT by the wall clock, and while the nodes are busy (not a number where the machine's
        file has a table `[parallel]` instead of `[shifts]`: nothing is known of that).
    single_s, single_cm_s
        The same for a call of CSHIFT or EOSHIFT for each shift.
    fallbacks
        For each shift why PSHIFT leaves it to the run-time library; None where it does not.
    """

    machine: str
    subgrid: tuple[int, ...]
    planned_s: float
    planned_cm_s: float
    single_s: float
    single_cm_s: float
    fallbacks: tuple[str | None, ...]

    def __str__(self) -> str:
        count, left = len(self.fallbacks), sum(reason is not None for reason in self.fallbacks)
        by_library = f", {left} of them by the run-time library" if left else ""
        local = "x".join(map(str, self.subgrid))
        return (
            f"{count} {'shift' if count == 1 else 'shifts'} on {self.machine}, subgrids of {local}{by_library}: "
            f"{units.seconds(self.planned_s)} planned, {units.seconds(self.single_s)} one by one"
        )


def estimate(
    shape: Sequence[int], dtype: np.dtype[Any], shifts: Sequence[Shift], machine: str | os.PathLike[str] | Machine
) -> ShiftEstimate:
    """Price a plan.

    A machine that streams has the arrays in the memory of one node. A shift reads its array and writes another, at the
    rate of the cache if all of the plan's arrays fit it; a plan is one launch, and without one each shift is.

    Boundaries of 0 come in with the exchanges, and so do those of 1 unless some are 0 (section 4); for any other a call
    of the run-time library assigns the face after that. The paper has no time of such a call: it is taken to cost what
    starting a call of CSHIFT does, and moving the face.

    Raises
    ------
    UsageError
        If the machine has no costs of shifts, or arrays no element.
    MachineError
        If there is no such machine.
    """
    described = machine if isinstance(machine, Machine) else find(machine)
    if 0 in shape or not shape:
        raise UsageError(f"arrays of shape {tuple(shape)} have nothing to shift")
    local = layout.subgrid(shape, described.nodes)
    element = _SLICE * math.ceil(dtype.itemsize / _SLICE)
    asked = [(shift.axis, _distance(shift, shape)) for shift in shifts]
    tables = json.loads(described.to_json())
    if "shifts" not in tables and "parallel" in tables:
        return _streamed(described.name, tables["parallel"], shape, dtype, shifts)
    times = json.loads(_core.shift_times(described, list(local.extents), element, asked, [], list(local.padded)))
    file = tables["shifts"]
    cost = {key: float(figure["value"]) for key, figure in file.items() if isinstance(figure, dict)}
    filled = [shift for shift in shifts if _is_assigned(shift, shifts)]
    cm = math.fsum(_assigning(cost, local.extents, element, shift) for shift in filled)
    issued = len(filled) * cost["call_front_end"]
    (planned, planned_cm), (single, single_cm) = (
        (max(times[name]["cm_s"] + cm, times[name]["front_end_s"] + issued), times[name]["cm_s"] + cm)
        for name in ("pshift", "cshift")
    )
    return ShiftEstimate(
        described.name, local.extents, planned, planned_cm, single, single_cm, tuple(times["fallbacks"])
    )


def _streamed(
    name: str, table: dict[str, Any], shape: Sequence[int], dtype: np.dtype[Any], shifts: Sequence[Shift]
) -> ShiftEstimate:
    cost = {key: float(figure["value"]) for key, figure in table.items()}
    array = math.prod(shape) * dtype.itemsize
    arrays = len(shifts) + len({shift.source for shift in shifts})
    fits = arrays * array <= cost["cache_bytes"]
    moved = 2 * len(shifts) * array * cost["cache_byte_time" if fits else "byte_time"]
    planned, single = cost["launch"] + moved, len(shifts) * cost["launch"] + moved
    return ShiftEstimate(name, tuple(shape), planned, math.nan, single, math.nan, (None,) * len(shifts))


def _distance(shift: Shift, shape: Sequence[int]) -> int:
    """Circular ones the shorter way around; no element of an end-off one comes from beyond the array."""
    extent = shape[shift.axis]
    if shift.boundary is not None:
        return max(-extent, min(extent, shift.by))
    forwards = shift.by % extent
    return forwards if forwards <= extent - forwards else forwards - extent


def _is_assigned(shift: Shift, shifts: Sequence[Shift]) -> bool:
    """Whether the boundary is no constant that goes with the exchanges."""
    if shift.boundary is None:
        return False
    if not is_number(shift.boundary) or shift.boundary not in (0, 1):
        return True
    return bool(shift.boundary == 1) and any(_is_zero(other) for other in shifts)


def _is_zero(shift: Shift) -> bool:
    return shift.boundary is not None and is_number(shift.boundary) and bool(shift.boundary == 0)


def _assigning(cost: dict[str, float], extents: Sequence[int], element: int, shift: Shift) -> float:
    """CM time of assigning a face: both accesses of a move leave their row."""
    layers = min(abs(shift.by), extents[shift.axis])
    slices = math.prod(extents) // extents[shift.axis] * layers * element / cost["slice_bytes"]
    return cost["call_startup"] + slices * (cost["move_time"] + 2 * cost["page_stall"])

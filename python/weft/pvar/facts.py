"""What a communication through the router is like: collisions, and forms that would do the same for less."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

NEXT = 8
"""Elements of 8 bytes of a line of memory."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Of the messages of one get or send.

    Attributes
    ----------
    messages
        How many: selected processors.
    targets
        Processors that are sent to or fetched from.
    most
        The most messages of one target.
    pattern
        Whether the targets are next to each other ("clustering": at least half of those between the first and the last)
        or scattered ("distributing").
    ascending
        Whether targets never fall from one sender to the next.
    shift
        (axis, distance) where a fetch is `weft.pvar.shift(x, distance, axis)` on all that are selected; None else.
    around
        Whether that shift goes around an end.
    line
        (axis, index) where it is `weft.pvar.spread(x, axis, index)`; None else.
    jumps
        How many targets are `NEXT` or more from the target of the message before, so that caches have other lines.
    """

    messages: int
    targets: int
    most: int
    pattern: Literal["clustering", "distributing"]
    ascending: bool
    shift: tuple[int, int] | None
    around: bool
    line: tuple[int, int] | None
    jumps: int = 0

    @property
    def ratio(self) -> int:
        """Messages a target, rounded; at least 1."""
        return max(1, round(self.messages / self.targets)) if self.targets else 1


def of(addresses: Any, mask: Any, shape: tuple[int, ...] | None) -> Facts:
    """What there is to know.

    Parameters
    ----------
    addresses, mask
        Of the whole grid.
    shape
        The grid's; None for messages from or to another grid, which no shift and no spread could replace.
    """
    flat = addresses.reshape(-1)
    own = np.arange(flat.size) if mask is None else np.flatnonzero(mask.reshape(-1))
    to = flat if mask is None else flat[own]
    if not to.size:
        return Facts(0, 0, 0, "distributing", True, None, False, None)
    arrived = np.bincount(to, minlength=1)
    used = np.flatnonzero(arrived)
    clustered = used.size > 1 and used.size * 2 > int(used[-1]) - int(used[0]) + 1
    shift, around = (None, False) if shape is None else _shift(own, to, shape)
    line = None if shift is not None or shape is None else _line(own, to, shape)
    return Facts(
        messages=int(to.size),
        targets=int(used.size),
        most=int(arrived.max()),
        pattern="clustering" if clustered else "distributing",
        ascending=bool(np.all(to[1:] >= to[:-1])),
        shift=shift,
        around=around,
        line=line,
        jumps=int(np.count_nonzero(np.abs(np.diff(to.astype(np.int64))) >= NEXT)),
    )


def _shift(own: Any, to: Any, shape: tuple[int, ...]) -> tuple[tuple[int, int] | None, bool]:
    """Whether all targets are as far from their own place along one axis, and the same along the others."""
    shift, around = None, False
    for axis, extent in enumerate(shape):
        stride = math.prod(shape[axis + 1 :])
        here, there = own // stride % extent, to // stride % extent
        steps = there - here
        if not steps.any():
            continue
        if shift is not None:
            return None, False
        first = int(steps[0])
        if np.all(steps == first):
            shift = (axis, first)
        elif np.all(steps % extent == first % extent):
            by = first % extent
            shift, around = (axis, by if by <= extent // 2 else by - extent), True
        else:
            return None, False
    return shift, around


def _line(own: Any, to: Any, shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Whether targets are at one place of one axis, and at the own place of the others."""
    line = None
    for axis, extent in enumerate(shape):
        stride = math.prod(shape[axis + 1 :])
        here, there = own // stride % extent, to // stride % extent
        if np.array_equal(here, there):
            continue
        if line is not None or not np.all(there == there[0]):
            return None
        line = (axis, int(there[0]))
    return line

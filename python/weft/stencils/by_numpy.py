"""Sums over neighbours by numpy, for what the kernels do not have: integers, float16, long double, more than four axes.

Takes what `_core.StencilPlan` takes, with the same meaning. A shifted copy is made for every point, which costs more
memory traffic than the kernels need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

MAX_KERNEL_AXES = 4
"""Axes that the kernels know."""


def adding_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which terms of real numbers of a type are summed."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


class Sums:
    """A stencil of real numbers, `components` of them at each site.

    Parameters
    ----------
    grid
        Extents.
    dtype
        Of the numbers. Sums of float16 are taken in float32 and rounded once a step; integers wrap around.
    points
        Offsets and coefficients: a number, or an array over the grid, perhaps with an axis for the components.
    beyond
        For each axis None (circular), a number, or the flat array of what lies beyond both ends.
    components, steps
        Of a site; times that a call applies it.
    """

    def __init__(
        self,
        grid: Sequence[int],
        dtype: np.dtype[Any],
        points: Sequence[tuple[tuple[int, ...], Any]],
        beyond: Sequence[Any],
        *,
        components: int,
        steps: int,
    ) -> None:
        self._grid, self._dtype, self._components, self._steps = tuple(grid), dtype, components, steps
        self._points = [(offset, self._coefficient(value)) for offset, value in points]
        self._beyond = list(beyond)
        self._adding = adding_type(dtype)

    def _coefficient(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        return value if value.ndim > len(self._grid) else value[..., np.newaxis]

    def apply(self, source: Array, out: Array | None) -> None:
        """All sites, step after step."""
        assert out is not None
        result = source
        for _ in range(self._steps):
            result = self._sum(result, 0, self._grid[0])
        out[...] = result.reshape(out.shape)

    def apply_region(self, source: Array, out: Array, region: Sequence[tuple[int, int]]) -> None:
        """One step at some sites: rows that are far from the region are left out."""
        first, last = region[0]
        rows = self._sum(source, first, last)
        index = (slice(None), slice(None), *(slice(start, stop) for start, stop in region[1:]))
        out[...] = rows[index].reshape(out.shape)

    def _sum(self, source: Array, first: int, last: int) -> Array:
        """Rows `first` to `last` of the result."""
        x = source.reshape(-1, *self._grid, self._components)
        down = [offset[0] for offset, _ in self._points]
        # Circular rows may come from the other end; then all of them are taken.
        low, high = first + min(0, *down), last + max(0, *down)
        if self._beyond[0] is None and (low < 0 or high > self._grid[0]):
            low, high = 0, self._grid[0]
        low, high = max(low, 0), min(high, self._grid[0])
        slab = x[:, low:high]
        total = np.zeros((x.shape[0], last - first, *x.shape[2:]), self._adding)
        for offset, coefficient in self._points:
            part: Array = slab
            for axis, by in enumerate(offset):
                if by:
                    part = self._shifted(part, axis, by, low, high)
            rows = part[:, first - low : last - low].astype(self._adding, copy=False)
            factor = coefficient[first:last] if isinstance(coefficient, np.ndarray) else self._adding.type(coefficient)
            with np.errstate(over="ignore", invalid="ignore"):
                total += rows * factor
        return total.astype(self._dtype, copy=False)

    def _shifted(self, x: Array, axis: int, by: int, low: int, high: int) -> Array:
        """Element i + by along an axis of the grid at i."""
        beyond = self._beyond[axis]
        if beyond is None:
            return np.roll(x, -by, axis + 1)
        result, extent = np.empty_like(x), x.shape[axis + 1]
        by = max(-extent, min(extent, by))
        before = (slice(None),) * (axis + 1)
        stays = slice(0, extent - by) if by > 0 else slice(-by, extent)
        comes = slice(by, extent) if by > 0 else slice(0, extent + by)
        outside = slice(extent - by, extent) if by > 0 else slice(0, -by)
        result[(*before, stays)] = x[(*before, comes)]
        result[(*before, outside)] = self._plane(beyond, axis, low, high)
        return result

    def _plane(self, beyond: Any, axis: int, low: int, high: int) -> Any:
        """What lies beyond an axis, as it meets rows `low` to `high`."""
        if not isinstance(beyond, np.ndarray):
            return self._dtype.type(beyond)
        others = [1 if one == axis else extent for one, extent in enumerate(self._grid)]
        plane = beyond.reshape(*others, self._components)
        return plane if axis == 0 else plane[low:high]

    def bind(self, source: Array | None, out: Array | None) -> Callable[[], None]:
        """A call without arguments."""
        assert source is not None
        return lambda: self.apply(source, out)

    def explain(self) -> str:
        """What is done, in words."""
        return (
            f"{len(self._points)} shifted copies are summed by numpy in {self._adding}: there is no kernel for this\n"
        )

    def bytes(self) -> int:
        """Bytes that one step moves: each shifted copy is written and read, and the sum each time."""
        return 4 * len(self._points) * math.prod(self._grid) * self._components * self._dtype.itemsize

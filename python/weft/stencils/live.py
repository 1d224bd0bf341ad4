"""Arrays that are given to plans. One rule for all of them: a plan reads them at each call.

The kernels read an array of the caller's itself where it lies as they need it. Elsewhere they read a copy, which each
call fills again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Live:
    """An array of the caller's, as the kernels read it.

    Parameters
    ----------
    given
        The caller's array.
    make
        Gives the same values as the kernels read them: a view of the array, or a new array.

    Attributes
    ----------
    own
        What the kernels read.
    is_copy
        Whether that is a copy, to be filled again before each call.
    """

    def __init__(self, source: Array, make: Callable[[Array], Array]) -> None:
        self.own = make(source)
        self.is_copy = not np.may_share_memory(self.own, source)
        self._source = source
        self._make = make

    def refresh(self) -> None:
        """Takes over what the caller's array holds."""
        np.copyto(self.own, self._make(self._source))


def is_alike(values: Array) -> bool:
    """Whether coefficients, broadcast to the grid, are one for a row: such are summed apart, before those along rows.

    It is asked of the whole grid's, so that the sums of a part are those of the whole; strides along an axis of one
    index say nothing.
    """
    return values.shape[-1] > 1 and values.strides[-1] == 0


def coefficients(
    source: Array, alike: bool, part: Callable[[Array], Array], real: np.dtype[Any], components: int
) -> tuple[Live, Array]:
    """Coefficients of a grid or a part of one: the values that the kernels read, and these as they take them.

    The second has the shape of `source` (with strides of 0 where nothing depends on an axis), or an axis more: a value
    for each of the `components` elements of a site, which lie together.
    """
    held = source[
        (*(slice(1) if step == 0 else slice(None) for step in source.strides[:-1]), slice(1) if alike else slice(None))
    ]

    def is_read(values: Array) -> bool:
        lies = alike or (components == 1 and values.strides[-1] == values.itemsize)
        whole = not any(stride % values.itemsize for stride in values.strides)
        return bool(values.dtype == real and values.dtype.isnative and values.flags.aligned and whole and lies)

    def make(array: Array) -> Array:
        values = part(array)
        if is_read(values):
            return values
        if alike or components == 1:
            return np.array(values, real, order="C")
        return np.repeat(values[..., np.newaxis].astype(real), components, axis=-1)

    live = Live(held, make)
    return live, spread(live.own, source.shape, alike)


def spread(held: Array, shape: tuple[int, ...], alike: bool) -> Array:
    """An array of this shape, and perhaps an axis more, of one that has an index where nothing depends on an axis.

    As `numpy.broadcast_to`, but that the stride of the last axis is 0 where coefficients are alike along the grid, and
    only there, also in a block of one site.
    """
    pairs = list(zip(held.shape, shape, held.strides, strict=False))
    strides = [0 if there == 1 and wanted != 1 else step for there, wanted, step in pairs]
    rest = len(shape)
    strides[-1] = 0 if alike else strides[-1]
    return np.lib.stride_tricks.as_strided(
        held, (*shape, *held.shape[rest:]), (*strides, *held.strides[rest:]), writeable=False
    )

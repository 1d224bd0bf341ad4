"""Ghosts beyond the ends of a distributed array that no exchange of bytes can fill: other signs, functions of position.

They are filled on their own rank, after the exchange. Where an array has such an end, all numbers and arrays of its
boundary are filled there too, so that the order of axes decides about corners as it does elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft._core import UsageError
from weft.distributed.array import DistributedArray
from weft.distributed.geometry import Geometry
from weft.stencils import boundaries
from weft.stencils.boundaries import Ends
from weft.stencils.ghosts import Box

KEEP = "keep"
"""What an end without a boundary is called here: its ghosts hold what they held."""


def ends_of(boundary: Any, geometry: Geometry) -> list[Ends]:
    """The boundaries of each axis, from one for all or a sequence.

    Raises
    ------
    UsageError
        If it is none.
    """
    ndim = geometry.ndim
    several = list(boundary) if isinstance(boundary, list | tuple) else [boundary] * ndim
    if len(several) != ndim:
        raise UsageError(f"boundary has {len(several)} entries, but the geometry has {ndim} axes")
    if ndim > 1 and getattr(boundary, "ndim", 0) > 0:
        raise UsageError(
            f"a boundary array belongs to one axis, and the geometry has {ndim}: give a boundary for each axis, such "
            "as [array, 'circular']"
        )
    return [_pair(one, axis) for axis, one in enumerate(several)]


def _pair(boundary: Any, axis: int) -> Ends:
    what = f"the boundary of axis {axis}"
    if not isinstance(boundary, tuple):
        end = _end(boundary, what)
        return Ends(end, end)
    if len(boundary) != 2:
        raise UsageError(f"{what} is a tuple of {len(boundary)}; expected a pair, for the ends before and after")
    return Ends(_end(boundary[0], what), _end(boundary[1], what))


def _end(boundary: Any, what: str) -> Any:
    if boundary is None:
        return boundaries.CIRCULAR
    if isinstance(boundary, str):
        if boundary == KEEP:
            return boundaries.NONE
        if boundary not in boundaries.WORDS:
            words = ", ".join(repr(word) for word in (*boundaries.CONTINUED, KEEP))
            raise UsageError(f"{what} is {boundary!r}; expected {words}, a scalar, an array or a function of position")
    return boundary


def is_local(ends: Sequence[Ends]) -> bool:
    """Whether some ghosts must be filled after the exchange."""
    return any(
        boundaries.is_word(end, boundaries.ANTIPERIODIC) or boundaries.is_function(end) for pair in ends for end in pair
    )


class Beyond:
    """What is filled after an exchange on this rank; nothing where the exchange fills all.

    Parameters
    ----------
    ends
        The boundaries of each axis.
    geometry, halo, dtype
        Of the array.
    corners
        Whether ghosts beyond the ends of several axes are filled.
    """

    def __init__(
        self,
        ends: Sequence[Ends],
        geometry: Geometry,
        halo: Sequence[tuple[int, int]],
        dtype: np.dtype[Any],
        corners: bool,
    ) -> None:
        self._box: Box | None = None
        words = [[end if isinstance(end, str) else boundaries.is_function(end) for end in pair] for pair in ends]
        self.description = words if is_local(ends) else None
        """What must be the same on all ranks."""
        if not is_local(ends):
            return
        if dtype.kind not in "ifc" and any(boundaries.is_word(end, boundaries.ANTIPERIODIC) for p in ends for end in p):
            raise UsageError(f"an antiperiodic boundary is of the other sign, which elements of {dtype} do not have")
        if 0 in geometry.local_shape():
            return
        ranges = [
            (own.start - before, own.stop + after)
            for own, (before, after) in zip(geometry.local_slices(), halo, strict=True)
        ]
        faces = None if corners else [(own.start, own.stop) for own in geometry.local_slices()]
        self._box = Box(geometry.shape, (), ends, ranges, dtype, faces=faces)

    def fill(self, array: DistributedArray) -> None:
        """Fill them."""
        if self._box is not None:
            self._box.finish(array.local_with_halo)

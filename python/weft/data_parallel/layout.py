"""How an array lies on the nodes of a data-parallel machine: the canonical layout of George 1994, section 2.1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Subgrid:
    """What a node holds of an array.

    Attributes
    ----------
    extents
        Elements along each axis.
    padded
        Axes along which some nodes hold fewer, because extents do not divide.
    """

    extents: tuple[int, ...]
    padded: tuple[int, ...]


def subgrid(shape: Sequence[int], nodes: int) -> Subgrid:
    """Divide an array among nodes, whose number is a power of two.

    Nodes go to the axes so that these are locally as equal as they can be (George, Brickner and Johnsson 1994, section
    2.1); axes are halved, since nodes of an axis are a subcube, and no axis below one element.

    Examples
    --------
    >>> subgrid((1024, 512), 2048)
    Subgrid(extents=(16, 16), padded=())
    >>> subgrid((100, 64), 16)
    Subgrid(extents=(25, 16), padded=())
    >>> subgrid((50, 8), 8).padded
    (0,)
    """
    along = [1] * len(shape)

    def local(axis: int) -> int:
        return math.ceil(shape[axis] / along[axis])

    while nodes > 1 and any(local(axis) > 1 for axis in range(len(shape))):
        longest = max(range(len(shape)), key=local)
        along[longest] *= 2
        nodes //= 2
    extents = tuple(local(axis) for axis in range(len(shape)))
    padded = tuple(axis for axis, extent in enumerate(shape) if extent % along[axis])
    return Subgrid(extents, padded)

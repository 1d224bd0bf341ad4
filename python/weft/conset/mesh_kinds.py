"""Kinds of cells in files of meshes: how many nodes each has, and its dimension, by the name that meshio gives it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from weft._core import UsageError
from weft.conset.cells import Cells, shape
from weft.conset.mesh_checking import Points
from weft.inputs import path_shown

Blocks = list[tuple[str, Cells]]

_STRAIGHT = {"line": 2, "triangle": 3, "quad": 4, "tetra": 4, "pyramid": 5, "wedge": 6, "hexahedron": 8}
_DIMENSIONS = {"line": 1, "triangle": 2, "quad": 2, "polygon": 2}


def dimension(kind: str) -> int:
    """The dimension of cells of a kind.

    Raises
    ------
    UsageError
        For a kind that is not known.

    Examples
    --------
    >>> dimension("vertex"), dimension("line3"), dimension("quad"), dimension("wedge15")
    (0, 1, 2, 3)
    """
    return 0 if kind == "vertex" else _DIMENSIONS.get(shape(kind), 3)


def nodes(kind: str) -> int | None:
    """How many nodes a cell of a kind has; none where cells of the kind differ.

    Examples
    --------
    >>> nodes("tetra"), nodes("tetra10"), nodes("vertex"), nodes("polygon"), nodes("VTK_LAGRANGE_CURVE")
    (4, 10, 1, None, None)
    """
    if kind == "vertex":
        return 1
    digits = kind[len(kind.rstrip("0123456789")) :]
    return int(digits) if digits else _STRAIGHT.get(kind)


def refuse(path: object, reason: str) -> NoReturn:
    """Say what is wrong with a file.

    Raises
    ------
    UsageError
        Always.
    """
    raise UsageError(f"{path_shown(str(path))}: {reason}")


def in_runs(kinds: NDArray[np.integer], sizes: NDArray[np.integer]) -> Iterable[tuple[int, int]]:
    """First and behind last of runs of cells of one kind with as many nodes each."""
    if not len(kinds):
        return []
    differs = (kinds[1:] != kinds[:-1]) | (sizes[1:] != sizes[:-1])
    starts = [0, *(np.nonzero(differs)[0] + 1).tolist(), len(kinds)]
    return itertools.pairwise(starts)


__all__ = ["Blocks", "Cells", "Points", "dimension", "in_runs", "nodes", "refuse"]

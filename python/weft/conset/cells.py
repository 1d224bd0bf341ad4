"""What the cells of a mesh are bounded by: their facets, and the graph of cells that share one.

A facet of a cell has one dimension less: a face of a solid, an edge of a surface's cell, an end of a line. Kinds and
the order of nodes are meshio's, which are VTK's: corners come first, nodes on edges, on faces and inside after them, so
that cells of any order have the facets of the straight cell of their shape, by its corners.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from weft._core import UsageError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Cells = NDArray[np.int64]
Blocks = Sequence[tuple[str, Cells]]

FACETS: dict[str, tuple[tuple[int, ...], ...]] = {
    "line": ((0,), (1,)),
    "triangle": ((0, 1), (1, 2), (2, 0)),
    "quad": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "tetra": ((0, 1, 2), (0, 1, 3), (1, 2, 3), (2, 0, 3)),
    "hexahedron": ((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)),
    "wedge": ((0, 1, 2), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
    "pyramid": ((0, 1, 2, 3), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)),
}
"""Facets of a straight cell of each shape but the polygon, as corners in VTK's order of nodes."""

_LAGRANGE = "VTK_LAGRANGE_"
_SHAPES = {
    "CURVE": "line",
    "TRIANGLE": "triangle",
    "QUADRILATERAL": "quad",
    "TETRAHEDRON": "tetra",
    "HEXAHEDRON": "hexahedron",
    "WEDGE": "wedge",
    "PYRAMID": "pyramid",
}


def shape(kind: str) -> str:
    """The shape of cells of a kind, whatever their order.

    Raises
    ------
    UsageError
        For a kind whose facets are not known.

    Examples
    --------
    >>> shape("tetra10"), shape("VTK_LAGRANGE_CURVE")
    ('tetra', 'line')
    """
    name = _SHAPES.get(kind.removeprefix(_LAGRANGE), kind) if kind.startswith(_LAGRANGE) else kind.rstrip("0123456789")
    if name not in FACETS and name != "polygon":
        known = ", ".join([*FACETS, "polygon"])
        raise UsageError(f"which cells of kind {kind} are neighbours is not known; it is of {known}, of any order")
    return name


def facets(kind: str, cells: Cells) -> list[Cells]:
    """The facets of cells of one kind, by their number of corners.

    Returns
    -------
    list
        Arrays of shape (cells, facets, corners): the corner nodes of the facets that have so many.
    """
    name = shape(kind)
    corners = [(i, (i + 1) % cells.shape[1]) for i in range(cells.shape[1])] if name == "polygon" else FACETS[name]
    sizes = sorted({len(facet) for facet in corners})
    return [cells[:, np.array([facet for facet in corners if len(facet) == size])] for size in sizes]


def dual_graph(blocks: Blocks) -> csr_array:
    """Cells that share a facet, numbered from block to block; symmetric, of ones.

    Raises
    ------
    UsageError
        For a kind of cells whose facets are not known.
    """
    from scipy.sparse import csr_array

    owners: dict[int, list[NDArray[np.int64]]] = {}
    nodes: dict[int, list[Cells]] = {}
    first = 0
    for kind, cells in blocks:
        for each in facets(kind, cells):
            size = each.shape[2]
            owners.setdefault(size, []).append(np.repeat(np.arange(first, first + len(cells)), each.shape[1]))
            nodes.setdefault(size, []).append(each.reshape(-1, size))
        first += len(cells)
    graph = csr_array((first, first))
    for size, parts in nodes.items():
        owner = np.concatenate(owners[size])
        _, facet = np.unique(np.sort(np.concatenate(parts), axis=1), axis=0, return_inverse=True)
        has = csr_array((np.ones(len(owner)), (owner, facet.ravel())), shape=(first, len(owner)))
        graph = graph + has @ has.T
    graph.setdiag(0)
    graph.eliminate_zeros()
    graph.data[:] = 1.0
    return graph

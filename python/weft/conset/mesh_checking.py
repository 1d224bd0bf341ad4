"""The one check that a mesh is one: for the meshes that weft makes, those it solves on and those it only divides.

A mesh is its points and its cells by kind, as meshio calls them. Of kinds that are not in `EDGES` (cells with nodes on
their edges, for instance) the nodes are checked, not the faces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft._core import UsageError
from weft.conset.cells import FACETS, Blocks, Cells

Points = NDArray[np.float64]

EDGES: dict[str, tuple[tuple[int, ...], ...]] = {
    "triangle": FACETS["triangle"],
    "quad": FACETS["quad"],
    "tetra": ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)),
    "hexahedron": (*FACETS["quad"], *((4, 5), (5, 6), (6, 7), (7, 4)), *((0, 4), (1, 5), (2, 6), (3, 7))),
}
"""Edges of a cell of each kind, in VTK's order of nodes."""

MAX_COORDINATE = 1e100
"""Volumes are products of three coordinates, and must not overflow."""


class MeshError(UsageError):
    """A mesh that no solver should be given; the message says where it is wrong."""


def check(name: str, points: Points, blocks: Blocks) -> None:
    """Refuse what is no mesh.

    Parameters
    ----------
    name
        What messages call it: its file.
    points
        Coordinates, shape (nodes, dimensions).
    blocks
        Kinds with their cells, each of shape (cells, nodes of a cell).

    Raises
    ------
    MeshError
        For no cells, nodes that there are not, coordinates that are no numbers or beyond `MAX_COORDINATE`, duplicate
        nodes, faces of more than two cells (in space those of solids), cells without area or volume, and hanging nodes
        (nodes in the middle of an edge or face of a cell that does not have them).
    """
    blocks = [(kind, cells) for kind, cells in blocks if cells.size]
    if not blocks:
        raise MeshError(f"{name}: it has no cells")
    _check_nodes(name, points, blocks)
    _check_duplicates(name, points, blocks)
    known = [(kind, cells) for kind, cells in blocks if kind in EDGES]
    _check_volumes(name, points, known)
    if len(known) == len(blocks):
        outer = _outer_faces(name, known, points.shape[1])
        _check_hanging(name, points, outer)


def _check_nodes(name: str, points: Points, blocks: Blocks) -> None:
    nodes = len(points)
    for _, cells in blocks:
        if cells.min() < 0 or cells.max() >= nodes:
            cell = int(np.nonzero((cells < 0) | (cells >= nodes))[0][0])
            wrong = cells[cell].min() if cells[cell].min() < 0 else cells[cell].max()
            raise MeshError(f"{name}: cell {cell} names node {wrong}; there are nodes 0 to {nodes - 1}")
    if not np.isfinite(points).all():
        node = int(np.nonzero(~np.isfinite(points))[0][0])
        raise MeshError(f"{name}: a coordinate of node {node} is no number")
    if np.abs(points).max(initial=0.0) > MAX_COORDINATE:
        node = int(np.nonzero(np.abs(points) > MAX_COORDINATE)[0][0])
        raise MeshError(
            f"{name}: a coordinate of node {node} is beyond {MAX_COORDINATE:g}: distances could not be computed; "
            "take another unit of length"
        )


def _edges(kind: str, cells: Cells) -> Cells:
    """Every edge of every cell; of other kinds from each node to the next."""
    corners = EDGES.get(kind) or tuple((corner, (corner + 1) % cells.shape[1]) for corner in range(cells.shape[1]))
    edges: Cells = cells[:, np.array(corners)].reshape(-1, 2)
    return edges


def _check_duplicates(name: str, points: Points, blocks: Blocks) -> None:
    """Nodes are the same where they are nearer than a millionth of the edges there: a refined mesh has no one scale."""
    from scipy.spatial import KDTree

    edges = np.concatenate([_edges(kind, cells) for kind, cells in blocks])
    used = np.unique(edges)
    length = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    longest = np.zeros(len(points))
    np.maximum.at(longest, edges.ravel(), np.repeat(length, 2))
    if len(used) < 2:
        return
    query = KDTree(points[used]).query(points[used], k=2)
    distance, nearest = np.asarray(query[0]), np.asarray(query[1])
    same = distance[:, 1] <= 1e-6 * longest[used]
    if same.any():
        index = int(same.argmax())
        # Of two nodes at one place the search may name either as the nearest.
        first, second = sorted({int(used[each]) for each in (index, *nearest[index])})[:2]
        raise MeshError(
            f"{name}: nodes {first} and {second} are the same point ({same.sum()} nodes lie on others): cells on "
            "its two sides would not be joined; merge duplicate nodes, or move them apart where a crack is meant"
        )


def _check_volumes(name: str, points: Points, blocks: Blocks) -> None:
    for kind, cells in blocks:
        corners = points[cells]
        if kind in ("triangle", "quad"):
            # Half of a quadrilateral is the product of its diagonals.
            one = corners[:, 2] - corners[:, 0]
            other = corners[:, 1] - corners[:, 0] if kind == "triangle" else corners[:, 3] - corners[:, 1]
            space = np.zeros((2, len(cells), 3))
            space[0, :, : one.shape[1]], space[1, :, : one.shape[1]] = one, other
            flat = np.linalg.norm(np.cross(space[0], space[1]), axis=1) <= 0.0
        else:
            sides = corners[:, [1, 3, 4] if kind == "hexahedron" else [1, 2, 3]] - corners[:, :1]
            flat = np.abs(np.linalg.det(sides)) <= 0.0
        if flat.any():
            raise MeshError(
                f"{name}: cell {int(flat.argmax())} has no {'volume' if kind in ('tetra', 'hexahedron') else 'area'}"
            )


def _outer_faces(name: str, blocks: Blocks, dimension: int) -> list[Cells]:
    """Faces of one cell only, by their number of nodes. Several sheets of a surface in space may meet at an edge."""
    by_size: dict[int, list[Cells]] = {}
    for kind, cells in blocks:
        size = len(FACETS[kind][0])
        by_size.setdefault(size, []).append(cells[:, np.array(FACETS[kind])].reshape(-1, size))
    outer = []
    for faces in by_size.values():
        flat = np.concatenate(faces)
        unique, first, count = np.unique(np.sort(flat, axis=1), axis=0, return_index=True, return_counts=True)
        if count.max() > 2 and flat.shape[1] >= dimension:
            face = ", ".join(str(node) for node in unique[count.argmax()])
            raise MeshError(f"{name}: {count.max()} cells share the face of nodes {face}; at most two can")
        outer.append(flat[first[count == 1]])
    return outer


def _check_hanging(name: str, points: Points, outer: list[Cells]) -> None:
    """Where a cell lacks a node of its neighbour, both have outer faces there: only nodes of those can hang."""
    from scipy.spatial import KDTree

    outer = [faces for faces in outer if len(faces)]
    if not outer:
        return
    candidates = np.unique(np.concatenate([faces.ravel() for faces in outer]))
    tree = KDTree(points[candidates])
    rounds = [np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2) for faces in outer]
    edges = np.unique(np.sort(np.concatenate(rounds), axis=1), axis=0)
    for faces in outer:
        if faces.shape[1] > 2:
            _check_inside(name, points, faces, candidates, tree)
    start, end = points[edges[:, 0]], points[edges[:, 1]]
    length = np.linalg.norm(end - start, axis=1)
    near = tree.query_ball_point((start + end) / 2.0, length / 2.0 * (1.0 - 1e-9))
    for edge, nearby in enumerate(near):
        for node in candidates[nearby]:
            if node in edges[edge]:
                continue
            along = (end[edge] - start[edge]) / length[edge]
            offset = points[node] - start[edge]
            if np.linalg.norm(offset - (offset @ along) * along) <= 1e-7 * length[edge]:
                one, other = (int(each) for each in edges[edge])
                raise MeshError(
                    f"{name}: node {int(node)} hangs on the edge from node {one} to node {other}: the cell of "
                    "that edge does not have it, so the two sides would not be joined; refine that cell too"
                )


def _check_inside(name: str, points: Points, faces: Cells, candidates: NDArray[np.int64], tree: Any) -> None:
    corners = points[faces]
    middle = corners.mean(axis=1)
    reach = np.linalg.norm(corners - middle[:, None], axis=2).min(axis=1)
    # A face of four nodes is seen to its corners' circle, one of three to the circle inside it.
    share = 0.99 if faces.shape[1] > 3 else 0.4
    near = tree.query_ball_point(middle, share * reach)
    for face, nearby in enumerate(near):
        for node in candidates[nearby]:
            if node in faces[face]:
                continue
            normal = np.cross(corners[face, 1] - corners[face, 0], corners[face, -1] - corners[face, 0])
            distance = abs((points[node] - middle[face]) @ normal) / np.linalg.norm(normal)
            if distance <= 1e-7 * reach[face]:
                names = ", ".join(str(int(each)) for each in faces[face])
                raise MeshError(f"{name}: node {int(node)} hangs in the face of nodes {names}")

"""Meshes like those of Feldmann, Stricker and Warfel 1993, table 4.

The paper's own meshes are not published; these have the same numbers of nodes (and nearly of elements) and the same
character: `m11k` a plate with random nodes, `c10k` and `c100k` a plate refined around the tip of a crack, `q20k` a
block of hexahedra, the alluvial valley of its earthquakes.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft._core import UsageError
from weft.conset import mesh_checking, mesh_files
from weft.conset.cells import FACETS, Cells
from weft.conset.mesh_checking import MeshError, Points

KINDS = ("triangle", "hexahedron")
"""Kinds of cells, as meshio calls them."""


@dataclass(frozen=True)
class Mesh:
    """Nodes and cells.

    Attributes
    ----------
    name
        What people call it.
    points
        Coordinates, shape (nodes, dimensions).
    cells
        Nodes of every cell, shape (cells, nodes of a cell), in the order of VTK.
    kind
        `triangle` or `hexahedron`.
    """

    name: str
    points: Points
    cells: Cells
    kind: str

    def faces(self) -> Cells:
        """Nodes of every face (in two dimensions: edge) of every cell, shape (cells, faces, nodes of a face)."""
        return self.cells[:, np.array(FACETS[self.kind])]

    def boundary(self) -> NDArray[np.int64]:
        """Nodes of faces that only one cell has, ascending."""
        nodes: NDArray[np.int64] = np.unique(self._outer_faces())
        return nodes

    def _outer_faces(self) -> Cells:
        flat = self.faces().reshape(-1, len(FACETS[self.kind][0]))
        _, first, count = np.unique(np.sort(flat, axis=1), axis=0, return_index=True, return_counts=True)
        outer: Cells = flat[first[count == 1]]
        return outer

    def dual_graph(self) -> list[NDArray[np.int64]]:
        """The neighbours of every cell: those it shares a face with."""
        flat = np.sort(self.faces().reshape(-1, len(FACETS[self.kind][0])), axis=1)
        owner = np.repeat(np.arange(len(self.cells)), len(FACETS[self.kind]))
        order = np.lexsort(flat.T)
        same = (flat[order[1:]] == flat[order[:-1]]).all(axis=1)
        one, other = owner[order[:-1][same]], owner[order[1:][same]]
        both = np.concatenate([np.stack([one, other], axis=1), np.stack([other, one], axis=1)])
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        return np.split(both[:, 1], np.searchsorted(both[:, 0], np.arange(1, len(self.cells))))


def check(mesh: Mesh) -> Mesh:
    """The mesh, if it is one.

    Raises
    ------
    MeshError
        For cells of unknown kind or with nodes that there are not, coordinates that are no numbers, nodes that no cell
        has, duplicate nodes, faces of more than two cells, cells without volume, and hanging nodes (nodes in the middle
        of an edge or face of a cell that does not have them).
    """
    if mesh.kind not in KINDS:
        raise MeshError(f"{mesh.name}: cells of kind '{mesh.kind}'; there are {', '.join(KINDS)}")
    mesh_checking.check(mesh.name, mesh.points, [(mesh.kind, mesh.cells)])
    unused = np.setdiff1d(np.arange(len(mesh.points)), mesh.cells)
    if unused.size:
        raise MeshError(f"{mesh.name}: no cell has node {unused[0]} ({unused.size} such nodes)")
    return mesh


def plate(nodes: int = 11_000, on_edge: int = 1_000, seed: int = 0) -> Mesh:
    """A square plate with random nodes: `on_edge` on its edge, the others inside, joined by Delaunay's triangles.

    Of `n` nodes, `b` of them on the edge, there are `2 n - 2 - b` triangles: 20,998 of the paper's 11,000 nodes with a
    thousand on the edge.

    Raises
    ------
    MeshError
        If there are fewer than four nodes on the edge, or more than there are nodes.
    """
    from scipy.spatial import Delaunay

    if not 4 <= on_edge <= nodes:
        raise MeshError(f"a plate of {nodes} nodes, {on_edge} of them on its edge: at least its four corners are")
    random = np.random.default_rng(seed)
    around = np.concatenate([np.arange(4.0), np.sort(random.uniform(0.0, 4.0, on_edge - 4))])
    inside = random.uniform(0.0, 1.0, (nodes - on_edge, 2))
    points = np.concatenate([_on_square(around), inside])
    return check(
        Mesh(
            "m11k" if nodes == 11_000 else f"plate{nodes}",
            points,
            _areal(Delaunay(points).simplices, points),
            "triangle",
        )
    )


def _on_square(around: NDArray[np.float64]) -> Points:
    side, along = np.divmod(around, 1.0)
    x = np.select([side == 0, side == 1, side == 2], [along, np.ones_like(along), 1.0 - along], 0.0)
    y = np.select([side == 0, side == 1, side == 2], [np.zeros_like(along), along, np.ones_like(along)], 1.0 - along)
    return np.stack([x, y], axis=1)


def _areal(cells: NDArray[np.integer], points: Points) -> Cells:
    """Triangles that have an area: three nodes on one side of the plate have none."""
    one, other = points[cells[:, 1]] - points[cells[:, 0]], points[cells[:, 2]] - points[cells[:, 0]]
    double = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]
    kept: Cells = cells[np.abs(double) > 1e-13].astype(np.int64)
    return kept


_SLIT = 1e-3
"""Half of the angle by which the crack gapes, so that its two faces are two."""


def crack(nodes: int = 10_240, seed: int = 0) -> Mesh:
    """A square plate with a crack from one side to its middle, refined around the tip.

    The area of triangles grows with the distance from the tip to the power 1.5. The map `z = w**4` does that: even
    triangles in a quarter of the plane of `w` become such triangles on the whole plate, and the two faces of the crack
    are the quarter's two sides.

    Raises
    ------
    MeshError
        For fewer than 100 nodes.
    """
    from scipy.spatial import Delaunay

    if nodes < 100:
        raise MeshError(f"a cracked plate of {nodes} nodes: at least 100 are needed to have the crack and the edge")
    coarse, fine = 1.0, 1e-3
    while fine / coarse < 1.0 - 1e-6:
        spacing = np.sqrt(coarse * fine)
        coarse, fine = (coarse, spacing) if sum(map(len, _crack_nodes(spacing))) >= nodes else (spacing, fine)
    edge, inside = _crack_nodes(fine)
    random = np.random.default_rng(seed)
    kept = np.sort(random.choice(len(inside), nodes - len(edge), replace=False))
    w = np.concatenate([edge, inside[kept]])
    cells = Delaunay(np.stack([w.real, w.imag], axis=1)).simplices
    middle = w[cells].mean(axis=1)
    on_plate = _square_depth(middle**4) > 0.0
    on_plate &= np.abs(np.angle(middle)) < (np.pi - _SLIT) / 4.0
    # Along the curved edge of the quarter a triangle may have all of its nodes on the edge and lie outside.
    ends = w[cells]
    flat = np.abs(((ends[:, 1] - ends[:, 0]).conj() * (ends[:, 2] - ends[:, 0])).imag) < 1e-6 * fine**2
    cells = cells[on_plate & ~flat].astype(np.int64)
    names = {10_240: "c10k", 105_000: "c100k"}
    plane = w**4
    points = np.stack([plane.real, plane.imag], axis=1)
    return check(_compact(Mesh(names.get(nodes, f"crack{nodes}"), points, cells, "triangle")))


def _square_depth(plane: NDArray[np.complex128]) -> NDArray[np.float64]:
    """How far points lie inside the square from -1 to 1."""
    return 1.0 - np.maximum(np.abs(plane.real), np.abs(plane.imag))


def _crack_nodes(spacing: float) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Nodes on the edge of the quarter of `w` (the edge of the plate and the faces of the crack), and inside it."""
    limit = (np.pi - _SLIT) / 4.0
    angles = np.linspace(-np.pi + _SLIT, np.pi - _SLIT, 200_001)
    rim = np.exp(1j * angles) / np.maximum(np.abs(np.cos(angles)), np.abs(np.sin(angles)))
    rim = np.abs(rim) ** 0.25 * np.exp(0.25j * angles)
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(rim)))])
    pieces = max(8, round(length[-1] / spacing / 8) * 8)
    # The plate's corners lie between the eighths of the rim, by symmetry at whole numbers of pieces.
    corners = np.interp([-0.75 * np.pi, -0.25 * np.pi, 0.25 * np.pi, 0.75 * np.pi], angles, length)
    stops = np.concatenate([[0.0], corners, [length[-1]]])
    along = [
        np.linspace(a, b, max(2, round((b - a) / length[-1] * pieces) + 1))[:-1] for a, b in itertools.pairwise(stops)
    ]
    at = np.concatenate([*along, [length[-1]]])
    edge = np.interp(at, length, rim.real) + 1j * np.interp(at, length, rim.imag)
    reach = np.abs(edge[0])
    radii = np.linspace(0.0, reach, max(3, round(reach / spacing) + 1))[1:-1]
    faces = np.concatenate([radii * np.exp(1j * limit), radii * np.exp(-1j * limit), [0.0]])
    # The corners themselves must be nodes of the plate, exactly.
    edge[np.cumsum([len(piece) for piece in along])[:-1]] = (
        np.array([-1 - 1j, 1 - 1j, 1 + 1j, -1 + 1j]).astype(complex)
    ) ** 0.25
    rows = np.arange(-1.2, 1.2, spacing * np.sqrt(0.75))
    columns = np.arange(0.0, 1.3, spacing)
    lattice = (columns[None, :] + (np.arange(len(rows)) % 2)[:, None] * spacing / 2.0 + 1j * rows[:, None]).ravel()
    away = limit - np.abs(np.angle(lattice))
    from_face = np.abs(lattice) * np.sin(np.clip(away, -np.pi / 2, np.pi / 2))
    slope = 4.0 * np.maximum(np.abs(lattice), 1e-9) ** 3
    from_rim = _square_depth(lattice**4) / slope
    inside = lattice[(from_face > 0.55 * spacing) & (from_rim > 0.55 * spacing) & (np.abs(lattice) > 1.55 * spacing)]
    # Around the tip the whole turn of z is a quarter turn of w: its first triangles need nodes of their own.
    inside = np.concatenate([inside, radii[0] * np.exp(1j * limit * np.linspace(-1.0, 1.0, 6)[1:-1])])
    return np.concatenate([edge, faces]), inside


def _compact(mesh: Mesh) -> Mesh:
    """Without nodes that no cell has."""
    used, cells = np.unique(mesh.cells, return_inverse=True)
    return Mesh(mesh.name, mesh.points[used], cells.reshape(mesh.cells.shape).astype(np.int64), mesh.kind)


def block(extents: tuple[int, int, int] = (25, 40, 20)) -> Mesh:
    """A block of hexahedra, its upper side sunk like a valley.

    Raises
    ------
    MeshError
        If an extent is less than 1.
    """
    if min(extents) < 1:
        raise MeshError(f"a block of {'x'.join(map(str, extents))} hexahedra has none")
    shape = tuple(extent + 1 for extent in extents)
    number = np.arange(np.prod(shape)).reshape(shape)
    axes = [np.linspace(0.0, 1.0, count) for count in shape]
    x, y, z = np.meshgrid(*axes, indexing="ij")
    valley = 0.3 * np.exp(-8.0 * ((x - 0.5) ** 2 + (y - 0.5) ** 2))
    points = np.stack([x, y, z * (1.0 - valley)], axis=3).reshape(-1, 3)
    lower = [number[a : a + extents[0], b : b + extents[1], : extents[2]] for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
    upper = [number[a : a + extents[0], b : b + extents[1], 1:] for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
    cells = np.stack([corner.ravel() for corner in (*lower, *upper)], axis=1).astype(np.int64)
    name = "q20k" if extents == (25, 40, 20) else "block" + "x".join(map(str, extents))
    return check(Mesh(name, points, cells, "hexahedron"))


PAPER_MESHES: dict[str, Callable[[], Mesh]] = {
    "m11k": plate,
    "c10k": crack,
    "c100k": functools.partial(crack, 105_000),
    "q20k": block,
}
"""The four meshes of the paper's table 4, by their names there."""


def paper_mesh(name: str) -> Mesh:
    """One of the four meshes like the paper's.

    Raises
    ------
    UsageError
        For any other name.
    """
    if name not in PAPER_MESHES:
        raise UsageError(f"no mesh '{name}'; the paper has {', '.join(PAPER_MESHES)}")
    return PAPER_MESHES[name]()


def read(path: str) -> Mesh:
    """A mesh from a file of any format that weft reads (:func:`weft.conset.mesh_files.read`), all of one kind.

    Cells of a lower dimension than others in the file are left out: they are edges and faces of those.

    Raises
    ------
    MeshError
        If the file cannot be read, has cells of kinds that are not solved on, among others or alone, or triangles that
        do not lie in one plane of the third coordinate, or the mesh is none (:func:`check`).
    """
    try:
        points, blocks = mesh_files.read(Path(path))
    except UsageError as error:
        raise MeshError(str(error)) from None
    kinds = sorted({kind for kind, _ in blocks})
    if len(kinds) != 1 or kinds[0] not in KINDS:
        raise MeshError(
            f"{path}: it has {', '.join(kinds) or 'no cells'}; expected triangles alone, or hexahedra alone"
        )
    if kinds[0] == "triangle" and points.shape[1] != 2:
        raise MeshError(f"{path}: a surface in space; expected triangles of one third coordinate")
    return check(_compact(Mesh(path, points, np.concatenate([cells for _, cells in blocks]), kinds[0])))

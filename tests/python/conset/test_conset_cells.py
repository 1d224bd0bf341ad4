"""Which cells of a mesh are neighbours: against hulls of the reference cells, and by comparing every two cells."""

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import weft
from weft._core import UsageError
from weft.conset.cells import FACETS, dual_graph, facets, shape
from weft.conset.graphs import read

CORNERS = {
    "triangle": [(0, 0), (1, 0), (0, 1)],
    "quad": [(0, 0), (1, 0), (1, 1), (0, 1)],
    "tetra": [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)],
    "hexahedron": [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)],
    "wedge": [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1)],
    "pyramid": [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1)],
}
"""The reference cells of VTK's file formats."""


def hull_facets(corners):
    """Corners on each plane of the convex hull."""
    hull = ConvexHull(corners)
    planes = {tuple(np.round(equation, 9)) for equation in hull.equations}
    distances = np.asarray(corners) @ np.array([plane[:-1] for plane in planes]).T + [plane[-1] for plane in planes]
    return {frozenset(np.nonzero(np.abs(column) < 1e-9)[0].tolist()) for column in distances.T}


@pytest.mark.parametrize("kind", CORNERS)
def test_facets_are_those_of_the_hull(kind):
    assert {frozenset(facet) for facet in FACETS[kind]} == hull_facets(CORNERS[kind])
    # Around a face, so that its neighbours in the list are joined by an edge.
    points = np.array(CORNERS[kind], dtype=float)
    for facet in FACETS[kind]:
        if len(facet) == 4:
            one, two, three, four = points[list(facet)]
            assert np.allclose(one - two, four - three), "its diagonals would cross"


def neighbours(blocks):
    """By comparing every two cells: the corners that both have are all of a facet of both."""
    cells = []
    for kind, block in blocks:
        for cell in block:
            corners = len(CORNERS[kind]) if kind in CORNERS else 2
            own = hull_facets(CORNERS[kind]) if kind in CORNERS else {frozenset([0]), frozenset([1])}
            cells.append({frozenset(int(cell[:corners][i]) for i in facet) for facet in own})
    return {(a, b) for (a, one), (b, other) in itertools.permutations(enumerate(cells), 2) if one & other}


def pairs(graph):
    entries = graph.tocoo()
    return set(zip(entries.row.tolist(), entries.col.tolist(), strict=True))


@pytest.mark.parametrize(
    "kinds", [("tetra",), ("hexahedron", "wedge", "pyramid", "tetra"), ("triangle", "quad"), ("line",)]
)
@pytest.mark.parametrize("nodes", [9, 14, 30])
def test_the_dual_graph_is_that_of_comparing_every_two(kinds, nodes):
    random = np.random.default_rng(nodes)
    blocks = []
    for kind in kinds:
        size = len(CORNERS.get(kind, (0, 1)))
        blocks.append((kind, np.array([random.permutation(nodes)[:size] for _ in range(40)])))
    graph = dual_graph(blocks)
    assert pairs(graph) == neighbours(blocks)
    assert set(graph.data.tolist()) <= {1.0}


def test_cells_of_higher_order_are_neighbours_by_their_corners():
    # Two tetrahedra of ten nodes with a common edge share three nodes, as many as a face has corners.
    edge = np.array([[0, 1, 2, 3, 10, 11, 12, 13, 14, 15], [0, 1, 4, 5, 10, 16, 17, 18, 19, 20]])
    assert dual_graph([("tetra10", edge)]).nnz == 0
    face = np.array([[0, 1, 2, 3, 10, 11, 12, 13, 14, 15], [0, 1, 2, 5, 10, 11, 12, 18, 19, 20]])
    assert pairs(dual_graph([("tetra10", face)])) == {(0, 1), (1, 0)}


def test_every_kind_of_meshio_has_a_shape():
    meshio = pytest.importorskip("meshio", reason="meshio is not installed: pip install 'weft[meshes]'")
    for kind, dimension in meshio._mesh.topological_dimension.items():
        if kind == "vertex":
            with pytest.raises(UsageError, match=r"^which cells of kind vertex are neighbours is not known; it is of "):
                shape(kind)
            continue
        name = shape(kind)
        assert {"line": 1, "polygon": 2, "triangle": 2, "quad": 2}.get(name, 3) == dimension
    (edges,) = facets("polygon", np.array([[7, 5, 3, 1, 0]]))
    assert edges.tolist() == [[[7, 5], [5, 3], [3, 1], [1, 0], [0, 7]]]


def cylinder(around, along):
    """A surface of triangles in space."""
    points = [
        (np.cos(2 * np.pi * i / around), np.sin(2 * np.pi * i / around), j / around)
        for j in range(along)
        for i in range(around)
    ]
    cells = []
    for j, i in itertools.product(range(along - 1), range(around)):
        a, b = j * around + i, j * around + (i + 1) % around
        cells += [(a, b, a + around), (b, b + around, a + around)]
    return np.array(points), np.array(cells)


def written(path, points, *blocks):
    meshio = pytest.importorskip("meshio", reason="meshio is not installed: pip install 'weft[meshes]'")
    meshio.write(path, meshio.Mesh(points, list(blocks)))
    return path


def test_a_surface_is_divided_into_patches(tmp_path):
    pytest.importorskip("pymetis", reason="pymetis is not installed: pip install 'weft[meshes]'")
    points, cells = cylinder(50, 59)
    assert len(cells) == 5800
    exchange = read(written(tmp_path / "surface.vtu", points, ("triangle", cells)), 16)
    # Patches of a surface have some six neighbours; parts without a graph are everywhere and have all fifteen.
    assert len(exchange) <= 16 * 8


def test_lines_are_divided_where_they_meet(tmp_path):
    pytest.importorskip("pymetis", reason="pymetis is not installed: pip install 'weft[meshes]'")
    points = np.stack([np.arange(65.0), np.zeros(65), np.zeros(65)], axis=1)
    cells = np.stack([np.arange(64), np.arange(1, 65)], axis=1)
    exchange = read(written(tmp_path / "line.vtu", points, ("line", cells)), 4)
    assert len(exchange) == 6, "each part but the first and the last lies between two others"


def test_sheets_of_a_surface_meet_at_an_edge(tmp_path):
    pytest.importorskip("pymetis", reason="pymetis is not installed: pip install 'weft[meshes]'")
    points = np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, -1, 0)])
    cells = np.array([(0, 1, 2), (0, 1, 3), (0, 1, 4)])
    assert len(read(written(tmp_path / "sheets.vtu", points, ("triangle", cells)), 3)) == 6


def test_cells_that_share_nothing_are_not_divided(tmp_path):
    points = np.random.default_rng(3).random((9, 3))
    path = written(tmp_path / "apart.vtu", points, ("triangle", np.arange(9).reshape(3, 3)))
    with pytest.raises(weft.UsageError) as error:
        read(path, 2)
    assert str(error.value) == (
        f"{path}: no two of its 3 cells have a face, an edge of a surface or an end of a line in common, so that "
        "nothing says which belong together; merge duplicate nodes, or give a partition"
    )
    (tmp_path / "parts").write_text("0\n1\n1\n")
    assert len(read(path, 2, tmp_path / "parts")) == 0

"""Meshes like the paper's, and meshes that are none."""

import numpy as np
import pytest

from weft.conset import meshes
from weft.conset.meshes import Mesh, MeshError


def square() -> Mesh:
    """Four triangles around the middle of a square."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
    cells = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
    return Mesh("square", points, cells, "triangle")


def test_a_plate_has_the_papers_numbers():
    plate = meshes.paper_mesh("m11k")
    assert (len(plate.points), len(plate.cells), len(plate.boundary())) == (11_000, 20_998, 1_000)


def test_a_block_has_its_cells():
    block = meshes.block((3, 4, 2))
    assert (len(block.points), len(block.cells)) == (60, 24)
    assert len(block.boundary()) == 60 - 2 * 3 * 1
    inside = [len(found) for found in block.dual_graph()]
    assert sum(inside) == 2 * (2 * 4 * 2 + 3 * 3 * 2 + 3 * 4 * 1)


@pytest.mark.parametrize("nodes", [500, 2000])
def test_a_crack_is_refined_around_its_tip(nodes):
    crack = meshes.crack(nodes)
    assert len(crack.points) == nodes
    corners = crack.points[crack.cells]
    one, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = np.abs(one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]) / 2.0
    away = np.linalg.norm(corners.mean(axis=1), axis=1)
    slope = np.polyfit(np.log(away), np.log(area), 1)[0]
    assert slope == pytest.approx(1.5, abs=0.1), "area grows with the distance to the power 1.5"
    assert area.sum() == pytest.approx(4.0, rel=0.01), "the whole plate, but for the crack"


def test_the_two_faces_of_the_crack_are_two():
    crack = meshes.crack(1000)
    on_line = crack.points[(np.abs(crack.points[:, 1]) < 1e-2 * -crack.points[:, 0]) & (crack.points[:, 0] < -1e-3)]
    assert (on_line[:, 1] > 0).any()
    assert (on_line[:, 1] < 0).any()
    edges = np.sort(crack.faces().reshape(-1, 2), axis=1)
    ends = crack.points[edges]
    crosses = (ends[:, 0, 1] * ends[:, 1, 1] < 0) & (ends[:, :, 0].max(axis=1) < 0)
    assert not crosses.any(), "no triangle joins the two faces"


def test_the_dual_graph_joins_cells_with_a_face():
    assert [found.tolist() for found in square().dual_graph()] == [[1, 3], [0, 2], [1, 3], [0, 2]]


def refused(mesh: Mesh) -> str:
    with pytest.raises(MeshError) as error:
        meshes.check(mesh)
    return str(error.value)


def test_duplicate_nodes_are_refused():
    whole = square()
    points = np.concatenate([whole.points, whole.points[4:]])
    cells = whole.cells.copy()
    cells[0, 2] = 5
    message = refused(Mesh("double", points, cells, "triangle"))
    assert message.startswith("double: nodes 4 and 5 are the same point (2 nodes lie on others)")
    assert "merge duplicate nodes" in message


def test_hanging_nodes_are_refused():
    whole = square()
    points = np.concatenate([whole.points, [[0.25, 0.25]]])
    # The first triangle is divided at the middle of the edge from 0 to 4, its neighbour is not.
    cells = np.array([[0, 1, 5], [5, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
    message = refused(Mesh("hanging", points, cells, "triangle"))
    assert "node 5 hangs on the edge from node" in message
    assert "refine that cell too" in message


def test_hanging_nodes_of_hexahedra_are_refused():
    coarse, fine = meshes.block((1, 2, 2)), meshes.block((1, 1, 1))
    shifted = fine.points * [1.0, 1.0, 1.0] + [1.0, 0.0, 0.0]
    points = np.concatenate([coarse.points, shifted])
    cells = np.concatenate([coarse.cells, fine.cells + len(coarse.points)])
    # Nodes of the two that lie on each other become one; the coarse side's others hang.
    merged = np.arange(len(points))
    for node in range(len(coarse.points), len(points)):
        same = np.nonzero(np.linalg.norm(points[: len(coarse.points)] - points[node], axis=1) < 1e-9)[0]
        if same.size:
            merged[node] = same[0]
    used, renumbered = np.unique(merged[cells], return_inverse=True)
    message = refused(Mesh("stepped", points[used], renumbered.reshape(cells.shape), "hexahedron"))
    assert "hangs" in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, c: (p, np.concatenate([c, [[0, 1, 9]]])), "cell 4 names node 9; there are nodes 0 to 4"),
        (lambda p, c: (np.concatenate([p, [[3.0, 3.0]]]), c), "no cell has node 5"),
        (lambda p, c: (p, np.concatenate([c, c[:1]])), "3 cells share the face|2 cells share|cells share the face"),
        (lambda p, c: (np.where(p == 0.5, np.nan, p), c), "a coordinate of node 4 is no number"),
        (lambda p, c: (p, c[:0]), "it has no cells"),
    ],
)
def test_what_is_no_mesh_is_refused(change, message):
    whole = square()
    points, cells = change(whole.points, whole.cells)
    with pytest.raises(MeshError, match=message):
        meshes.check(Mesh("broken", points, cells, "triangle"))


def test_unknown_meshes_are_named():
    with pytest.raises(meshes.UsageError, match="no mesh 'm12k'; the paper has m11k, c10k, c100k, q20k"):
        meshes.paper_mesh("m12k")


def test_files_are_read(tmp_path):
    meshio = pytest.importorskip("meshio")
    path = tmp_path / "square.vtk"
    whole = square()
    points = np.concatenate([whole.points, np.zeros((5, 1))], axis=1)
    meshio.write(path, meshio.Mesh(points, [("triangle", whole.cells)]))
    found = meshes.read(str(path))
    assert (found.cells == whole.cells).all()
    (tmp_path / "broken.vtk").write_text("no mesh")
    with pytest.raises(MeshError, match=r"broken\.vtk"):
        meshes.read(str(tmp_path / "broken.vtk"))


def cells_of(tmp_path, points, *blocks):
    meshio = pytest.importorskip("meshio")
    path = tmp_path / "mesh.vtk"
    meshio.write(path, meshio.Mesh(points, list(blocks)))
    return str(path)


CUBE = np.array([[x, y, z] for z in (0.0, 1.0) for x, y in ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))])


def test_a_surface_in_space_is_not_flattened(tmp_path):
    path = cells_of(tmp_path, CUBE, ("triangle", [[0, 1, 2], [1, 2, 6]]))
    with pytest.raises(MeshError, match=r"mesh\.vtk: a surface in space; expected triangles of one third coordinate"):
        meshes.read(path)


def test_no_part_of_a_mesh_is_left_out(tmp_path):
    """The faces of tetrahedra are no mesh to solve on, and neither are the triangles between quadrilaterals."""
    tetrahedra = ("tetra", [[0, 1, 2, 5], [0, 2, 3, 7]])
    path = cells_of(tmp_path, CUBE, ("triangle", [[0, 1, 2]]), tetrahedra)
    with pytest.raises(MeshError, match=r"mesh\.vtk: it has tetra; expected triangles alone, or hexahedra alone"):
        meshes.read(path)
    flat = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
    path = cells_of(tmp_path, flat, ("triangle", [[1, 4, 2]]), ("quad", [[0, 1, 2, 3]]))
    with pytest.raises(MeshError, match="it has quad, triangle; expected"):
        meshes.read(path)


def test_hexahedra_are_read_without_their_faces_and_spare_nodes(tmp_path):
    points = np.concatenate([[[5.0, 5.0, 5.0]], CUBE])
    path = cells_of(tmp_path, points, ("quad", [[1, 2, 3, 4]]), ("hexahedron", [list(range(1, 9))]))
    mesh = meshes.read(path)
    assert (mesh.points == CUBE).all()
    assert mesh.cells.tolist() == [list(range(8))]

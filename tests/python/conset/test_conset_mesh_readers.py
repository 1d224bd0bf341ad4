"""Meshes in files of Gmsh 4, VTU, XDMF and STL that are written by hand, beside every two cells; and broken ones."""

from __future__ import annotations

import itertools
from pathlib import Path

import mesh_bytes as by_hand
import numpy as np
import pytest
from mesh_bytes import DIMENSIONS, LAGRANGE, LINES, POINTS, SERENDIPITY, SHAPES, SOLIDS, SURFACE, Cells, Points

from weft import UsageError
from weft.conset import mesh_files
from weft.conset.cells import dual_graph
from weft.conset.graphs import read

STRAIGHT: dict[str, tuple[Points, Cells]] = {
    "solids": (POINTS, SOLIDS),
    "hexahedron and tetrahedra": (POINTS, [SOLIDS[0], *SOLIDS[3:]]),
    "tetrahedra": (POINTS, SOLIDS[3:]),
    "one cell": (POINTS, SOLIDS[:1]),
    "surface in space": (POINTS, SURFACE),
    "triangles in space": (POINTS, SURFACE[:3]),
    "lines": (POINTS, LINES),
    "solids with their surface": (POINTS, [*SURFACE[:2], *SOLIDS, *LINES]),
}

MESHES: dict[str, tuple[Points, Cells]] = {}
for _name, _mesh in STRAIGHT.items():
    MESHES[_name] = by_hand.only_used(*_mesh)
    MESHES[f"{_name}, serendipity"] = by_hand.raised(*MESHES[_name], SERENDIPITY)
    MESHES[f"{_name}, Lagrange"] = by_hand.raised(*MESHES[_name], LAGRANGE)

TRIANGLES = MESHES["triangles in space"]


def kinds(mesh: str) -> set[str]:
    return {kind for kind, _ in MESHES[mesh][1]}


def highest(cells: Cells) -> Cells:
    """The cells that are divided."""
    dimension = max(DIMENSIONS[SHAPES[kind]] for kind, _ in cells)
    return [cell for cell in cells if DIMENSIONS[SHAPES[cell[0]]] == dimension]


FACETS = {
    "line": [(0,), (1,)],
    "triangle": [(0, 1), (1, 2), (2, 0)],
    "quad": [(0, 1), (1, 2), (2, 3), (3, 0)],
    "tetra": list(itertools.combinations(range(4), 3)),
    "hexahedron": [tuple(face) for face in by_hand.FACES["hexahedron"]],
    "wedge": [(0, 1, 2), (3, 4, 5), *by_hand.FACES["wedge"]],
    "pyramid": [(0, 1, 2, 3), *((a, (a + 1) % 4, 4) for a in range(4))],
}


def neighbours(cells: Cells) -> set[tuple[int, int]]:
    """Every two cells of which one's facet has the corners of one of the other's."""
    facets = [{frozenset(nodes[each] for each in facet) for facet in FACETS[SHAPES[kind]]} for kind, nodes in cells]
    return {(a, b) for (a, one), (b, other) in itertools.permutations(enumerate(facets), 2) if one & other}


def compare(path: Path, cells: Cells) -> None:
    """What a file is read as, with the cells that it was written of."""
    cells = highest(cells)
    partition = path.parent / "parts"
    partition.write_text("".join(f"{number}\n" for number in range(len(cells))))
    shared = {
        (a, b): len(set(one[1]) & set(other[1])) for (a, one), (b, other) in itertools.permutations(enumerate(cells), 2)
    }
    expected = sorted((a, b, count) for (a, b), count in shared.items() if count)
    assert sorted(read(path, len(cells), partition).connections) == expected
    graph = dual_graph(mesh_files.read(path)[1]).tocoo()
    assert set(zip(graph.row.tolist(), graph.col.tolist(), strict=True)) == neighbours(cells)


@pytest.mark.parametrize("order", ["", "<", ">"])
@pytest.mark.parametrize("mesh", MESHES)
def test_gmsh_4_0(tmp_path: Path, mesh: str, order: str) -> None:
    path = tmp_path / "mesh.msh"
    path.write_bytes(by_hand.gmsh40(*MESHES[mesh], order))
    compare(path, MESHES[mesh][1])


@pytest.mark.parametrize("size", ["Q", "I"])
@pytest.mark.parametrize("order", ["", "<", ">"])
@pytest.mark.parametrize("mesh", MESHES)
def test_gmsh_4_1(tmp_path: Path, mesh: str, order: str, size: str) -> None:
    path = tmp_path / "mesh.msh"
    path.write_bytes(by_hand.gmsh41(*MESHES[mesh], order, size))
    compare(path, MESHES[mesh][1])


@pytest.mark.parametrize("order", ["", "<", ">"])
def test_gmsh_4_1_with_parameters_of_nodes(tmp_path: Path, order: str) -> None:
    path = tmp_path / "mesh.msh"
    path.write_bytes(by_hand.gmsh41(*MESHES["solids"], order, parametric=True))
    compare(path, MESHES["solids"][1])


@pytest.mark.parametrize("order", ["", "<", ">"])
def test_a_version_4_of_gmsh_is_either(tmp_path: Path, order: str) -> None:
    """Gmsh wrote it for 4.0, and other programs write it for 4.1."""
    path = tmp_path / "mesh.msh"
    for content in (by_hand.gmsh40(*MESHES["solids"], order), by_hand.gmsh41(*MESHES["solids"], order)):
        path.write_bytes(content.replace(b"\n4.0 ", b"\n4 ").replace(b"\n4.1 ", b"\n4 "))
        compare(path, MESHES["solids"][1])


@pytest.mark.parametrize(("form", "order", "header"), by_hand.VTU_FORMS)
@pytest.mark.parametrize("mesh", [mesh for mesh in MESHES if kinds(mesh) <= set(by_hand.VTK)])
def test_vtu(tmp_path: Path, mesh: str, form: str, order: str, header: str) -> None:
    path = tmp_path / "mesh.vtu"
    path.write_bytes(by_hand.vtu(*MESHES[mesh], form, order, header))
    compare(path, MESHES[mesh][1])


@pytest.mark.parametrize("form", ["ascii", "binary zlib", "appended raw"])
def test_vtu_in_pieces(tmp_path: Path, form: str) -> None:
    """All pieces count; where they have a point each at their border, the message says so."""
    points = [(float(x), float(y), float(z)) for z in (0, 1) for y, x in itertools.product((0, 1), (0, 1, 2, 3))]
    cells: Cells = [("hexahedron", tuple(z + x + a for z in (0, 8) for a in (0, 1, 5, 4))) for x in (0, 2)]
    path = tmp_path / "mesh.vtu"
    path.write_bytes(by_hand.vtu(points, cells, form, pieces=2))
    assert [block.shape for _, block in mesh_files.read(path)[1]] == [(1, 8), (1, 8)]
    (tmp_path / "parts").write_text("0\n1\n")
    assert len(read(path, 2, tmp_path / "parts")) == 0
    path.write_bytes(by_hand.vtu(*MESHES["solids"], form, pieces=2))
    with pytest.raises(UsageError, match="are the same point .* merge duplicate nodes"):
        read(path, 2)


def test_vtu_with_a_piece_that_has_nothing(tmp_path: Path) -> None:
    """As ranks write it that have no part of the mesh."""
    path = tmp_path / "mesh.vtu"
    content = by_hand.vtu(*MESHES["solids"], "ascii")
    begin, end = content.index(b"<Piece"), content.index(b"</UnstructuredGrid>")
    arrays = b"".join(b'<DataArray type="Int64" Name="%s"/>' % name for name in (b"connectivity", b"offsets", b"types"))
    points = b'<Points><DataArray type="Float64" NumberOfComponents="3"/></Points>'
    empty = b'<Piece NumberOfPoints="0" NumberOfCells="0">%s<Cells>%s</Cells></Piece>' % (points, arrays)
    for first, last in ((empty, b""), (b"", empty)):
        path.write_bytes(content[:begin] + first + content[begin:end] + last + content[end:])
        compare(path, MESHES["solids"][1])


def test_vtu_with_cells_along_axes(tmp_path: Path) -> None:
    points = [(float(x), float(y), float(z)) for z, y, x in itertools.product((0, 1), (0, 1), (0, 1, 2))]
    voxels = [tuple(z + y + x + a for z in (0, 6) for y in (0, 3) for a in (0, 1)) for x in (0, 1)]
    path = tmp_path / "mesh.vtu"
    changed = {"types": [11, 11]}
    path.write_bytes(by_hand.vtu(points, [("hexahedron", nodes) for nodes in voxels], "ascii", changed=changed))
    around = [tuple(nodes[each] for each in (0, 1, 3, 2, 4, 5, 7, 6)) for nodes in voxels]
    compare(path, [("hexahedron", nodes) for nodes in around])


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("item", ["XML", "HDF", "Binary"])
@pytest.mark.parametrize("mesh", [mesh for mesh in MESHES if kinds(mesh) <= set(by_hand.XDMF)])
def test_xdmf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mesh: str, item: str, version: str) -> None:
    path = tmp_path / "mesh.xdmf"
    text, arrays = by_hand.xdmf(*MESHES[mesh], item, version)
    path.write_bytes(text)
    if item == "HDF":
        h5py = pytest.importorskip("h5py", reason="h5py is not installed: pip install 'weft[hdf5]'")
        with h5py.File(tmp_path / "mesh.h5", "w") as file:
            for name, array in arrays.items():
                file[name] = array
    if item == "Binary":
        for name, array in arrays.items():
            (tmp_path / f"{name}.bin").write_bytes(b"head" + array.astype(array.dtype.newbyteorder(">")).tobytes())
        # Beside the file, not where the program was started.
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
    compare(path, MESHES[mesh][1])


@pytest.mark.parametrize("form", ["binary", "text", "capitals", "two solids", "blank end"])
def test_stl(tmp_path: Path, form: str) -> None:
    """Its triangles have points of their own, of which those with the same coordinates are one."""
    path = tmp_path / "mesh.stl"
    path.write_bytes(by_hand.stl(*TRIANGLES, form))
    compare(path, TRIANGLES[1])


def test_stl_with_zeros_of_both_signs(tmp_path: Path) -> None:
    path = tmp_path / "mesh.stl"
    text = by_hand.stl(*TRIANGLES, "text").decode()
    first, behind = text.split("endfacet", 1)
    assert " 0.000000000e+00" in behind
    path.write_text(f"{first}endfacet{behind.replace(' 0.000000000e+00', ' -0.0')}")
    compare(path, TRIANGLES[1])


def test_stl_with_points_that_are_nearly_the_same(tmp_path: Path) -> None:
    """They would not be joined, and nobody asked for a seam."""
    path = tmp_path / "mesh.stl"
    text = by_hand.stl(*TRIANGLES, "text").decode()
    assert text.count("vertex 1.000000000e+00 0.000000000e+00 1.000000000e+00") > 1
    path.write_text(text.replace("vertex 1.000000000e+00 0.000000000e+00 1.0", "vertex 1.00000001e+00 0.0 1.0", 1))
    with pytest.raises(UsageError, match=r"mesh\.stl: nodes \d+ and \d+ are the same point"):
        read(path, 2)


# Files that end early ------------------------------------------------------------------------------------------

WHOLE: dict[str, tuple[str, bytes]] = {
    **{f"gmsh 4.0 {order}": (".msh", by_hand.gmsh40(*MESHES["solids"], order)) for order in ("", "<", ">")},
    **{f"gmsh 4.1 {order}": (".msh", by_hand.gmsh41(*MESHES["solids"], order)) for order in ("", "<", ">")},
    **{
        f"vtu {form} {header}": (".vtu", by_hand.vtu(*MESHES["solids"], form, order, header))
        for form, order, header in by_hand.VTU_FORMS
        if order == "<"
    },
    "xdmf": (".xdmf", by_hand.xdmf(*MESHES["solids"])[0]),
    **{f"stl {form}": (".stl", by_hand.stl(*TRIANGLES, form)) for form in ("binary", "text", "two solids")},
}


@pytest.mark.parametrize("name", WHOLE)
def test_no_file_that_ends_early_is_read(tmp_path: Path, name: str) -> None:
    """But for what is behind the last thing that counts: white space, or half a last line."""
    suffix, content = WHOLE[name]
    path = tmp_path / f"short{suffix}"
    whole = len(content.rstrip()) - (len(b"endsolid part 0") - len(b"endsolid") if name.startswith("stl t") else 0)
    step = max(1, whole // 150)
    for length in [*range(0, whole, step), *range(whole - 12, whole)]:
        path.write_bytes(content[:length])
        with pytest.raises(UsageError) as refused:
            read(path, 2)
        assert str(refused.value).startswith(f"{path}: "), length
        assert len(str(refused.value)) < 500


# What is wrong within ------------------------------------------------------------------------------------------

TETRAHEDRA = MESHES["tetrahedra"]


def gmsh(old: str, new: str, *, legacy: bool = False) -> bytes:
    text = (by_hand.gmsh40 if legacy else by_hand.gmsh41)(*TETRAHEDRA, "").decode()
    assert old in text
    return text.replace(old, new, 1).encode()


def vtu(**changed: list[float]) -> bytes:
    return by_hand.vtu(*TETRAHEDRA, "ascii", changed=dict(changed))


def vtu_text(old: bytes, new: bytes, form: str = "ascii") -> bytes:
    content = by_hand.vtu(*TETRAHEDRA, form)
    assert old in content
    return content.replace(old, new, 1)


def xdmf(old: str, new: str, mesh: str = "tetrahedra") -> bytes:
    text = by_hand.xdmf(*MESHES[mesh])[0].decode()
    assert old in text
    return text.replace(old, new, 1).encode()


def stl(old: str, new: str) -> bytes:
    text = by_hand.stl(*TRIANGLES, "text").decode()
    assert old in text
    return text.replace(old, new, 1).encode()


WRONG: dict[str, tuple[str, bytes, str]] = {
    "gmsh: no such tag": (".msh", gmsh("\n1 15 13 ", "\n1 15 12 "), "names the node 12; it has none of"),
    "gmsh: tag 0": (".msh", gmsh("\n1 15 13 ", "\n1 15 0 "), "names the node 0; it has none of"),
    "gmsh: a tag twice": (".msh", gmsh("\n17\n", "\n15\n"), "two nodes have the tag 15"),
    "gmsh: fewer nodes": (".msh", gmsh("$Nodes\n2 6 ", "$Nodes\n2 7 "), r"\$Nodes promises 7 nodes, its blocks"),
    "gmsh: fewer blocks": (".msh", gmsh("$Nodes\n2 6 ", "$Nodes\n1 3 "), r"\$Nodes has more numbers than its counts"),
    "gmsh: more blocks": (".msh", gmsh("$Nodes\n2 6 ", "$Nodes\n3 6 "), r"it ends within \$Nodes, or its counts"),
    "gmsh: fewer elements": (".msh", gmsh("$Elements\n1 2 ", "$Elements\n1 3 "), r"\$Elements promises 3 elements"),
    "gmsh: no number": (".msh", gmsh("\n17\n", "\nx\n"), r"expected numbers in \$Nodes: .*x"),
    "gmsh: half a tag": (".msh", gmsh("\n17\n", "\n1.5\n"), r"expected whole numbers in \$Nodes"),
    "gmsh: no such type": (".msh", gmsh("\n3 1 4 2\n", "\n3 1 999 2\n"), "elements of Gmsh's type 999 are not read"),
    "gmsh: no end": (".msh", gmsh("$EndNodes", "$EndNods"), r"expected \$EndNodes behind as many as its counts say"),
    "gmsh: no nodes": (".msh", gmsh("$Nodes", "$Not").replace(b"$EndNodes", b"$EndNot"), r"before a section \$Nodes"),
    "gmsh: two sections": (".msh", gmsh("$Nodes", "$Nodes") * 2, r"expected a section|found two"),
    "gmsh: no size": (".msh", gmsh("\n4.1 0 8\n", "\n4.1 0\n"), "expected a version, 0 or 1 and a size of 4 or 8"),
    "gmsh: no one": (".msh", by_hand.gmsh41(*TETRAHEDRA, "<").replace(b"\1\0", b"\2\0", 1), "expected the number 1 in"),
    "gmsh 4.0: no such tag": (".msh", gmsh("\n1 7 9 ", "\n1 7 12 ", legacy=True), "an element names the node 12"),
    "gmsh 4.0: fewer nodes": (".msh", gmsh("$Nodes\n2 6", "$Nodes\n2 7", legacy=True), "promises 7 nodes"),
    "vtu: sizes": (".vtu", vtu(offsets=[3, 8]), "cell 0 is a tetra with 3 nodes; such a cell has 4"),
    "vtu: descending": (".vtu", vtu(offsets=[9, 8]), "offsets that do not ascend"),
    "vtu: fewer nodes": (".vtu", vtu(connectivity=[0, 1, 2, 3, 0, 1, 2]), "its cells have 7 nodes in all"),
    "vtu: no such node": (".vtu", vtu(connectivity=[0, 1, 2, 3, 0, 1, 2, 6]), "a cell names node 6 of a piece"),
    "vtu: below": (".vtu", vtu(connectivity=[0, 1, 2, 3, 0, 1, 2, -1]), "a cell names node -1 of a piece; it has 6"),
    "vtu: no such type": (".vtu", vtu(types=[10, 99]), "cell 1 is a cell of VTK's type 99: such"),
    "vtu: prism": (".vtu", vtu(types=[10, 15]), "cell 1 is a pentagonal prism: such cells are not divided; split them"),
    "vtu: strips": (".vtu", vtu(types=[6, 6]), "cells of kind triangle strip and none of a higher dimension"),
    "vtu: fewer types": (".vtu", vtu(types=[10]), "expected types of 2 cells, found 1"),
    "vtu: coordinates": (".vtu", vtu(Points=[1.0] * 17), "expected three coordinates of 6 points, found 17 numbers"),
    "vtu: no number": (".vtu", vtu_text(b">\n10 10\n<", b">\n10 x\n<"), "types cannot be read: .*x"),
    "vtu: no offsets": (".vtu", vtu_text(b'"offsets"', b'"offset"'), "a piece has no offsets"),
    "vtu: another grid": (".vtu", vtu_text(b'"UnstructuredGrid"', b'"PolyData"'), "UnstructuredGrid, found VTKFile P"),
    "vtu: lz4": (".vtu", vtu_text(b"vtkZLib", b"vtkLZ4", "binary zlib"), "vtkLZ4DataCompressor compressed is not read"),
    "vtu: no base64": (".vtu", vtu_text(b'"binary">\n', b'"binary">\n!', "binary"), "cannot be read: .*base64"),
    "vtu: offset": (".vtu", vtu_text(b'offset="0"', b'offset="99999"', "appended raw"), "it ends before Points"),
    "xdmf: rows": (".xdmf", xdmf('"2 4"', '"4 2"'), "its topology has rows of 2 nodes; a tetra has 4"),
    "xdmf: dimensions": (".xdmf", xdmf('"2 4"', '"3 4"'), "the topology has the dimensions 3 4, and 8 numbers"),
    "xdmf: elements": (".xdmf", xdmf('NumberOfElements="2"', 'NumberOfElements="3"'), "states 3 cells and has 2"),
    "xdmf: no type": (".xdmf", xdmf('"Tetrahedron"', '"3DSMesh"'), "a topology of type 3DSMesh is not read"),
    "xdmf: no mixed type": (".xdmf", xdmf("\n9 ", "\n99 ", "solids"), "a cell of XDMF's type 99, which is not read"),
    "xdmf: another mixed type": (".xdmf", xdmf("\n9 ", "\n2 ", "solids"), "its mixed topology has a line of 0 nodes"),
    "xdmf: long lines": (".xdmf", xdmf('NodesPerElement="2"', 'NodesPerElement="4"', "lines"), "lines of 4 nodes"),
    "xdmf: no file": (".xdmf", by_hand.xdmf(*TETRAHEDRA, "HDF")[0], "the file mesh.h5, which is not beside it"),
    "xdmf: no form": (".xdmf", xdmf('"XML"', '"YAML"'), "the topology is in the form YAML; there are XML, HDF and"),
    "xdmf: two grids": (".xdmf", xdmf("</Grid>", "</Grid><Grid/>"), "expected one uniform grid, found 2"),
    "xdmf: another root": (".xdmf", b"<a/>", "expected a root Xdmf, found a"),
    "stl: a coordinate": (".stl", stl("vertex 0", "vertex x"), "line 4: expected three coordinates, found vertex x"),
    "stl: four": (".stl", stl("vertex 0", "vertex 1 0"), "line 4: expected three coordinates, found vertex 1 0"),
    "stl: two vertices": (".stl", stl(f"vertex{' 0.000000000e+00' * 3}\n", ""), "expected vertex, found endloop"),
    "stl: no end": (".stl", stl("endloop", "vertex 0 0 0"), "line 7: expected endloop, found vertex 0 0 0"),
    "stl: no triangles": (".stl", b"solid\nendsolid\n", "it has no triangles"),
    "stl: flat": (".stl", stl("vertex 0.000000000e+00", "vertex 1.000000000e+00"), "cell 0 has no area"),
    "stl: more bytes": (".stl", by_hand.stl(*TRIANGLES, "binary") + b"\0", "it would have 234 bytes; it has 235"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(tmp_path: Path, name: str) -> None:
    suffix, content, reason = WRONG[name]
    path = tmp_path / f"wrong{suffix}"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=reason) as refused:
        read(path, 2)
    assert str(refused.value).startswith(f"{path}: ")
    assert len(str(refused.value)) < 400


def test_an_array_that_hdf5_does_not_have_is_named(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed: pip install 'weft[hdf5]'")
    path = tmp_path / "mesh.xdmf"
    path.write_bytes(by_hand.xdmf(*TETRAHEDRA, "HDF")[0])
    with h5py.File(tmp_path / "mesh.h5", "w") as file:
        file["points"] = np.array(TETRAHEDRA[0])
    with pytest.raises(UsageError, match=r"mesh\.xdmf: .*mesh\.h5 has no numbers /cells, which the topology is"):
        read(path, 2)
    whole = (tmp_path / "mesh.h5").read_bytes()
    (tmp_path / "mesh.h5").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match=r"mesh\.xdmf: .*mesh\.h5, which has the geometry, cannot be read: "):
        read(path, 2)


def test_cells_that_meshio_leaves_out_are_missed(tmp_path: Path) -> None:
    """A file of VTK with a voxel beside a tetrahedron, of which meshio reads the tetrahedron."""
    pytest.importorskip("meshio", reason="meshio is not installed: pip install 'weft[meshes]'")
    path = tmp_path / "mesh.vtk"
    points = "0 0 0 1 0 0 0 1 0 1 1 0 0 0 1 1 0 1 0 1 1 1 1 1 2 2 2"
    path.write_text(
        f"# vtk DataFile Version 5.1\nmesh\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 9 double\n{points}\n"
        "CELLS 3 12\nOFFSETS vtktypeint64\n0 8 12\nCONNECTIVITY vtktypeint64\n0 1 2 3 4 5 6 7\n3 5 7 8\n"
        "CELL_TYPES 2\n11\n10\n"
    )
    with pytest.raises(UsageError, match=r"mesh\.vtk: not all of its cells can be read: .*cannot handle"):
        read(path, 1)

"""Meshes in files that are written by hand, in text and in binary of either byte order, beside every two cells."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from mesh_bytes import LINES, POINTS, SERENDIPITY, SOLIDS, SURFACE, Cells, Points, raised

from weft import UsageError
from weft.conset.graphs import read

pytest.importorskip("meshio", reason="meshio is not installed: pip install 'weft[meshes]'")

VTK = {"line": 3, "triangle": 5, "quad": 9, "tetra": 10, "hexahedron": 12, "wedge": 13, "pyramid": 14, "triangle6": 22,
       "tetra10": 24}  # fmt: skip
GMSH = {"line": 1, "triangle": 2, "quad": 3, "tetra": 4, "hexahedron": 5, "wedge": 6, "pyramid": 7, "triangle6": 9,
        "tetra10": 11}  # fmt: skip
MEDIT = {"triangle": "Triangles", "quad": "Quadrilaterals", "tetra": "Tetrahedra", "hexahedron": "Hexahedra"}
ABAQUS = {"triangle": "S3", "quad": "S4", "tetra": "C3D4", "hexahedron": "C3D8", "wedge": "C3D6", "tetra10": "C3D10"}


def quadratic() -> tuple[Points, Cells]:
    """Two tetrahedra of ten nodes that share a face, with the nodes in the middle of its edges."""
    corners: Points = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.3, 0.3, -1.0)]
    return raised(corners, [("tetra", (0, 1, 2, 3)), ("tetra", (0, 2, 1, 4))], SERENDIPITY)


def vtk(points: list[tuple[float, ...]], cells: Cells, order: str) -> bytes:
    """VTK's legacy format; its binary numbers begin with their largest byte."""
    size = sum(len(nodes) + 1 for _, nodes in cells)
    listed = [number for _, nodes in cells for number in (len(nodes), *nodes)]
    kinds = [VTK[kind] for kind, _ in cells]

    def numbers(form: str, values: list[float] | list[int]) -> bytes:
        if not order:
            return " ".join(map(str, values)).encode() + b"\n"
        return struct.pack(f">{len(values)}{form}", *values) + b"\n"

    text = [b"# vtk DataFile Version 3.0\nmesh\n", b"BINARY\n" if order else b"ASCII\n", b"DATASET UNSTRUCTURED_GRID\n"]
    text += [b"POINTS %d double\n" % len(points), numbers("d", list(itertools.chain.from_iterable(points)))]
    text += [b"CELLS %d %d\n" % (len(cells), size), numbers("i", listed)]
    return b"".join([*text, b"CELL_TYPES %d\n" % len(cells), numbers("i", kinds)])


def gmsh(points: list[tuple[float, ...]], cells: Cells, order: str) -> bytes:
    """Gmsh's format 2.2, whose binary form says its byte order by a 1."""
    text = [b"$MeshFormat\n2.2 %d 8\n" % bool(order), struct.pack(f"{order}i", 1) + b"\n" if order else b""]
    text += [b"$EndMeshFormat\n$Nodes\n%d\n" % len(points)]
    for number, point in enumerate(points, 1):
        text.append(struct.pack(f"{order}i3d", number, *point) if order else b"%d %g %g %g\n" % (number, *point))
    text.append(b"\n$EndNodes\n$Elements\n%d\n" % len(cells) if order else b"$EndNodes\n$Elements\n%d\n" % len(cells))
    for number, (kind, nodes) in enumerate(cells, 1):
        # Gmsh numbers the last two edges of a tetrahedron of ten nodes the other way round.
        ordered = [*nodes[:8], nodes[9], nodes[8]] if kind == "tetra10" else list(nodes)
        tags = (1, 1)
        named = [node + 1 for node in ordered]
        if order:
            text.append(struct.pack(f"{order}{6 + len(named)}i", GMSH[kind], 1, 2, number, *tags, *named))
        else:
            text.append(" ".join(map(str, (number, GMSH[kind], 2, *tags, *named))).encode() + b"\n")
    return b"".join([*text, b"\n$EndElements\n" if order else b"$EndElements\n"])


def medit(points: list[tuple[float, ...]], cells: Cells, order: str) -> bytes:
    """The text format of Medit."""
    lines = ["MeshVersionFormatted 2", "Dimension 3", "Vertices", str(len(points))]
    lines += [f"{x} {y} {z} 0" for x, y, z in points]
    for kind, keyword in MEDIT.items():
        own = [nodes for of, nodes in cells if of == kind]
        if own:
            lines += [keyword, str(len(own)), *(" ".join(str(node + 1) for node in nodes) + " 0" for nodes in own)]
    return "\n".join([*lines, "End", ""]).encode()


def abaqus(points: list[tuple[float, ...]], cells: Cells, order: str) -> bytes:
    """The input of Abaqus."""
    lines = ["*NODE", *(f"{number}, {x}, {y}, {z}" for number, (x, y, z) in enumerate(points, 1))]
    for number, (kind, nodes) in enumerate(cells, 1):
        lines += [f"*ELEMENT, TYPE={ABAQUS[kind]}", ", ".join(map(str, (number, *(node + 1 for node in nodes))))]
    return "\n".join([*lines, ""]).encode()


def off(points: list[tuple[float, ...]], cells: Cells, order: str) -> bytes:
    """Geomview's format of surfaces."""
    lines = ["OFF", f"{len(points)} {len(cells)} 0", *(f"{x} {y} {z}" for x, y, z in points)]
    return "\n".join([*lines, *(" ".join(map(str, (len(nodes), *nodes))) for _, nodes in cells), ""]).encode()


def ply(points: list[tuple[float, ...]], cells: Cells, order: str) -> bytes:
    """Stanford's format of surfaces."""
    form = {"": "ascii", "<": "binary_little_endian", ">": "binary_big_endian"}[order]
    head = f"ply\nformat {form} 1.0\nelement vertex {len(points)}\n"
    head += "".join(f"property double {axis}\n" for axis in "xyz")
    head += f"element face {len(cells)}\nproperty list uchar int vertex_indices\nend_header\n"
    if order:
        body = b"".join(struct.pack(f"{order}3d", *point) for point in points)
        return head.encode() + body + b"".join(
            struct.pack(f"{order}B{len(nodes)}i", len(nodes), *nodes) for _, nodes in cells
        )  # fmt: skip
    lines = [f"{x} {y} {z}" for x, y, z in points]
    return (head + "\n".join([*lines, *(" ".join(map(str, (len(nodes), *nodes))) for _, nodes in cells), ""])).encode()


Writer = Callable[[list[tuple[float, ...]], Cells, str], bytes]

WRITERS: dict[str, tuple[str, Writer, tuple[str, ...], set[str]]] = {
    "vtk": (".vtk", vtk, ("", ">"), set(VTK)),
    "gmsh": (".msh", gmsh, ("", "<"), set(GMSH)),
    "medit": (".mesh", medit, ("",), set(MEDIT)),
    "abaqus": (".inp", abaqus, ("",), set(ABAQUS)),
    "off": (".off", off, ("",), {"triangle"}),
    "ply": (".ply", ply, ("", "<", ">"), {"triangle", "quad"}),
}

MESHES: dict[str, tuple[list[tuple[float, float, float]], Cells]] = {
    "solids": (POINTS, SOLIDS),
    "hexahedron and tetrahedra": (POINTS, [SOLIDS[0], *SOLIDS[3:]]),
    "one cell": (POINTS, SOLIDS[:1]),
    "surface in space": (POINTS, SURFACE),
    "triangles in space": (POINTS, SURFACE[:3]),
    "lines": (POINTS, LINES),
    "quadratic": quadratic(),
    "solids with their surface": (POINTS, [*SURFACE[:2], *SOLIDS, *LINES]),
}


def only_used(points: list[tuple[float, float, float]], cells: Cells) -> tuple[list[tuple[float, ...]], Cells]:
    """Without nodes that no cell has, as those of a mesh must not be."""
    used = sorted({node for _, nodes in cells for node in nodes})
    return [points[node] for node in used], [(kind, tuple(map(used.index, nodes))) for kind, nodes in cells]


CASES = [
    (mesh, form, order)
    for mesh, (_, cells) in MESHES.items()
    for form, (_, _, orders, kinds) in WRITERS.items()
    if {kind for kind, _ in cells} <= kinds
    for order in orders
]


@pytest.mark.parametrize(("mesh", "form", "order"), CASES)
def test_every_two_cells_exchange_the_nodes_that_both_have(tmp_path: Path, mesh: str, form: str, order: str) -> None:
    suffix, write, _, _ = WRITERS[form]
    points, cells = only_used(*MESHES[mesh])
    path = tmp_path / f"mesh{suffix}"
    path.write_bytes(write(points, cells, order))
    solid = {"tetra", "hexahedron", "wedge", "pyramid", "tetra10"}
    highest = [(kind, nodes) for kind, nodes in cells if kind in solid] or cells
    if mesh == "solids with their surface":
        assert len(highest) < len(cells)
    if form in ("medit", "abaqus"):
        # They are listed kind by kind.
        highest.sort(key=lambda cell: list(MEDIT).index(cell[0]) if form == "medit" else 0)
    (tmp_path / "parts").write_text("".join(f"{number}\n" for number in range(len(highest))))
    exchange = read(path, len(highest), tmp_path / "parts")
    shared = {
        (a, b): len(set(one[1]) & set(other[1]))
        for (a, one), (b, other) in itertools.permutations(enumerate(highest), 2)
    }
    expected = sorted((a, b, count) for (a, b), count in shared.items() if count)
    assert sorted(exchange.connections) == expected


def test_a_mesh_of_one_cell_is_one_part(tmp_path: Path) -> None:
    path = tmp_path / "one.vtk"
    path.write_bytes(vtk(*only_used(POINTS, SOLIDS[:1]), ">"))
    assert len(read(path, 1)) == 0
    with pytest.raises(UsageError, match="parts"):
        read(path, 2)


def test_binary_numbers_of_gmsh_that_begin_with_their_largest_byte_are_refused(tmp_path: Path) -> None:
    """As meshio does not read them."""
    path = tmp_path / "mesh.msh"
    path.write_bytes(gmsh(*only_used(POINTS, SOLIDS), ">"))
    with pytest.raises(UsageError, match=r"expected a whole file of the format that \.msh stands for"):
        read(path, 2)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
@pytest.mark.parametrize(("form", "order"), [("vtk", ">"), ("gmsh", "<"), ("ply", ">")])
def test_a_binary_file_that_ends_early_is_refused(tmp_path: Path, form: str, order: str, share: float) -> None:
    suffix, write, _, _ = WRITERS[form]
    points, cells = only_used(POINTS, SURFACE[:3])
    whole = write(points, cells, order)
    path = tmp_path / f"short{suffix}"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(UsageError, match="short"):
        read(path, 2)

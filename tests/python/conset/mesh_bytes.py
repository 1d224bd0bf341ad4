"""Meshes as bytes of file formats, written from the formats' specifications: no reader or writer of them is used."""

from __future__ import annotations

import base64
import itertools
import struct
import zlib
from collections.abc import Iterable, Iterator

import numpy as np

Points = list[tuple[float, ...]]
Cells = list[tuple[str, tuple[int, ...]]]

# As the file formats of VTK order the nodes: corners, edges, faces, the inside.
EDGES: dict[str, tuple[tuple[int, ...], ...]] = {
    "line": ((0, 1),),
    "triangle": ((0, 1), (1, 2), (2, 0)),
    "quad": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "tetra": ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)),
    "hexahedron": (
        *((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4)), *((0, 4), (1, 5), (2, 6), (3, 7)),
    ),
    "wedge": ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)),
    "pyramid": ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4)),
}  # fmt: skip
FACES: dict[str, tuple[tuple[int, ...], ...]] = {
    "quad": ((0, 1, 2, 3),),
    "hexahedron": ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7)),
    "wedge": ((0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
    "pyramid": ((0, 1, 2, 3),),
}

# As Gmsh orders them.
GMSH_EDGES = {
    **EDGES,
    "tetra": ((0, 1), (1, 2), (2, 0), (3, 0), (2, 3), (1, 3)),
    "hexahedron": (
        *((0, 1), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3)), *((2, 6), (3, 7), (4, 5), (4, 7), (5, 6), (6, 7)),
    ),
    "wedge": ((0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (3, 5), (4, 5)),
    "pyramid": ((0, 1), (0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4)),
}  # fmt: skip
GMSH_FACES = {
    **FACES,
    "hexahedron": ((0, 3, 2, 1), (0, 1, 5, 4), (0, 4, 7, 3), (1, 2, 6, 5), (2, 3, 7, 6), (4, 5, 6, 7)),
    "wedge": ((0, 1, 4, 3), (0, 3, 5, 2), (1, 4, 5, 2)),
}

SERENDIPITY = {
    "line": "line3", "triangle": "triangle6", "quad": "quad8", "tetra": "tetra10", "hexahedron": "hexahedron20",
    "wedge": "wedge15", "pyramid": "pyramid13",
}  # fmt: skip
LAGRANGE = {**SERENDIPITY, "quad": "quad9", "hexahedron": "hexahedron27", "wedge": "wedge18", "pyramid": "pyramid14"}
SHAPES = {kind: kind for kind in SERENDIPITY} | {
    raised: shape for kinds in (SERENDIPITY, LAGRANGE) for shape, raised in kinds.items()
}

SOLIDS: Cells = [
    ("hexahedron", (0, 1, 4, 3, 6, 7, 10, 9)),
    ("wedge", (1, 2, 4, 7, 8, 10)),
    ("pyramid", (6, 7, 10, 9, 12)),
    ("tetra", (7, 8, 10, 12)),
    ("tetra", (6, 7, 12, 13)),
]
"""A cube beside a prism, with a pyramid and tetrahedra on top."""

POINTS: Points = [
    *((x, y, z) for z in (0.0, 1.0) for y, x in itertools.product((0.0, 1.0), (0.0, 1.0, 2.0))),
    (0.7, 0.6, 2.0), (0.5, -1.0, 2.0),
]  # fmt: skip

SURFACE: Cells = [("triangle", (0, 1, 7)), ("triangle", (0, 7, 6)), ("triangle", (1, 4, 7)), ("quad", (4, 10, 9, 3))]
"""In space, with an edge of two and a corner in common with the rest."""

LINES: Cells = [("line", (0, 1)), ("line", (1, 2)), ("line", (1, 4)), ("line", (10, 9))]


def only_used(points: Points, cells: Cells) -> tuple[Points, Cells]:
    """Without nodes that no cell has, as those of a mesh must not be."""
    used = sorted({node for _, nodes in cells for node in nodes})
    return [points[node] for node in used], [(kind, tuple(map(used.index, nodes))) for kind, nodes in cells]


def raised(points: Points, cells: Cells, kinds: dict[str, str]) -> tuple[Points, Cells]:
    """Cells of the second order: a node in the middle of every edge and, of Lagrange's, faces and the inside."""
    points, middles, out = list(points), dict[frozenset[int], int](), Cells()
    for shape, corners in cells:
        parts: list[tuple[int, ...]] = list(EDGES[shape])
        if kinds is LAGRANGE:
            parts += FACES.get(shape, ())
            parts += [tuple(range(8))] if shape == "hexahedron" else []
        nodes = list(corners)
        for part in parts:
            ends = frozenset(corners[each] for each in part)
            if ends not in middles:
                middles[ends] = len(points)
                points.append(tuple(np.mean([points[end] for end in ends], axis=0).tolist()))
            nodes.append(middles[ends])
        out.append((kinds[shape], tuple(nodes)))
    return points, out


def blocks(cells: Cells) -> Iterator[tuple[str, list[tuple[int, ...]]]]:
    """Cells of one kind that follow each other."""
    for kind, of in itertools.groupby(cells, key=lambda cell: cell[0]):
        yield kind, [nodes for _, nodes in of]


# Gmsh ------------------------------------------------------------------------------------------------------------

GMSH = {
    "line": 1, "triangle": 2, "quad": 3, "tetra": 4, "hexahedron": 5, "wedge": 6, "pyramid": 7, "line3": 8,
    "triangle6": 9, "quad9": 10, "tetra10": 11, "hexahedron27": 12, "wedge18": 13, "pyramid14": 14, "quad8": 16,
    "hexahedron20": 17, "wedge15": 18, "pyramid13": 19,
}  # fmt: skip
DIMENSIONS = {"line": 1, "triangle": 2, "quad": 2, "tetra": 3, "hexahedron": 3, "wedge": 3, "pyramid": 3}


def gmsh_order(kind: str, nodes: tuple[int, ...]) -> list[int]:
    """The nodes of a cell as Gmsh orders them."""
    shape = SHAPES[kind]
    if kind == shape:
        return list(nodes)
    corners = 1 + max(itertools.chain.from_iterable(EDGES[shape]))
    middles = dict(zip(map(frozenset, [*EDGES[shape], *FACES.get(shape, ())]), nodes[corners:], strict=False))
    ordered = list(nodes[:corners]) + [middles[frozenset(edge)] for edge in GMSH_EDGES[shape]]
    behind = len(nodes) - len(ordered)
    faces = [middles[frozenset(face)] for face in GMSH_FACES.get(shape, ())] if behind else []
    return ordered + faces + list(nodes[len(ordered) + len(faces) :])


class Numbers:
    """Numbers in text, or in binary of a byte order."""

    def __init__(self, order: str) -> None:
        self.order = order
        self.parts: list[bytes] = []

    def add(self, form: str, *values: float) -> None:
        if self.order:
            self.parts.append(struct.pack(self.order + form, *values))
        else:
            self.parts.append(" ".join(repr(value) for value in values).encode() + b"\n")

    def section(self, name: str) -> bytes:
        end = b"\n" if self.order else b""
        return b"$%s\n%s%s$End%s\n" % (name.encode(), b"".join(self.parts), end, name.encode())


def gmsh_header(version: str, order: str, size: int = 8) -> bytes:
    head = b"$MeshFormat\n%s %d %d\n" % (version.encode(), bool(order), size)
    return head + (struct.pack(f"{order}i", 1) + b"\n" if order else b"") + b"$EndMeshFormat\n"


def gmsh40(points: Points, cells: Cells, order: str) -> bytes:
    """Gmsh's format 4.0: tags of nodes before each, unsigned long counts; nodes in two entities, tags with gaps."""
    entities, nodes, elements = Numbers(order), Numbers(order), Numbers(order)
    dimensions = sorted({DIMENSIONS[SHAPES[kind]] for kind, _ in cells})
    entities.add("4Q", *(int(dimension in dimensions) for dimension in range(4)))
    for _ in dimensions:
        entities.add("i6dQiQ", 1, *(0.0, 0.0, 0.0, 2.0, 2.0, 2.0), 1, 7, 0)
    half = len(points) // 2
    nodes.add("2Q", 2, len(points))
    tags = [2 * number + 5 for number in range(len(points))]
    for part, tag in ((range(half), 1), (range(half, len(points)), 2)):
        nodes.add("3iQ", tag, dimensions[-1], 0, len(part))
        for number in part:
            nodes.add("i3d", tags[number], *points[number])
    listed = list(blocks(cells))
    elements.add("2Q", len(listed), len(cells))
    number = 0
    for kind, of in listed:
        elements.add("3iQ", 1, DIMENSIONS[SHAPES[kind]], GMSH[kind], len(of))
        for each in of:
            number += 1
            elements.add(f"{1 + len(each)}i", number, *(tags[node] for node in gmsh_order(kind, each)))
    return (
        gmsh_header("4", order).replace(b"\n4 ", b"\n4.0 ") + entities.section("Entities")
        + nodes.section("Nodes") + elements.section("Elements")
    )  # fmt: skip


def gmsh41(points: Points, cells: Cells, order: str, size: str = "Q", parametric: bool = False) -> bytes:
    """Gmsh's format 4.1: all tags of a block of nodes before its coordinates; nodes in two entities, tags with gaps.

    Parametric nodes have as many parameters behind their coordinates as their entity has dimensions.
    """
    entities, nodes, elements = Numbers(order), Numbers(order), Numbers(order)
    dimensions = sorted({DIMENSIONS[SHAPES[kind]] for kind, _ in cells})
    entities.add(f"4{size}", *([1] + [int(dimension in dimensions) for dimension in (1, 2, 3)]))
    entities.add(f"i3d{size}", 1, 0.0, 0.0, 0.0, 0)
    for _ in dimensions:
        entities.add(f"i6d{size}i{size}", 1, *(0.0, 0.0, 0.0, 2.0, 2.0, 2.0), 1, 7, 0)
    half = len(points) // 2
    tags = [2 * (len(points) - number) + 5 for number in range(len(points))]
    nodes.add(f"4{size}", 2, len(points), min(tags), max(tags))
    for part, tag in ((range(half), 1), (range(half, len(points)), 2)):
        nodes.add(f"3i{size}", 2 if parametric else dimensions[-1], tag, int(parametric), len(part))
        for number in part:
            nodes.add(size, tags[number])
        for number in part:
            nodes.add("5d" if parametric else "3d", *points[number], *((0.5, 0.25) if parametric else ()))
    listed = list(blocks(cells))
    elements.add(f"4{size}", len(listed), len(cells), 1, len(cells))
    number = 0
    for kind, of in listed:
        elements.add(f"3i{size}", DIMENSIONS[SHAPES[kind]], 1, GMSH[kind], len(of))
        for each in of:
            number += 1
            elements.add(f"{1 + len(each)}{size}", number, *(tags[node] for node in gmsh_order(kind, each)))
    names = b'$PhysicalNames\n1\n%d 7 "all of it"\n$EndPhysicalNames\n' % dimensions[-1]
    return (
        gmsh_header("4.1", order, 8 if size == "Q" else 4) + names + entities.section("Entities")
        + nodes.section("Nodes") + elements.section("Elements")
    )  # fmt: skip


# VTU -------------------------------------------------------------------------------------------------------------

VTK = {
    "line": 3, "triangle": 5, "quad": 9, "tetra": 10, "hexahedron": 12, "wedge": 13, "pyramid": 14, "line3": 21,
    "triangle6": 22, "quad8": 23, "tetra10": 24, "hexahedron20": 25, "wedge15": 26, "pyramid13": 27, "quad9": 28,
    "hexahedron27": 29, "wedge18": 32,
}  # fmt: skip

VTU_FORMS = [
    *itertools.product(["ascii"], ["<"], ["UInt32"]),
    *itertools.product(
        ["binary", "binary zlib", "appended base64", "appended base64 zlib", "appended raw", "appended raw zlib"],
        "<>", ["UInt32", "UInt64"],
    ),
]  # fmt: skip


def vtu(
    points: Points,
    cells: Cells,
    form: str,
    order: str = "<",
    header: str = "UInt32",
    pieces: int = 1,
    changed: dict[str, list[float]] | None = None,
) -> bytes:
    """VTK's format of unstructured grids, with an array of data behind the mesh's own.

    Compressed arrays are divided into blocks of 64 bytes. `changed` has other numbers for arrays.
    """
    length = {"UInt32": "I", "UInt64": "Q"}[header]
    appended = bytearray()

    def encoded(content: bytes) -> bytes:
        raw = "raw" in form
        if "zlib" not in form:
            whole = struct.pack(order + length, len(content)) + content
            return whole if raw else base64.b64encode(whole)
        parts = [content[start : start + 64] for start in range(0, len(content), 64)]
        packed = [zlib.compress(part) for part in parts]
        last = len(content) % 64
        head = struct.pack(f"{order}{3 + len(parts)}{length}", len(parts), 64, last, *map(len, packed))
        return head + b"".join(packed) if raw else base64.b64encode(head) + base64.b64encode(b"".join(packed))

    def array(name: str, kind: str, letter: str, values: Iterable[float], components: int = 1) -> bytes:
        values = (changed or {}).get(name, list(values))
        begin = f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{components}"'.encode()
        if form == "ascii":
            return b'%s format="ascii">\n%s\n</DataArray>\n' % (begin, " ".join(map(repr, values)).encode())
        content = encoded(struct.pack(f"{order}{len(values)}{letter}", *values))
        if form.startswith("binary"):
            return b'%s format="binary">\n%s\n</DataArray>\n' % (begin, content)
        offset = len(appended)
        appended.extend(content)
        return b'%s format="appended" offset="%d"/>\n' % (begin, offset)

    compressor = ' compressor="vtkZLibDataCompressor"' if "zlib" in form else ""
    named = {"<": "LittleEndian", ">": "BigEndian"}[order]
    text = [f'<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" version="1.0" byte_order="{named}" '.encode()]
    text.append(f'header_type="{header}"{compressor}>\n<UnstructuredGrid>\n'.encode())
    size = -(-len(cells) // pieces)
    for first in range(0, len(cells), size):
        own_points, own = only_used(points, cells[first : first + size]) if pieces > 1 else (points, cells)
        text.append(b'<Piece NumberOfPoints="%d" NumberOfCells="%d">\n<Points>\n' % (len(own_points), len(own)))
        text.append(array("Points", "Float64", "d", itertools.chain.from_iterable(own_points), 3))
        text.append(b"</Points>\n<Cells>\n")
        text.append(array("connectivity", "Int64", "q", itertools.chain.from_iterable(nodes for _, nodes in own)))
        ends = itertools.accumulate(len(nodes) for _, nodes in own)
        text.append(array("offsets", "Int64", "q", ends))
        text.append(array("types", "UInt8", "B", (VTK[kind] for kind, _ in own)))
        text.append(b"</Cells>\n<CellData>\n" + array("number", "Int32", "i", range(len(own))))
        text.append(b"</CellData>\n</Piece>\n")
    text.append(b"</UnstructuredGrid>\n")
    if appended:
        encoding = b"raw" if "raw" in form else b"base64"
        text.append(b'<AppendedData encoding="%s">\n_%s\n</AppendedData>\n' % (encoding, bytes(appended)))
    return b"".join([*text, b"</VTKFile>\n"])


# XDMF ------------------------------------------------------------------------------------------------------------

XDMF = {
    "line": ("Polyline", 2), "triangle": ("Triangle", 4), "quad": ("Quadrilateral", 5), "tetra": ("Tetrahedron", 6),
    "pyramid": ("Pyramid", 7), "wedge": ("Wedge", 8), "hexahedron": ("Hexahedron", 9), "line3": ("Edge_3", 34),
    "quad9": ("Quadrilateral_9", 35), "triangle6": ("Triangle_6", 36), "quad8": ("Quadrilateral_8", 37),
    "tetra10": ("Tetrahedron_10", 38), "pyramid13": ("Pyramid_13", 39), "wedge15": ("Wedge_15", 40),
    "wedge18": ("Wedge_18", 41), "hexahedron20": ("Hexahedron_20", 48), "hexahedron27": ("Hexahedron_27", 50),
}  # fmt: skip
"""Names of topologies and their numbers in mixed ones."""


def xdmf(points: Points, cells: Cells, item: str = "XML", version: str = "3.0") -> tuple[bytes, dict[str, np.ndarray]]:
    """XDMF, with its arrays in it, or for `HDF` and `Binary` in files beside it that the caller writes.

    Binary numbers begin with their largest byte, behind four bytes of something else.
    """
    kinds = {kind for kind, _ in cells}
    arrays = {"points": np.array(points)}
    if len(kinds) == 1:
        arrays["cells"] = np.array([nodes for _, nodes in cells])
        topology = f'TopologyType="{XDMF[kinds.pop()][0]}" NodesPerElement="{len(cells[0][1])}"'
    else:
        mixed: list[int] = []
        for kind, nodes in cells:
            mixed += [XDMF[kind][1], *([2] if kind == "line" else []), *nodes]
        arrays["cells"] = np.array(mixed)
        topology = 'TopologyType="Mixed"'

    def data(name: str) -> str:
        array = arrays[name]
        dimensions = " ".join(map(str, array.shape))
        kind = 'NumberType="Float" Precision="8"' if array.dtype.kind == "f" else 'NumberType="Int" Precision="8"'
        content = "\n".join(" ".join(map(repr, each)) for each in np.atleast_2d(array).tolist())
        content = {"HDF": f"mesh.h5:/{name}", "Binary": f"{name}.bin"}.get(item, content)
        kind += ' Endian="Big" Seek="4"' if item == "Binary" else ""
        return f'<DataItem Dimensions="{dimensions}" {kind} Format="{item}">\n{content}\n</DataItem>'

    geometry = {3: "XYZ", 2: "XY"}[len(points[0])]
    text = f"""<?xml version="1.0" ?>
<!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []>
<Xdmf Version="{version}">
<Domain>
<Grid Name="mesh" GridType="Uniform">
<Topology {topology} NumberOfElements="{len(cells)}">
{data("cells")}
</Topology>
<Geometry GeometryType="{geometry}">
{data("points")}
</Geometry>
</Grid>
</Domain>
</Xdmf>
"""
    return text.encode(), arrays


# STL -------------------------------------------------------------------------------------------------------------


def stl(points: Points, cells: Cells, form: str) -> bytes:
    """Triangles with their own three points each; the text may be in capitals, or of two solids."""
    facets = [[points[node] for node in nodes] for _, nodes in cells]
    if form == "binary":
        head = b"solid in name only".ljust(80) + struct.pack("<I", len(facets))
        return head + b"".join(
            struct.pack("<12fH", 0.0, 0.0, 0.0, *itertools.chain.from_iterable(facet), 0) for facet in facets
        )
    solids = [facets[: len(facets) // 2], facets[len(facets) // 2 :]] if form == "two solids" else [facets]
    lines = []
    for number, solid in enumerate(solids):
        lines.append(f"solid part {number}")
        for facet in solid:
            lines += ["  facet normal 0 0 0", "    outer loop"]
            lines += ["      vertex " + " ".join(f"{value:.9e}" for value in point) for point in facet]
            lines += ["    endloop", "  endfacet"]
        lines.append(f"endsolid part {number}")
    text = "\n".join([*lines, ""])
    return (text.upper() if form == "capitals" else text + "\n" * (form == "blank end")).encode()

"""VTK's XML format of unstructured grids (VTU), with arrays in text, in base64, or appended in base64 or raw.

Source: "VTK File Formats" of VTK's documentation, its section on XML formats. A binary array begins with its length in
bytes, a compressed one with the number of blocks, the size of a block and of the last one where it is shorter, and the
compressed size of each. In base64 the header of a compressed array is encoded by itself, any other with its data.
"""

from __future__ import annotations

import base64
import binascii
import lzma
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from weft._core import UsageError
from weft.conset import mesh_kinds
from weft.conset.mesh_kinds import Blocks, Points, refuse
from weft.inputs import message, quoted

_LAGRANGE = ("CURVE", "TRIANGLE", "QUADRILATERAL", "TETRAHEDRON", "HEXAHEDRON", "WEDGE", "PYRAMID")
_KINDS = {
    1: "vertex", 2: "poly-vertex", 3: "line", 4: "poly-line", 5: "triangle", 6: "triangle strip", 7: "polygon",
    8: "pixel", 9: "quad", 10: "tetra", 11: "voxel", 12: "hexahedron", 13: "wedge", 14: "pyramid",
    15: "pentagonal prism", 16: "hexagonal prism", 21: "line3", 22: "triangle6", 23: "quad8", 24: "tetra10",
    25: "hexahedron20", 26: "wedge15", 27: "pyramid13", 28: "quad9", 29: "hexahedron27", 30: "quad6", 31: "wedge12",
    32: "wedge18", 33: "hexahedron24", 34: "triangle7", 35: "line4", 37: "pyramid19", 41: "convex point set",
    42: "polyhedron",
    **{68 + number: f"VTK_LAGRANGE_{name}" for number, name in enumerate(_LAGRANGE)},
    **{75 + number: f"VTK_LAGRANGE_{name}" for number, name in enumerate(_LAGRANGE)},
}  # fmt: skip
"""Kinds of cells by VTK's numbers; Bezier's cells have their corners where Lagrange's do."""

_BY_AXES = {"pixel": ("quad", [0, 1, 3, 2]), "voxel": ("hexahedron", [0, 1, 3, 2, 4, 5, 7, 6])}
"""Cells whose corners are numbered along the axes instead of around."""

_DROPPED = {"vertex": 0, "poly-vertex": 0, "poly-line": 1, "triangle strip": 2}
"""Cells that are not divided, by dimension; where there are others of a higher one, they are left out as all are."""

_TYPES = {
    **{f"{sign}Int{8 * size}": f"{'u' if sign else 'i'}{size}" for sign in ("", "U") for size in (1, 2, 4, 8)},
    "Float32": "f4", "Float64": "f8",
}  # fmt: skip


def read(path: Path) -> tuple[Points, Blocks]:
    """Points and cells of all dimensions, of all pieces.

    Raises
    ------
    UsageError
        If the file is not of the format, or not whole.
    """
    reader = _Reader(path)
    points: list[Points] = []
    blocks: Blocks = []
    for piece in reader.pieces:
        first = sum(map(len, points))
        own, cells = reader.piece(piece)
        points.append(own)
        outside = next(
            (block for _, block in cells if block.size and not 0 <= block.min() <= block.max() < len(own)), None
        )
        if outside is not None:
            node = outside.min() if outside.min() < 0 else outside.max()
            refuse(path, f"a cell names node {node} of a piece; it has {len(own)}")
        blocks += [(kind, block + first) for kind, block in cells]
    highest = max((_dimension(kind) for kind, _ in blocks), default=0)
    dropped = next((kind for kind, _ in blocks if _DROPPED.get(kind) == highest), None)
    if dropped is not None:
        refuse(path, f"it has cells of kind {dropped} and none of a higher dimension: such cells are not divided")
    blocks = [(kind, block) for kind, block in blocks if kind not in _DROPPED]
    return np.concatenate(points), blocks


def _dimension(kind: str) -> int:
    return _DROPPED[kind] if kind in _DROPPED else mesh_kinds.dimension(kind)


class _Appended:
    """Bytes from an offset of the appended data, raw."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content, self._at = content, at

    def take(self, count: int) -> bytes:
        """The next so many bytes, or fewer where there are fewer."""
        self._at += count
        return self._content[self._at - count : self._at]

    def peek(self, count: int) -> bytes:
        """As many, without going on."""
        return self._content[self._at : self._at + count]

    def padded(self, count: int) -> bool:
        """Whether so many bytes are encoded by themselves."""
        return False


class _Base64(_Appended):
    """The same in base64, of which each part is encoded by itself and filled up with `=`."""

    def take(self, count: int) -> bytes:
        return base64.b64decode(super().take(-(-count // 3) * 4), validate=True)[:count]

    def peek(self, count: int) -> bytes:
        return base64.b64decode(super().peek(-(-count // 3) * 4), validate=True)[:count]

    def padded(self, count: int) -> bool:
        padding = -count % 3
        return padding > 0 and super().peek(-(-count // 3) * 4).endswith(b"=" * padding)


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        content = path.read_bytes()
        self._appended: bytes | None = None
        start = content.find(b"<AppendedData")
        if start >= 0:
            content = self._split(content, start)
        try:
            root = ElementTree.fromstring(content)
        except ElementTree.ParseError as error:
            refuse(path, f"expected a whole file of VTU, which is XML: {message(error)}")
        if root.tag != "VTKFile" or root.get("type") != "UnstructuredGrid":
            refuse(
                path,
                f"expected a VTKFile of type UnstructuredGrid, found {quoted(root.tag)} {quoted(root.get('type'))}",
            )
        orders = {"LittleEndian": "<", "BigEndian": ">"}
        self._order = orders.get(root.get("byte_order", "LittleEndian"), "")
        if not self._order:
            refuse(path, f"its byte order is {quoted(root.get('byte_order'))}; there are {' and '.join(orders)}")
        header = root.get("header_type", "UInt32")
        if header not in ("UInt32", "UInt64"):
            refuse(path, f"its lengths are {quoted(header)}; there are UInt32 and UInt64")
        self._header = np.dtype(self._order + _TYPES[header])
        self._compressor = root.get("compressor")
        if self._compressor not in (None, "vtkZLibDataCompressor", "vtkLZMADataCompressor"):
            refuse(
                path, f"what {quoted(self._compressor)} compressed is not read; write it with zlib, or not compressed"
            )
        appended = root.find("AppendedData")
        self._raw = appended is not None and appended.get("encoding") == "raw"
        if self._appended is not None and not self._raw:
            self._appended = b"".join(self._appended.split())
        self.pieces = root.findall("UnstructuredGrid/Piece")
        if not self.pieces:
            refuse(path, "it has no Piece of an UnstructuredGrid")

    def _split(self, content: bytes, start: int) -> bytes:
        """The file without its appended data, which is no XML where it is raw."""
        begin, end = content.find(b">", start), content.rfind(b"</AppendedData>")
        underscore = content.find(b"_", begin)
        if not 0 <= begin < underscore < end or content[begin + 1 : underscore].strip():
            refuse(
                self.path, "expected appended data between _ and </AppendedData>; it ends before, or they are missing"
            )
        self._appended = content[underscore + 1 : end]
        return content[:begin] + b"/>" + content[end + len(b"</AppendedData>") :]

    def piece(self, piece: Any) -> tuple[Points, Blocks]:
        """Points and cells of a piece."""
        counts = [self._count(piece, name) for name in ("NumberOfPoints", "NumberOfCells")]
        points = self._array(piece.find("Points/DataArray"), "Points")
        if len(points) != 3 * counts[0]:
            refuse(self.path, f"expected three coordinates of {counts[0]} points, found {len(points)} numbers")
        arrays = {}
        for name in ("connectivity", "offsets", "types"):
            element = next((each for each in piece.findall("Cells/DataArray") if each.get("Name") == name), None)
            arrays[name] = self._integers(element, name)
            if name != "connectivity" and len(arrays[name]) != counts[1]:
                refuse(self.path, f"expected {name} of {counts[1]} cells, found {len(arrays[name])}")
        own = points.astype(np.float64).reshape(-1, 3)
        return own, self._cells(arrays["connectivity"], arrays["offsets"], arrays["types"])

    def _count(self, piece: Any, name: str) -> int:
        text = piece.get(name, "")
        if not text.strip().isdecimal():
            refuse(self.path, f"expected {name} of a piece, found {quoted(text)}")
        return int(text)

    def _cells(self, nodes: NDArray[np.int64], ends: NDArray[np.int64], types: NDArray[np.int64]) -> Blocks:
        sizes = np.diff(ends, prepend=0)
        if (sizes < 0).any() or (ends[-1] if len(ends) else 0) != len(nodes):
            refuse(
                self.path,
                f"its cells have {len(nodes)} nodes in all, and offsets that do not ascend to that number",
            )
        blocks: Blocks = []
        for start, behind in mesh_kinds.in_runs(types, sizes):
            code, size = int(types[start]), int(sizes[start])
            kind = _KINDS.get(code, f"cell of VTK's type {code}")
            first = int(ends[start]) - size
            cells = nodes[first : int(ends[behind - 1])].reshape(behind - start, size)
            if kind in _BY_AXES and size == len(_BY_AXES[kind][1]):
                kind, order = _BY_AXES[kind]
                cells = cells[:, order]
            if kind not in _DROPPED:
                try:
                    mesh_kinds.dimension(kind)
                except UsageError:
                    refuse(self.path, f"cell {start} is a {kind}: such cells are not divided; split them")
            expected = mesh_kinds.nodes(kind)
            if expected not in (None, size):
                refuse(self.path, f"cell {start} is a {kind} with {size} nodes; such a cell has {expected}")
            blocks.append((kind, cells))
        return blocks

    def _integers(self, element: Any, name: str) -> NDArray[np.int64]:
        array = self._array(element, name)
        if array.dtype.kind == "f":
            refuse(self.path, f"expected whole numbers in {name}, found {quoted(element.get('type'))}")
        return array.astype(np.int64)

    def _array(self, element: Any, name: str) -> NDArray[Any]:
        """An array of data, of numbers as the file has them."""
        if element is None:
            refuse(self.path, f"a piece has no {name}")
        kind = _TYPES.get(element.get("type", ""))
        if kind is None:
            refuse(self.path, f"{name} are of type {quoted(element.get('type'))}, which is not known")
        form = element.get("format", "ascii")
        try:
            if form == "ascii":
                return np.array((element.text or "").split(), dtype="f8" if kind.startswith("f") else "i8")
            if form == "binary":
                content = self._decoded(_Base64("".join((element.text or "").split()).encode(), 0), name)
            elif form == "appended" and self._appended is not None:
                source = _Appended if self._raw else _Base64
                content = self._decoded(source(self._appended, int(element.get("offset", "").strip())), name)
            else:
                refuse(self.path, f"{name} are in the form {quoted(form)}, which there is not here")
            return np.frombuffer(content, np.dtype(self._order + kind))
        except (ValueError, OverflowError, binascii.Error, zlib.error, lzma.LZMAError, EOFError) as error:
            refuse(self.path, f"{name} cannot be read: {message(error)}")

    def _decoded(self, source: _Appended, name: str) -> bytes:
        size = self._header.itemsize
        head = source.peek(size)
        if len(head) < size:
            refuse(self.path, f"it ends before {name}")
        count = int(np.frombuffer(head, self._header)[0])
        if self._compressor is None:
            separate = source.padded(size)
            content = source.take(size + (0 if separate else count))[size:]
            content = source.take(count) if separate else content
            if len(content) != count:
                refuse(self.path, f"{name} are {count} bytes by their header; the file has {len(content)} of them")
            return content
        whole = source.take((3 + count) * size)
        if len(whole) != (3 + count) * size:
            refuse(self.path, f"it ends in the header of {name}")
        _, block, last, *packed = np.frombuffer(whole, self._header).tolist()
        parts = []
        for number, length in enumerate(packed):
            parts.append((length, last if last and number == count - 1 else block))
        content = source.take(sum(packed))
        if len(content) != sum(packed):
            refuse(self.path, f"{name} are {sum(packed)} bytes when compressed; the file has {len(content)} of them")
        return b"".join(self._unpacked(content, parts, name))

    def _unpacked(self, content: bytes, parts: list[tuple[int, int]], name: str) -> list[bytes]:
        at, blocks = 0, []
        for length, size in parts:
            decompressor: Any = (
                zlib.decompressobj() if self._compressor == "vtkZLibDataCompressor" else lzma.LZMADecompressor()
            )
            # One byte more than promised shows a block that has more.
            block = decompressor.decompress(content[at : at + length], size + 1)
            if len(block) != size:
                refuse(self.path, f"a block of {name} has {size} bytes by its header; it has other")
            blocks.append(block)
            at += length
        return blocks

"""XDMF, versions 2 and 3: one grid, with its arrays in the file, in a file of HDF5, or in one of binary numbers.

Source: "XDMF Model and Format" (xdmf.org) and the numbers of topologies in XdmfTopologyType of its library. In a mixed
topology the number of its kind comes before the nodes of each cell, and of points, lines and polygons how many follow.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from weft.conset import mesh_kinds
from weft.conset.mesh_kinds import Blocks, Points, refuse
from weft.extras import needs
from weft.inputs import message, quoted

_SHAPES = {
    "polyvertex": "vertex", "polyline": "line", "polygon": "polygon", "triangle": "triangle", "tri": "triangle",
    "quadrilateral": "quad", "quad": "quad", "tetrahedron": "tetra", "tet": "tetra", "pyramid": "pyramid",
    "wedge": "wedge", "hexahedron": "hexahedron", "hex": "hexahedron", "edge": "line",
}  # fmt: skip

_MIXED = {
    1: "vertex", 2: "line", 3: "polygon", 4: "triangle", 5: "quad", 6: "tetra", 7: "pyramid", 8: "wedge",
    9: "hexahedron", 0x22: "line3", 0x23: "quad9", 0x24: "triangle6", 0x25: "quad8", 0x26: "tetra10",
    0x27: "pyramid13", 0x28: "wedge15", 0x29: "wedge18", 0x30: "hexahedron20", 0x31: "hexahedron24",
    0x32: "hexahedron27", 0x33: "hexahedron64", 0x34: "hexahedron125", 0x35: "hexahedron216", 0x36: "hexahedron343",
    0x37: "hexahedron512", 0x38: "hexahedron729", 0x39: "hexahedron1000", 0x40: "hexahedron1331",
}  # fmt: skip

_COUNTED = ("vertex", "line", "polygon")
"""Kinds before whose nodes a mixed topology has their number."""

_TYPES = {"float": "f", "int": "i", "uint": "u", "char": "i", "uchar": "u"}


def read(path: Path) -> tuple[Points, Blocks]:
    """Points and cells of all dimensions.

    Raises
    ------
    UsageError
        If the file is not of the format or not whole, or an array is not in the file that it names.
    """
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except ElementTree.ParseError as error:
        refuse(path, f"expected a whole file of XDMF, which is XML: {message(error)}")
    if root.tag != "Xdmf":
        refuse(path, f"expected a root Xdmf, found {quoted(root.tag)}")
    grids = [grid for grid in root.iter("Grid") if grid.get("GridType", "Uniform") == "Uniform"]
    if len(grids) != 1:
        refuse(path, f"expected one uniform grid, found {len(grids)}; write the mesh by itself")
    return _Reader(path, root, grids[0]).read()


def _attribute(element: Any, *names: str) -> str | None:
    """An attribute by the first of its names, which differ from version to version."""
    return next((element.get(name) for name in names if element.get(name) is not None), None)


class _Reader:
    def __init__(self, path: Path, root: Any, grid: Any) -> None:
        self._path, self._root, self._grid = path, root, grid

    def read(self) -> tuple[Points, Blocks]:
        """Points and cells of the grid."""
        topology, geometry = (self._part(name) for name in ("Topology", "Geometry"))
        form = (_attribute(geometry, "GeometryType", "Type") or "XYZ").upper()
        if form not in ("XYZ", "XY"):
            refuse(self._path, f"a geometry of type {quoted(form)} is not read; there are XYZ and XY")
        points = self._array(geometry, "the geometry").astype(np.float64).ravel()
        if len(points) % len(form):
            refuse(self._path, f"its geometry has {len(points)} coordinates, {len(form)} for each point")
        return points.reshape(-1, len(form)), self._cells(topology)

    def _part(self, name: str) -> Any:
        parts = self._grid.findall(name)
        if len(parts) != 1:
            refuse(self._path, f"expected one {name} of its grid, found {len(parts)}")
        reference = parts[0].get("Reference")
        return parts[0] if reference is None else self._referred(parts[0], reference)

    def _referred(self, element: Any, reference: str) -> Any:
        path = ((element.text or "") if reference == "XML" else reference).strip()
        try:
            element = self._root.find("./" + path.removeprefix("/Xdmf/")) if path.startswith("/Xdmf/") else None
        except SyntaxError:
            element = None
        if element is None or element.get("Reference") is not None:
            refuse(self._path, f"its reference {quoted(path)} leads nowhere")
        return element

    def _cells(self, topology: Any) -> Blocks:
        name = (_attribute(topology, "TopologyType", "Type") or "").strip()
        array = self._array(topology, "the topology")
        if array.dtype.kind == "f" and (array % 1.0).any():
            refuse(self._path, "expected whole numbers in its topology")
        if topology.get("Order") is not None:
            refuse(self._path, "a topology with an Order is not read; write the nodes in XDMF's own")
        base = self._whole(topology.get("BaseOffset", "0"), "BaseOffset")
        numbers = array.astype(np.int64).ravel()
        if name.lower() == "mixed":
            blocks = self._mixed(numbers)
        else:
            shape, _, count = name.lower().partition("_")
            kind = _SHAPES.get(shape, "") + count
            if not (shape in _SHAPES and (not count or count.isdecimal())):
                refuse(self._path, f"a topology of type {quoted(name)} is not read")
            size = mesh_kinds.nodes(kind)
            if kind in _COUNTED:
                stated = topology.get("NodesPerElement")
                size = size if stated is None else self._whole(stated, "NodesPerElement")
                self._refuse_long(kind, size)
            if not size or len(numbers) % size:
                refuse(self._path, f"its topology has {len(numbers)} nodes, which are not {size} for each {kind}")
            if array.ndim == 2 and array.shape[1] != size:
                refuse(self._path, f"its topology has rows of {array.shape[1]} nodes; a {kind} has {size}")
            blocks = [(kind, numbers.reshape(-1, size))]
        self._check_count(topology, sum(len(cells) for _, cells in blocks))
        return [(kind, cells - base) for kind, cells in blocks]

    def _check_count(self, topology: Any, count: int) -> None:
        stated = _attribute(topology, "NumberOfElements", "Dimensions")
        words = (stated or "").split()
        if words and all(word.isdecimal() for word in words) and math.prod(map(int, words)) != count:
            refuse(self._path, f"its topology states {quoted(stated)} cells and has {count}")

    def _refuse_long(self, kind: str, size: int | None) -> None:
        if kind == "line" and size != 2:
            refuse(self._path, f"lines of {size} nodes are not divided; write each as lines of two")
        if kind == "vertex" and size != 1:
            refuse(self._path, f"points by {size} are not divided; write them one by one")

    def _mixed(self, numbers: NDArray[np.int64]) -> Blocks:
        """The cells of a mixed topology, in runs of one kind with as many nodes each."""
        runs: list[tuple[str, list[list[int]]]] = []
        values, at = numbers.tolist(), 0
        while at < len(values):
            kind = _MIXED.get(values[at])
            if kind is None:
                refuse(self._path, f"its mixed topology has a cell of XDMF's type {values[at]}, which is not read")
            at += 1
            size = mesh_kinds.nodes(kind) or 0
            if kind in _COUNTED:
                size = values[at] if at < len(values) else 0
                at += 1
                if size < 1:
                    refuse(self._path, f"its mixed topology has a {kind} of {size} nodes")
                self._refuse_long(kind, size)
            if at + size > len(values):
                refuse(self._path, f"its mixed topology ends within a {kind}")
            if not runs or runs[-1][0] != kind or len(runs[-1][1][-1]) != size:
                runs.append((kind, []))
            runs[-1][1].append(values[at : at + size])
            at += size
        return [(kind, np.array(cells, dtype=np.int64)) for kind, cells in runs]

    def _whole(self, text: str, what: str) -> int:
        if not text.strip().isdecimal():
            refuse(self._path, f"expected a whole number as {what}, found {quoted(text)}")
        return int(text)

    def _array(self, parent: Any, what: str) -> NDArray[Any]:
        """The array of a topology or geometry, in the shape that it states."""
        items = parent.findall("DataItem")
        if len(items) != 1:
            refuse(self._path, f"expected one DataItem of {what}, found {len(items)}; grids without one are not read")
        item = items[0]
        if item.get("Reference") is not None:
            item = self._referred(item, item.get("Reference"))
        if item.get("ItemType", "Uniform") != "Uniform":
            refuse(self._path, f"a DataItem of type {quoted(item.get('ItemType'))} is not read; write {what} whole")
        words = item.get("Dimensions", "").split()
        if not words or not all(word.isdecimal() for word in words):
            refuse(self._path, f"expected Dimensions of {what}, found {quoted(item.get('Dimensions'))}")
        shape = tuple(map(int, words))
        array = self._content(item, what, math.prod(shape))
        if array.size != math.prod(shape):
            refuse(self._path, f"{what} has the dimensions {' '.join(words)}, and {array.size} numbers")
        return array.reshape(shape)

    def _content(self, item: Any, what: str, count: int) -> NDArray[Any]:
        form = item.get("Format", "XML")
        kind = _TYPES.get((_attribute(item, "NumberType", "DataType") or "Float").lower())
        size = {"char": "1", "uchar": "1"}.get((_attribute(item, "NumberType", "DataType") or "").lower())
        precision = size or item.get("Precision", "4")
        if kind is None or precision not in ("1", "2", "4", "8") or (kind == "f" and precision in ("1", "2")):
            refuse(self._path, f"the numbers of {what} are of a type that is not known")
        text = (item.text or "").strip()
        try:
            if form == "XML":
                return np.array(text.split(), dtype="f8" if kind == "f" else "i8")
            if form == "HDF":
                return self._hdf5(text, what)
            if form != "Binary":
                refuse(self._path, f"{what} is in the form {quoted(form)}; there are XML, HDF and Binary")
            order = {"native": "=", "little": "<", "big": ">"}[item.get("Endian", "Native").lower()]
            seek = self._whole(item.get("Seek", "0"), "Seek")
            return np.fromfile(self._beside(text), f"{order}{kind}{precision}", count, offset=seek)
        except (ValueError, OverflowError, KeyError) as error:
            refuse(self._path, f"{what} cannot be read: {message(error)}")

    def _hdf5(self, text: str, what: str) -> NDArray[Any]:
        try:
            import h5py
        except ImportError:
            refuse(self._path, needs("reading its arrays", "h5py"))
        name, colon, inside = text.rpartition(":")
        if not colon:
            refuse(self._path, f"{what}: expected a file of HDF5, a colon and a name in it, found {quoted(text)}")
        file = self._beside(name)
        try:
            with h5py.File(file, "r") as content:
                dataset = content.get(inside)
                if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind not in "iuf":
                    refuse(self._path, f"{file} has no numbers {quoted(inside)}, which {what} is")
                array: NDArray[Any] = np.asarray(dataset[()])
                return array
        except OSError as error:
            # What HDF5 says of a file does not name it.
            refuse(self._path, f"{file}, which has {what}, cannot be read: {message(error)}")

    def _beside(self, name: str) -> Path:
        file = self._path.parent / name.strip()
        if not file.is_file():
            refuse(self._path, f"it names the file {quoted(name.strip())}, which is not beside it")
        return file

"""Gmsh's formats 4.0 and 4.1, in text and in binary of either byte order.

Sources: "MSH file format" and "MSH file format version 4.0 (Legacy)" of Gmsh's reference manual. Nodes and elements are
in blocks of one entity each; a node has a tag, by which elements name it, and tags may have gaps and any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from weft._core import UsageError
from weft.conset import mesh_kinds
from weft.conset.mesh_kinds import Blocks, Cells, Points, refuse
from weft.inputs import quoted

_FAMILIES: dict[str, dict[int, int]] = {
    "line": {1: 0, 8: 3, **dict(zip(range(26, 29), range(4, 7), strict=True)),
             **dict(zip(range(62, 67), range(7, 12), strict=True))},
    "triangle": {2: 0, 9: 6, 21: 10, 23: 15, 25: 21, 42: 28, 43: 36, 44: 45, 45: 55, 46: 66},
    "quad": {3: 0, 10: 9, 16: 8, 36: 16, 37: 25, 38: 36, 47: 49, 48: 64, 49: 81, 50: 100, 51: 121},
    "tetra": {4: 0, 11: 10, 29: 20, 30: 35, 31: 56, 71: 84, 72: 120, 73: 165, 74: 220, 75: 286},
    "hexahedron": {5: 0, 12: 27, 17: 20, 92: 64, 93: 125, 94: 216, 95: 343, 96: 512, 97: 729, 98: 1000},
    "wedge": {6: 0, 13: 18, 18: 15, 90: 40, 91: 75, 106: 126, 107: 196, 108: 288, 109: 405, 110: 550},
    "pyramid": {7: 0, 14: 14, 19: 13},
    "vertex": {15: 0},
}  # fmt: skip
_KINDS = {code: f"{shape}{count or ''}" for shape, codes in _FAMILIES.items() for code, count in codes.items()}
"""Kinds of cells by Gmsh's numbers; all have their corners first."""


def version(path: Path) -> str | None:
    """The version that a file of Gmsh states, if it states one."""
    with path.open("rb") as file:
        for line in file:
            if line.strip() == b"$MeshFormat":
                words = file.readline(200).split()
                return words[0].decode("ascii", "replace") if words else None
    return None


def read(path: Path) -> tuple[Points, Blocks]:
    """Points and cells of all dimensions.

    Raises
    ------
    UsageError
        If the file is not of the format, or not whole.
    """
    content = path.read_bytes()
    start = content.index(b"$MeshFormat") + len(b"$MeshFormat")
    end = content.find(b"\n", start + 1)
    words = content[start:end].split() if end >= 0 else []
    if len(words) != 3 or words[1] not in (b"0", b"1") or words[2] not in (b"4", b"8"):
        refuse(path, f"expected a version, 0 or 1 and a size of 4 or 8 behind $MeshFormat, found {quoted(words)}")
    order, behind = "", end + 1
    if words[1] == b"1":
        one = content[behind : behind + 4]
        order = {b"\1\0\0\0": "<", b"\0\0\0\1": ">"}.get(one, "")
        if not order:
            refuse(path, f"expected the number 1 in binary behind its version, found the bytes {one.hex(' ')}")
        behind += 4
    size = int(words[2])
    if words[0] == b"4.1":
        return _File(path, content, order, size, legacy=False).read(behind)
    if words[0] == b"4.0":
        return _File(path, content, order, 8, legacy=True).read(behind)
    # Gmsh wrote a 4 for 4.0, other programs do for 4.1, and the two have other counts.
    try:
        return _File(path, content, order, 8, legacy=True).read(behind)
    except UsageError as error:
        try:
            return _File(path, content, order, size, legacy=False).read(behind)
        except UsageError:
            raise error from None


class _Numbers:
    """The numbers of a section, in their order."""

    def __init__(self, file: _File, name: str, start: int) -> None:
        self._file, self._name = file, name
        self._at = start
        self._end = len(file.content)
        if not file.order:
            self._end = file.content.find(b"$End", start)
            self._end = len(file.content) if self._end < 0 else self._end
            try:
                self._values = np.array(file.content[start : self._end].split(), dtype=np.float64)
            except ValueError as error:
                refuse(file.path, f"expected numbers in ${name}: {error}")
            self._next = 0

    def _refuse_end(self) -> NoReturn:
        refuse(self._file.path, f"it ends within ${self._name}, or its counts there are wrong")

    def _bytes(self, kind: str, count: int) -> NDArray[np.generic]:
        form = np.dtype(kind).newbyteorder("<" if self._file.order == "<" else ">")
        if count < 0 or count * form.itemsize > self._end - self._at:
            self._refuse_end()
        values = np.frombuffer(self._file.content, form, count, self._at)
        self._at += count * form.itemsize
        return values

    def _words(self, count: int) -> NDArray[np.float64]:
        if count < 0 or count > len(self._values) - self._next:
            self._refuse_end()
        self._next += count
        return self._values[self._next - count : self._next]

    def integers(self, kind: str, count: int) -> NDArray[np.int64]:
        """Whole numbers of a type of numpy's."""
        if self._file.order:
            return self._bytes(kind, count).astype(np.int64)
        words = self._words(count)
        if not (np.abs(words) < 2.0**53).all() or (words % 1.0).any():
            refuse(self._file.path, f"expected whole numbers in ${self._name}, found {quoted(words[:4].tolist())}")
        return words.astype(np.int64)

    def rows(self, count: int, tag: str, columns: int, kind: str) -> tuple[NDArray[np.int64], NDArray[np.generic]]:
        """As many rows of a tag and so many other numbers."""
        if not self._file.order:
            values = self._words(count * (1 + columns)).reshape(count, 1 + columns)
            if (values[:, 0] % 1.0).any() or not (np.abs(values[:, 0]) < 2.0**53).all():
                refuse(self._file.path, f"expected a tag first in each line of ${self._name}")
            return values[:, 0].astype(np.int64), values[:, 1:]
        begin = "<" if self._file.order == "<" else ">"
        form = np.dtype([("tag", begin + tag), ("values", begin + kind, (columns,))])
        if count < 0 or count * form.itemsize > self._end - self._at:
            self._refuse_end()
        rows: Any = np.frombuffer(self._file.content, form, count, self._at)
        self._at += count * form.itemsize
        return rows["tag"].astype(np.int64), rows["values"]

    def doubles(self, count: int) -> NDArray[np.float64]:
        """Numbers in double precision."""
        return self._bytes("f8", count).astype(np.float64) if self._file.order else self._words(count)

    def end(self) -> int:
        """Where the section's end is, which must follow."""
        if not self._file.order:
            if self._next != len(self._values):
                refuse(self._file.path, f"${self._name} has more numbers than its counts say")
            self._at = self._end
        marker = b"$End" + self._name.encode()
        behind = self._file.content[self._at : self._at + len(marker) + 8].lstrip()
        if not behind.startswith(marker):
            refuse(
                self._file.path, f"expected $End{self._name} behind as many as its counts say, found {_seen(behind)}"
            )
        return self._file.content.index(marker, self._at) + len(marker)


def _seen(content: bytes) -> str:
    return quoted(content[:16].decode("ascii", "replace")) if content else "the end of the file"


@dataclass
class _File:
    path: Path
    content: bytes
    order: str
    size: int
    legacy: bool

    def read(self, at: int) -> tuple[Points, Blocks]:
        """Every section from an offset on; those that are not needed are passed over."""
        nodes: tuple[NDArray[np.int64], Points] | None = None
        elements: list[tuple[str, Cells]] | None = None
        at = self._behind("MeshFormat", at)
        while at < len(self.content):
            line_end = self.content.find(b"\n", at)
            line_end = len(self.content) if line_end < 0 else line_end
            line = self.content[at:line_end].strip()
            if not line:
                at = line_end + 1
                continue
            name = line[1:].decode("ascii", "replace")
            if not line.startswith(b"$") or name.startswith("End"):
                refuse(self.path, f"expected a section that begins with $, found {_seen(line)}")
            if name == "Nodes" and nodes is None:
                *nodes, at = self._nodes(line_end + 1)  # type: ignore[assignment]
            elif name == "Elements" and elements is None:
                elements, at = self._elements(line_end + 1)
            elif name in ("Nodes", "Elements"):
                refuse(self.path, f"expected one section ${name}, found two")
            else:
                at = self._behind(name, line_end + 1)
        if nodes is None or elements is None:
            refuse(self.path, f"it ends before a section ${'Nodes' if nodes is None else 'Elements'}")
        tags, points = nodes
        return points, self._numbered(elements, tags)

    def _behind(self, name: str, at: int) -> int:
        marker = b"$End" + name.encode()
        end = self.content.find(marker, at)
        if end < 0:
            refuse(self.path, f"it ends within ${quoted(name)}")
        return end + len(marker)

    def _nodes(self, at: int) -> tuple[NDArray[np.int64], Points, int]:
        numbers = _Numbers(self, "Nodes", at)
        blocks, total = self._counts(numbers)
        tags, points = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 3))]
        for _ in range(blocks):
            one, other, parametric = numbers.integers("i4", 3).tolist()
            count = int(numbers.integers(f"u{self.size}", 1)[0])
            # Nodes on a curve have one parameter, on a surface two, in a volume three.
            columns = 3 + (min(max(other if self.legacy else one, 0), 3) if parametric else 0)
            if self.legacy:
                named, values = numbers.rows(count, "i4", columns, "f8")
            else:
                named = numbers.integers(f"u{self.size}", count)
                values = numbers.doubles(columns * count).reshape(count, columns)
            tags.append(named)
            points.append(np.asarray(values[:, :3], dtype=np.float64))
        if sum(map(len, tags)) != total:
            refuse(self.path, f"$Nodes promises {total} nodes, its blocks have {sum(map(len, tags))}")
        return np.concatenate(tags), np.concatenate(points), numbers.end()

    def _elements(self, at: int) -> tuple[list[tuple[str, Cells]], int]:
        numbers = _Numbers(self, "Elements", at)
        blocks, total = self._counts(numbers)
        listed: list[tuple[str, Cells]] = []
        integer = "i4" if self.legacy else f"u{self.size}"
        for _ in range(blocks):
            code = int(numbers.integers("i4", 3)[2])
            count = int(numbers.integers(f"u{self.size}", 1)[0])
            if code not in _KINDS:
                refuse(self.path, f"elements of Gmsh's type {code} are not read")
            columns = mesh_kinds.nodes(_KINDS[code]) or 0
            _, cells = numbers.rows(count, integer, columns, integer)
            listed.append((_KINDS[code], cells.astype(np.int64)))
        if sum(len(cells) for _, cells in listed) != total:
            refuse(self.path, f"$Elements promises {total} elements, its blocks have {sum(len(c) for _, c in listed)}")
        return listed, numbers.end()

    def _counts(self, numbers: _Numbers) -> tuple[int, int]:
        """Blocks, and nodes or elements in all of them; 4.1 has the least and the greatest tag as well."""
        counts = numbers.integers(f"u{self.size}", 2 if self.legacy else 4).tolist()
        return counts[0], counts[1]

    def _numbered(self, elements: list[tuple[str, Cells]], tags: NDArray[np.int64]) -> Blocks:
        """Elements by the numbers of nodes instead of their tags."""
        order = np.argsort(tags, kind="stable")
        ascending = tags[order]
        twice = np.nonzero(ascending[1:] == ascending[:-1])[0]
        if twice.size:
            refuse(self.path, f"two nodes have the tag {ascending[twice[0]]}")
        blocks: Blocks = []
        for kind, cells in elements:
            at = np.minimum(np.searchsorted(ascending, cells), max(len(ascending) - 1, 0))
            unknown = cells != ascending[at] if len(ascending) else np.ones_like(cells, dtype=bool)
            if unknown.any():
                refuse(self.path, f"an element names the node {cells[unknown][0]}; it has none of that tag")
            blocks.append((kind, order[at]))
        return blocks

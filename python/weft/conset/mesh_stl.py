"""STL, in text and in binary: triangles with points of their own, which are joined where they are equal.

The format has no nodes, so that two triangles are neighbours if their points are the same to the last digit.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from weft.conset.mesh_kinds import Blocks, Points, refuse
from weft.inputs import quoted

_HEADER, _FACET = 84, 50
_LINES = ("facet", "outer", "vertex", "vertex", "vertex", "endloop", "endfacet")


def read(path: Path) -> tuple[Points, Blocks]:
    """Points and triangles.

    Raises
    ------
    UsageError
        If the file is not of the format, or not whole.
    """
    content = path.read_bytes()
    count = int.from_bytes(content[80:84], "little") if len(content) >= _HEADER else 0
    # Binary files may begin with the word by which those in text are known.
    if len(content) == _HEADER + _FACET * count and len(content) >= _HEADER:
        form = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
        corners = np.frombuffer(content, form, count, _HEADER)["corners"].astype(np.float64)
    elif content.lstrip()[:5].lower() == b"solid" and b"\0" not in content:
        corners = _text(path, content)
    elif len(content) < _HEADER:
        refuse(path, f"expected STL, of which a header alone has {_HEADER} bytes; it has {len(content)}")
    else:
        refuse(
            path,
            f"its header counts {count} triangles, with which it would have {_HEADER + _FACET * count} bytes; "
            f"it has {len(content)}",
        )
    if not len(corners):
        refuse(path, "it has no triangles")
    # Zeros of both signs are one number.
    points, nodes = np.unique(corners.reshape(-1, 3) + 0.0, axis=0, return_inverse=True)
    return points, [("triangle", nodes.reshape(-1, 3).astype(np.int64))]


def _text(path: Path, content: bytes) -> np.ndarray:
    """The corners of every facet of every solid."""
    corners: list[list[float]] = []
    inside, at = False, 0
    for number, line in enumerate(content.decode("latin-1").splitlines(), 1):
        words = line.split()
        if not words:
            continue
        first = words[0].lower()
        if at == 0 and first == ("endsolid" if inside else "solid"):
            inside = not inside
            continue
        if not inside or first != _LINES[at]:
            expected = f"{_LINES[at]}{' or endsolid' if at == 0 else ''}" if inside else "solid"
            refuse(path, f"line {number}: expected {expected}, found {quoted(line.strip())}")
        if first == "vertex":
            try:
                corners.append([float(word) for word in words[1:]])
            except ValueError:
                refuse(path, f"line {number}: expected three coordinates, found {quoted(line.strip())}")
            if len(corners[-1]) != 3:
                refuse(path, f"line {number}: expected three coordinates, found {quoted(line.strip())}")
        at = (at + 1) % len(_LINES)
    if inside:
        refuse(path, "it ends within a solid, before the line endsolid")
    return np.array(corners).reshape(-1, 3, 3)

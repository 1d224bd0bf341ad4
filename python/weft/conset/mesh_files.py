"""Files of meshes: points and cells, whatever the format.

weft reads four formats by itself: Gmsh's 4.0 and 4.1, VTU, XDMF and STL, of which meshio misses variants that programs
write, or reads some of them wrongly and says nothing. All others are read by meshio, after a look at what would keep it
waiting.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from weft import _core
from weft._core import UsageError
from weft.conset import mesh_gmsh, mesh_kinds, mesh_stl, mesh_vtu, mesh_xdmf
from weft.conset.mesh_kinds import Blocks, Points
from weft.conset.patterns import GRAPH, MATRIX
from weft.inputs import message, quoted, within_memory

_OWN = {".stl": mesh_stl.read, ".vtu": mesh_vtu.read, ".xdmf": mesh_xdmf.read, ".xmf": mesh_xdmf.read}


def read(path: Path) -> tuple[Points, Blocks]:
    """Points and the elements of the highest dimension, by kind.

    Raises
    ------
    UsageError
        If the file cannot be read, or a package for it is missing: with the reason.
    """
    size = path.stat().st_size
    _core.require_memory(40 * size, f"{path}: a mesh in a file of {size} bytes", "take a smaller one")
    own = _OWN.get(path.suffix.lower())
    if path.suffix.lower() == ".msh" and (mesh_gmsh.version(path) or "").split(".")[0] == "4":
        own = mesh_gmsh.read
    try:
        with within_memory(), np.errstate(all="ignore"):
            points, blocks = _by_meshio(path) if own is None else own(path)
    except MemoryError:
        raise UsageError(f"{path}: reading it takes more memory than there is") from None
    try:
        dimension = max((mesh_kinds.dimension(kind) for kind, cells in blocks if len(cells)), default=0)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    blocks = [(kind, cells) for kind, cells in blocks if len(cells) and mesh_kinds.dimension(kind) == dimension]
    if blocks and not dimension:
        raise UsageError(f"{path}: its cells are points, of which no two are neighbours")
    if points.ndim != 2 or not 1 <= points.shape[1] <= 3 or any(block.ndim != 2 for _, block in blocks):
        raise UsageError(f"{path}: expected points of one to three coordinates, and cells with as many nodes each")
    for kind, block in blocks:
        if not block.shape[1]:
            raise UsageError(
                f"{path}: expected cells with nodes, found {len(block)} of kind {quoted(kind)} without any"
            )
        if mesh_kinds.nodes(kind) not in (None, block.shape[1]):
            raise UsageError(f"{path}: expected {mesh_kinds.nodes(kind)} nodes of each {kind}, found {block.shape[1]}")
    if not len(points):
        raise UsageError(f"{path}: expected a mesh, found one without points")
    if dimension == 2 and points.shape[1] == 3 and np.ptp(points[:, 2]) == 0:
        points = points[:, :2]
    return points, blocks


def _no_mesh(path: Path, reason: str) -> UsageError:
    """What is said of a file that meshio does not know, or does not know what to do with."""
    from meshio import extension_to_filetypes

    suffix = path.suffix.lower()
    if suffix in (".gz", ".bz2", ".xz", ".zip", ".tgz"):
        return UsageError(f"{path}: compressed files are not read; unpack it first")
    if suffix not in extension_to_filetypes:
        known = ", ".join(sorted({*MATRIX, *GRAPH, *extension_to_filetypes}))
        return UsageError(f"{path}: files that end in {quoted(suffix)} are not read; known endings are {known}")
    if suffix == ".mesh" and _is_metis_mesh(path):
        return UsageError(
            f"{path}: a mesh in METIS's format says not which cells it has, or where; divide its graph, which METIS's "
            "m2gmetis writes (.graph)"
        )
    return UsageError(f"{path}: expected a whole file of the format that {suffix} stands for; {reason}")


def _is_metis_mesh(path: Path) -> bool:
    """Whether its first line is one or two whole numbers, of elements and of their weights or kind."""
    with path.open(errors="replace") as file:
        first = file.readline().split()
    return 1 <= len(first) <= 2 and all(word.isdecimal() for word in first)


def _by_meshio(path: Path) -> tuple[Points, Blocks]:
    """Points and cells of all dimensions."""
    meshio = _meshio(path)
    if check := _CHECKS.get(path.suffix.lower()):
        check(path)
    heard = _Patience()
    try:
        with _unheard(heard):
            mesh = meshio.read(path)
            if heard.lost is not None:
                raise UsageError(f"{path}: not all of its cells can be read: {message(heard.lost)}")
            ragged = next((block.type for block in mesh.cells if str(block.type).startswith("polyhedron")), None)
            if ragged is not None:
                raise UsageError(f"{path}: cells of kind {quoted(ragged)} are not divided; split them into tetrahedra")
            # Kinds whose facets are not known are refused later, by name, where they are those to be divided.
            cells = [(str(block.type), np.asarray(block.data, dtype=np.int64)) for block in mesh.cells]
            points = np.asarray(mesh.points, dtype=float)
    except SystemExit:
        reason = f": {message(heard.first)}" if heard.first else ""
        raise _no_mesh(path, f"no format of meshio was recognised{reason}") from None
    except (UsageError, MemoryError):
        raise
    except Exception as error:
        # What HDF5 says of a file does not name it.
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise _no_mesh(path, f"meshio cannot read it: {message(error)}") from None
    return points, cells


def _meshio(path: Path) -> Any:
    try:
        return importlib.import_module("meshio")
    except ImportError as error:
        raise UsageError(f"{path}: reading it needs the package meshio: pip install 'weft[meshes]'") from error


def _check_header(path: Path) -> None:
    """Refuse a PLY file that ends in its header, at whose end meshio would wait for more lines for ever."""
    with path.open("rb") as file:
        if not any(line.strip() == b"end_header" for line in file):
            raise UsageError(f"{path}: expected a PLY file, whose header ends with the line end_header; it has none")


def _check_counts(path: Path) -> None:
    """Refuse an OFF file that ends before its counts."""
    _check_behind(path, b"OFF", _is_content, "a line that counts vertices, faces and edges")


def _check_bulk(path: Path) -> None:
    """Refuse a Nastran file that ends before its first entry."""
    _check_behind(
        path, b"BEGIN BULK", lambda line: len(line) > 3 and not line.startswith((b"$", b"//", b"#")), "an entry"
    )


def _check_nodes(path: Path) -> None:
    """Refuse an MDPA file that ends within its nodes."""
    _check_behind(path, b"Begin Nodes", lambda line: b"End Nodes" in line, "the line End Nodes")


def _check_pair(path: Path) -> None:
    """Refuse nodes and elements of TetGen, two files of one name, if either ends before its counts."""
    for suffix in (".node", ".ele"):
        with path.with_suffix(suffix).open("rb") as file:
            if not any(_is_content(line) for line in file):
                raise UsageError(
                    f"{path.with_suffix(suffix)}: expected a line that counts what the file has; it ends before"
                )


def _is_content(line: bytes) -> bool:
    return bool(line.strip()) and not line.strip().startswith(b"#")


def _check_behind(path: Path, begin: bytes, ends: Callable[[bytes], bool], expected: str) -> None:
    """Refuse a file without a line that ends what a line begins, at whose end meshio would wait for ever."""
    with path.open("rb") as file:
        for line in file:
            if line.strip().startswith(begin) and not any(ends(behind) for behind in file):
                raise UsageError(f"{path}: expected {expected} behind the line {begin.decode()}; the file ends before")


_CHECKS = {
    ".ply": _check_header, ".off": _check_counts, ".mdpa": _check_nodes,
    **dict.fromkeys((".bdf", ".fem", ".nas"), _check_bulk), **dict.fromkeys((".node", ".ele"), _check_pair),
}  # fmt: skip
"""By suffix, what is looked at before meshio reads a file, as it waits for more lines at the ends of some."""


class _Patience(io.StringIO):
    """Takes what a reader says until that is too much: one that knows none of a file's lines says so of each."""

    _WRITES = 200
    _LOSSES = ("cells that meshio cannot handle", "Unsupported H5M element type", "Skipping cell block")

    def __init__(self) -> None:
        super().__init__()
        self._written = 0
        self.first = ""
        self.lost: str | None = None

    def write(self, text: str) -> int:
        self._written += 1
        self.first = self.first or text.strip()
        if self.lost is None and any(loss in text for loss in self._LOSSES):
            self.lost = text
        if self._written > self._WRITES:
            raise ValueError("it has too many lines that are not of its format")
        return len(text)


@contextlib.contextmanager
def _unheard(heard: _Patience) -> Iterator[None]:
    """What readers of formats say on the way is for people who read meshes; here the one message counts."""
    from meshio import _common, _mesh

    # meshio has kinds of cells without a dimension, and then reads no mesh that has them.
    for kind in _common.num_nodes_per_cell:
        with contextlib.suppress(UsageError):
            _mesh.topological_dimension.setdefault(kind, mesh_kinds.dimension(kind))
    with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # rich looks for what to highlight in a time that is quadratic in the length of the line that is quoted.
        console, _common.Console = _common.Console, lambda **_: _Quiet(heard)
        try:
            yield
        finally:
            _common.Console = console


class _Quiet:
    """A console that looks at nothing that it is handed."""

    def __init__(self, heard: _Patience) -> None:
        self._heard = heard

    def print(self, text: str, **_: object) -> None:
        self._heard.write(text)

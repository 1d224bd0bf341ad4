"""Connection sets of partitioned sparse matrices, graphs and meshes.

Parts exchange values after each step of an iterative solver (Feldmann, Stricker and Warfel 1993, section 5.2). With the
exchange `row` every row of a matrix (node of a graph) is owned by one part, and a part sends each of its values once to
every other part that has a row with an entry for it. With the exchange `vertex` the elements of a mesh are divided, and
two parts that share a node send each other their contributions to it. A value is a word. Which elements belong together
is what the partition sees: those that share a face, of a surface an edge, of a line an end.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import _core
from weft._core import ConnectionSet, UsageError
from weft.conset import mesh_checking, mesh_files
from weft.conset.cells import dual_graph
from weft.conset.patterns import GRAPH, MATRIX
from weft.inputs import message, quoted, read_text, within_memory

if TYPE_CHECKING:
    from scipy.sparse import csr_array

EXCHANGES = ("vertex", "row")


def read(
    path: Path,
    parts: int,
    partition: str | os.PathLike[str] | None = None,
    exchange: str | None = None,
    seed: int = 0,
) -> ConnectionSet:
    """The exchange of a matrix (`.mtx`), a METIS graph (`.graph`) or a mesh, divided into parts.

    Raises
    ------
    UsageError
        If the file cannot be read, the mesh has hanging or duplicate nodes, or a package for it is missing: with the
        reason.
    """
    if exchange is not None and exchange not in EXCHANGES:
        raise UsageError(f"no exchange is called {exchange}; there are {' and '.join(EXCHANGES)}")
    if parts < 1:
        raise UsageError(f"expected at least one part, found {parts}")
    suffix = path.suffix.lower()
    if suffix in MATRIX or suffix in GRAPH:
        if exchange == "vertex":
            raise UsageError(f"{path}: the exchange vertex is that of meshes; a matrix or graph has row")
        matrix = _matrix(path) if suffix in MATRIX else _metis(path)
        owner = _partition(path, partition, matrix, parts, seed)
        return row_exchange(matrix, owner, parts, quoted(path.name))
    points, blocks = mesh_files.read(path)
    mesh_checking.check(str(path), points, blocks)
    cells = [block for _, block in blocks]
    if exchange == "row":
        matrix = node_graph(cells, len(points))
        owner = _partition(path, partition, matrix, parts, seed)
        return row_exchange(matrix, owner, parts, quoted(path.name))
    graph = dual_graph(blocks)
    if partition is None and 1 < parts <= graph.shape[0] and graph.nnz == 0:
        raise UsageError(
            f"{path}: no two of its {graph.shape[0]} cells have a face, an edge of a surface or an end of a line in "
            "common, so that nothing says which belong together; merge duplicate nodes, or give a partition"
        )
    owner = _partition(path, partition, graph, parts, seed)
    return vertex_exchange(cells, owner, parts, quoted(path.name))


def row_exchange(matrix: csr_array, owner: np.ndarray, parts: int, name: str) -> ConnectionSet:
    """Every part sends each value it owns once to every other part whose rows have an entry for it."""
    entries = matrix.tocoo()
    needs, has = owner[entries.row], owner[entries.col]
    apart = needs != has
    needed = np.unique(np.stack([has[apart], needs[apart], entries.col[apart]]), axis=1)
    ends, words = np.unique(needed[:2], axis=1, return_counts=True)
    connections = [(int(a), int(b), int(count)) for a, b, count in zip(*ends, words, strict=True)]
    return ConnectionSet(parts, connections, name)


def vertex_exchange(cells: list[np.ndarray], owner: np.ndarray, parts: int, name: str) -> ConnectionSet:
    """Two parts that share nodes send each other a value for each of them."""
    parts_of: dict[int, set[int]] = defaultdict(set)
    for element, part in zip((element for block in cells for element in block), owner, strict=True):
        for node in element:
            parts_of[int(node)].add(int(part))
    words: dict[tuple[int, int], int] = defaultdict(int)
    for sharing in parts_of.values():
        for a in sharing:
            for b in sharing - {a}:
                words[a, b] += 1
    return ConnectionSet(parts, [(a, b, count) for (a, b), count in sorted(words.items())], name)


def node_graph(cells: list[np.ndarray], nodes: int) -> csr_array:
    """Nodes that share an element: the pattern of an assembled matrix."""
    from scipy.sparse import csr_array

    pairs = [block[:, [a, b]] for block in cells for a in range(block.shape[1]) for b in range(block.shape[1])]
    both = np.unique(np.concatenate(pairs), axis=0)
    return csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(nodes, nodes))


def _matrix(path: Path) -> csr_array:
    from scipy.io import mminfo, mmread
    from scipy.sparse import csr_array

    expected = f"{path}: expected a sparse matrix in Matrix Market format"
    try:
        rows, columns, entries, form = mminfo(path)[:4]
        if rows != columns:
            raise UsageError(f"{path}: expected a square matrix, found {rows} rows and {columns} columns")
        # scipy's reader divides by the rows of a dense matrix, which ends the process where there are none.
        if rows == 0:
            raise UsageError(f"{path}: expected a matrix with rows, found none")
        _refuse_large(path, rows, entries, form)
        with within_memory(), _terminated(path) as file:
            matrix = csr_array(mmread(file))
    except (UsageError, OSError):
        raise
    except MemoryError:
        raise UsageError(f"{path}: its header asks for more memory than there is") from None
    except Exception as error:
        raise UsageError(f"{expected}: {message(error)}") from None
    if matrix.ndim != 2:
        raise UsageError(f"{expected}, found {matrix.ndim} axes")
    return matrix


@contextlib.contextmanager
def _terminated(path: Path) -> Iterator[Path | io.BytesIO]:
    """A matrix as scipy can read it.

    Its reader looks for the newline after each number; where none follows, or a NUL byte comes first, it runs on behind
    the end of the file.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        null = content.find(b"\0")
        if null >= 0:
            line = content[:null].count(b"\n") + 1
            raise UsageError(f"{path}, line {line}: a byte 0, which no matrix in text has")
        ended = content[-1:] == b"\n"
        unended = b"" if ended else content[:]
    yield path if ended else io.BytesIO(unended + b"\n")


def _refuse_large(path: Path, rows: int, entries: int, form: str) -> None:
    """Refuse a header that promises what the file cannot have, or what takes more memory than there is."""
    size = path.stat().st_size
    least = 2 * entries if form == "array" else 4 * entries
    if least > size:
        raise UsageError(f"{path}: its header promises {entries} entries, the file has {size} bytes")
    # Entries as read, by rows, symmetric, and divided into parts; rows as starts of lists.
    _core.require_memory(
        120 * entries + 96 * rows,
        f"{path}: a matrix of {rows} rows with {entries} entries",
        "take a smaller one",
    )


def _metis(path: Path) -> csr_array:
    """A METIS graph file: vertices, edges and a format in the first line, then the neighbours of each vertex from 1."""
    from scipy.sparse import csr_array

    # Numbers of a line become Python's; a neighbour is a row, a column and a value of a matrix.
    text = read_text(path, "a graph in METIS's format", factor=64)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("%")]
    while lines and not lines[0].strip():
        del lines[0]
    count, edges, skipped, stride = _metis_header(path, lines)
    vertices = lines[1 : 1 + count]
    if len(vertices) != count:
        raise UsageError(f"{path}: expected {quoted(count)} lines of neighbours, found {len(vertices)}")
    more = next((line for line in lines[1 + count :] if line.strip()), None)
    if more is not None:
        raise UsageError(f"{path}: expected {quoted(count)} lines of neighbours, and behind them found {quoted(more)}")
    rows, columns = [], []
    for vertex, line in enumerate(vertices):
        neighbours = _metis_neighbours(path, vertex, line, count, skipped, stride)
        rows += [vertex] * len(neighbours)
        columns += neighbours
    matrix = csr_array((np.ones(len(rows)), (rows, columns)), shape=(count, count))
    _check_edges(path, matrix, len(rows), edges)
    return matrix


def _metis_header(path: Path, lines: list[str]) -> tuple[int, int, int, int]:
    """Vertices, edges, numbers before the neighbours of a vertex, and numbers for each neighbour."""
    expected = f"{path}: expected the numbers of vertices and edges in the first line"
    try:
        header = [int(word) for word in lines[0].split()]
    except (ValueError, IndexError):
        raise UsageError(f"{expected}, found {quoted(lines[0]) if lines else 'nothing'}") from None
    if len(header) < 2 or header[0] < 1 or min(header) < 0 or max(header[2:], default=0) > 999:
        raise UsageError(f"{expected}, found {quoted(lines[0])}")
    flags = f"{header[2]:03d}" if len(header) > 2 else "000"
    weights = (header[3] if len(header) > 3 else 1) if flags[-2] == "1" else 0
    return header[0], header[1], weights + (flags[-3] == "1"), 2 if flags[-1] == "1" else 1


def _metis_neighbours(path: Path, vertex: int, line: str, count: int, skipped: int, stride: int) -> list[int]:
    """The neighbours of a vertex, from 0."""
    words = line.split()[skipped:]
    if len(words) % stride:
        raise UsageError(
            f"{path}: expected a weight behind each neighbour of vertex {vertex + 1}, as the first line says, "
            f"found {quoted(line)}"
        )
    try:
        neighbours = [int(word) for word in words[::stride]]
    except ValueError:
        raise UsageError(
            f"{path}: expected the neighbours of vertex {vertex + 1} as numbers, found {quoted(line)}"
        ) from None
    for neighbour in neighbours:
        if not 1 <= neighbour <= count:
            raise UsageError(f"{path}: vertex {vertex + 1} has neighbour {quoted(neighbour)}, there are 1 to {count}")
    return [neighbour - 1 for neighbour in neighbours]


def _check_edges(path: Path, matrix: csr_array, entries: int, edges: int) -> None:
    """Refuse a graph whose edges have one end only, or are not as many as its first line says."""
    pattern = matrix.astype(bool)
    only = (pattern > pattern.T).tocoo()
    if only.nnz:
        vertex, other = int(only.row[0]) + 1, int(only.col[0]) + 1
        raise UsageError(
            f"{path}: vertex {vertex} has neighbour {other}, which does not have {vertex}: "
            "METIS's graphs list each edge at both of its ends"
        )
    # Whether an edge from a vertex to itself counts is not said.
    loops = int(pattern.diagonal().sum())
    if not (entries - loops) // 2 <= edges <= (entries - loops) // 2 + loops:
        raise UsageError(
            f"{path}: its first line promises {quoted(edges)} edges, its lines of neighbours have "
            f"{(entries - loops) // 2}"
        )


def _package(name: str, path: Path) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(f"{path}: reading it needs the package {name}: pip install 'weft[meshes]'") from error


def _partition(
    path: Path, partition: str | os.PathLike[str] | None, graph: csr_array, parts: int, seed: int
) -> np.ndarray:
    """The part of each vertex: from a file, or by METIS."""
    count = graph.shape[0]
    if partition is not None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                owner = np.loadtxt(partition, dtype=np.int64, ndmin=1)
        except (ValueError, OverflowError) as error:
            raise UsageError(f"{partition}: expected a part number a line: {message(error)}") from None
        if owner.ndim != 1:
            raise UsageError(f"{partition}: expected one part number a line, found {owner.shape[1]}")
        if len(owner) != count:
            raise UsageError(
                f"{partition}: expected the part of each of the {count} vertices of {path}, found {len(owner)} lines"
            )
        if owner.min() < 0 or owner.max() >= parts:
            raise UsageError(f"{partition}: expected parts 0 to {parts - 1}, found {owner.min()} to {owner.max()}")
        return owner
    if parts == 1:
        return np.zeros(count, dtype=np.int64)
    if parts > count:
        raise UsageError(f"{path}: {count} vertices cannot be divided into {parts} parts")
    pymetis = _package("pymetis", path)
    symmetric = (graph + graph.T).tocsr()
    symmetric.setdiag(0)
    symmetric.eliminate_zeros()
    options = pymetis.Options(seed=seed)
    adjacency = pymetis.CSRAdjacency(adj_starts=symmetric.indptr, adjacent=symmetric.indices)
    _, owner = pymetis.part_graph(parts, adjacency, recursive=True, options=options)
    return np.asarray(owner, dtype=np.int64)

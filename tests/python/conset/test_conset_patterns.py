"""Patterns from files: what is read, and what is said of files that are none."""

import json

import numpy as np
import pytest

import weft
from weft.conset import graphs, mesh_checking, pattern


@pytest.fixture(scope="module")
def iwarp():
    return weft.machine("iwarp64")


def test_a_name_is_a_named_pattern(iwarp):
    found = pattern("torus", iwarp, words=3)
    assert len(found) == 256
    assert {words for _, _, words in found.connections} == {3}


def test_lines_of_source_destination_and_words(iwarp, tmp_path):
    path = tmp_path / "exchange.csv"
    path.write_text("source,destination,words\n0,1,5\n# a comment\n63,2,7\n4,5\n")
    assert pattern(path, iwarp).connections == [(0, 1, 5), (63, 2, 7), (4, 5, 1)]
    other = tmp_path / "exchange.txt"
    other.write_text("0 1 5\n63 2 7\n")
    assert pattern(other, iwarp, words=2).connections == [(0, 1, 2), (63, 2, 2)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0,0,5\n", "connection 0 goes from node 0 to itself"),
        ("0,64,5\n", "connection 0 (0 to 64) names node 64, but there are nodes 0 to 63"),
        ("0,1,0\n", ":1: expected at least one word, found 0"),
        ("0,1,2\n0,-1,2\n", ":2: node -1 (destination) does not exist"),
        ("0,one,2\n", ":1: expected source, destination and words as whole numbers, found 0 one 2"),
        ("0,1,2,3\n", ":1: expected source, destination and words as whole numbers, found 4 fields"),
    ],
)
def test_wrong_lines_are_named(iwarp, tmp_path, content, message):
    path = tmp_path / "exchange.csv"
    path.write_text(content)
    with pytest.raises(weft.UsageError) as error:
        pattern(path, iwarp)
    assert message in str(error.value)
    assert "exchange.csv" in str(error.value)


def test_names_and_files_that_do_not_exist(iwarp):
    with pytest.raises(weft.UsageError, match="no pattern is called taurus; did you mean torus"):
        pattern("taurus", iwarp)
    with pytest.raises(weft.UsageError, match=r"none\.csv: there is no such file; named patterns are torus"):
        pattern("none.csv", iwarp)


def test_sets_as_json_with_orders(iwarp, tmp_path):
    made = weft.conset.ConnectionSet(64, [(0, 1, 5), (1, 2, 5)], "chain", [(0, 1)])
    path = tmp_path / "chain.json"
    path.write_text(made.to_json())
    found = pattern(path, iwarp)
    assert (found.name, found.connections, found.orders) == ("chain", made.connections, [(0, 1)])
    with pytest.raises(weft.UsageError, match="the orders form a cycle"):
        weft.conset.ConnectionSet(64, [(0, 1, 5), (1, 0, 5)], "ring", [(0, 1), (1, 0)])
    path.write_text('{"nodes": 3}')
    with pytest.raises(weft.UsageError, match="expected a connection set"):
        pattern(path, iwarp)


def test_what_a_program_sent(iwarp, tmp_path):
    event = {"ph": "X", "pid": 0, "ts": 0, "dur": 1, "name": "send"}
    sent = [(0, 1, 8), (0, 1, 9), (2, 3, 1), (3, 3, 5)]
    events = [{**event, "tid": rank, "args": {"to": to, "bytes": size}} for rank, to, size in sent]
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps({"traceEvents": events}))
    assert pattern(path, iwarp).connections == [(0, 1, 5), (2, 3, 1)]
    path.write_text(json.dumps({"traceEvents": []}))
    with pytest.raises(weft.UsageError, match="no messages with data"):
        pattern(path, iwarp)


MATRIX = """%%MatrixMarket matrix coordinate real general
4 4 6
1 1 1.0
2 2 1.0
3 3 1.0
4 4 1.0
1 3 1.0
2 3 1.0
"""


def test_owners_of_rows_send_what_others_need(iwarp, tmp_path):
    path, partition = tmp_path / "a.mtx", tmp_path / "parts.txt"
    path.write_text(MATRIX)
    partition.write_text("0\n0\n1\n1\n")
    found = pattern(path, iwarp, parts=2, partition=partition, placed=False)
    assert found.connections == [(1, 0, 1)]
    partition.write_text("0\n1\n2\n2\n")
    assert pattern(path, iwarp, parts=3, partition=partition, placed=False).connections == [(2, 0, 1), (2, 1, 1)]
    partition.write_text("0\n0\n")
    with pytest.raises(weft.UsageError, match="expected the part of each of the 4 vertices"):
        pattern(path, iwarp, parts=2, partition=partition)
    partition.write_text("0\n0\n1\n7\n")
    with pytest.raises(weft.UsageError, match="expected parts 0 to 1, found 0 to 7"):
        pattern(path, iwarp, parts=2, partition=partition)
    path.write_text("not a matrix")
    with pytest.raises(weft.UsageError, match="expected a sparse matrix in Matrix Market format"):
        pattern(path, iwarp)


def test_metis_graphs(iwarp, tmp_path):
    path, partition = tmp_path / "ring.graph", tmp_path / "parts.txt"
    path.write_text("% a ring\n4 4\n2 4\n1 3\n2 4\n3 1\n")
    partition.write_text("0\n0\n1\n1\n")
    found = pattern(path, iwarp, parts=2, partition=partition, placed=False)
    assert found.connections == [(0, 1, 2), (1, 0, 2)]
    path.write_text("4 4\n2 9\n1 3\n2 4\n3 1\n")
    with pytest.raises(weft.UsageError, match="vertex 1 has neighbour 9, there are 1 to 4"):
        pattern(path, iwarp, parts=2, partition=partition)


# A ring of four whose every line begins with what the format says, and has what it says behind each neighbour.
@pytest.mark.parametrize(
    "text",
    [
        "\n  % a ring\n4 4\n2 4\n% between\n1 3\n2 4\n3 1\n\n",
        "4 4 1\n2 7 4 7\n1 7 3 0.5\n2 0.5 4 1\n3 1 1 7\n",
        "4 4 011 2\n5 6 2 7 4 7\n5 6 1 7 3 9\n5 6 2 9 4 1\n5 6 3 1 1 7\n",
        "4 4 100\n8 2 4\n8 1 3\n8 2 4\n8 3 1\n",
        "4 5\n1 2 4\n1 3\n2 4\n3 1\n",
    ],
)
def test_metis_graphs_with_weights_sizes_comments_and_loops(iwarp, tmp_path, text):
    path, partition = tmp_path / "ring.graph", tmp_path / "parts.txt"
    path.write_text(text)
    partition.write_text("0\n0\n1\n1\n")
    found = pattern(path, iwarp, parts=2, partition=partition, placed=False)
    assert found.connections == [(0, 1, 2), (1, 0, 2)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.graph", "4 4\n2 4\n1 3\n2 4\n3 1\n1 2\n", "expected 4 lines of neighbours, and behind them found 1 2"),
        ("a.graph", "4 6\n2 4\n1 3\n2 4\n3 1\n", "its first line promises 6 edges, its lines of neighbours have 4"),
        ("a.graph", "4 3\n2\n3\n4\n\n", "vertex 1 has neighbour 2, which does not have 1: METIS's graphs list each"),
        ("a.graph", "2 1 1\n2 7\n1\n", "expected a weight behind each neighbour of vertex 2, .* found 1"),
        ("a.mesh", "2\n1 2 3\n2 3 4\n", "METIS's format says not which cells it has.*m2gmetis"),
        ("a.grf", "0\n4 6\n0 000\n", "files that end in .grf are not read; known endings are .*.graph.*.mtx.*.vtk"),
        ("a.mtx.gz", "x", "compressed files are not read; unpack it first"),
    ],
)
def test_graphs_and_files_that_are_refused(iwarp, tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(weft.UsageError, match=message):
        pattern(path, iwarp, parts=2)


@pytest.mark.parametrize("read", [".node", ".ele"])
@pytest.mark.parametrize("short", [".node", ".ele"])
def test_files_of_tetgen_that_end_before_their_counts_are_refused(iwarp, tmp_path, read, short):
    (tmp_path / "a.node").write_text("4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n")
    (tmp_path / "a.ele").write_text("1 4 0\n0 0 1 2 3\n")
    assert pattern(tmp_path / f"a{read}", iwarp, parts=1).connections == []
    (tmp_path / f"a{short}").write_text("# nothing but a comment\n\n")
    with pytest.raises(weft.UsageError, match=rf"a\{short}: expected a line that counts what the file has"):
        pattern(tmp_path / f"a{read}", iwarp, parts=1)


def test_a_file_that_hdf5_does_not_know_is_named(iwarp, tmp_path):
    pytest.importorskip("h5py")
    path = tmp_path / "a.cgns"
    path.write_bytes(b"no such file")
    with pytest.raises(weft.UsageError, match=r"a\.cgns: expected a whole file of the format that \.cgns stands for"):
        pattern(path, iwarp, parts=1)
    path.unlink()
    with pytest.raises(OSError, match=r"No such file.*a\.cgns"):
        graphs.read(path, 1)


def square(cells):
    points = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]], dtype=float)
    return points, [np.array(cells)]


def test_parts_that_share_nodes_exchange_them():
    _, cells = square([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
    found = graphs.vertex_exchange(cells, np.array([0, 0, 1, 1]), 2, "square")
    assert found.connections == [(0, 1, 3), (1, 0, 3)]


SQUARE = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]


@pytest.mark.parametrize(
    ("more", "cells", "message"),
    [
        ([[1.0, 1.0]], [*SQUARE, [0, 1, 5]], "nodes 2 and 5 are the same point"),
        ([[0.25, 0.25]], [*SQUARE[:3], [3, 0, 5], [3, 5, 4]], "node 5 hangs on the edge from node 0 to node 4"),
        ([], [*SQUARE, [0, 1, 9]], "cell 4 names node 9; there are nodes 0 to 4"),
        ([], [*SQUARE, [0, 2, 4]], "has no area|cells share the face"),
        ([], [], "it has no cells"),
    ],
)
def test_meshes_that_are_none(more, cells, message):
    points, _ = square(SQUARE)
    mesh_checking.check("square", points, [("triangle", np.array(SQUARE))])
    points = np.concatenate([points, np.array(more).reshape(-1, 2)])
    with pytest.raises(weft.UsageError, match=message):
        mesh_checking.check("square", points, [("triangle", np.array(cells, dtype=np.int64).reshape(-1, 3))])


def test_meshes_of_several_kinds_of_cells_are_checked():
    points = np.array([[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 0.5], [1, 0.5]])
    blocks = [("quad", np.array([[0, 1, 4, 3]])), ("triangle", np.array([[1, 2, 5], [1, 5, 4]]))]
    mesh_checking.check("mixed", points, blocks)
    blocks[1] = ("triangle", np.array([[1, 2, 5], [1, 5, 6], [6, 5, 4]]))
    with pytest.raises(weft.UsageError, match="mixed: node 6 hangs on the edge from node 1 to node 4"):
        mesh_checking.check("mixed", points, blocks)


def test_hanging_nodes_of_tetrahedra_are_refused():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [0.5, 0.5, 0]])
    whole = np.array([[0, 1, 2, 3], [0, 1, 2, 4]])
    mesh_checking.check("two", points, [("tetra", whole)])
    halves = np.array([[0, 1, 2, 3], [0, 1, 5, 4], [0, 5, 2, 4]])
    with pytest.raises(weft.UsageError, match="two: node 5 hangs on the edge from node 1 to node 2"):
        mesh_checking.check("two", points, [("tetra", halves)])


def test_a_missing_package_is_named(iwarp, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "meshio", None)
    path = tmp_path / "plate.vtk"
    path.write_text("nothing")
    with pytest.raises(weft.UsageError, match=r"needs the package meshio: pip install 'weft\[meshes\]'"):
        pattern(path, iwarp)


def test_a_mesh_is_divided_placed_and_compiled(iwarp, tmp_path):
    meshio = pytest.importorskip("meshio", reason="meshio is not installed: pip install 'weft[meshes]'")
    pytest.importorskip("pymetis", reason="pymetis is not installed: pip install 'weft[meshes]'")
    size = 24
    x, y = np.meshgrid(np.arange(size), np.arange(size))
    points = np.stack([x.ravel(), y.ravel()], axis=1).astype(float)
    corner = (np.arange(size - 1)[:, None] * size + np.arange(size - 1)).ravel()
    cells = np.stack([corner, corner + 1, corner + size + 1, corner + size], axis=1)
    path = tmp_path / "plate.vtk"
    meshio.write(path, meshio.Mesh(np.pad(points, ((0, 0), (0, 1))), [("quad", cells)]))
    found = pattern(path, iwarp)
    both = {(a, b): words for a, b, words in found.connections}
    assert all(both[b, a] == words for (a, b), words in both.items())
    schedule = weft.conset.compile(found, iwarp, effort=0.05)
    schedule.verify(found)
    apart = pattern(path, iwarp, placed=False)
    assert sorted(words for _, _, words in apart.connections) == sorted(both.values())

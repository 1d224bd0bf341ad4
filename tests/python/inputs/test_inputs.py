"""What users hand in: quoted within a line, read within memory, refused with one message."""

import ast
import contextlib
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft import _core, inputs, samples
from weft._core import UsageError
from weft.conset import compiling, graphs, pattern
from weft.estimation import costs_file
from weft.estimation.curves import SINCE

ROOT = Path(__file__).parents[3]


def status(key):
    """Bytes of a line of what the system says of this process."""
    with open("/proc/self/status", encoding="ascii") as file:
        return int(file.read().partition(f"{key}:")[2].split()[0]) * 1024


@contextlib.contextmanager
def only(more):
    """Within it so many more bytes of data can be had."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (status("VmData") + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@pytest.fixture(scope="module")
def machine():
    return weft.machine("iwarp64")


@given(st.text(max_size=300))
def test_what_is_quoted_is_short_and_moves_nothing(text):
    found = inputs.quoted(text)
    assert len(found) <= 6 * inputs.MAX_SHOWN + 1
    assert found.isprintable() or not set(found) & set("\n\r\t\x1b\x07\x00\u202e\u2028")
    assert found.endswith("…") == (len(text) > inputs.MAX_SHOWN) or text.endswith("…")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("\n\r\t", "\\n\\r\\t"),
        ("\udcff", "\\udcff"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 80 + "…"),
        ([1, None], "[1, None]"),
        (2.5, "2.5"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_quoted(value, shown):
    assert inputs.quoted(value) == shown


def test_a_number_that_python_does_not_write_is_quoted_by_its_length():
    assert inputs.quoted(10**5000) == "a number of some 5000 digits"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 50_000, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "Exceeds the limit"),
        ("{", "Expecting property name"),
        ("\ufeff", "Expecting value"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_json_is_refused_in_a_line(tmp_path, machine, text, reason):
    path = tmp_path / "set.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=reason) as refused:
        pattern(path, machine)
    assert len(str(refused.value)) < 300 + len(str(path))
    assert str(path) in str(refused.value)


def test_a_long_path_is_named_whole(tmp_path, machine):
    folder = tmp_path.joinpath(*["a folder of forty letters and some more"] * 4)
    folder.mkdir(parents=True)
    path = folder / "set\x1b[2J.json"
    path.write_text("{")
    with pytest.raises(UsageError) as refused:
        pattern(path, machine)
    assert str(folder) + "/set" in str(refused.value)
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        (7, "traceEvents: expected a list of events, found 7"),
        ([3], "event 0: expected an object, found 3"),
        ([{"name": "send", "ph": "X"}], "event 0, a send: expected args with to and bytes"),
        ([{"name": "send", "ph": "X", "args": {"to": 1}}], "expected tid as a whole number, found nothing"),
        ([{"name": "send", "ph": "X", "tid": "a\x1b", "args": {}}], "expected tid as a whole number, found a\\x1b"),
        ([{"name": "send", "ph": "X", "tid": 0, "args": {"to": 1, "bytes": -1}}], "expected bytes as a whole number"),
        ([{"name": "send", "ph": "X", "tid": 0, "args": {"to": 1.5}}], "expected to as a whole number, found 1.5"),
    ],
)
def test_events_that_are_none_are_named(tmp_path, machine, events, reason):
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps({"traceEvents": events}))
    with pytest.raises(UsageError) as refused:
        pattern(path, machine)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "0," + '"' + "1" * 140_000 + '",1',
            ":1: expected source, destination and words: field larger than field limit",
        ),
        ("0 " + "y" * 100_000, ":1: expected source, destination and words as whole numbers, found 0 yyyy"),
        ("0 " + "9" * 4000, ":1: node 9999"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_lines_of_connections_are_refused_in_a_line(tmp_path, machine, line, reason):
    path = tmp_path / "connections.csv"
    path.write_text(line)
    with pytest.raises(UsageError) as refused:
        pattern(path, machine)
    assert f"{path}{reason}" in str(refused.value)
    assert len(str(refused.value)) < 400


FORMAT = f"format = {costs_file.FORMAT}"
COSTS = f"""{FORMAT}
[operations.compare]
knots = [1, 4096]
element = [1e-10, 2e-10]
call = CALLS
error = 0.1
observations = 3
""".replace("CALLS", str([1e-6] * len(SINCE)))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("[1, 4096]", "[1, inf]", "knots: expected a finite number, found inf"),
        ("[1, 4096]", "[1, 2.5]", "knots: expected a whole number, found 2.5"),
        ("[1, 4096]", "{ a = 1 }", "knots: expected a list of numbers"),
        ("error = 0.1", "error = nan", "error: expected a finite number, found nan"),
        ("error = 0.1", 'error = "x"', "error: expected a finite number, found x"),
        ("error = 0.1", "error = -1", "neither error nor observations are negative"),
        ("[operations.compare]", "a = " + "[" * 3000, "nested too deeply"),
        (FORMAT, f"{FORMAT}\nabout = 3", "expected a table [about]"),
        (FORMAT, f"{FORMAT}\nheld_out = 3", "expected a table [held_out]"),
        (FORMAT, "format = " + "9" * 5000, "Exceeds the limit"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_costs_that_are_none_are_refused(tmp_path, old, new, reason):
    path = tmp_path / "costs.toml"
    path.write_text(COSTS.replace(old, new))
    with pytest.raises(UsageError) as refused:
        costs_file.read(path)
    assert reason in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("g.graph", b"4 3\n2\n1 3\n2 4 \xe9\n3\n", "no UTF-8 text (byte 15)"),
        ("g.graph", b"-1 0\n", "expected the numbers of vertices and edges in the first line, found -1 0"),
        ("g.graph", b"9" * 5000 + b" 1\n", "expected the numbers of vertices and edges in the first line, found 9"),
        ("g.graph", b"", "found nothing"),
        (
            "m.mtx",
            b"%%MatrixMarket matrix coordinate real general\n9 9 1000000000000\n",
            "promises 1000000000000 entries",
        ),
        ("m.mtx", b"%%MatrixMarket matrix array real general\n1000000 1000000\n1\n", "promises 1000000000000 entries"),
        ("m.mtx", b"%%MatrixMarket matrix array real general\n0 0\n1\n", "expected a matrix with rows, found none"),
        (
            "m.mtx",
            b"%%MatrixMarket matrix array real general\n0 3\n",
            "expected a square matrix, found 0 rows and 3 columns",
        ),
        (
            "m.mtx",
            b"%%MatrixMarket matrix coordinate real general\n100000000000 100000000000 1\n1 1 1\n",
            "a matrix of 100000000000 rows with 1 entries takes about 8.7 TiB of memory, and ",
        ),
        (
            "m.mtx",
            b"%%MatrixMarket matrix coordinate real general\n",
            "expected a sparse matrix in Matrix Market format",
        ),
        (
            "m.msh",
            b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 99999999999999 1 1\n",
            "it ends within $Nodes, or its counts there are wrong",
        ),
        (
            "m.msh",
            b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n99999999999999\n",
            "takes more memory than there is",
        ),
        ("m.su2", b"nonsense of a line\n" * 5000, "meshio cannot read it"),
        (
            "m.mtx",
            b"%%MatrixMarket matrix coordinate real general\n4 4 3\n2 1 1\0r\n",
            "line 3: a byte 0, which no matrix in text has",
        ),
        (
            "m.mtx",
            b"%%MatrixMarket matrix coordinate real general\n4 4 3\n2 1 1 behind",
            "expected a sparse matrix in Matrix Market format",
        ),
        ("m.ply", b"ply\nformat ascii 1.0\ncomment end_header\n", "whose header ends with the line end_header"),
        ("m.off", b"OFF\n# Created by \xe2\x80\xa8 65536", "expected a line that counts vertices, faces and edges"),
        ("m.bdf", b"BEGIN BULK\n$ a comment\n\n", "expected an entry behind the line BEGIN BULK"),
        ("m.mdpa", b"Begin Nodes\n1 0 0 0\n", "expected the line End Nodes behind the line Begin Nodes"),
        (
            "m.obj",
            b"v 0 0 0\nv 1e200 0 0\nv 0 1 0\nf 1 2 3\n",
            "a coordinate of node 1 is beyond 1e+100: distances could not be computed",
        ),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_graphs_that_are_none_are_refused(tmp_path, machine, name, text, reason):
    path = tmp_path / name
    path.write_bytes(text)
    with pytest.raises(UsageError) as refused:
        graphs.read(path, 4)
    assert reason in str(refused.value)
    assert str(refused.value).startswith(str(path))
    assert len(str(refused.value)) < 500


def test_a_last_line_of_a_matrix_needs_no_end(tmp_path):
    path = tmp_path / "m.mtx"
    path.write_bytes(b"%%MatrixMarket matrix coordinate real general\n2 2 2\n2 1 1\n1 2 5 ")
    assert len(graphs.read(path, 2, partition=_each_its_own(tmp_path))) == 2


def _each_its_own(folder):
    path = folder / "partition"
    path.write_text("0\n1\n", encoding="ascii")
    return path


def test_a_table_over_which_its_reader_ends_the_process_is_refused():
    """A page that says it has 2^58 values: polars asks for memory for them and aborts."""
    path = ROOT / "tests/data/fuzz/parquet/allocation.parquet"
    with pytest.raises(
        samples.SamplesError, match=r"allocation\.parquet: expected a Parquet file: memory allocation of \d+ bytes"
    ):
        samples.read(path)


def test_a_table_of_more_rows_than_memory_is_refused(tmp_path):
    import polars as pl

    table = pl.DataFrame({"seconds": pl.repeat(1.0, 4_000_000, eager=True)})
    path = tmp_path / "large.parquet"
    table.write_parquet(path)
    assert path.stat().st_size < 200_000, "a constant column takes hardly any room in the file"
    with (
        only(48 << 20),
        pytest.raises(UsageError, match=r"a table of 4000000 rows takes about 122 MiB of memory, and .* can be had"),
    ):
        samples.read(path)


@pytest.mark.parametrize("name", ["a\x1b[2Jb", "a\x00", "a\u202eb"])
def test_names_that_move_terminals_are_refused(tmp_path, machine, name):
    import polars as pl

    table = pl.DataFrame(
        {"source": ["measured"], "machine": [name], "benchmark": ["echo"], "repetition": [0], "bytes": [8],
         "hops": [1], "ranks": [2], "seconds": [1e-6]}
    )  # fmt: skip
    with pytest.raises(samples.SamplesError, match="row 1, column machine: expected"):
        samples.validate(table)
    with pytest.raises(UsageError, match="none of them a control character"):
        _core.ConnectionSet(2, [(0, 1, 1)], name)
    text = machine.to_toml().replace('title = "', f'title = "{name.encode("unicode_escape").decode()}')
    text = text.replace("\\x", "\\u00")
    with pytest.raises(weft.MachineError, match="title: expected a text without control characters"):
        _core.Machine.parse(text, "m.toml")


def test_long_lines_of_machine_files_are_shown_around_the_fault():
    text = f'name = "x"\ntitle = "y"\n{"#" * 10}\nyear = {{ a = "{"z" * 300_000}", b = {"9" * 100_000} }}\n'
    with pytest.raises(weft.MachineError) as refused:
        _core.Machine.parse(text, "m.toml")
    assert max(map(len, str(refused.value).splitlines())) < 400


def test_what_is_left_is_known_and_too_much_is_refused():
    available, limit = _core.available_memory()
    assert available > 1 << 20
    assert limit
    _core.require_memory(1 << 20, "a test", "buy more")
    with pytest.raises(UsageError, match=r"^a test takes about 888 PiB of memory, and .* can be had \(.*\); buy more$"):
        _core.require_memory(10**18, "a test", "buy more")


@pytest.mark.parametrize(("name", "nodes"), [("all-to-all", 2**48), ("random:16777215", 2**48)])
def test_patterns_beyond_memory_are_refused(name, nodes):
    large = machine_of(24)
    with pytest.raises(UsageError, match=f"{name} of 16777216 nodes takes about .* of memory, and .* can be had"):
        _core.ConnectionSet.named(name, large)


def machine_of(dimension):
    """A hypercube with the figures of the iPSC/860 and connections."""
    text = weft.machine("ipsc860").to_toml()
    text = text.replace("dimension = 7", f"dimension = {dimension}").replace("nodes = 128", f"nodes = {2**dimension}")
    return _core.Machine.parse(text, "large.toml")


def test_two_ranks_on_a_machine_of_millions_of_nodes_cost_what_two_ranks_cost():
    request = '{"benchmark": "echo", "bytes": [0, 8, 100000], "iterations": 3}'
    rows = _core.simulate(machine_of(24), request)
    with only(64 << 20):
        assert _core.simulate(machine_of(24), request) == rows
    assert json.loads(rows) == json.loads(_core.simulate(machine_of(7), request)), "the same two nodes"


def test_no_limit_of_memory_ends_the_process():
    """At each limit a run is as without one, or refused: a process of its own, since what fails here ends it."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_inputs as t; from weft import _core\n"
        'machine, request = t.machine_of(24), \'{"benchmark": "echo", "bytes": [8], "iterations": 3}\'\n'
        "rows, ended = _core.simulate(machine, request), []\n"
        "for limit in range(0, 72, 2):\n"
        "    with t.only(limit << 20):\n"
        "        try:\n"
        "            ended.append(_core.simulate(machine, request) == rows)\n"
        "        except _core.WeftError as error:\n"
        "            ended.append(str(error))\n"
        "print(ended)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    ended = ast.literal_eval(done.stdout)
    assert ended[-1] is True
    refused = [one for one in ended if one is not True]
    assert refused
    assert all("takes about" in one and "can be had" in one for one in refused), refused


def test_ranks_beyond_memory_are_refused():
    with (
        only(200 << 20),
        pytest.raises(
            weft.WeftError, match=r"a run of 16777216 ranks takes about .* of memory, and .* ask for fewer ranks"
        ),
    ):
        _core.simulate(machine_of(24), '{"benchmark": "allreduce", "ranks": 16777216, "bytes": [8]}')


def test_a_schedule_for_more_nodes_than_memory_is_refused():
    content = json.loads(compiling.compile("shift", "iwarp64", effort=0).to_json())
    content["resources"]["topology"] = {"kind": "hypercube", "dimension": 24}
    schedule = _core.Schedule.parse(json.dumps(content), "s.json")
    with (
        only(200 << 20),
        pytest.raises(UsageError, match=r"the check of a schedule on 16777216 nodes takes about .* can be had"),
    ):
        schedule.verify()

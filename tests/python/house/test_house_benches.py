"""The benches are one package: nothing changes the path of imports, all are listed, records keep to the form."""

import ast
import datetime
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benches import comparison, harness, page, recording
from benches.__main__ import main
from benches.catalogue import HERE, benchmarks, modules
from benches.native_overhead import loops
from weft.samples import COLUMNS, SamplesError

RECORDS = sorted(recording.RECORDS.glob("*.json"))
NUMBERS = st.floats(1e-9, 1e9)


def test_no_module_changes_the_path_of_imports():
    for path in HERE.rglob("*.py"):
        names = {ast.unparse(node) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
        assert "sys.path" not in names, f"{path.relative_to(HERE)} uses sys.path: import from benches instead"


def test_every_module_that_declares_a_benchmark_is_listed(capsys):
    declared = {
        path
        for path in HERE.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "BENCHMARK"
    }
    listed = {HERE.parent / (benchmark.module.replace(".", "/") + ".py") for benchmark in benchmarks().values()}
    assert listed == declared
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n{name} " in shown for name in benchmarks())


def test_every_folder_of_python_is_a_package():
    names = {module.removeprefix("benches.").replace(".", "/") for module in modules()}
    files = {str(path.relative_to(HERE).with_suffix("")) for path in HERE.rglob("*.py") if path.name != "__main__.py"}
    assert {name.removesuffix("/__init__") for name in files} - {"__init__"} == {name for name in names if name != ""}


@pytest.mark.parametrize("name", sorted(benchmarks()))
def test_help(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"python -m benches {name}" in shown
    assert "--no-record" in shown


def test_a_name_that_is_none_is_an_error_with_the_nearest(capsys):
    assert main(["shift"]) == 2
    assert "there is no benchmark 'shift'; did you mean shifts?" in capsys.readouterr().err


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_records_keep_to_the_form(path):
    record = recording.read(path)
    assert record["benchmark"] in benchmarks(), f"{path.name} is of a benchmark that does not exist"
    assert recording.text(record) == path.read_text()
    day = datetime.datetime.fromisoformat(record["date"]).date().isoformat()
    assert path.stem.startswith(f"{day}-{record['benchmark']}")


@pytest.mark.parametrize("path", page.generated(), ids=lambda path: path.name)
def test_pages_and_pictures_show_the_records(native, path):
    assert path.read_text() == page.generated()[path], f"run {page.HOW}"


def test_another_picture_is_told(native, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(page, "generated", lambda: {tmp_path / "x.svg": "one"})
    monkeypatch.setattr(recording, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["page", "--check"])
    assert page.main() == 1
    assert capsys.readouterr().err == f"x.svg is not what the records say: run {page.HOW}\n"
    (tmp_path / "x.svg").write_text("one")
    assert page.main() == 0


def test_a_table_needs_both_its_marks():
    whole = f"a\n{comparison.BEGIN}\nold\n{comparison.END}\nb"
    assert comparison.inserted(whole, "new") == f"a\n{comparison.BEGIN}\nnew\n{comparison.END}\nb"
    for broken in ("", comparison.BEGIN, whole + whole):
        with pytest.raises(ValueError, match=r"^the page needs <!-- of the records.* each once$"):
            comparison.inserted(broken, "new")


def test_what_the_table_cites_is_in_the_records():
    with pytest.raises(KeyError, match="native-overhead"):
        comparison.table({})


def _columns_reported():
    """The columns of every call of `Report.samples` in the benches, by file and line."""
    for path in sorted(HERE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "samples":
                where = f"{path.relative_to(HERE)}:{node.lineno}"
                yield pytest.param([keyword.arg for keyword in node.keywords], id=where)


@pytest.mark.parametrize("columns", list(_columns_reported()))
def test_what_benchmarks_report_makes_a_record(columns, tmp_path, monkeypatch):
    assert None not in columns, "columns are named in the call, so that they are checked without measuring"
    monkeypatch.setattr(recording, "load", lambda: [1.0, 1.0, 1.0])
    report = recording.Report("shifts", ["python", "-m", "benches", "shifts"])
    report.samples({"weft": [1.0, 2.0]}, **{name: 8 if COLUMNS[name].kind == "count" else "8" for name in columns})
    assert recording.read(report.write(tmp_path / "r.json")) == report.record()


def test_a_column_that_does_not_exist_is_refused_before_more_is_measured():
    report = recording.Report("shifts", ["python", "-m", "benches", "shifts"])
    with pytest.raises(recording.RecordError, match="^shifts, samples: no column of the samples table: n$"):
        report.samples({"weft": [1.0]}, bytes=8, n=8)


def _record(**changes):
    report = recording.Report("shifts", ["python", "-m", "benches", "shifts"])
    report.samples({"weft": [1.0, 2.0]}, bytes=8)
    report.figure("time", harness.spread([1.0, 2.0]), "s", 3.0, "at most")
    return report.record() | changes


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"date": "yesterday"}, recording.RecordError, "date: expected a date of ISO 8601, found 'yesterday'"),
        ({"more": 1}, recording.RecordError, "a record has the parts benchmark, date"),
        ({"notes": []}, recording.RecordError, "notes: expected dict, found list"),
        ({"commit": 7}, recording.RecordError, "commit: expected str or nothing, found int"),
        ({"figures": [{"name": "a"}]}, recording.RecordError, "figure 1: a figure has name and value"),
        ({"figures": [{"name": "a", "value": True}]}, recording.RecordError, "expected a finite number, found True"),
        ({"figures": [{"name": "a", "value": 1, "target": 2}]}, recording.RecordError, "a target wants a sense"),
        ({"figures": [{"name": "a", "value": 1, "low": 0}]}, recording.RecordError, "low, high and interval come"),
        ({"figures": [{"name": "a", "value": 1}] * 2}, recording.RecordError, "two figures have the name 'a'"),
        (
            {"samples": {"columns": ["way"], "rows": [["x"]]}},
            recording.RecordError,
            "no column of the samples table: way",
        ),
        ({"samples": {"columns": ["source"], "rows": [["measured"]]}}, SamplesError, "benchmark"),
        ({"benchmark": "halo"}, recording.RecordError, "rows of another benchmark: shifts"),
    ],
)
def test_what_is_wrong_with_a_record_is_said(changes, error, message):
    with pytest.raises(error, match=message.replace("(", r"\(")):
        recording.validated(_record(**changes), "the record")


def test_the_overhead_of_many_benchmarks_makes_a_record(tmp_path, capsys):
    report = recording.Report("native-overhead", ["python", "-m", "benches", "native-overhead"])
    mpi = loops.Mpi("mine", tmp_path)
    for benchmark, size in (("echo", 8), ("barrier", 0)):
        sides = {"weft": 3.3e-7, "c": 2.8e-7, "control": 3.2e-7}
        row = {side: {"interquartile_mean": seconds, "p10": seconds / 2} for side, seconds in sides.items()}
        loops.summarise(mpi, (benchmark, size), [row] * 6, report)
    recording.write(tmp_path / "r.json", report.record())
    record = recording.read(tmp_path / "r.json")
    figures = {figure.name: figure for figure in recording.figures(record)}
    assert figures["mine, barrier: weft/C"].value == pytest.approx(1.1)
    assert report.failed
    assert figures["mine, 8 bytes: C/C, the slower by the faster"].value == pytest.approx(3.2 / 2.8)
    variants = {(row["variant"], row["bytes"]) for row in recording.as_rows(record["samples"])}
    sides = ("weft", "C")
    assert variants == {(f"mine, echo, {side}", 8) for side in sides} | {
        (f"mine, barrier, {side}", None) for side in sides
    }


def test_a_record_comes_back_from_its_file(tmp_path):
    record = _record()
    recording.write(tmp_path / "r.json", record)
    assert recording.read(tmp_path / "r.json") == json.loads(json.dumps(record))
    assert [figure.met for figure in recording.figures(record)] == [True]


def test_pieces_make_one_record(tmp_path):
    recording.write(tmp_path / "r.json", _record())
    report = recording.Report("shifts", ["again"])
    report.continue_from(tmp_path / "r.json")
    report.samples({"weft": [5.0]}, bytes=8)
    report.samples({"numpy": [7.0]}, bytes=8)
    report.figure("time", 9.0, "s", 3.0, "at most")
    report.figure("other", 1.0)
    assert {figure.name: figure.value for figure in recording.figures(report.record())} == {"time": 9.0, "other": 1.0}
    assert [row["seconds"] for row in recording.as_rows(report.record()["samples"])] == [5.0, 7.0]
    assert report.failed


@given(st.lists(NUMBERS, min_size=1, max_size=40))
def test_a_spread_is_within_its_values(values):
    found = harness.spread(values)
    assert min(values) <= found.low <= found.value <= found.high <= max(values)
    assert found.interval == ("95%" if len(values) > 5 else "range")


@given(st.integers(1, 10_000_000))
def test_awkward_extents_are_near_and_one_beside_a_power_of_two(extent):
    found = harness.awkward(extent)
    assert extent not in found
    assert {extent - 1, extent + 1} - {0} <= set(found)
    assert extent < 5 or any((size - 1).bit_count() == 1 for size in found if size < extent)


def test_sides_begin_in_turn():
    order = []
    sides = {name: lambda name=name: order.append(name) for name in "abc"}
    assert {name: len(found) for name, found in harness.interleaved(sides, 3, at_most={"c": 1}).items()} == {
        "a": 3,
        "b": 3,
        "c": 1,
    }
    assert "".join(order) == "abc" + "ba" + "ab"
    firsts = [order[begin] for begin in itertools.accumulate([0, 3, 2])]
    assert firsts == ["a", "b", "a"]

"""Results for other tools: what `--format` prints, and help that shows for each option what can be typed."""

import io
import json
import math

import polars as pl
import pytest
from typer.main import get_command

from weft.cli.commands import app


def commands(command, words=()):
    """Every command with the words that call it."""
    yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*words, name))


@pytest.mark.parametrize("words", [words for words, _ in commands(get_command(app))], ids=" ".join)
def test_no_flag_looks_as_if_it_took_a_value(command, words):
    code, out, _ = command(*words, "--help")
    assert code == 0
    assert "--help" in out
    assert "bool" not in out.lower()


def same(left, right):
    """Whether a value of JSON is one of CSV; what is not finite is null in JSON."""
    if left is None:
        return right is None or not math.isfinite(right)
    return left == right


@pytest.mark.parametrize(
    "line",
    [
        "measure echo --on ipsc860 --bytes 8:64 --hops 1:2",
        "fit echo.csv",
        "compare ipsc860 ncube6400 --bytes 8",
        "reproduce dunigan-1991 --table 3",
    ],
)
def test_json_and_csv_are_the_same_rows(command, line):
    assert command("measure echo --on ipsc860 --bytes 8:4K -o echo.csv")[0] == 0
    code, text, _ = command(f"{line} --format json")
    assert code == 0
    assert text.endswith("]\n")
    rows = json.loads(text)
    code, text, _ = command(f"{line} --format csv")
    assert code == 0
    table = pl.read_csv(io.StringIO(text), infer_schema_length=None)
    assert table.columns == list(rows[0])
    assert len(rows) == len(table) > 0
    for row, other in zip(rows, table.iter_rows(named=True), strict=True):
        different = {name: (row[name], other[name]) for name in row if not same(row[name], other[name])}
        assert not {name: pair for name, pair in different.items() if str(pair[0]) != str(pair[1])}


def test_notes_of_a_fit_are_not_among_its_rows(command):
    command("measure echo --on ipsc860 --bytes 8:4K -o echo.csv")
    _, out, err = command("fit echo.csv --format json")
    assert {"startup", "startup_low", "startup_high", "byte_time", "half_bandwidth"} <= set(json.loads(out)[0])
    assert err.startswith("note: ")


@pytest.mark.parametrize(
    "line",
    [
        "fit empty.csv",
        "fit empty.csv --benchmark barrier",
        "compare empty.csv alpha",
        "report empty.csv -o page.html",
        "health --samples empty.csv",
        "machines grain empty.csv",
    ],
)
def test_a_file_without_samples_is_refused(stand_ins, command, line, tmp_path):
    (tmp_path / "empty.csv").write_text("source,machine,benchmark,ranks,hops,bytes,repetition,seconds\n")
    code, _, err = command(*line.split())
    assert (code, err) == (2, "error: empty.csv has no samples, only the names of columns\n")
    assert not (tmp_path / "page.html").exists()

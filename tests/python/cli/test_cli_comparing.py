"""Two measurements side by side: what cannot be told apart, and the exit code of what became slower."""

import json

import polars as pl
import pytest


@pytest.fixture
def weft(stand_ins, command):
    return command


def measured(folder, name, factor, spread, lengths=(1000, 2000), launches=8):
    """Launches of an echo whose times lie within a spread, written as a file of samples."""
    rows = [
        {"source": "measured", "machine": "here", "benchmark": "echo", "ranks": 2, "hops": None, "bytes": length,
         "launch": launch, "repetition": 0, "seconds": factor * length * 1e-9 * (1 + spread * (launch - 3.5) / 3.5)}
        for length in lengths for launch in range(launches)
    ]  # fmt: skip
    pl.DataFrame(rows, schema_overrides={"hops": pl.Int64}).write_csv(folder / name)


def test_what_cannot_be_told_apart_is_marked(weft, tmp_path):
    measured(tmp_path, "monday.csv", 1.0, 0.1)
    measured(tmp_path, "tuesday.csv", 1.05, 0.1)
    code, out, _ = weft("compare monday.csv tuesday.csv")
    assert code == 0
    assert out.count("~ 1.05× (") == 2
    assert "~ 2 of 2 ratios with an interval cannot be told from 1: the intervals overlap." in out


def test_what_is_slower_beyond_all_intervals_has_an_exit_code(weft, tmp_path):
    measured(tmp_path, "monday.csv", 1.0, 0.01)
    measured(tmp_path, "tuesday.csv", 1.3, 0.01)
    code, out, err = weft("compare monday.csv tuesday.csv --fail-above 1.1")
    assert code == 3
    assert "1.30× (1.2" in out
    assert "~ 0 of 2 ratios" in out
    assert err.startswith("slower than --fail-above 1.1: tuesday, echo ")
    assert err.count("1.30× (1.2") == 2
    # The interval reaches below the limit: it may be noise.
    assert weft("compare monday.csv tuesday.csv --fail-above 1.29")[0] == 0
    # The other way round nothing is slower.
    assert weft("compare tuesday.csv monday.csv --fail-above 1.1")[0] == 0


def test_a_limit_judges_single_launches_as_they_are_and_says_so(weft, tmp_path):
    measured(tmp_path, "monday.csv", 1.0, 0.0, launches=1)
    measured(tmp_path, "tuesday.csv", 1.3, 0.0, launches=1)
    note = "--fail-above: 2 of 2 ratios have no interval, since one launch tells none, and are judged as they are; "
    code, _, err = weft("compare monday.csv tuesday.csv --fail-above 1.4")
    assert code == 0
    assert err.startswith(note)
    code, _, err = weft("compare monday.csv tuesday.csv --fail-above 1.1")
    assert code == 3
    assert err.startswith(note)
    assert "slower than --fail-above 1.1: tuesday" in err


def test_a_limit_with_nothing_to_judge_is_not_met(weft, tmp_path):
    measured(tmp_path, "monday.csv", 1.0, 0.1)
    measured(tmp_path, "tuesday.csv", 1.0, 0.1, lengths=(4000,))
    code, _, err = weft("compare monday.csv tuesday.csv --fail-above 1.1")
    assert (code, err) == (1, "--fail-above: nothing to judge, since no row is of two machines or files\n")


def test_a_limit_says_which_rows_have_no_counterpart(weft, tmp_path):
    measured(tmp_path, "monday.csv", 1.0, 0.1, lengths=(1000, 2000, 4000))
    measured(tmp_path, "tuesday.csv", 1.0, 0.1)
    code, _, err = weft("compare monday.csv tuesday.csv --fail-above 1.1")
    assert code == 0
    assert err == "--fail-above: 1 of 3 rows of monday not judged, since tuesday has no such rows\n"


def test_simulations_have_no_intervals(weft):
    code, out, err = weft("compare alpha beta --bytes 8 --fail-above 1000")
    assert (code, err) == (0, "")
    assert "~" not in out
    assert "(" not in out


def test_a_limit_is_a_positive_ratio(weft):
    for limit in ("0", "-1", "nan"):
        code, _, err = weft(f"compare alpha beta --fail-above {limit}")
        assert (code, err) == (2, f"error: --fail-above: expected a positive ratio, found {float(limit)}\n")


def test_json_is_that_of_the_table(weft):
    code, out, _ = weft("compare alpha beta --bytes 8,16 --format json")
    assert code == 0
    rows = json.loads(out)
    assert [row["bytes"] for row in rows] == [8, 16]
    assert rows[0]["ratio beta"] == rows[0]["seconds beta"] / rows[0]["seconds alpha"]
